package node

import (
	"context"
	"errors"
	"testing"

	"weir/crawl"
	"weir/internal/program"
	"weir/internal/store"
)

// scramble makes the state as if another build had kept it: in rows that mean
// something else here.
func scramble(t *testing.T, cfg Config) {
	t.Helper()
	st, err := store.Open(cfg.Dir, store.Options{Form: cfg.Archive})
	if err != nil {
		t.Fatal(err)
	}
	g := st.Begin()
	err = st.Scan([]byte{'f'}, []byte{'g'}, func(key, value []byte) bool {
		g.Delete(key)
		if key[2] == 0xff {
			g.Set(key, append([]byte(nil), value[1:]...))
		} else {
			g.Set(append(key[:len(key):len(key)], "other"...), value)
		}
		return true
	})
	if err := errors.Join(err, g.Commit(), st.Close()); err != nil {
		t.Fatal(err)
	}
}

// A build that keeps the tables of a program in another form than the one that
// began the crawl derives them again from the archive, or the facts that it kept;
// without either it says that it cannot go on.
func TestOtherLayout(t *testing.T) {
	t.Parallel()
	web := turnWeb(t)
	own := source(near)
	for name, c := range map[string]struct {
		list []*program.Source
		form store.Form
	}{"flags": {nil, store.Gzip}, "program": {[]*program.Source{&own}, store.Gzip}, "facts": {[]*program.Source{&own}, store.None}} {
		t.Run(name, func(t *testing.T) {
			cfg := config(t, web)
			cfg.Programs, cfg.Scope.Depth, cfg.Archive = c.list, 4, c.form
			run(t, cfg)
			want := stateOf(t, cfg.Dir)
			scramble(t, cfg)
			if again := run(t, cfg); again.StoppedBy != crawl.StopDone || again.RunPages != 0 {
				t.Errorf("%+v", again)
			}
			stateOf(t, cfg.Dir).as(t, want)
			n, err := open(cfg)
			if err != nil {
				t.Fatal(err)
			}
			if n.programs.Version != 1 || n.relaid {
				t.Errorf("version %d, laid out anew once more: %t", n.programs.Version, n.relaid)
			}
			if _, err := n.close(nil); err != nil {
				t.Error(err)
			}
		})
	}
	cfg := config(t, web)
	cfg.Archive = store.None
	run(t, cfg)
	scramble(t, cfg)
	if _, err := Run(context.Background(), nil, cfg); !errors.Is(err, crawl.ErrLayout) {
		t.Errorf("without an archive: %v", err)
	}
}

// Flags that change from one run to the next are not another build.
func TestOtherFlags(t *testing.T) {
	t.Parallel()
	cfg := config(t, turnWeb(t))
	cfg.Archive, cfg.MaxPages = store.None, 20
	run(t, cfg)
	for _, scope := range []string{"any", "host", "host"} {
		cfg.Scope.Scope = scope
		cfg.MaxPages += 20
		if got := run(t, cfg); got.RunPages == 0 {
			t.Errorf("with --scope %s: %+v", scope, got)
		}
	}
}
