package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"weir/overlay"
)

// guest is a node that has got as far as its lobby.
type guest struct {
	*host
	lobby *lobby
	warn  warnings
	said  chan string
}

// salon makes guests that trust one another.
type salon struct {
	t   *testing.T
	ca  string
	ctx context.Context
}

func newSalon(t *testing.T) *salon {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return &salon{t, authority(t), ctx}
}

func (s *salon) guest(name string, tune func(*Config), join ...string) *guest {
	s.t.Helper()
	g := &guest{said: make(chan string, 100)}
	dir := filepath.Join(s.ca, name)
	if _, err := Issue(s.ca, name, []string{"127.0.0.1"}); err != nil && !strings.Contains(err.Error(), "exists") {
		s.t.Fatal(err)
	}
	cfg := Config{Name: name, Dir: s.t.TempDir(), Certs: dir, Join: join, Storage: true, Now: now, Tell: func(overlay.Event) {}, Warn: g.warn.add,
		Log: func(s string) {
			select {
			case g.said <- s:
			default:
			}
		}}
	if tune != nil {
		tune(&cfg)
	}
	cfg, err := cfg.filled()
	if err != nil {
		s.t.Fatal(err)
	}
	c, err := loadCerts(dir, name, cfg.clock)
	if err != nil {
		s.t.Fatal(err)
	}
	id, err := loadIdentity(cfg.Dir, name, cfg.Storage)
	if err != nil {
		s.t.Fatal(err)
	}
	g.host = newHost(cfg, c, id)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.lobby, err = openLobby("127.0.0.1:0", c, cfg.clock, g.warn.add, g.serve)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(g.lobby.close)
	g.self = place{Name: name, Node: id.Node, Lobby: g.lobby.ln.Addr().String(), Routes: "127.0.0.1:1", Storage: cfg.Storage, Protocol: cfg.Version}
	return g
}

func (s *salon) gather(guests ...*guest) []error {
	errs := make([]error, len(guests))
	var wg sync.WaitGroup
	for i, g := range guests {
		wg.Go(func() { errs[i] = g.gather(s.ctx) })
	}
	wg.Wait()
	return errs
}

// tardy reports whether a node says of others that they have not answered in time. On a
// machine that stands still for seconds anybody may.
func tardy(text string) bool {
	return strings.Contains(text, brief(&LateError{})) || strings.Contains(text, ErrHungUp.Error())
}

// tries does a few times what takes one greeting, which may be late.
func tries(ok func() bool) bool {
	for range 5 {
		if ok() {
			return true
		}
	}
	return false
}

// callAgain calls until there is an answer in time.
func callAgain(ctx context.Context, addr string, c *certs, r *request) (a *answer, err error) {
	tries(func() bool {
		a, err = call(ctx, addr, c, maxHello, r)
		return err == nil || !tardy(brief(err))
	})
	return a, err
}

func TestNodesFoundOneClusterHoweverTheyMeet(t *testing.T) {
	for _, n := range []int{3, 5} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			s := newSalon(t)
			// The first knows nobody, each other one only the one before.
			guests := []*guest{s.guest("n0", nil)}
			for i := 1; i < n; i++ {
				guests = append(guests, s.guest(fmt.Sprintf("n%d", i), nil, guests[i-1].self.Lobby))
			}
			guests = append(guests, s.guest("idle", func(c *Config) { c.Storage = false }, guests[n-1].self.Lobby))
			for i, err := range s.gather(guests...) {
				if err != nil {
					t.Fatalf("%s: %v", guests[i].self.Name, err)
				}
			}
			for _, g := range guests {
				if g.id.Cluster == "" || g.id.Cluster != guests[0].id.Cluster || g.id.Secret != guests[0].id.Secret {
					t.Errorf("%s is in cluster %q, n0 in %q", g.self.Name, g.id.Cluster, guests[0].id.Cluster)
				}
				again, err := loadIdentity(g.cfg.Dir, g.self.Name, g.self.Storage)
				if err != nil || again.Cluster != g.id.Cluster || again.Promised != nil {
					t.Errorf("%s has kept %+v: %v", g.self.Name, again, err)
				}
			}
		})
	}
}

