package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"weir/internal/cluster"
	"weir/internal/cluster/clustertest"
	"weir/internal/node"
	"weir/internal/store"
	"weir/internal/testweb"
)

func TestMain(m *testing.M) {
	as := func(name string, version, oldest int) func() {
		return func() {
			edition, protocol, least = name, version, oldest
			main()
		}
	}
	testscript.Main(leakless{m}, map[string]func(){"weir": main, "weir-before": as("0.0", 5, 5), "weir-last": as("0.1", 8, 5), "weir-next": as("0.2", 10, 3), "weir-later": as("1.0", 11, 11)})
}

// leakless fails a test run that leaves goroutines behind.
type leakless struct{ m *testing.M }

func (l leakless) Run() int {
	code := l.m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// TestScript runs the scripts in testdata/script. Besides the usual commands
// there are
//
//	exits CODE weir ARG...     run weir, which must end with exactly this code
//	web NAME [KEY=VALUE...]    serve a web; $NAME is its start page, $NAME_DNS its DNS server
//	asked NAME N               that web must have been asked for N different pages
//	manners NAME [wait=TIME]   that web must have nothing to complain of
//	fill FILE...               put the values of $VARIABLES into files
//	listens DIR                wait until the crawl in the folder can be steered
//	ports NAME...              $NAME is an address that nobody listens at, for the nodes of a cluster; once, when it may be started
//	answers ADDR CERTS         wait until the node there answers questions
//	status-says ADDR CERTS REGEXP  wait until weir status, asked there, says so
//	exec weir-before, weir-last, weir-next, weir-later as weir: versions that understand this one, and one that does not
//	disk DIR SIZE              make the folder a disk of that size, such as 20m; again: resize it. Needs Linux and root
//	hold DIR                   keep the crawl folder in use until the script ends
//
// The keys of web: pages, links, size, latency, rate (bytes per second),
// robots (the file, | between lines), name, notfound (every so many pages),
// folder (its files are the pages, and nothing else is), sites (so many of that
// kind), seeds (a file that gets their start pages).
func TestScript(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "web": serve, "asked": asked, "manners": manners, "hold": hold, "fill": fill, "listens": listens, "ports": ports, "disk": disk, "answers": answers, "status-says": statusSays, "half": half, "samehits": sameHits,
		},
		// tmpfs: a script may mount a small file system, in a name space of its own.
		Condition: func(cond string) (bool, error) {
			if cond == "root" {
				return os.Geteuid() == 0, nil
			}
			if cond != "tmpfs" {
				return false, fmt.Errorf("unknown condition %q", cond)
			}
			return exec.Command("unshare", "-rm", "mount", "-t", "tmpfs", "none", os.TempDir()).Run() == nil, nil
		},
		Setup: func(e *testscript.Env) error {
			e.Values[webs{}] = map[string]*testweb.Web{}
			return nil
		},
	})
}

// webs is the key of a script's webs.
type webs struct{}

func websOf(ts *testscript.TestScript) map[string]*testweb.Web {
	return ts.Value(webs{}).(map[string]*testweb.Web)
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND ARG...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

func serve(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: web NAME [KEY=VALUE...]")
	}
	s := testweb.Site{Pages: 10, Links: 4, Size: 600}
	sites, seeds := 1, ""
	for _, arg := range args[1:] {
		key, value, _ := strings.Cut(arg, "=")
		number := func() int {
			n, err := strconv.Atoi(value)
			ts.Check(err)
			return n
		}
		switch key {
		case "pages":
			s.Pages = number()
		case "links":
			s.Links = number()
		case "size":
			s.Size = number()
		case "latency":
			d, err := time.ParseDuration(value)
			ts.Check(err)
			s.Latency = d
		case "rate":
			s.Rate = int64(number())
		case "robots":
			s.Robots = strings.ReplaceAll(value, "|", "\n") + "\n"
		case "name":
			s.Name = value
		case "sites":
			sites = number()
		case "seeds":
			seeds = ts.MkAbs(value)
		case "folder":
			s.Folder = ts.MkAbs(value)
		case "notfound":
			s.Faults = append(s.Faults, testweb.Fault{Kind: testweb.NotFound, Every: number()})
		default:
			ts.Fatalf("web has no %s", key)
		}
	}
	w, err := testweb.Start(testweb.Config{Seed: 1, Sites: slices.Repeat([]testweb.Site{s}, sites)})
	ts.Check(err)
	ts.Defer(w.Close)
	if seeds != "" {
		var b strings.Builder
		for i := range sites {
			fmt.Fprintln(&b, w.URL(i))
		}
		ts.Check(os.WriteFile(seeds, []byte(b.String()), 0o666))
	}
	websOf(ts)[args[0]] = w
	ts.Setenv(args[0], w.URL(0))
	ts.Setenv(args[0]+"_DNS", w.DNS())
	ts.Setenv(args[0]+"_ADDR", w.Addr(0).String())
}

