package fetch

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

const (
	typeA    = dnsmessage.TypeA
	typeAAAA = dnsmessage.TypeAAAA
)

const (
	maxAliases  = 8    // CNAMEs from a name to its addresses
	maxRecords  = 4096 // of one answer
	attempts    = 2    // rounds over the servers
	negativeTTL = 5 * time.Minute
)

// found is what the resolvers said about one type of a name's addresses.
type found struct {
	addrs  []netip.Addr
	ttl    time.Duration
	failed bool // nothing could be learned: no server gave a usable answer
	fault  bool // none was asked, as we have no descriptors left
}

// validName says that a name can stand in a question.
func validName(name string) bool {
	if name == "" || len(name) > 253 {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 {
			return false
		}
	}
	return true
}

// resolve asks for the addresses of a name and follows its aliases, also where
// the server leaves that to us.
func (r *resolver) resolve(ctx context.Context, name string, kind dnsmessage.Type) found {
	f := found{ttl: maxTTL}
	for hops := 0; hops <= maxAliases; {
		reply, err := r.query(ctx, name, kind)
		if err != nil {
			f.failed, f.fault = true, exhausted(err)
			return f
		}
		f.ttl = min(f.ttl, reply.ttl)
		if reply.alias == "" {
			f.addrs = reply.addrs
			return f
		}
		name = reply.alias
		hops += reply.hops
	}
	return found{ttl: negativeTTL} // aliases without an end lead nowhere
}

// query asks the servers in turn until one gives an answer that settles the
// matter.
func (r *resolver) query(ctx context.Context, name string, kind dnsmessage.Type) (answer reply, err error) {
	for range attempts {
		for _, server := range r.servers {
			if ctx.Err() != nil {
				return reply{}, ctx.Err()
			}
			if answer, err = r.exchange(ctx, server, name, kind); err == nil {
				return answer, nil
			}
		}
	}
	return reply{}, err
}

// exchange asks one server, by TCP when the answer is too long for UDP.
func (r *resolver) exchange(ctx context.Context, server, name string, kind dnsmessage.Type) (reply, error) {
	var id [2]byte
	rand.Read(id[:])
	q, err := newQuestion(binary.BigEndian.Uint16(id[:]), name, kind)
	if err != nil {
		return reply{}, err
	}
	answer, err := r.exchangeOver(ctx, "udp", server, q)
	if errors.Is(err, errLong) {
		answer, err = r.exchangeOver(ctx, "tcp", server, q)
	}
	return answer, err
}

func (r *resolver) exchangeOver(ctx context.Context, network, server string, q question) (reply, error) {
	d := net.Dialer{Timeout: r.timeout}
	conn, err := d.DialContext(ctx, network, server)
	if err != nil {
		return reply{}, err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(r.timeout))
	defer context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })()
	if network == "tcp" {
		msg := append(binary.BigEndian.AppendUint16(nil, uint16(len(q.msg))), q.msg...)
		if _, err := conn.Write(msg); err != nil {
			return reply{}, err
		}
		var size [2]byte
		if _, err := io.ReadFull(conn, size[:]); err != nil {
			return reply{}, err
		}
		msg = make([]byte, binary.BigEndian.Uint16(size[:]))
		if _, err := io.ReadFull(conn, msg); err != nil {
			return reply{}, err
		}
		r.wire.Charge(len(msg) + tcpTalk)
		return q.read(msg)
	}
	if _, err := conn.Write(q.msg); err != nil {
		return reply{}, err
	}
	r.wire.Charge(usualAnswer) // it will come, and soon
	buf := make([]byte, 4<<10)
	for {
		n, err := conn.Read(buf)
		if err != nil {
			return reply{}, err
		}
		r.wire.Charge(n + udpHeader - usualAnswer)
		// What does not answer our question is someone else's: listen on.
		if answer, err := q.read(buf[:n]); !errors.Is(err, errStranger) {
			return answer, err
		}
	}
}

// What comes on the wire with an answer: the headers of a datagram, or those of
// the four or five packets of a short connection.
const (
	udpHeader = 28
	tcpTalk   = 5 * 52

	usualAnswer = 120
)

// question is one question to a server, and what its answer must match.
type question struct {
	id   uint16
	name string
	kind dnsmessage.Type
	msg  []byte
}