func TestTwoNodesAreRefused(t *testing.T) {
	for expect, want := range map[int]string{1: "3, 5 or 7", 2: "two nodes cannot be a cluster", 4: "3, 5 or 7"} {
		_, err := Open(context.Background(), Config{Name: "a", Dir: "d", Certs: "c", Now: now, Tell: func(overlay.Event) {}, Expect: expect})
		if err == nil || !strings.Contains(err.Error(), want) || (expect == 2) != errors.Is(err, ErrTwo) {
			t.Errorf("%d nodes: %v", expect, err)
		}
	}
}

func TestOneAloneSaysForWhomItWaits(t *testing.T) {
	s := newSalon(t)
	down := freePort(t)
	a := s.guest("a", nil, down)
	ctx, cancel := context.WithCancel(s.ctx)
	done := make(chan error)
	go func() { done <- a.gather(ctx) }()
	var said string
	tries(func() bool { said = <-a.said; return !tardy(said) })
	for _, want := range []string{"waiting for 2 more of 3", down, "refused"} {
		if !strings.Contains(said, want) {
			t.Errorf("it says %q and not %q", said, want)
		}
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "waiting for 2 more") {
		t.Errorf("in the end: %v", err)
	}
	// The first of all knows nobody to ask, but what the others are to do.
	first := s.guest("first", nil)
	if _, said, err := first.round(s.ctx); err != nil || !strings.Contains(said, "start them with --join "+first.self.Lobby) {
		t.Errorf("the first one says %q, %v", said, err)
	}
}

// Who finds one of the addresses that it was given hears, once, which others do not answer.
func TestAddressThatIsDownIsNamed(t *testing.T) {
	s := newSalon(t)
	a := s.guest("a", nil)
	b := s.guest("b", nil, a.self.Lobby)
	c := s.guest("c", nil, a.self.Lobby)
	if err := errors.Join(s.gather(a, b, c)...); err != nil {
		t.Fatal(err)
	}
	down := freePort(t)
	says := func(name string, join ...string) (all []string) {
		for again := true; again; again = slices.ContainsFunc(all, tardy) {
			g := s.guest(name, nil, join...)
			if err := g.gather(s.ctx); err != nil {
				t.Fatal(err)
			}
			for all = nil; len(g.said) > 0; {
				all = append(all, <-g.said)
			}
		}
		return all
	}
	want := fmt.Sprintf("joining by %s; of the addresses to join at, %s does not answer (connection refused)", a.self.Lobby, down)
	if got := says("d", down, a.self.Lobby); !slices.Equal(got, []string{want}) {
		t.Errorf("d says %q and not %q", got, want)
	}
	if got := says("e", a.self.Lobby); got != nil {
		t.Errorf("e says %q", got)
	}
}

// A node comes back, and a new one joins, though the certificate of one of the others has
// expired, unless there is nobody else: then its own clock may be wrong.
func TestExpiredNodeKeepsNobodyOut(t *testing.T) {
	s := newSalon(t)
	if _, err := issue(s.ca, "c", []string{"127.0.0.1"}, time.Now(), time.Hour); err != nil {
		t.Fatal(err)
	}
	var later atomic.Int64
	a := s.guest("a", nil)
	late := func(c *Config) {
		c.clock = func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
	}
	b := s.guest("b", late, a.self.Lobby)
	c := s.guest("c", nil, a.self.Lobby)
	if err := errors.Join(s.gather(a, b, c)...); err != nil {
		t.Fatal(err)
	}
	later.Store(int64(2 * time.Hour))
	var err error
	enters := func() bool {
		err = b.enter(s.ctx)
		return err == nil && b.warn.any(faultOf(CertExpired))
	}
	if !tries(enters) {
		t.Errorf("b: %v, and is warned of %v", err, b.warn.all)
	}
	whose := func(err error) bool {
		var e *CertError
		return errors.As(err, &e) && e.Fault == CertExpired && e.Whose == c.self.Lobby
	}
	var d *guest
	joins := func() bool {
		d = s.guest("d", late, c.self.Lobby, a.self.Lobby)
		err = d.gather(s.ctx)
		return err == nil && d.id.Cluster == a.id.Cluster && len(d.warn.all) == 1 && d.warn.any(whose)
	}
	if !tries(joins) {
		t.Errorf("d: %v, and is warned of %v", err, d.warn.all)
	}
	e := s.guest("e", late, c.self.Lobby)
	if err := e.gather(s.ctx); !whose(err) {
		t.Errorf("e, which finds only c: %v", err)
	}
	f := s.guest("f", late, c.self.Lobby, s.guest("g", nil).self.Lobby) // neither is in a cluster
	var wait string
	waits := func() bool {
		_, wait, err = f.round(s.ctx)
		return err == nil && strings.Contains(wait, "; here are f, g; the certificate of "+c.self.Lobby+" expired on ") && !strings.Contains(wait, hereItIs) && len(f.warn.all) == 1
	}
	for range 2 {
		if !tries(waits) {
			t.Errorf("f waits: %q, %v, and is warned of %v", wait, err, f.warn.all)
		}
	}
	a.lobby.close()
	if !tries(func() bool { err = b.enter(s.ctx); return faultOf(CertExpired)(err) }) {
		t.Errorf("b, which finds only c: %v", err)
	}
}

