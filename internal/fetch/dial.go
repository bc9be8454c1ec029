package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"weir/page"
)

var errPrivate = errors.New("the address is private")

// Open connects to the site of u at addr, or through the proxy when there is
// one; addr is not looked at then. When the outcome is not OK the connection is
// closed and its Err says why. It is the caller's to Close either way. When we
// have run out of file descriptors the outcome is Aborted and Fault is set: the
// site is not to blame. (Go raises the soft limit on them to the hard one by
// itself.)
func (c *Client) Open(ctx context.Context, u page.URL, addr netip.Addr) (*Conn, page.Outcome) {
	cn := &Conn{client: c, site: u.Site(), host: u.Host(), secure: u.Secure()}
	o, err := c.open(ctx, cn, u, addr)
	if err == nil {
		return cn, page.OK
	}
	switch {
	case c.closed.Load() || ctx.Err() != nil:
		o, err = page.Aborted, errAborted
	case exhausted(err):
		err = fmt.Errorf("connect: %w: allow more (ulimit -n), or keep fewer connections", err)
		o, cn.Fault = page.Aborted, err
	}
	cn.Err, cn.failed = err.Error(), o
	cn.Close()
	return cn, o
}

func (c *Client) open(ctx context.Context, cn *Conn, u page.URL, addr netip.Addr) (page.Outcome, error) {
	if c.closed.Load() {
		return page.Aborted, errAborted
	}
	if !clean(u) {
		return page.Aborted, fmt.Errorf("%q is not a canonical URL", u)
	}
	if literal, ok := u.Addr(); ok && c.Private(literal) {
		// Behind a proxy there is no other chance to see it.
		return page.PrivateAddress, fmt.Errorf("%w: %s", errPrivate, literal)
	}
	if c.cfg.Proxy != nil {
		if o, err := c.openProxy(ctx, cn, u); err != nil {
			return o, err
		}
	} else {
		port, err := strconv.ParseUint(u.Port(), 10, 16)
		if err != nil {
			return page.ConnectFailed, fmt.Errorf("%q is no port", u.Port())
		}
		from := time.Now()
		l, err := c.dial(ctx, cn.host, netip.AddrPortFrom(addr.Unmap(), uint16(port)), c.Private)
		if err != nil {
			return dialOutcome(err), reasonOf(err)
		}
		cn.Trip = time.Since(from)
		cn.addr = addr.Unmap()
		cn.link, cn.stream = l, l
	}
	if !cn.secure {
		return page.OK, nil
	}
	return c.secure(ctx, cn, strings.TrimSuffix(strings.Trim(u.Host(), "[]"), "."))
}

// dial connects. The refusal stands at the very call that connects, on the
// address it connects to, so no name can lead round it.
func (c *Client) dial(ctx context.Context, host string, to netip.AddrPort, refused func(netip.Addr) bool) (*link, error) {
	if !to.IsValid() {
		return nil, errors.New("no address to connect to")
	}
	window, exact := 0, c.cfg.Wire != nil && c.cfg.Wire.Exact()
	if exact {
		window = c.cfg.Wire.window()
	}
	d := net.Dialer{
		Timeout:   c.limits.Connect,
		KeepAlive: -1,
		Control: func(_, address string, raw syscall.RawConn) error {
			real, err := netip.ParseAddrPort(address)
			if err != nil {
				return fmt.Errorf("connect to %q: %w", address, err)
			}
			if refused(real.Addr()) {
				return fmt.Errorf("%w: %s", errPrivate, real.Addr())
			}
			if c.cfg.Unheard > 0 {
				bindSending(raw, c.cfg.Unheard)
			}
			switch caps := c.caps(host); {
			case window > 0:
				offer(raw, window)
			case len(caps) > 0:
				setReceiveBuffer(raw, receiveBuffer(caps))
			}
			return nil
		},
	}
	conn, err := d.DialContext(ctx, "tcp", to.String())
	if err != nil {
		return nil, err
	}
	if window > 0 && len(c.caps(host)) == 0 {
		conn = newStill(conn)
	}
	l := c.newLink(conn, host)
	if exact && l.raw != nil {
		l.tap = c.cfg.Wire.open(newSocket(l.raw, packetHeader(to.Addr())), window, to.Addr(), host)
	}
	return l, nil
}

// packetHeader returns how many bytes the headers of a packet take, with the
// timestamps that TCP adds as a rule.
func packetHeader(a netip.Addr) int {
	if a.Is4() || a.Is4In6() {
		return 20 + 32
	}
	return 40 + 32
}

// exhausted says that the process or the system has no descriptors left.
func exhausted(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

func dialOutcome(err error) page.Outcome {
	var timeout net.Error
	switch {
	case errors.Is(err, errPrivate):
		return page.PrivateAddress
	case errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return page.ConnectTimeout
	}
	return page.ConnectFailed
}

// reasonOf drops the prefixes of a dialer's error that repeat what the reader knows.
func reasonOf(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}
	var sys *os.SyscallError
	if errors.As(err, &sys) {
		err = sys.Err
	}
	return err
}

// secure puts TLS on the connection. Certificates are verified; only HTTP/1.1
// is offered.
func (c *Client) secure(ctx context.Context, cn *Conn, name string) (page.Outcome, error) {
	cfg := c.tls.Clone()
	cfg.ServerName = name
	over := tls.Client(streamConn{cn.link, cn.stream}, cfg)
	direct := cn.stream == stream(cn.link)
	cn.link.tls, cn.link.sure = nil, 0 // what is in records within records is not known
	if direct && cn.link.tap != nil {
		cn.link.tls = new(records)
	}
	end := cn.link.begin(ctx, c.limits.Handshake)
	from := cn.link.read
	err := cn.link.ask(direct)
	if err == nil {
		err = over.Handshake()
	}
	switch {
	case err != nil:
	case cn.link.tls != nil:
		cn.link.met(cn.link.read-from, over.ConnectionState().Version)
	default:
		cn.link.settled(0)
	}
	switch alive := end(); {
	case !alive:
		return page.Aborted, errAborted
	case errors.Is(cn.link.cause, errSilent):
		return page.ConnectTimeout, errors.New("TLS: no answer in time")
	case err != nil:
		return page.TLSFailed, tlsReason(err)
	}
	cn.stream = over
	return page.OK, nil
}

func tlsReason(err error) error {
	var expired x509.CertificateInvalidError
	var plain tls.RecordHeaderError
	switch {
	case errors.As(err, &expired) && expired.Reason == x509.Expired:
		return errors.New("TLS: the certificate has expired or is not valid yet")
	case errors.As(err, &plain):
		return errors.New("TLS: the server does not speak it on this port")
	case ended(err), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return errors.New("TLS: the server closed the connection during the handshake")
	}
	return fmt.Errorf("TLS: %s", strings.TrimPrefix(strings.TrimPrefix(err.Error(), "tls: "), "failed to verify certificate: "))
}

// streamConn is a stream over a link, as the net.Conn that crypto/tls takes.
type streamConn struct {
	*link
	stream stream
}

func (s streamConn) Read(p []byte) (int, error)  { return s.stream.Read(p) }
func (s streamConn) Write(p []byte) (int, error) { return s.stream.Write(p) }
