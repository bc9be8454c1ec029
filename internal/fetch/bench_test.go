//go:build unix

package fetch

import (
	"compress/gzip"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"weir/internal/cputime"
	"weir/page"
)

// BenchmarkGet is one page of 20 KB, on several connections at once: the CPU
// time of the client with its system calls. Only "gzip" reads the body after
// fetching it.
func BenchmarkGet(b *testing.B) {
	body := strings.Repeat("<p>All work and no play. ", 800)
	var zipped strings.Builder
	z := gzip.NewWriter(&zipped)
	for i := range 800 { // as well packed as pages are
		fmt.Fprintf(z, "<p>%x work and no play. ", i*i*7919)
	}
	z.Close()
	const html = ok + "Server: nginx\r\nDate: Sun, 01 Mar 2026 12:00:00 GMT\r\nContent-Type: text/html; charset=utf-8\r\n" +
		"Last-Modified: Sat, 28 Feb 2026 12:00:00 GMT\r\nConnection: keep-alive\r\nVary: Accept-Encoding\r\nETag: \"5e9c\"\r\n"
	length := fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", html, len(body), body)
	for _, bm := range []struct {
		name, answer string
		secure, last bool
	}{
		{name: "length", answer: length},
		{name: "odd", answer: fmt.Sprintf("%sX-Folded: a\r\n b\r\nContent-Length: %d\r\n\r\n%s", html, len(body), body)},
		{name: "chunked", answer: fmt.Sprintf("%sTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", html, len(body), body)},
		{name: "gzip", answer: fmt.Sprintf("%sContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", html, zipped.Len(), zipped.String())},
		{name: "tls", answer: length, secure: true},
		{name: "connect", answer: length, last: true},
		{name: "tls-connect", answer: length, secure: true, last: true},
	} {
		b.Run(bm.name, func(b *testing.B) {
			cfg, scheme, pair := local(), "http", ""
			if bm.secure {
				ca := newAuthority(b)
				cfg.Roots, scheme = ca.pool(), "https"
				pair = pemOf(b, ca.issue(b, time.Now().Add(time.Hour), "site.test"))
			}
			at := startPeer(b, bm.answer, pair, "")
			u := parse(b, fmt.Sprintf("%s://site.test:%d/", scheme, at.Port()))
			c := newClient(b, cfg)
			b.ReportAllocs()
			b.SetParallelism(16)
			start := cputime.Used()
			b.RunParallel(func(pb *testing.PB) {
				var cn *Conn
				for pb.Next() {
					if cn == nil || bm.last {
						var o page.Outcome
						if cn, o = c.Open(b.Context(), u, at.Addr()); o != page.OK {
							b.Error(o, cn.Err)
							return
						}
					}
					a := cn.Get(b.Context(), u, bm.last)
					if a.Outcome != page.OK {
						b.Error(a.Outcome, a.Err)
					}
					if bm.name == "gzip" {
						a.Decoded(0)
					}
					a.Release()
				}
				if cn != nil {
					cn.Close()
				}
			})
			b.ReportMetric(float64((cputime.Used()-start).Microseconds())/float64(b.N), "cpu-us/op")
		})
	}
}

// BenchmarkSlow opens thousands of connections to a server that gives 2 KB a
// second to each, and reads one page of 20 KB from each of them, which takes ten
// seconds. It reports the memory that one connection takes when half of its
// page is there, and the share of one core that all of them together take.
func BenchmarkSlow(b *testing.B) {
	conns := 5000
	var lim unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &lim); int(lim.Cur) < conns+200 {
		conns = int(lim.Cur) - 200
		b.Logf("only %d connections: the limit on descriptors is %d", conns, lim.Cur)
	}
	for _, bm := range []struct {
		name  string
		every time.Duration
		size  int
	}{
		{"2KB-1s", time.Second, 2000},
		{"200B-100ms", 100 * time.Millisecond, 200},
	} {
		b.Run(bm.name, func(b *testing.B) {
			body := strings.Repeat("<p>All work and no play. ", 800)
			answer := fmt.Sprintf(ok+"Content-Type: text/html\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
			at := startPeer(b, answer, "", fmt.Sprintf("%s %d", bm.every, bm.size))
			cfg := local()
			cfg.Memory = 256 << 20
			for b.Loop() {
				c := newClient(b, cfg)
				u := parse(b, fmt.Sprintf("http://site.test:%d/", at.Port()))
				before := inUse()
				var visits sync.WaitGroup
				all := make([]*Conn, conns)
				for i := range all {
					cn, o := c.Open(b.Context(), u, at.Addr())
					if o != page.OK {
						b.Fatal(o, cn.Err)
					}
					all[i] = cn
				}
				start, used := time.Now(), cputime.Used()
				for _, cn := range all {
					visits.Go(func() {
						defer cn.Close()
						a := cn.Get(b.Context(), u, true)
						if a.Outcome != page.OK {
							b.Error(a.Outcome, a.Err)
						}
						a.Release()
					})
				}
				for tick := time.Tick(20 * time.Millisecond); c.Meter().Bytes() < int64(conns*len(answer)/2); <-tick {
				}
				counting := cputime.Used()
				held := inUse() - before
				counting = cputime.Used() - counting
				buffers := cfg.Memory - free(c.memory)
				visits.Wait()
				b.ReportMetric(float64(held)/float64(conns), "heap+stack-B/conn")
				b.ReportMetric(float64(buffers)/float64(conns), "buffer-B/conn")
				b.ReportMetric(100*(cputime.Used()-used-counting).Seconds()/time.Since(start).Seconds(), "%core")
			}
		})
	}
}

// inUse is the memory of the heap and the stacks.
func inUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}

func free(b *budget) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.free
}
