package wirelab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestMain is also the program that TestProgram runs in a laboratory: it
// fetches one URL, with names from a DNS server.
func TestMain(m *testing.M) {
	if url := os.Getenv("WIRELAB_GET"); url != "" {
		net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "udp4", os.Getenv("WIRELAB_DNS"))
		}}
		res, err := http.Get(url)
		if err == nil {
			_, err = io.Copy(os.Stdout, res.Body)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// open starts a laboratory, or leaves the test out where none can be.
func open(t *testing.T, cfg Config) *Lab {
	t.Helper()
	if err := Usable(); err != nil {
		t.Skipf("this test opens a laboratory: %v", err)
	}
	l, err := Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func shut(t *testing.T, l *Lab) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

func get(t *testing.T, l *Lab, url string) (body []byte, took time.Duration) {
	t.Helper()
	tr := &http.Transport{DialContext: l.Dial, DisableKeepAlives: true}
	defer tr.CloseIdleConnections()
	begin := time.Now()
	res, err := (&http.Client{Transport: tr}).Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err = io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return body, time.Since(begin)
}

// A page comes whole, not sooner than the round trips and the rate of its
// server allow, and the laboratory has seen every byte of it.
func TestDownload(t *testing.T) {
	const size, rtt, rate = 150_000, 80 * time.Millisecond, 300_000
	l := open(t, Config{Web: small(Server{RTT: rtt, Rate: rate}, size)})
	defer shut(t, l)
	body, took := get(t, l, "http://10.77.1.10/p/0")
	if len(body) != size {
		t.Fatalf("got %d bytes of %d", len(body), size)
	}
	// Connecting takes a round trip, asking another, and the body its time on
	// the line but for what the line's last packets hold.
	if least := 2*rtt + time.Second*(size-3000)/rate; took < least {
		t.Errorf("took %v, which no such server can do in less than %v", took, least)
	}
	if took > 10*time.Second {
		t.Errorf("took %v", took)
	}
	flows := l.Flows()
	if len(flows) != 1 || flows[0].Bytes < size || flows[0].Server != 0 {
		t.Errorf("flows %+v", flows)
	}
	if first := flows[0]; first.Last-first.Began < 2*rtt {
		t.Errorf("data was there %v after the SYN", first.Last-first.Began)
	}
	if r := l.Requests(); len(r) != 1 || r[0].Page != 0 || r[0].Port != flows[0].Port {
		t.Errorf("requests %+v", r)
	}
}

// The kernel's counters and the log of packets are two views of the same wire.
func TestCountersAgree(t *testing.T) {
	l := open(t, Config{Web: small(Server{RTT: 10 * time.Millisecond}, 1_000_000)})
	defer shut(t, l)
	get(t, l, "http://10.77.1.10/p/0")
	// A packet is counted by the kernel a moment before or after it is
	// written down, so the two are compared when nothing moves.
	var s Sample
	var received, sent []Packet
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		var err error
		if s, err = l.Count(); err != nil {
			t.Fatal(err)
		}
		received, sent = l.Received(), l.Sent()
		if s.Received == Total(received) && s.Sent == Total(sent) {
			break
		}
		get(t, l, "http://10.77.1.10/robots.txt")
	}
	if got := Total(received); got != s.Received || int64(len(received)) != s.ReceivedPkts {
		t.Errorf("the log has %d bytes in %d packets received, the interface %d in %d", got, len(received), s.Received, s.ReceivedPkts)
	}
	if got := Total(sent); got != s.Sent || int64(len(sent)) != s.SentPkts {
		t.Errorf("the log has %d bytes in %d packets sent, the interface %d in %d", got, len(sent), s.Sent, s.SentPkts)
	}
	for _, p := range received {
		if p.Bytes > largestPacket {
			t.Fatalf("a packet of %d bytes is none of a wire", p.Bytes)
		}
	}
}

// Programs run inside, find the names and reach the servers, over TLS too.
func TestProgram(t *testing.T) {
	l := open(t, Config{Web: small(Server{RTT: 20 * time.Millisecond}, 5000)})
	defer shut(t, l)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, l.CA(), 0o644); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "WIRELAB_GET=https://host00.lab.test/p/0", "WIRELAB_DNS="+l.DNS(), "SSL_CERT_FILE="+ca)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := l.Start(cmd); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	if out.Len() != 5000 {
		t.Errorf("the program got %d bytes of 5000", out.Len())
	}
	r := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return l.Dial(ctx, "udp4", l.DNS())
	}}
	addrs, err := r.LookupHost(context.Background(), "host00.lab.test.")
	if err != nil || len(addrs) != 1 || addrs[0] != "10.77.1.10" {
		t.Errorf("host00.lab.test is %v, %v", addrs, err)
	}
	var missing *net.DNSError
	if _, err := r.LookupHost(context.Background(), "nobody.lab.test."); !errors.As(err, &missing) || !missing.IsNotFound {
		t.Errorf("a name that nobody has: %v", err)
	}
}

