package fetch

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"weir/page"
)

func checkProxy(p *url.URL) error {
	if p == nil {
		return nil
	}
	switch p.Scheme {
	case "http", "https", "socks5":
	default:
		return fmt.Errorf("a proxy is http://, https:// or socks5://, not %q", p.Scheme)
	}
	if p.Hostname() == "" {
		return errors.New("the proxy's URL names no host")
	}
	password, _ := p.User.Password()
	if len(p.User.Username()) > 255 || len(password) > 255 {
		return errors.New("the proxy's user name and password have at most 255 bytes each")
	}
	return nil
}

// absolute says that a request for u goes to the proxy itself, with the whole
// URL in its first line.
func (c *Client) absolute(u page.URL) bool {
	return c.cfg.Proxy != nil && c.cfg.Proxy.Scheme != "socks5" && !u.Secure()
}

func (c *Client) proxyAuth() string {
	password, _ := c.cfg.Proxy.User.Password()
	return basic(c.cfg.Proxy.User.Username(), password)
}

// openProxy connects to the proxy and has it connect to the site of u, unless
// requests go to the proxy itself. The proxy is the user's own choice, so its
// address may be private.
func (c *Client) openProxy(ctx context.Context, cn *Conn, u page.URL) (page.Outcome, error) {
	fail := func(err error) (page.Outcome, error) {
		return page.ProxyFailed, fmt.Errorf("proxy %s: %w", c.cfg.Proxy.Host, err)
	}
	if err := c.dialProxy(ctx, cn); err != nil {
		return fail(err)
	}
	if c.cfg.Proxy.Scheme == "https" {
		if _, err := c.secure(ctx, cn, c.cfg.Proxy.Hostname()); err != nil {
			return fail(err)
		}
	}
	if c.absolute(u) {
		return page.OK, nil
	}
	end := cn.link.begin(ctx, c.limits.Handshake)
	var o page.Outcome
	var err error
	if c.cfg.Proxy.Scheme == "socks5" {
		o, err = socks(cn.stream, c.cfg.Proxy.User, u)
	} else {
		o, err = c.connect(cn.stream, u)
	}
	switch alive := end(); {
	case !alive:
		return page.Aborted, errAborted
	case err == nil:
		return page.OK, nil
	case cn.link.cause != nil:
		return fail(cn.link.cause)
	case o == page.ProxyFailed:
		return fail(err)
	}
	return o, err
}

// dialProxy tries the addresses of the proxy in turn.
func (c *Client) dialProxy(ctx context.Context, cn *Conn) error {
	port := map[string]string{"http": "80", "https": "443", "socks5": "1080"}[c.cfg.Proxy.Scheme]
	if p := c.cfg.Proxy.Port(); p != "" {
		port = p
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return fmt.Errorf("%q is no port", port)
	}
	addrs, _, o := c.names.lookup(ctx, c.cfg.Proxy.Hostname())
	if o != page.OK {
		return fmt.Errorf("its name: %s", o)
	}
	for _, a := range addrs {
		l, dialErr := c.dial(ctx, cn.host, netip.AddrPortFrom(a, uint16(number)), func(netip.Addr) bool { return false })
		if dialErr == nil {
			cn.link, cn.stream = l, l
			return nil
		}
		err = reasonOf(dialErr)
		if ctx.Err() != nil {
			break
		}
	}
	return err
}

// connect asks an HTTP proxy for a tunnel.
func (c *Client) connect(s stream, u page.URL) (page.Outcome, error) {
	target := u.Host() + ":" + u.Port()
	req := fmt.Appendf(nil, "CONNECT %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: %s\r\n", target, target, c.cfg.Agent)
	if c.cfg.Proxy.User != nil {
		req = fmt.Appendf(req, "Proxy-Authorization: %s\r\n", c.proxyAuth())
	}
	if _, err := s.Write(append(req, '\r', '\n')); err != nil {
		return page.ProxyFailed, err
	}
	head, err := readHead(s)
	if err != nil {
		return page.ProxyFailed, err
	}
	resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(head)), &http.Request{Method: "CONNECT"})
	if err != nil {
		return page.ProxyFailed, errors.New("its answer is not HTTP")
	}
	if resp.StatusCode/100 != 2 {
		return page.ProxyFailed, fmt.Errorf("it answered %d to CONNECT", resp.StatusCode)
	}
	return page.OK, nil
}

