package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"weir/overlay"
	"weir/page"
)

// warnings collects what a node warns of.
type warnings struct {
	mu  sync.Mutex
	all []error
}

func (w *warnings) add(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, err)
}

func (w *warnings) any(is func(error) bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.all, is)
}

func refusedFor(why Reason) func(error) bool {
	return func(err error) bool {
		var r *Refused
		return errors.As(err, &r) && r.Why == why
	}
}

func faultOf(f CertFault) func(error) bool {
	return func(err error) bool {
		var c *CertError
		return errors.As(err, &c) && c.Fault == f
	}
}

// connects says whether a server answers one that connects as servers do.
func connects(t *testing.T, addr string, c *certs) bool {
	t.Helper()
	conn, err := tls.Dial("tcp", addr, c.conf)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(patience))
	fmt.Fprint(conn, "CONNECT {\"verbose\":false,\"tls_required\":true,\"name\":\"x\",\"cluster\":\"other\"}\r\nPING\r\n")
	b, _ := io.ReadAll(conn) // it ends: the cluster's name is wrong
	if !strings.HasPrefix(string(b), "INFO") {
		t.Errorf("it says %.200q", b)
	}
	return !strings.Contains(string(b), "Authorization")
}

// open starts a node and keeps its session.
func (w *world) open(cfg Config) *Node {
	w.t.Helper()
	n, err := Open(w.ctx, cfg)
	if err != nil {
		w.t.Fatalf("%s: %v", cfg.Name, err)
	}
	w.keep(n)
	return n
}

// keep renews the session of a node, and begins another when that has run out: it does
// when the machine stands still.
func (w *world) keep(n *Node) {
	ctx, stop := context.WithCancel(w.ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		session, last := uint64(1), uint64(0)
		for {
			if end := ended(n); end > last && !w.stubborn.Load() {
				session, last = session+1, end
			}
			n.Do(overlay.Renew{Peer: overlay.Peer{Name: n.cfg.Name, Session: session}})
			if !pause(ctx, 500*time.Millisecond) {
				return
			}
		}
	}()
	w.t.Cleanup(func() {
		stop()
		<-done
		n.kill()
	})
}

// ended is the revision that has ended a node's own session; 0: it has one, or had none.
func ended(n *Node) uint64 {
	m := n.members
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.known[n.cfg.Name]; ok || m.begun != nil {
		return 0
	}
	return m.ages[n.cfg.Name].revision
}

// three starts a, b and c together.
func (w *world) three(warn map[string]*warnings) map[string]*Node {
	w.t.Helper()
	return w.together(warn, "a", "b", "c")
}

// together starts nodes that wait for one another.
func (w *world) together(warn map[string]*warnings, names ...string) map[string]*Node {
	w.t.Helper()
	var (
		mu  sync.Mutex
		wg  sync.WaitGroup
		out = map[string]*Node{}
	)
	for _, name := range names {
		cfg := w.config(name)
		if warn != nil {
			warn[name] = new(warnings)
			cfg.Warn = warn[name].add
		}
		wg.Go(func() {
			n, err := Open(w.ctx, cfg)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				w.t.Errorf("%s: %v", name, err)
				return
			}
			out[name] = n
		})
	}
	wg.Wait()
	for _, n := range out {
		w.keep(n)
	}
	if w.t.Failed() {
		w.t.FailNow()
	}
	return out
}