func newQuestion(id uint16, name string, kind dnsmessage.Type) (question, error) {
	n, err := dnsmessage.NewName(name + ".")
	if err != nil {
		return question{}, err
	}
	b := dnsmessage.NewBuilder(nil, dnsmessage.Header{ID: id, RecursionDesired: true})
	b.StartQuestions()
	if err := b.Question(dnsmessage.Question{Name: n, Type: kind, Class: dnsmessage.ClassINET}); err != nil {
		return question{}, err
	}
	msg, err := b.Finish()
	return question{id, name, kind, msg}, err
}

// reply is what an answer says: addresses, or none, or an alias whose addresses
// it does not hold.
type reply struct {
	addrs []netip.Addr
	alias string
	hops  int // aliases followed
	ttl   time.Duration
}

var (
	errStranger = errors.New("the message does not answer our question")
	errLong     = errors.New("the answer was cut")
	errRefused  = errors.New("the server could not answer")
	errMessage  = errors.New("the answer cannot be read")
)

// read reads an answer to q.
func (q question) read(msg []byte) (reply, error) {
	var p dnsmessage.Parser
	h, err := p.Start(msg)
	if err != nil || h.ID != q.id || !h.Response {
		return reply{}, errStranger
	}
	asked, err := p.Question()
	if err != nil || asked.Type != q.kind || asked.Class != dnsmessage.ClassINET || dnsName(asked.Name.String()) != q.name {
		return reply{}, errStranger
	}
	switch {
	case h.Truncated:
		return reply{}, errLong
	case h.RCode == dnsmessage.RCodeNameError:
		return reply{ttl: negativeTTL}, nil
	case h.RCode != dnsmessage.RCodeSuccess:
		return reply{}, errRefused
	}
	if err := p.SkipAllQuestions(); err != nil {
		return reply{}, errMessage
	}
	addrs, aliases, err := q.records(&p)
	if err != nil {
		return reply{}, err
	}
	answer := reply{ttl: maxTTL}
	name := q.name
	for answer.hops <= maxAliases {
		if at, ok := addrs[name]; ok {
			answer.addrs, answer.ttl = at.addrs, min(answer.ttl, at.ttl)
			return answer, nil
		}
		next, ok := aliases[name]
		if !ok {
			break
		}
		answer.hops++
		answer.ttl = min(answer.ttl, next.ttl)
		name = next.name
	}
	switch {
	case answer.hops > maxAliases:
		return reply{ttl: negativeTTL}, nil
	case answer.hops > 0:
		answer.alias = name
		return answer, nil
	}
	return reply{ttl: negativeTTL}, nil
}

type alias struct {
	name string
	ttl  time.Duration
}

// records reads the addresses and aliases of an answer, by name.
func (q question) records(p *dnsmessage.Parser) (map[string]*found, map[string]alias, error) {
	addrs := map[string]*found{}
	aliases := map[string]alias{}
	for range maxRecords {
		h, err := p.AnswerHeader()
		if errors.Is(err, dnsmessage.ErrSectionDone) {
			return addrs, aliases, nil
		}
		if err != nil {
			return nil, nil, errMessage
		}
		name, ttl := dnsName(h.Name.String()), time.Duration(h.TTL)*time.Second
		switch {
		case h.Class != dnsmessage.ClassINET:
			err = p.SkipAnswer()
		case h.Type == dnsmessage.TypeCNAME:
			var r dnsmessage.CNAMEResource
			if r, err = p.CNAMEResource(); err == nil {
				aliases[name] = alias{dnsName(r.CNAME.String()), ttl}
			}
		case h.Type == q.kind:
			var a netip.Addr
			if a, err = address(p, q.kind); err == nil {
				f := addrs[name]
				if f == nil {
					f = &found{ttl: ttl}
					addrs[name] = f
				}
				f.addrs, f.ttl = append(f.addrs, a), min(f.ttl, ttl)
			}
		default:
			err = p.SkipAnswer()
		}
		if err != nil {
			return nil, nil, errMessage
		}
	}
	return addrs, aliases, nil
}

func address(p *dnsmessage.Parser, kind dnsmessage.Type) (netip.Addr, error) {
	if kind == typeA {
		r, err := p.AResource()
		return netip.AddrFrom4(r.A), err
	}
	r, err := p.AAAAResource()
	return netip.AddrFrom16(r.AAAA), err
}
