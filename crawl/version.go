package crawl

import (
	"encoding/binary"
	"fmt"
	"slices"
)

var programKey = []byte("mprogram")

// Programs says which programs a stored crawl runs: one, or several that share it.
//
// The Version stands in the rows of pages that were asked for under it. A program
// alone has it as its number; of several each has its own, and pages keep the
// Version while programs come and go.
type Programs struct {
	Version uint8
	Next    uint8   // the least number that no program has had
	Each    []Named // by their names; empty: there is one, without a name
}

// Named is one of several programs.
type Named struct {
	Name   string
	Number uint8

	Joined, Left bool // see Member
	Since        int64
}

// Find returns the number of a program by its name.
func (p Programs) Find(name string) (uint8, bool) {
	for _, n := range p.Each {
		if n.Name == name && !n.Left {
			return n.Number, true
		}
	}
	return 0, false
}

// Names are those of several programs that have not left.
func (p Programs) Names() []string {
	var names []string
	for _, n := range p.Each {
		if !n.Left {
			names = append(names, n.Name)
		}
	}
	return names
}

// live are the numbers that are in use, in order.
func (p Programs) live() []uint8 {
	if len(p.Each) == 0 {
		return []uint8{p.Version}
	}
	var list []uint8
	for _, n := range p.Each {
		list = append(list, n.Number)
	}
	slices.Sort(list)
	return list
}

// What is told of one of several programs where it is not as most are: its name's
// length says so, which is less.
const (
	hasFlags = 1 << 7
	isJoined = 1
	isLeft   = 2
	hasSince = 4 // which follows
)

// append writes the version, and behind it, where there are several programs,
// what the next number is and which they are.
func (p Programs) append(b []byte) []byte {
	b = append(b, p.Version)
	if len(p.Each) == 0 {
		return b
	}
	b = append(b, p.Next)
	for _, n := range p.Each {
		flags := byte(0)
		if n.Joined {
			flags |= isJoined
		}
		if n.Left {
			flags |= isLeft
		}
		if n.Since != 0 {
			flags |= hasSince
		}
		if flags == 0 {
			b = append(b, n.Number, byte(len(n.Name)))
		} else {
			b = append(b, n.Number, byte(len(n.Name))|hasFlags, flags)
		}
		if n.Since != 0 {
			b = binary.AppendVarint(b, n.Since)
		}
		b = append(b, n.Name...)
	}
	return b
}

func (p *Programs) read(b []byte) error {
	d := decoder{b: b}
	*p = Programs{Version: d.byte()}
	p.Next = p.Version + 1
	if d.err != nil || len(d.b) == 0 {
		return d.err
	}
	p.Next = d.byte()
	for len(d.b) > 0 && d.err == nil {
		n := Named{Number: d.byte()}
		size := d.byte()
		if size&hasFlags != 0 {
			flags := d.byte()
			n.Joined, n.Left = flags&isJoined != 0, flags&isLeft != 0
			if flags&hasSince != 0 {
				n.Since = d.varint()
			}
		}
		n.Name = string(d.take(int(size &^ hasFlags)))
		p.Each = append(p.Each, n)
	}
	return d.err
}

// ReadPrograms returns which programs a stored crawl runs, and whether it has
// begun.
func ReadPrograms(kv KV) (p Programs, begun bool, err error) {
	b, ok, err := kv.Get(programKey)
	if err != nil || !ok {
		return p, false, err
	}
	if err := p.read(b); err != nil {
		return p, false, fmt.Errorf("read which programs the crawl has: %w", err)
	}
	return p, true, nil
}

// ReadProgram returns under which version of its program a stored crawl asks for
// pages, and whether it has begun.
func ReadProgram(kv KV) (version int, begun bool, err error) {
	p, begun, err := ReadPrograms(kv)
	return int(p.Version), begun, err
}

// WritePrograms keeps which programs a crawl runs.
func WritePrograms(w Writer, p Programs) { w.Set(programKey, p.append(nil)) }
