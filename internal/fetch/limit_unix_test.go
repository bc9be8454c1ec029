//go:build unix

package fetch

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"weir/page"
)

// When descriptors run out it is our own failure: no site is blamed for it.
func TestNoDescriptors(t *testing.T) {
	p := serve(t, keeps())
	cfg := local()
	cfg.DNS = "127.0.0.1"
	c := newClient(t, cfg)
	u := p.url(t, "/")
	var lim unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &lim); err != nil {
		t.Fatal(err)
	}
	none := lim
	none.Cur = 0
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	cn, o := c.Open(t.Context(), u, p.addr.Addr())
	a := cn.Get(t.Context(), u, false)
	_, _, looked := c.Lookup(t.Context(), "site.test")
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &lim); err != nil {
		t.Fatal(err)
	}
	if o != page.Aborted || cn.Fault == nil || !strings.Contains(cn.Err, "ulimit -n") {
		t.Errorf("open: %v (%s), fault %v", o, cn.Err, cn.Fault)
	}
	if a.Outcome != page.Aborted || a.Fault == nil {
		t.Errorf("get: %v (%s), fault %v", a.Outcome, a.Err, a.Fault)
	}
	if looked != page.Aborted {
		t.Errorf("lookup: %v", looked)
	}
	again := get(t, cfg, serve(t, says(ok+"Content-Length: 2\r\n\r\nhi")), "/")
	if again.Outcome != page.OK {
		t.Errorf("with descriptors again: %v (%s)", again.Outcome, again.Err)
	}
}