func TestFoundersMustAgreeOnTheirNumber(t *testing.T) {
	s := newSalon(t)
	a := s.guest("a", nil)
	b := s.guest("b", func(c *Config) { c.Expect = 5 }, a.self.Lobby)
	if err := b.gather(s.ctx); !refusedFor(OtherExpect)(err) {
		t.Errorf("b: %v", err)
	}
	if !a.warn.any(refusedFor(OtherExpect)) {
		t.Error("a is not told")
	}
}

func TestTwoFreshNodesOfOneName(t *testing.T) {
	s := newSalon(t)
	a := s.guest("a", nil)
	b := s.guest("b", nil, a.self.Lobby)
	b2 := s.guest("b", nil, a.self.Lobby)
	met := func() bool {
		_, wait, err := b.round(s.ctx)
		if err != nil {
			t.Fatal(err)
		}
		return !tardy(wait)
	}
	if !tries(met) {
		t.Fatal("b does not meet a")
	}
	if err := b2.gather(s.ctx); !refusedFor(NameTaken)(err) || !strings.Contains(err.Error(), b.self.Lobby) {
		t.Errorf("the second b: %v", err)
	}
	if !a.warn.any(refusedFor(NameTaken)) {
		t.Error("a is not told")
	}
}

func TestNodeIsWhatItsCertificateSays(t *testing.T) {
	s := newSalon(t)
	a := s.guest("a", nil)
	b := s.guest("b", nil, a.self.Lobby)
	b.self.Name = "c"
	if err := b.gather(s.ctx); !refusedFor(NotItself)(err) {
		t.Errorf("b as c: %v", err)
	}
}