func TestCluster(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	warn := map[string]*warnings{}
	nodes := w.three(warn)
	a, b, c := nodes["a"], nodes["b"], nodes["c"]

	if a.Secret() != b.Secret() || b.Secret() != c.Secret() || a.Secret() == [16]byte{} {
		t.Error("the nodes do not share a secret")
	}
	if a.Cluster() != b.Cluster() || a.Cluster() == "" {
		t.Error("the nodes do not share an identity")
	}

	submit := func(n *Node, name, body string) error {
		return w.agreed(func() error { return n.Submit(w.ctx, name, []byte(body)) })
	}
	remove := func(n *Node, name string) error {
		return w.agreed(func() error { return n.Remove(w.ctx, name) })
	}
	t.Run("crawls reach all and those who come later", func(t *testing.T) {
		if err := submit(a, "news", "seeds: 1"); err != nil {
			t.Fatal(err)
		}
		if err := submit(b, "news", "seeds: 1"); err != nil {
			t.Errorf("the same again: %v", err)
		}
		if err := submit(b, "news", "seeds: 2"); !errors.Is(err, ErrExists) {
			t.Errorf("another crawl of that name: %v", err)
		}
		if err := submit(b, "more", "seeds: 2"); !errors.Is(err, ErrExists) {
			t.Errorf("another crawl beside it: %v", err)
		}
		heard := make(chan Spec, 10)
		stop := c.Watch(func(s Spec) { heard <- s })
		defer stop()
		if s := <-heard; s.Name != "news" || string(s.Body) != "seeds: 1" {
			t.Errorf("c hears of %+v", s)
		}

		cfg := w.config("d")
		cfg.Storage = false
		cfg.Join = []string{a.Addr()}
		d := w.open(cfg)
		w.Until("d, without storage, knows the crawl", func() bool { return len(d.Specs()) == 1 && string(d.Specs()[0].Body) == "seeds: 1" })
		if d.Secret() != a.Secret() {
			t.Error("d has another secret")
		}
		if err := remove(d, "news"); err != nil {
			t.Fatal(err)
		}
		if s := <-heard; s.Name != "news" || s.Body != nil {
			t.Errorf("c hears of %+v", s)
		}
		w.Until("all know that it is gone", func() bool { return len(a.Specs())+len(b.Specs())+len(d.Specs()) == 0 })
		d.Close()
	})

	t.Run("of crawls that come at once one is kept", func(t *testing.T) {
		const many = 8
		errs := make(chan error, many)
		for i := range many {
			n := []*Node{a, b, c}[i%3]
			go func() { errs <- submit(n, fmt.Sprint("crawl", i), "x") }()
		}
		kept := 0
		for range many {
			if err := <-errs; err == nil {
				kept++
			} else if !errors.Is(err, ErrExists) {
				t.Error(err)
			}
		}
		var (
			last Spec
			ok   bool
		)
		err := w.agreed(func() (err error) {
			last, ok, err = a.Newest(w.ctx)
			return err
		})
		if kept != 1 || !ok || err != nil {
			t.Errorf("%d are kept; %v", kept, err)
		} else if err := remove(b, last.Name); err != nil {
			t.Error(err)
		}
	})

	t.Run("nothing is written when the time is up", func(t *testing.T) {
		late, cancel := context.WithCancel(w.ctx)
		cancel()
		post := []overlay.Post{{Part: 3, Records: []overlay.Record{overlay.Tuples{}}}}
		count := func() (n uint64) {
			err := w.agreed(func() error {
				ctx, cancel := context.WithTimeout(w.ctx, requestTime)
				defer cancel()
				info, err := a.streams[logStream(overlay.LogOf(3))].Info(ctx)
				if err == nil {
					n = info.State.LastSeq
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		had := count()
		if err := a.Write(late, post); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		tries := uint64(0)
		err := w.agreed(func() error {
			tries++
			return a.Write(w.ctx, post)
		})
		if err != nil {
			t.Fatal(err)
		}
		if n := count() - had; n < 1 || n > tries { // behind what was sent before, if anything was
			t.Errorf("%d messages, written %d times", n, tries)
		}
	})

	t.Run("questions of one topic leave room for others", func(t *testing.T) {
		begun, end := make(chan struct{}, 100), make(chan struct{})
		c.AnswerInTurn("slow", func(context.Context, []byte) ([]byte, error) {
			begun <- struct{}{}
			<-end
			return []byte("here"), nil
		})
		c.Answer("quick", func(context.Context, []byte) ([]byte, error) { return []byte("yes"), nil })
		var wg sync.WaitGroup
		for range cap(begun) {
			wg.Go(func() {
				if got, err := a.Ask(w.ctx, "c", "slow", nil); err != nil || string(got) != "here" {
					t.Errorf("%q, %v", got, err)
				}
			})
		}
		for range maxInTurn {
			<-begun
		}
		if got, err := a.Ask(w.ctx, "c", "quick", nil); err != nil || string(got) != "yes" {
			t.Errorf("%q, %v", got, err)
		}
		if n := len(begun); n != 0 {
			t.Errorf("%d more at once", n)
		}
		close(end)
		wg.Wait()
	})

	t.Run("questions are answered", func(t *testing.T) {
		c.Answer("greet", func(_ context.Context, b []byte) ([]byte, error) { return append([]byte("hello "), b...), nil })
		c.Answer("fail", func(context.Context, []byte) ([]byte, error) { return nil, errors.New("not today\nnor tomorrow") })
		if got, err := a.Ask(w.ctx, "c", "greet", []byte("a")); err != nil || string(got) != "hello a" {
			t.Errorf("%q, %v", got, err)
		}
		if _, err := a.Ask(w.ctx, "c", "fail", nil); err == nil || !strings.Contains(err.Error(), "not today") {
			t.Errorf("%v", err)
		}
		for _, who := range []string{"nobody", "b"} {
			if _, err := a.Ask(w.ctx, who, "greet", nil); err == nil || !strings.Contains(err.Error(), ErrSilent.Error()) {
				t.Errorf("asking %s: %v", who, err)
			}
		}
		dir, err := Issue(filepath.Join(w.dir, "ca"), "operator", nil)
		if err != nil {
			t.Fatal(err)
		}
		cl, err := Dial(a.Addr(), dir)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := cl.Ask(w.ctx, "c", "greet", []byte("you")); err != nil || string(got) != "hello you" {
			t.Errorf("from outside: %q, %v", got, err)
		}
		if _, err := cl.Ask(w.ctx, "", "greet", nil); err == nil {
			t.Error("a answers what only c knows")
		}
		big := make([]byte, 5<<20)
		if got, err := cl.Ask(w.ctx, "c", "greet", big); err != nil || len(got) != len(big)+6 {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	})

	t.Run("who does not belong is refused, and both sides know", func(t *testing.T) {
		w.Until("a knows that b lives", func() bool {
			_, ok := a.members.live("b")
			return ok
		})
		for _, x := range []struct {
			name string
			why  Reason
			tune func(*Config)
		}{
			{"b2", NameTaken, func(c *Config) { c.Name, c.Certs = "b", filepath.Join(w.dir, "ca", "b") }},
			{"v", OtherVersion, func(c *Config) { c.Version, c.Least = version+2, version+1 }},
			{"x", OtherCluster, func(c *Config) {
				id := &identity{Node: draw(8), Name: "x", Cluster: draw(8), Secret: draw(16), Storage: true}
				if err := errors.Join(os.MkdirAll(c.Dir, 0o700), id.save(c.Dir)); err != nil {
					t.Fatal(err)
				}
			}},
		} {
			cfg := w.config(x.name)
			cfg.Join = []string{a.Addr()}
			x.tune(&cfg)
			var err error
			tries(func() bool {
				ctx, cancel := context.WithTimeout(w.ctx, time.Minute)
				defer cancel()
				_, err = Open(ctx, cfg)
				return !errors.Is(err, context.DeadlineExceeded) // x has a cluster, and asks others but once whether it is theirs
			})
			if !refusedFor(x.why)(err) {
				t.Errorf("%s: %v", x.name, err)
			}
			if !warn["a"].any(refusedFor(x.why)) {
				t.Errorf("a does not know that it refused %s", x.name)
			}
		}
	})

	t.Run("a person is not taken for a node", func(t *testing.T) {
		ca := filepath.Join(w.dir, "ca")
		dir, err := Issue(ca, "someone", nil)
		if err != nil {
			t.Fatal(err)
		}
		cfg := w.config("someone")
		cfg.Join = []string{a.Addr()}
		if _, err := Open(w.ctx, cfg); !faultOf(CertPerson)(err) {
			t.Errorf("a node with a person's certificate: %v", err)
		}
		// A program that does not ask itself is asked.
		person, err := loadCerts(dir, "", time.Now)
		if err != nil {
			t.Fatal(err)
		}
		me := hello{place: place{Name: "someone", Node: draw(8), Lobby: "127.0.0.1:1"}, Version: version, Least: least}
		got, err := callAgain(w.ctx, a.Addr(), person, &request{Hello: me})
		if err != nil || got.Refused == nil || got.Refused.Why != NotItself || got.Secret != "" {
			t.Errorf("the lobby answers %+v, %v", got, err)
		}
		if !warn["a"].any(refusedFor(NotItself)) {
			t.Error("a does not know of it")
		}
		for who, certs := range map[string]*certs{"a person": person, "a node": b.host.certs} {
			if got := connects(t, a.host.self.Routes, certs); got != (who == "a node") {
				t.Errorf("%s is taken for a server: %v", who, got)
			}
		}
	})

	t.Run("a folder is one process's", func(t *testing.T) {
		cfg := w.config("a")
		cfg.Listen = "127.0.0.1:0"
		if _, err := Open(w.ctx, cfg); !errors.Is(err, ErrInUse) {
			t.Errorf("a second node in the folder of a: %v", err)
		}
	})

	t.Run("the servers' port is told from the node's", func(t *testing.T) {
		cfg := w.config("lost")
		cfg.Join = []string{a.host.self.Routes}
		if _, err := Open(w.ctx, cfg); !errors.As(err, new(*PortError)) {
			t.Errorf("%v", err)
		}
		dir, err := Issue(filepath.Join(w.dir, "ca"), "asker", nil)
		if err != nil {
			t.Fatal(err)
		}
		cl, err := Dial(a.host.self.Routes, dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := cl.Ask(w.ctx, "", "greet", nil); !errors.As(err, new(*PortError)) {
			t.Errorf("a question: %v", err)
		}
	})

	t.Run("a later version that understands this one is let in", func(t *testing.T) {
		cfg := w.config("v2")
		cfg.Storage = false
		cfg.Join = []string{b.Addr()}
		cfg.Version, cfg.Least = 9, least
		w.open(cfg).Close()
	})

	t.Run("status", func(t *testing.T) {
		w.Until("all see all", func() bool { return len(a.members.all()) >= 3 })
		var s Status
		w.Until("a knows who leads, that three live, and how far b is", func() bool {
			a.health.clocks(w.ctx)
			s = a.Status()
			alive, far := 0, time.Duration(0)
			for _, p := range s.Peers {
				if p.Alive && p.Connected && p.Storage && p.Version == version {
					alive++
				}
				if p.Name == "b" {
					far = p.RTT
				}
			}
			return s.Leader != "" && alive == 3 && far > 0
		})
		w.Until("each log is led", func() bool { return len(a.Status().Logs)+len(b.Status().Logs)+len(c.Status().Logs) == overlay.Logs })
		if !s.Storing || s.Account.Total() == 0 || s.Account.Sent[overlay.Sessions] == 0 {
			t.Errorf("%+v", s)
		}
		for _, p := range s.Peers {
			if p.Name == "b" && p.Skew.Abs() > p.RTT+time.Second {
				t.Errorf("%+v", p)
			}
		}
	})

	t.Run("a server that cannot store is noticed, and the others go on", func(t *testing.T) {
		if err := c.srv.ShutdownJetStream(); err != nil { // what it does when the disk is full
			t.Fatal(err)
		}
		w.Until("c says so", func() bool {
			return warn["c"].any(func(err error) bool { return errors.As(err, new(*StorageError)) })
		})
		w.Until("a crawl can be submitted nevertheless, at c too", func() bool {
			ctx, cancel := context.WithTimeout(w.ctx, 10*time.Second)
			defer cancel()
			return c.Submit(ctx, "more", []byte("x")) == nil
		})
		if c.Status().Storing {
			t.Error("c says that it stores")
		}
		if !slices.ContainsFunc(c.Status().Lasting, func(err error) bool { return errors.As(err, new(*StorageError)) }) {
			t.Errorf("the status of c has %v", c.Status().Lasting)
		}
		short := func(err error) bool {
			var s *ShortError
			return errors.As(err, &s) && s.Node == "c"
		}
		w.Until("those who lead logs tell that the copies of c are missing", func() bool {
			logs := 0
			for name, n := range map[string]*Node{"a": a, "b": b} {
				all := n.Status().Logs
				if logs += len(all); slices.ContainsFunc(all, func(l LogStatus) bool { return !slices.Equal(l.Missing, []string{"c"}) }) || len(all) > 0 && !warn[name].any(short) {
					return false
				}
			}
			return logs == overlay.Logs
		})
		if c.Close(); warn["c"].any(short) { // it leads nothing
			t.Error("c tells of itself")
		}
	})
}

func TestClockThatIsWrongIsNoticed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.tune = func(c *Config) {
		if c.Name == "b" {
			c.clock = func() time.Time { return time.Now().Add(time.Minute) }
		}
	}
	warn := map[string]*warnings{}
	nodes := w.three(warn)
	w.Until("a and b see one another", func() bool { return len(nodes["a"].members.all()) == 3 && len(nodes["b"].members.all()) == 3 })
	is := func(node string, by time.Duration) func(error) bool {
		return func(err error) bool {
			var s *SkewError
			return errors.As(err, &s) && s.Node == node && (s.By-by).Abs() <= 2*time.Second
		}
	}
	w.Until("a warns of b, and b of a", func() bool {
		nodes["a"].health.clocks(w.ctx)
		nodes["b"].health.clocks(w.ctx)
		return warn["a"].any(is("b", time.Minute)) && warn["b"].any(is("a", -time.Minute))
	})
	ofC := func(err error) bool {
		var s *SkewError
		return errors.As(err, &s) && s.Node == "c"
	}
	if warn["a"].any(ofC) {
		t.Errorf("a warns of %v", warn["a"].all)
	}
}

// A node that leaves ends its session itself, and no renewal that was under way brings it
// back: the others need not wait for it to run out.
func TestNobodyWaitsForWhoLeaves(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var kept atomic.Int64 // when c has asked for the last renewal that it got
	w.tune = func(cfg *Config) {
		if cfg.Name == "c" {
			cfg.Tell = func(e overlay.Event) {
				if r, ok := e.(overlay.Renewed); ok {
					kept.Store(int64(r.Sent))
				}
			}
		}
	}
	nodes := w.three(nil)
	a, c := nodes["a"], nodes["c"]
	// It takes one who leads, and a machine that goes on: else it may have to run out.
	for left := 10; ; left-- {
		var r record
		w.Until("a sees c", func() (ok bool) { r, ok = a.members.live("c"); return ok })
		led := w.leads(a, membersStream)
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			for {
				select {
				case <-stop:
					return
				default:
					c.Do(overlay.Renew{Peer: overlay.Peer{Name: "c", Session: r.Session}})
				}
			}
		}()
		resigned := make(chan page.Time, 1)
		context.AfterFunc(c.ctx, func() { resigned <- now() })
		c.Close()
		close(stop)
		<-stopped
		stood := (<-resigned).Sub(page.Time(kept.Load()))
		w.Until("a does not see c any more", func() bool { _, ok := a.members.live("c"); return !ok })
		a.members.mu.Lock()
		session, late := a.members.late["c"]
		a.members.mu.Unlock()
		if !late {
			return
		}
		if left == 0 || stood < resignTime && w.leads(a, membersStream) == led {
			t.Fatalf("the session %d of c had to run out", session)
		}
		c = w.open(w.config("c"))
	}
}

// leads says who leads a stream, and since when.
func (w *world) leads(n *Node, stream string) (who string) {
	w.t.Helper()
	err := w.agreed(func() error {
		ctx, cancel := context.WithTimeout(w.ctx, requestTime)
		defer cancel()
		info, err := n.streams[stream].Info(ctx)
		if err == nil {
			who = fmt.Sprint(info.Cluster.Leader, info.Cluster.LeaderSince)
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return who
}

// A session that the others have ended is not renewed: its node must begin
// another one.
func TestEndedSessionStaysEnded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.stubborn.Store(true)
	warn := map[string]*warnings{}
	a := w.three(warn)["a"]
	w.Until("a sees c", func() bool { _, ok := a.members.live("c"); return ok })
	w.Until("a ends the session of c", func() bool {
		_, revision, err := a.last(w.ctx, membersStream, memberSubject("c"))
		if err != nil {
			return false
		}
		_, err = a.put(w.ctx, memberSubject("c"), nil, revision) // c may have been first
		return err == nil
	})
	w.Until("c finds that it cannot renew it", func() bool {
		return warn["c"].any(func(err error) bool { return errors.Is(err, errEnded) })
	})
	w.Until("a does not see c any more", func() bool { _, ok := a.members.live("c"); return !ok })
	var is []byte
	err := w.agreed(func() (err error) {
		is, _, err = a.last(w.ctx, membersStream, memberSubject("c"))
		return err
	})
	if err != nil || len(is) > 0 {
		t.Errorf("the session of c was renewed: %s, %v", is, err)
	}
	w.stubborn.Store(false)
	w.Until("c is back with another session", func() bool { r, ok := a.members.live("c"); return ok && r.Session > 1 })
}

func TestDeadNodeIsReplaced(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	warn := map[string]*warnings{}
	nodes := w.three(warn)
	a, b, c := nodes["a"], nodes["b"], nodes["c"]
	w.Until("all see all", func() bool { return len(a.members.all()) == 3 && len(b.members.all()) == 3 })
	if err := w.agreed(func() error { return a.RemovePeer(w.ctx, "c") }); err == nil || !strings.Contains(err.Error(), ErrKeep.Error()) {
		t.Errorf("a node that lives: %v", err)
	}
	u, v := mustURL(t, "http://a.example/p"), mustURL(t, "http://a.example/q")
	w.append(c, 3, overlay.Tuples{Rows: []overlay.Row{{URL: u}, {URL: v}}})
	w.append(c, 3, overlay.Done{Node: "c", Pages: []overlay.Ended{{Site: u.Site(), Hash: c.Secret().Hash(u.Rest()), Outcome: page.OK, Status: 200}}})
	w.append(b, 3, overlay.Done{Node: "b", Pages: []overlay.Ended{{Site: v.Site(), Hash: c.Secret().Hash(v.Rest()), Outcome: page.OK, Status: 200}}})
	c.kill()
	if err := a.RemovePeer(w.ctx, "c"); err == nil || strings.Contains(err.Error(), "alive") {
		t.Errorf("a node that has just died: %v", err)
	}
	w.Until("c is known to be gone", func() bool { return len(a.members.all()) == 2 && len(b.members.all()) == 2 })
	var err error
	w.Until("it is kept, since too few would be left", func() bool {
		err = a.RemovePeer(w.ctx, "c")
		return err != nil && strings.Contains(err.Error(), "add one first")
	})
	// Its disk was replaced: it has the name that the others know, and none of the
	// copies that they count on.
	empty := w.config("c")
	empty.Dir += "-new"
	empty.Listen = "127.0.0.1:0"
	if _, err := Open(w.ctx, empty); !refusedFor(Returned)(err) || !strings.Contains(err.Error(), "weir node remove c first") {
		t.Errorf("c with an empty folder: %v", err)
	}
	if !warn["a"].any(refusedFor(Returned)) && !warn["b"].any(refusedFor(Returned)) {
		t.Error("nobody says that c was refused")
	}
	refetch := func(n *Node) (pages, tries int, err error) {
		err = w.agreed(func() error {
			ctx, cancel := context.WithTimeout(w.ctx, time.Minute)
			defer cancel()
			tries++
			some, err := n.Refetch(ctx, "c")
			pages += some
			return err
		})
		return pages, tries, err
	}
	if _, _, err := refetch(a); err == nil || !strings.Contains(err.Error(), "remove it first") {
		t.Errorf("its pages are lost before it is: %v", err)
	}
	cfg := w.config("d")
	cfg.Join = []string{b.Addr()}
	d := w.open(cfg)
	w.Until("c is removed", func() bool {
		err = d.RemovePeer(w.ctx, "c")
		w.logf("remove: %v", err)
		return err == nil
	})
	w.Until("d holds copies of everything", func() bool {
		logs := slices.Concat(a.Status().Logs, b.Status().Logs, d.Status().Logs)
		return len(logs) == overlay.Logs && !slices.ContainsFunc(logs, func(l LogStatus) bool { return l.Copies < 3 })
	})
	_, err = Open(w.ctx, w.config("c"))
	if !refusedFor(Removed)(err) {
		t.Fatalf("c comes back: %v", err)
	}
	tell := func(heard bool) {
		for _, n := range []*Node{a, b, d} {
			n.host.mu.Lock()
			n.host.removed = func(folder string) bool { return heard && n.owners.banned(folder) }
			n.host.mu.Unlock()
		}
	}
	tell(false) // those whom it asks have not heard of it yet
	if _, err = Open(w.ctx, w.config("c")); !refusedFor(Removed)(err) || !strings.Contains(err.Error(), "the cluster refuses c") {
		t.Fatalf("c comes back: %v", err)
	}
	tell(true)
	w.Until("nobody lists the node that was removed", func() bool {
		return !slices.ContainsFunc(slices.Concat(a.Peers(), b.Peers()), func(p PeerStatus) bool { return p.Name == "c" })
	})

	lost := make(chan overlay.Lost, 8)
	tl := &tail{n: a, stream: logStream(3), subject: logSubject(3)}
	tl.each = func(m jetstream.Msg, _ *jetstream.MsgMetadata) bool {
		list, err := unbundle(m.Data())
		for _, s := range list {
			x, _ := overlay.ReadBatch(s.data)
			for _, r := range x.Records {
				if l, ok := r.(overlay.Lost); ok {
					lost <- l
				}
			}
		}
		return err == nil
	}
	ctx, stop := context.WithCancel(w.ctx)
	var wg sync.WaitGroup
	wg.Go(func() { tl.run(ctx) })
	defer wg.Wait()
	defer stop()
	// A try that failed may have said in the log what is lost.
	if n, tries, err := refetch(d); n > 1 || n < 1 && tries == 1 || err != nil {
		t.Fatalf("%d pages of c are fetched again: %v", n, err)
	}
	if l := <-lost; l.Node != "c" || len(l.Rows) != 1 || l.Rows[0].URL != u {
		t.Errorf("the log says %+v", l)
	}
	if n, _, err := refetch(a); n != 0 || err != nil {
		t.Errorf("%d pages of c are fetched once more: %v", n, err)
	}

	// Now the name is free.
	w.open(empty).Close()
}

// append writes to a log and waits until it is there.
func (w *world) append(n *Node, part int, r overlay.Record) {
	w.t.Helper()
	b := overlay.Batch{Origin: 1, Records: []overlay.Record{r}}
	data, id := pack(nil, appendBundle(nil, []slice{{part, overlay.AppendBatch(nil, &b)}})), draw(8)
	err := w.agreed(func() error {
		ctx, cancel := context.WithTimeout(w.ctx, requestTime)
		defer cancel()
		_, err := n.js.Publish(ctx, logSubject(overlay.LogOf(part)), data, jetstream.WithMsgID(id))
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

func mustURL(t *testing.T, s string) page.URL {
	t.Helper()
	u, err := page.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestPartitionsOfLogs(t *testing.T) {
	if got := (&ShortError{"c", []int{0, 1, 2, 3}}).Error(); got != "one copy is missing of the logs of all partitions: that of c" {
		t.Error(got)
	}
	if got := partsOf([]int{1, 3}); got != "the partitions 1, 5, 9, ... and 3, 7, 11, ..." {
		t.Error(got)
	}
}
