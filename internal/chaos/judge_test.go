package chaos

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/internal/testweb"
	"weir/page"
)

func visit(node int, path string, at float64) Visit {
	return Visit{Visit: testweb.Visit{Host: "a.test", Path: path, Status: 200}, At: seconds(at), End: seconds(at), Node: node}
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func span(k Kind, node int, start, end float64) Span {
	return Span{Kind: k, Node: node, Start: seconds(start), End: seconds(end)}
}

// A page may be fetched again only if its end was not acknowledged, whatever faults there are.
func TestUnsound(t *testing.T) {
	part := span(Part, 2, 12, 60)
	part.Other = 1
	for _, test := range []struct {
		name  string
		acked float64 // 0: never
		again Visit
		spans []Span
		sound bool
		late  float64
	}{
		{"never acknowledged", 0, visit(1, "/", 40), nil, true, 0},
		{"acknowledged after it was asked for again", 41, visit(1, "/", 40), nil, true, 0},
		{"the request was under way", 38, visit(1, "/", 40), nil, true, 2},
		{"at the last moment", 35, visit(1, "/", 40), nil, true, 5},
		{"long acknowledged", 11, visit(1, "/", 40), nil, false, 29},
		{"by the same node", 11, visit(0, "/", 40), nil, false, 29},
		{"although the first was killed", 11, visit(1, "/", 40), []Span{span(Kill, 0, 11.5, 30)}, false, 29},
		{"although all were killed", 11, visit(1, "/", 40), []Span{span(Kill, 0, 11.5, 30), span(Kill, 1, 11.5, 30), span(Kill, 2, 11.5, 30)}, false, 29},
		{"although another was stopped", 30, visit(1, "/", 40), []Span{span(Pause, 2, 25, 45)}, false, 10},
		{"while it was stopped itself", 30, visit(1, "/", 41), []Span{span(Pause, 1, 25, 40)}, true, 1},
		{"a while after it was stopped", 20, visit(1, "/", 40), []Span{span(Pause, 1, 15, 30)}, false, 10},
		{"while it was cut off", 30, visit(1, "/", 40), []Span{span(Cut, 1, 28, 60)}, true, 0},
		{"cut off for too long to ask", 15, visit(1, "/", 40), []Span{span(Cut, 1, 12, 60)}, false, 10},
		{"while it did not hear another", 30, visit(1, "/", 40), []Span{part}, true, 0},
		{"while others did not hear one another", 30, visit(0, "/", 40), []Span{part}, false, 10},
		{"faults at once count once", 20, visit(1, "/", 40), []Span{span(Mute, 1, 22, 30), span(Deaf, 1, 24, 32)}, false, 10},
		{"faults one by one", 28, visit(1, "/", 40), []Span{span(Deaf, 1, 36, 40), span(Mute, 1, 28, 33)}, true, 3},
	} {
		acked := map[string]time.Duration{"a.test/other": 1}
		if test.acked > 0 {
			acked["a.test/"] = seconds(test.acked)
		}
		res := new(Result)
		res.weigh(refetches([]Visit{visit(0, "/", 10), visit(0, "/new", 20), test.again}, test.spans, acked))
		if len(res.Again) != 1 || (len(res.Unsound) == 0) != test.sound || res.Again[0].Late != seconds(test.late) {
			t.Errorf("%s: unsound %v of %v", test.name, res.Unsound, res.Again)
		}
		if before := test.acked > 0 && seconds(test.acked) < test.again.At; (res.Again[0].Acked > 0) != before {
			t.Errorf("%s: acknowledged before at %v", test.name, res.Again[0].Acked)
		}
		if test.sound && res.Latest != seconds(test.late) {
			t.Errorf("%s: the latest is %v", test.name, res.Latest)
		}
	}
}

// The second time may be sound and the third not: it counts who asks last.
func TestThrice(t *testing.T) {
	visits := []Visit{visit(0, "/", 10), visit(1, "/", 40), visit(2, "/", 60)}
	res := new(Result)
	res.weigh(refetches(visits, nil, map[string]time.Duration{"a.test/": seconds(42)}))
	if len(res.Again) != 2 || len(res.Unsound) != 1 || res.Unsound[0].Again.Node != 2 {
		t.Errorf("%v of %v", res.Unsound, res.Again)
	}
}

// A page that was fetched again has a fault near, then or soon after, and an age.
func TestExplain(t *testing.T) {
	part := span(Part, 2, 12, 30)
	for _, test := range []struct {
		name       string
		first      Visit
		again      Visit
		spans      []Span
		found, own bool
		age        float64
	}{
		{"out of the blue", visit(0, "/", 10), visit(1, "/", 20), nil, false, false, 0},
		{"killed right after", visit(0, "/", 10), visit(1, "/", 40), []Span{span(Kill, 0, 11, 30)}, true, true, 1},
		{"killed much later", visit(0, "/", 10), visit(1, "/", 60), []Span{span(Kill, 0, 40, 50)}, false, false, 0},
		{"while cut off", visit(0, "/", 20), visit(1, "/", 40), []Span{span(Cut, 0, 10, 50)}, true, true, 0},
		{"cut off only after the second time", visit(0, "/", 10), visit(1, "/", 12), []Span{span(Cut, 0, 13, 50)}, false, false, 0},
		{"others took the quorum away", visit(0, "/", 10), visit(1, "/", 40), []Span{span(Kill, 1, 12, 30)}, true, false, 2},
		{"the fault least after it counts", visit(0, "/", 10), visit(1, "/", 40), []Span{span(Kill, 1, 11, 30), span(Cut, 0, 14, 30)}, true, false, 1},
		{"then its own", visit(0, "/", 10), visit(1, "/", 40), []Span{span(Kill, 1, 8, 30), span(Cut, 0, 9, 30)}, true, true, 0},
		{"apart from another is its own", visit(0, "/", 10), visit(1, "/", 40), []Span{part}, true, true, 2},
		{"a node that joins costs nothing", visit(0, "/", 10), visit(1, "/", 40), []Span{span(Join, 2, 11, 30)}, false, false, 0},
	} {
		res := new(Result)
		res.weigh(refetches([]Visit{test.first, test.again}, test.spans, nil))
		if len(res.Again) != 1 || (len(res.Unexplained) == 0) != test.found || (res.Own == 1) != test.own || res.Oldest != seconds(test.age) {
			t.Errorf("%s: %+v", test.name, res.Again)
		}
	}
	if got := refetches([]Visit{visit(0, "/robots.txt", 10), visit(1, "/robots.txt", 20)}, nil, nil); len(got) > 0 {
		t.Errorf("robots.txt may come twice: %v", got)
	}
}

// What nodes write down is found again by the URL. The first time counts, whoever wrote it; torn lines and ends without a page
// do not.
func TestWitnessed(t *testing.T) {
	begin := time.Now()
	secret := page.Secret{1, 2, 3}
	line := func(at float64, status int, path string) string {
		return fmt.Sprintf("%d %d http://a.test %016x\n", begin.Add(seconds(at)).UnixNano(), status, secret.Hash(path))
	}
	w := witnessed{}
	torn := line(14, 200, "/torn")
	for _, text := range []string{
		"\n" + line(12, 200, "/") + line(11, 200, "/p/1") + line(13, 200, "/p/2") + line(13, 410, "/gone"),
		"\n" + line(13, 200, "/p/1") + torn[:len(torn)-2] + "\n" + line(11, 200, "/p/2"),
	} {
		if err := w.read(strings.NewReader(text), begin); err != nil {
			t.Fatal(err)
		}
	}
	var visits []Visit
	for _, p := range []string{"/robots.txt", "/", "/p/1", "/p/2", "/torn", "/gone", "/torn"} {
		visits = append(visits, visit(0, p, 10))
	}
	acked, unknown, err := w.pages(visits, secret)
	want := map[string]time.Duration{"a.test/": seconds(12), "a.test/p/1": seconds(11), "a.test/p/2": seconds(11)}
	if err != nil || !maps.Equal(acked, want) || !slices.Equal(unknown, []string{"a.test/torn", "a.test/gone"}) {
		t.Errorf("%v, not known %q, %v; want %v", acked, unknown, err, want)
	}
	if acked, _, _ := w.pages(visits, page.Secret{}); len(acked) > 0 {
		t.Errorf("by another secret: %v", acked)
	}
}

// A node that was cut off may go on for a while, and no longer.
func TestOvertime(t *testing.T) {
	spans := []Span{span(Cut, 0, 10, 60), span(Pause, 1, 10, 60)}
	if got := overtime([]Visit{visit(0, "/1", 20), visit(1, "/2", 50), visit(0, "/3", 61)}, spans); len(got) > 0 {
		t.Errorf("%q", got)
	}
	if got := overtime([]Visit{visit(0, "/1", 40)}, spans); len(got) != 1 {
		t.Errorf("%q", got)
	}
}

// Equal seeds break the same things at the same times, all faults are over in time, and every kind happens.
func TestSchedule(t *testing.T) {
	length := 10 * time.Minute
	faults := schedule(7, 5, 2, length)
	if !slices.Equal(faults, schedule(7, 5, 2, length)) {
		t.Error("a seed has two schedules")
	}
	if slices.Equal(faults, schedule(8, 5, 2, length)) {
		t.Error("two seeds have one schedule")
	}
	var count [Leave]int
	killed := 0
	for _, f := range faults {
		count[f.Kind]++
		if f.At+f.For > length || f.For <= 0 {
			t.Errorf("%v is not over after %v", f, length)
		}
		if (f.Kind == Join) != (f.Node >= 5) {
			t.Errorf("%v: who founds the cluster does not join it", f)
		}
		if f.Kind == Part && f.Other == f.Node {
			t.Errorf("%v", f)
		}
		if f.Kind == Kill && f.At == length/3 {
			killed++
		}
	}
	for k, n := range count {
		if n == 0 {
			t.Errorf("no %v in ten minutes", Kind(k))
		}
	}
	if killed < 5 {
		t.Errorf("%d nodes are killed at once", killed)
	}
}
