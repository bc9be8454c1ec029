package chaos

import (
	"slices"
	"testing"
	"time"

	"weir/internal/testweb"
)

func visit(node int, path string, at float64) Visit {
	d := time.Duration(at * float64(time.Second))
	return Visit{Visit: testweb.Visit{Host: "a.test", Path: path, Status: 200}, At: d, End: d, Node: node}
}

func span(k Kind, node int, start, end float64) Span {
	return Span{k, node, time.Duration(start * float64(time.Second)), time.Duration(end * float64(time.Second))}
}

// A page may be fetched again only if something happened to who had it first, then or soon after.
func TestRefetches(t *testing.T) {
	for _, test := range []struct {
		name       string
		first      Visit
		again      Visit
		spans      []Span
		sound, own bool
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
		{"a node that joins costs nothing", visit(0, "/", 10), visit(1, "/", 40), []Span{span(Join, 2, 11, 30)}, false, false, 0},
		{"robots.txt may come twice", visit(0, "/robots.txt", 10), visit(1, "/robots.txt", 20), nil, true, false, 0},
	} {
		again, unsound := refetches([]Visit{test.first, test.again}, test.spans)
		if (len(unsound) == 0) != test.sound {
			t.Errorf("%s: %v is not explained", test.name, unsound)
		}
		if test.sound && len(again) == 1 && (again[0].Own != test.own || again[0].Age.Seconds() != test.age) {
			t.Errorf("%s: explained by %+v", test.name, again[0])
		}
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