// A neighbour's download shares the link and is not counted as the client's.
func TestNeighbour(t *testing.T) {
	l := open(t, Config{Web: small(Server{RTT: 20 * time.Millisecond}, 200_000), Link: Link{Rate: 1e6}})
	defer shut(t, l)
	bulk, err := l.Pour()
	if err != nil {
		t.Fatal(err)
	}
	_, took := get(t, l, "http://10.77.1.10/p/0")
	got := bulk.Stop()
	if got == 0 {
		t.Error("the neighbour got nothing")
	}
	if Total(l.Neighbour()) < got {
		t.Errorf("the neighbour read %d bytes, but %d were seen", got, Total(l.Neighbour()))
	}
	if ours := Total(l.Received()); ours < 200_000 || ours > 400_000 {
		t.Errorf("the client is said to have received %d bytes for a page of 200,000", ours)
	}
	if took < 200*time.Millisecond {
		t.Errorf("200 KB came in %v over a link of 1 MB/s", took)
	}
}

// Two laboratories at once do not see each other, and nothing is left of
// either, not even when programs still run in it.
func TestGone(t *testing.T) {
	a := open(t, Config{Web: small(Server{RTT: 10 * time.Millisecond}, 5000)})
	b := open(t, Config{Web: small(Server{RTT: 10 * time.Millisecond}, 6000)})
	pageA, _ := get(t, a, "http://10.77.1.10/p/0")
	pageB, _ := get(t, b, "http://10.77.1.10/p/0")
	if len(pageA) != 5000 || len(pageB) != 6000 {
		t.Errorf("got %d and %d bytes", len(pageA), len(pageB))
	}
	names := map[string]bool{}
	for _, l := range []*Lab{a, b} {
		for _, r := range []*Room{l.client, l.neighbour, l.server} {
			name, err := os.Readlink(r.path())
			if err != nil {
				t.Fatal(err)
			}
			names[name] = true
		}
	}
	if len(names) != 6 {
		t.Errorf("two laboratories share a namespace: %v", names)
	}
	cmd := exec.Command("sleep", "1000")
	if err := a.Start(cmd); err != nil {
		t.Fatal(err)
	}
	shut(t, a)
	shut(t, b)
	if err := cmd.Wait(); err == nil {
		t.Error("a program outlived its laboratory")
	}
	tasks, err := filepath.Glob("/proc/self/task/*/ns/net")
	if err != nil || len(tasks) == 0 {
		t.Fatal(tasks, err)
	}
	for _, task := range tasks {
		name, err := os.Readlink(task)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		if names[name] {
			t.Errorf("%s still holds %s", task, name)
		}
	}
}

// BenchmarkLink moves 10 MB a second for a while; the CPU of the whole process, servers and
// a client included, is what matters.
func BenchmarkLink(b *testing.B) {
	if err := Usable(); err != nil {
		b.Skip(err)
	}
	w := small(Server{RTT: 40 * time.Millisecond, Rate: 10e6, Queue: 1 << 20}, 5_000_000)
	l, err := Start(Config{Web: w})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	b.SetBytes(5_000_000)
	for range b.N {
		tr := &http.Transport{DialContext: l.Dial, DisableKeepAlives: true}
		res, err := (&http.Client{Transport: tr}).Get("http://10.77.1.10/p/0")
		if err != nil {
			b.Fatal(err)
		}
		n, err := io.Copy(io.Discard, res.Body)
		res.Body.Close()
		if err != nil || n != 5_000_000 {
			b.Fatal(fmt.Errorf("%d bytes: %w", n, err))
		}
	}
}
