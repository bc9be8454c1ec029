package survey

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/internal/fetch"
	"weir/internal/node"
	"weir/internal/testweb"
	"weir/page"
)

// hangsUp takes connections at a loopback address, reads what is asked and closes
// them. It says how many there were.
func hangsUp(t *testing.T, address string) (port int, count func() int) {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	n, done := 0, make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			n++
			c.Read(make([]byte, 4096))
			c.Close()
		}
	}()
	count = func() int {
		l.Close()
		<-done
		return n
	}
	t.Cleanup(func() { count() })
	return l.Addr().(*net.TCPAddr).Port, count
}

func twoAddresses(t *testing.T) *surveyor {
	t.Helper()
	s, err := newSurveyor(context.Background(), Config{TempDir: t.TempDir(), Crawl: node.Config{
		Wait: wait, Conns: 8, PerServer: 4, Agent: "weir",
		Fetch: fetch.Config{Agent: "weir/test", AllowPrivate: true, Resolve: map[string][]netip.Addr{
			"two.test": {netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("127.0.0.2")},
		}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	return s
}

// A server that took a request and did not answer is not asked again at its other
// address; the host then rests as a crawl would let it.
func TestBrokenAnswer(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is one loopback address")
	}
	port, first := hangsUp(t, "127.0.0.1:0")
	_, second := hangsUp(t, fmt.Sprintf("127.0.0.2:%d", port))
	s := twoAddresses(t)
	a, o, err := s.ask(context.Background(), page.Canonical(fmt.Sprintf("http://two.test:%d/", port)))
	if a != nil || err == nil {
		t.Fatalf("%v, %v", o, err)
	}
	if n, m := first(), second(); n != 1 || m != 0 {
		t.Errorf("the first address was asked %d times, the second %d times", n, m)
	}
	if rest, least := s.host("two.test").rest, o.Rest(wait, 0, 1); rest < least || least <= wait {
		t.Errorf("after %v it rests %v, a crawl lets it rest %v", o, rest, least)
	}
}

// One that takes no connection may have another address that does.
func TestOtherAddress(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is one loopback address")
	}
	port, second := hangsUp(t, "127.0.0.2:0")
	s := twoAddresses(t)
	s.ask(context.Background(), page.Canonical(fmt.Sprintf("http://two.test:%d/", port)))
	if n := second(); n != 1 {
		t.Errorf("the second address was asked %d times", n)
	}
	port, _ = hangsUp(t, "127.0.0.3:0")
	_, o, _ := s.ask(context.Background(), page.Canonical(fmt.Sprintf("http://127.0.0.1:%d/", port)))
	if rest := s.host("127.0.0.1").rest; o != page.ConnectFailed || rest < time.Second {
		t.Errorf("after %v it rests %v", o, rest)
	}
}

// closed returns a port that nobody listens at.
func closed(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// brief ends soon, at any time: there is less left than any rest after a failure.
type brief struct{ context.Context }

func (brief) Deadline() (time.Time, bool) { return time.Now().Add(900 * time.Millisecond), true }

// A scheme that nobody asked us to try costs a host no rest, and who cannot be had
// is told why, however little time there is.
func TestTwoSchemes(t *testing.T) {
	web := start(t, testweb.Site{Name: "a.test", Pages: 5, Links: 2, Size: 1000})
	cfg := config(t, web)
	s, err := newSurveyor(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	ctx := brief{context.Background()}
	at := func(form string) page.URL { return page.Canonical(fmt.Sprintf(form, closed(t))) }
	answers := page.Canonical(web.URL(0))
	for _, c := range []struct {
		starts []page.URL
		want   string // of the error
	}{
		{[]page.URL{at("https://a.test:%d/"), answers}, ""},
		{[]page.URL{at("https://127.0.0.1:%d/"), at("http://127.0.0.1:%d/")}, "refused"},
		{[]page.URL{page.Canonical("https://none.test/"), page.Canonical("http://none.test/")}, "does not exist"},
	} {
		l := s.list(ctx, target{name: c.starts[0].Host(), starts: c.starts})
		if c.want == "" {
			if l.Start != answers || errors.Is(l.Err, errBusy) {
				t.Errorf("%+v", l)
			}
		} else if l.Err == nil || !strings.Contains(l.Err.Error(), c.want) {
			t.Errorf("%s: %v", c.starts[0], l.Err)
		}
	}
	polite(t, web)

	cfg.Time = time.Second
	for _, ignore := range []bool{false, true} {
		cfg.Crawl.IgnoreRobots = ignore
		hosts := []string{"none.test", fmt.Sprintf("127.0.0.1:%d", closed(t)), at("http://a.test:%d/").String()}
		got, err := Sample(context.Background(), cfg, hosts)
		for slices.ContainsFunc(got, func(e Estimate) bool { return errors.Is(e.Err, errLate) }) { // on a machine that stood still
			got, err = Sample(context.Background(), cfg, hosts)
		}
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []string{"does not exist", "refused", "refused"} {
			if e := got[i]; e.Err == nil || !strings.Contains(e.Err.Error(), want) {
				t.Errorf("%s: %v", e.Host, e.Err)
			}
		}
	}
}