func asked(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: asked NAME N [TWICE]")
	}
	n, twice := 0, 0
	for _, h := range websOf(ts)[args[0]].Audit().Hosts {
		n += h.Pages
		twice += h.Duplicates
	}
	if got := []string{args[0], strconv.Itoa(n), strconv.Itoa(twice)}; !slices.Equal(got[:len(args)], args) {
		ts.Fatalf("%d pages were asked for, %d of them twice, want %v", n, twice, args[1:])
	}
}

func manners(ts *testscript.TestScript, neg bool, args []string) {
	m := testweb.Manners{PerConn: 1, PerServer: 4}
	for _, arg := range args[1:] {
		name, value, _ := strings.Cut(arg, "=")
		var err error
		switch name {
		case "wait":
			m.Wait, err = time.ParseDuration(value)
		case "per-conn":
			m.PerConn, err = strconv.Atoi(value)
		default:
			ts.Fatalf("usage: manners NAME [wait=TIME] [per-conn=N]")
		}
		ts.Check(err)
	}
	problems := websOf(ts)[args[0]].Audit().Problems(m)
	if len(problems) > 0 != neg {
		ts.Fatalf("problems: %q", problems)
	}
}

func fill(ts *testscript.TestScript, neg bool, args []string) {
	for _, name := range args {
		text := os.Expand(ts.ReadFile(name), ts.Getenv)
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o666))
	}
}

// tries, each after 10 ms, are five minutes: they only end what would wait for ever.
const tries = 30_000

func listens(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: listens DIR")
	}
	for range tries {
		if _, err := node.Steer(context.Background(), ts.MkAbs(args[0]), node.Steering{}); err == nil {
			return
		}
		<-time.After(10 * time.Millisecond) // another process gets ready
	}
	ts.Fatalf("nobody listens in %s", args[0])
}

// clusters bounds those that scripts run at once. They wait for most of their time, but on
// a small machine the nodes of many more would renew their sessions too late.
var clusters = make(chan struct{}, 5)

func ports(ts *testscript.TestScript, neg bool, args []string) {
	clusters <- struct{}{}
	ts.Defer(func() { <-clusters })
	for _, name := range args {
		addr, release, err := clustertest.Address()
		ts.Check(err)
		ts.Defer(release)
		ts.Setenv(name, addr)
	}
}

func answers(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: answers ADDR CERTS")
	}
	cl, err := cluster.Dial(args[0], ts.MkAbs(args[1]))
	ts.Check(err)
	for range tries {
		if _, err = cl.Ask(context.Background(), "", statusTopic, nil); err == nil {
			return
		}
		<-time.After(10 * time.Millisecond) // other processes get ready
	}
	ts.Fatalf("nobody answers at %s: %v", args[0], err)
}

func statusSays(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: status-says ADDR CERTS REGEXP")
	}
	cl, err := cluster.Dial(args[0], ts.MkAbs(args[1]))
	ts.Check(err)
	want := regexp.MustCompile(args[2])
	var text strings.Builder
	for range tries {
		text.Reset()
		if all, err := gather(context.Background(), cl); err == nil && all.print(&text) == nil && want.MatchString(text.String()) {
			return
		}
		<-time.After(10 * time.Millisecond) // news is on its way
	}
	ts.Fatalf("the status is\n%s", text.String())
}

func hold(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: hold DIR")
	}
	s, err := store.Open(ts.MkAbs(args[0]), store.Options{})
	ts.Check(err)
	ts.Defer(func() { s.Close() })
}