// A node that gave its word to a proposal takes part in no other one until it
// knows that the first has failed.
func TestWordIsKept(t *testing.T) {
	s := newSalon(t)
	b := s.guest("b", nil)
	c := s.guest("c", nil, b.self.Lobby)
	d := s.guest("d", nil, b.self.Lobby, c.self.Lobby)
	a := s.guest("a", nil, b.self.Lobby)
	p := &proposal{Cluster: draw(8), Secret: draw(16), By: "a", Members: []place{a.self, b.self, c.self}}
	ask := func(p *proposal, to *guest) *answer {
		t.Helper()
		r, err := callAgain(s.ctx, to.self.Lobby, a.certs, &request{Hello: a.hello(), Vote: p})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r := ask(p, b); r.Refused != nil || r.Proposal != p.Cluster {
		t.Fatalf("%+v", r)
	}
	other := &proposal{Cluster: draw(8), Secret: draw(16), By: "a", Members: []place{a.self, b.self, d.self}}
	if r := ask(other, b); r.Refused == nil || r.Refused.Why != Busy {
		t.Errorf("b gave its word twice: %+v", r)
	}
	kept, err := loadIdentity(b.cfg.Dir, "b", true)
	if err != nil || kept.Promised == nil || kept.Promised.Cluster != p.Cluster {
		t.Errorf("after a crash b would not know of its word: %+v, %v", kept, err)
	}
	// b, c and d are enough for another cluster. Two rounds of each let them meet.
	for range 2 {
		for _, g := range []*guest{b, c, d} {
			if done, _, err := g.round(s.ctx); done || err != nil {
				t.Fatalf("%s founds a cluster without a: %v", g.self.Name, err)
			}
		}
	}
	// a is there again and knows nothing of its proposal: so it never came to be.
	for i, err := range s.gather(a, b, c, d) {
		if err != nil {
			t.Fatal(i, err)
		}
	}
	for _, g := range []*guest{b, c, d} {
		if g.id.Cluster != a.id.Cluster || g.id.Cluster == p.Cluster {
			t.Errorf("%s is in %s, a in %s", g.self.Name, g.id.Cluster, a.id.Cluster)
		}
	}
}

func TestFolderOfAnotherNode(t *testing.T) {
	dir := t.TempDir()
	id := &identity{Node: draw(8), Name: "a", Cluster: draw(8), Secret: draw(16), Storage: true}
	if err := id.save(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := loadIdentity(dir, "b", true); err == nil || !strings.Contains(err.Error(), "belongs to node a") {
		t.Errorf("%v", err)
	}
	if _, err := loadIdentity(dir, "a", false); err == nil || !strings.Contains(err.Error(), "storage") {
		t.Errorf("%v", err)
	}
	id.Secret = "12"
	if err := id.save(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := loadIdentity(dir, "a", true); err == nil {
		t.Error("half a secret was taken")
	}
	// Until it belongs to a cluster nobody knows it by its name.
	id.Cluster, id.Secret = "", ""
	if err := id.save(dir); err != nil {
		t.Fatal(err)
	}
	if got, err := loadIdentity(dir, "b", true); err != nil || got.Name != "b" || got.Node != id.Node {
		t.Errorf("a name that was mistyped cannot be changed: %+v, %v", got, err)
	}
}

// version is what a node knows of another one's, 0 if it does not know it at all.
func (g *guest) version(name string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, p := range g.id.Peers {
		if p.Name == name {
			return p.Protocol
		}
	}
	return 0
}

// Who greets a node is known to it once it has joined, also before there are sessions,
// and as what it is by now; so it is to whoever asks that one.
func TestWhoGreetsIsKnownOnceItIsHere(t *testing.T) {
	t.Parallel()
	s := newSalon(t)
	a := s.guest("a", nil)
	b := s.guest("b", nil, a.self.Lobby)
	c := s.guest("c", nil, a.self.Lobby)
	if err := errors.Join(s.gather(a, b, c)...); err != nil {
		t.Fatal(err)
	}
	before := func(c *Config) { c.Version = version - 1 }
	d := s.guest("d", before, a.self.Lobby)
	if err := d.gather(s.ctx); err != nil {
		t.Fatal(err)
	}
	if a.settle(nil); a.version("d") != 0 {
		t.Error("a knows d before its server is there")
	}
	// One that did not get further may come with another folder.
	if err := s.guest("d", before, a.self.Lobby).gather(s.ctx); err != nil {
		t.Errorf("d with another folder: %v", err)
	}
	greets := func() {
		t.Helper()
		heard := func() bool {
			if err := d.enter(s.ctx); err != nil {
				t.Fatal(err)
			}
			a.mu.Lock()
			defer a.mu.Unlock()
			return a.guests["d"] == d.self
		}
		if !tries(heard) {
			t.Fatal("a does not hear d")
		}
	}
	asks := func(g *guest, want int) {
		t.Helper()
		if !tries(func() bool { g.acquaint(s.ctx); return g.version("d") == want }) {
			t.Errorf("%s has d at version %d, not %d", g.self.Name, g.version("d"), want)
		}
	}
	greets()
	asks(b, version-1)
	a.settle(map[string]bool{"d": true})
	if got := a.version("d"); got != version-1 {
		t.Errorf("a has d at version %d", got)
	}
	for _, g := range []*guest{a, b} {
		again, err := loadIdentity(g.cfg.Dir, g.self.Name, true)
		if err != nil || !slices.Contains(again.Peers, d.self) {
			t.Errorf("%s has kept %+v: %v", g.self.Name, again, err)
		}
	}

	// It is upgraded: a hears of it, and the others ask.
	d.mu.Lock()
	d.self.Protocol = version
	d.mu.Unlock()
	greets()
	a.settle(map[string]bool{"d": true})
	if got := a.version("d"); got != version {
		t.Errorf("a has d at version %d after the upgrade", got)
	}
	asks(b, version)
	asks(c, version)
}

// What went wrong with a call is said in few words.
func TestBrief(t *testing.T) {
	reset := &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
	for _, c := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("ask x: %w", hungUp(reset)), ErrHungUp.Error()},
		{fmt.Errorf("ask x: %w", hungUp(io.EOF)), ErrHungUp.Error()},
		{&net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}, "connection refused"},
		{&LateError{Addr: "x:1"}, "no answer in time"},
	} {
		if got := brief(c.err); got != c.want {
			t.Errorf("%q is said of %v", got, c.err)
		}
	}
}
