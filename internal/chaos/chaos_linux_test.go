package chaos

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	flag.Parse()
	goleak.VerifyTestMain(m)
}

// What make chaos sets; without it the runs are short.
var (
	seeds   = flag.Int("seeds", 1, "runs of TestChaos, from the first seed on")
	seed    = flag.Uint64("seed", 1, "the first seed")
	scheme  = flag.String("scheme", "host", "how TestChaos has pages spread over nodes: host, url, host-8, redirect or adaptive, as weir submit --scheme")
	conns   = flag.Int("conns", 0, "connections of each node of TestChaos; few, and its nodes leave hosts to one another under adaptive")
	nodes   = flag.Int("nodes", 3, "nodes of a cluster: 3, 5 or 7")
	minutes = flag.Float64("minutes", 2.0/3, "how long things break in each run")
	pages   = flag.Int("pages", 1000, "pages of the web, about")
	keep    = flag.String("keep", "", "folder that keeps what every run leaves; without it only what went wrong is kept")
	settle  = flag.Duration("settle", 15*time.Minute, "how long a run may take after its faults")
	binary  = flag.String("weir", "", "binary to use instead of building one")
	verbose = flag.Bool("events", false, "print what happens as it happens")
)

// usable skips what needs a network of namespaces where none may be made. A test that root could run is not left out because ip
// is missing: nobody would notice.
func usable(t testing.TB) {
	t.Helper()
	if err := Usable(); err != nil && excused(err) {
		t.Skipf("no network of namespaces here: %v", err)
	} else if err != nil {
		t.Fatalf("no network of namespaces here: %v", err)
	}
}

func excused(err error) bool { return errors.Is(err, fs.ErrPermission) }

// build makes the binary.
func build(t testing.TB) string {
	t.Helper()
	if *binary != "" {
		return *binary
	}
	weir := filepath.Join(t.TempDir(), "weir")
	cmd := exec.Command("go", "build", "-o", weir, "weir/cmd/weir")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return weir
}

// folder is where a run goes. It stays when the run has failed.
func folder(t testing.TB, name string) string {
	t.Helper()
	if *keep != "" {
		return filepath.Join(*keep, name)
	}
	dir, err := os.MkdirTemp("", "weir-chaos-"+name+"-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("what the run has left is in %s", dir)
			return
		}
		os.RemoveAll(dir)
	})
	return dir
}

// events is who hears of what happens.
func events() func(string) {
	if !*verbose {
		return nil
	}
	return func(text string) { fmt.Println(text) }
}

// TestChaos: whatever happens to the nodes, the web is crawled once, politely and to the end.
func TestChaos(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes minutes")
	}
	usable(t)
	weir := build(t)
	var mu sync.Mutex
	var results []*Result
	t.Cleanup(func() { t.Logf("%d nodes, %s, %.1f minutes of faults\n%s", *nodes, *scheme, *minutes, table(results)) })
	for i := range *seeds {
		s := *seed + uint64(i)
		t.Run(fmt.Sprintf("seed%d", s), func(t *testing.T) {
			t.Parallel()
			cfg := Config{
				Weir: weir, Dir: folder(t, fmt.Sprintf("seed%d", s)), Seed: s, Nodes: *nodes, Spares: 1, Pages: *pages, Scheme: *scheme, Conns: *conns, Server: 2,
				Faults: time.Duration(*minutes * float64(time.Minute)), Settle: *settle, Log: events(),
			}
			r, err := Run(context.Background(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			mu.Lock()
			results = append(results, r)
			mu.Unlock()
			check(t, r)
		})
	}
}

func check(t testing.TB, r *Result) {
	t.Helper()
	if len(r.Lost) > 0 {
		t.Errorf("%d pages are lost: %s", len(r.Lost), few(r.Lost))
	}
	for _, a := range r.Unsound[:min(5, len(r.Unsound))] {
		t.Errorf("fetched again although its end had been acknowledged (one of %d): %v", len(r.Unsound), a)
	}
	for _, a := range r.Unexplained[:min(5, len(r.Unexplained))] {
		t.Errorf("fetched again without a fault (one of %d): %v", len(r.Unexplained), a)
	}
	for _, text := range r.Hasty {
		t.Errorf("the web complains: %s", text)
	}
	for _, text := range r.Failed {
		t.Error(text)
	}
}

func few(list []string) string {
	return strings.Join(list[:min(5, len(list))], " ")
}

// table shows runs to a person.
func table(results []*Result) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "seed\tpages\tlost\trefetched\town fault\tno fault\tacked\tlatest\toldest\thasty\tlongest gap\tstall\ttook\tto quiet\t")
	for _, r := range results {
		quiet := "never"
		if r.Quiet {
			quiet = fmt.Sprintf("%.1fs", r.ToQuiet.Seconds())
		}
		fmt.Fprintf(w, "%d\t%d\t%d\t%d\t%d\t%d\t%d\t%.1fs\t%.1fs\t%d\t%.1fs\t%.1fs\t%.0fs\t%s\t\n", r.Seed, r.Pages, len(r.Lost), len(r.Again), r.Own, len(r.Unexplained), len(r.Unsound), r.Latest.Seconds(), r.Oldest.Seconds(),
			len(r.Hasty), r.Gap.Seconds(), r.Stood.Seconds(), r.Took.Seconds(), quiet)
	}
	w.Flush()
	return b.String()
}