// readHead reads a header byte by byte, so that nothing behind it is touched.
func readHead(r io.Reader) (string, error) {
	var head []byte
	var b [1]byte
	for len(head) < 16<<10 {
		if _, err := io.ReadFull(r, b[:]); err != nil {
			return "", err
		}
		head = append(head, b[0])
		if b[0] == '\n' && (strings.HasSuffix(string(head[max(0, len(head)-4):]), "\r\n\r\n") || strings.HasSuffix(string(head[max(0, len(head)-2):]), "\n\n")) {
			return string(head), nil
		}
	}
	return "", errHeader
}

// socksReply are the refusals of RFC 1928 that speak of the target, not of the
// proxy.
var socksReply = map[byte]page.Outcome{
	3: page.ConnectFailed, 4: page.ConnectFailed, 5: page.ConnectFailed, 6: page.ConnectTimeout,
}

// socks asks a SOCKS5 proxy (RFC 1928, RFC 1929) for a connection. Names are
// the proxy's to look up.
func socks(s stream, user *url.Userinfo, u page.URL) (page.Outcome, error) {
	greeting := []byte{5, 1, 0}
	if user != nil {
		greeting = []byte{5, 2, 0, 2}
	}
	var b [255]byte
	if _, err := s.Write(greeting); err != nil {
		return page.ProxyFailed, err
	}
	if _, err := io.ReadFull(s, b[:2]); err != nil {
		return page.ProxyFailed, err
	}
	switch {
	case b[0] != 5:
		return page.ProxyFailed, errors.New("it does not speak SOCKS5")
	case b[1] == 2 && user != nil:
		password, _ := user.Password()
		auth := append([]byte{1, byte(len(user.Username()))}, user.Username()...)
		auth = append(append(auth, byte(len(password))), password...)
		if _, err := s.Write(auth); err != nil {
			return page.ProxyFailed, err
		}
		if _, err := io.ReadFull(s, b[:2]); err != nil {
			return page.ProxyFailed, err
		}
		if b[1] != 0 {
			return page.ProxyFailed, errors.New("it refused the user name or password")
		}
	case b[1] != 0:
		return page.ProxyFailed, errors.New("it offers no way to sign in that we know")
	}

	req := []byte{5, 1, 0}
	if a, ok := u.Addr(); ok && a.Is4() {
		req = append(append(req, 1), a.AsSlice()...)
	} else if ok {
		req = append(append(req, 4), a.AsSlice()...)
	} else {
		if len(u.Host()) > 255 {
			return page.DNSFailed, errors.New("the host's name is too long")
		}
		req = append(append(req, 3, byte(len(u.Host()))), u.Host()...)
	}
	port, _ := strconv.ParseUint(u.Port(), 10, 16)
	if _, err := s.Write(binary.BigEndian.AppendUint16(req, uint16(port))); err != nil {
		return page.ProxyFailed, err
	}
	if _, err := io.ReadFull(s, b[:4]); err != nil {
		return page.ProxyFailed, err
	}
	if b[1] != 0 {
		if o, ok := socksReply[b[1]]; ok {
			return o, fmt.Errorf("the proxy could not connect (SOCKS5 reply %d)", b[1])
		}
		return page.ProxyFailed, fmt.Errorf("it refused to connect (SOCKS5 reply %d)", b[1])
	}
	size := 0 // of the address it bound, which is of no use to us
	switch b[3] {
	case 1:
		size = 4
	case 4:
		size = 16
	case 3:
		if _, err := io.ReadFull(s, b[:1]); err != nil {
			return page.ProxyFailed, err
		}
		size = int(b[0])
	default:
		return page.ProxyFailed, errors.New("its answer is not SOCKS5")
	}
	if _, err := io.ReadFull(s, b[:size]); err != nil {
		return page.ProxyFailed, err
	}
	if _, err := io.ReadFull(s, b[:2]); err != nil {
		return page.ProxyFailed, err
	}
	return page.OK, nil
}
