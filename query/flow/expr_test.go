package flow

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"weir/page"
	"weir/query"
)

// Whole numbers are exact, or the row fails.
func TestIntegersAreExactOrFail(t *testing.T) {
	ops := map[query.Op]func(z, a, b *big.Int) *big.Int{
		query.Add: (*big.Int).Add, query.Sub: (*big.Int).Sub, query.Mul: (*big.Int).Mul, query.Div: (*big.Int).Quo,
	}
	edge := rapid.SampledFrom([]int64{0, 1, -1, 2, math.MaxInt64, math.MinInt64, math.MaxInt64 / 2, math.MinInt64 / 2, 1 << 32, -1 << 32})
	value := rapid.OneOf(edge, rapid.Int64())
	rapid.Check(t, func(t *rapid.T) {
		a, b := value.Draw(t, "a"), value.Draw(t, "b")
		op := rapid.SampledFrom([]query.Op{query.Add, query.Sub, query.Mul, query.Div}).Draw(t, "op")
		e := &env{}
		got := integer[op](func(*env) int64 { return a }, func(*env) int64 { return b })(e)
		if op == query.Div && b == 0 {
			if !e.failed {
				t.Fatalf("%d by 0 is %d", a, got)
			}
			return
		}
		want := ops[op](new(big.Int), big.NewInt(a), big.NewInt(b))
		if e.failed == want.IsInt64() || want.IsInt64() && got != want.Int64() {
			t.Fatalf("%d op %d on %d: %d, failed %t; want %s", a, op, b, got, e.failed, want)
		}
	})
}

func TestFunctions(t *testing.T) {
	for _, c := range []struct{ url, host, folder, ext string }{
		{"https://a.example.org/docs/x.PDF?q=/y.z", "a.example.org", "a.example.org/docs/", "pdf"},
		{"http://user:pw@b.org:8080/", "b.org", "b.org:8080/", ""},
		{"http://[::1]/a.b/c", "[::1]", "[::1]/a.b/", ""},
	} {
		if got := hostOf(c.url); got != c.host {
			t.Errorf("host of %s: %s", c.url, got)
		}
		if got := folder(c.url); got != c.folder {
			t.Errorf("folder of %s: %s", c.url, got)
		}
		if got := ext(c.url); got != c.ext {
			t.Errorf("ext of %s: %s", c.url, got)
		}
		if !under(c.url, c.folder) || under(c.url, c.folder+"x/") || under(c.url, "other.org/") {
			t.Errorf("%s is under %s and nothing else", c.url, c.folder)
		}
	}
	for s, want := range map[string]int64{"http://a.org/": 0, "http://a.org/x": 1, "http://a.org/x/": 1, "http://a.org/x//y?z=/w": 2} {
		if got := depth(s); got != want {
			t.Errorf("depth of %s: %d, want %d", s, got, want)
		}
	}
	for s, want := range map[string]int64{
		"1970-01-02": 86400, "1970-01-01T01:00:00+01:00": 0, "1970-01-01T00:01:40Z": 100, "Thu, 01 Jan 1970 00:00:10 GMT": 10, "yesterday": 0, "": 0,
	} {
		if got := timeOf(s); got != want {
			t.Errorf("time of %q: %d, want %d", s, got, want)
		}
	}
}

// hostOf finds what page finds, only faster.
func TestHostOf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringMatching(`https?://([a-z]{1,3}(:[a-z]{0,2})?@)?(\[::[0-9a-f]\]|[a-z0-9.-]{1,10})(:[0-9]{1,3})?/[a-z:/@?]{0,5}`).Draw(t, "url")
		u, err := page.Parse(s)
		if err != nil {
			t.Skip(err)
		}
		if got := hostOf(u.String()); got != u.Host() {
			t.Fatalf("host of %s: %s, want %s", u, got, u.Host())
		}
	})
}

// By host, the pages of a host and its name live together; by URL pages spread,
// by host-n over as many partitions as it says.
func TestHome(t *testing.T) {
	counts := map[Scheme][]int{ByURL: make([]int, 8), ByHost: make([]int, 8), ByHostN: make([]int, 8)}
	home := func(s Scheme, t query.Type, v string, of int) int {
		o := Options{Scheme: s, Spread: 3}
		return o.Home(t, text(v), of)
	}
	for i := range 1000 {
		u := mustURL(t, "https://www.example.org/page/"+string(rune('a'+i%26))+"/"+string(rune('0'+i/26)))
		for _, s := range []Scheme{ByURL, ByHost, ByHostN} {
			counts[s][home(s, query.URL, u.String(), 8)]++
		}
	}
	at := home(ByHost, query.Text, "www.example.org", 8)
	if counts[ByHost][at] != 1000 {
		t.Errorf("by host, pages live at %v and their host at %d", counts[ByHost], at)
	}
	for i, n := range counts[ByURL] {
		if n < 80 || n > 180 {
			t.Errorf("by URL, partition %d has %d pages of 1000", i, n)
		}
	}
	for i := range 3 {
		if n := counts[ByHostN][(at+i)%8]; n < 250 || n > 420 {
			t.Errorf("by host-n, pages live at %v, three partitions from %d on were asked for", counts[ByHostN], at)
		}
	}
	few := Options{Scheme: ByHostN, Spread: 9}
	if got := few.Home(query.URL, text("https://www.example.org/"), 2); got > 1 {
		t.Errorf("of 2 partitions, a page lives at %d", got)
	}
	// Where rows live is written to disk: it must never change.
	if got := home(ByURL, query.URL, "https://www.example.org/", 1<<20); got != 693762 {
		t.Errorf("home of https://www.example.org/ is %d now", got)
	}
}
