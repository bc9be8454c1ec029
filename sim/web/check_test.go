package web

import (
	"math"
	"strings"
	"testing"
)

func TestCheckNamesTheFault(t *testing.T) {
	for want, spoil := range map[string]func(*Web){
		"the web is empty":                          func(w *Web) { *w = Web{} },
		"need 3 first pages":                        func(w *Web) { w.First = w.First[:2] },
		"the sites hold pages 0 to 3":               func(w *Web) { w.First[2] = 3 },
		"site 0 (http://a.example) has no":          func(w *Web) { w.First[1] = 0 },
		"page 1 has the links 2 to 1 of 3":          func(w *Web) { w.Off[1] = 2; w.Off[2] = 1 },
		"site 0 (http://a.example) has page 8 of 4": func(w *Web) { w.First[1] = 9 },
		"need 5 offsets":                            func(w *Web) { w.Off = w.Off[1:] },
		"the pages hold links 0 to 3":               func(w *Web) { w.Adj = w.Adj[:2] },
		"page 0 has the links 0 to 9 of 3":          func(w *Web) { w.Off[1] = 9 },
		"sizes":                                     func(w *Web) { w.Size = nil },
		"ends":                                      func(w *Web) { w.End = w.End[1:] },
		"paths":                                     func(w *Web) { w.Path = w.Path[1:] },
		"says it is of site 1":                      func(w *Web) { w.SiteOf[1] = 1 },
		"page 0 links to page 4 of 4":               func(w *Web) { w.Adj[0] = 4 },
		"page 4 of 4 is a seed":                     func(w *Web) { w.Seeds[0] = 4 },
		"page 0 is a seed twice":                    func(w *Web) { w.Seeds = []uint32{0, 0} },
		"the web has no seeds":                      func(w *Web) { w.Seeds = []uint32{} },
		"site 0 (http://a.example): its":            func(w *Web) { w.Sites[0].Again = -1 },

		// What a simulation could not play to its end.
		"page 1 (http://a.example/news) ends in outcome 22; an end is between 0 and 21": func(w *Web) { w.End[1] = MaxEnd + 1 },
		"its speed is 1e-300 bytes per second; it must be between 1 and 1e+12":          func(w *Web) { w.Sites[0].Speed = 1e-300 },
		"its speed is 1e+13":                         func(w *Web) { w.Sites[0].Speed = 1e13 },
		"its speed is NaN":                           func(w *Web) { w.Sites[0].Speed = math.NaN() },
		"its latency is 1e+12 s":                     func(w *Web) { w.Sites[0].Latency = 1e12 },
		"its latency on an open connection is 1e+12": func(w *Web) { w.Sites[0].Again = 1e12 },
		"its crawl-delay is 1e+12 s; it must be between 0 and 31622400, which is a year": func(w *Web) { w.Sites[0].Delay = 1e12 },
	} {
		w := parse(t, example)
		spoil(w)
		if err := w.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error about %q, got %v", want, err)
		}
	}
}

func TestMadeUpNames(t *testing.T) {
	w := small(t, "chile", 0.0001)
	if got := w.URL(w.First[3]); got != "http://s3.example/" {
		t.Errorf("a home page is %s", got)
	}
	seen := map[string]bool{}
	for p := range uint32(w.Pages()) {
		if u := w.URL(p); seen[u] {
			t.Fatalf("two pages are called %s", u)
		} else {
			seen[u] = true
		}
	}
}
