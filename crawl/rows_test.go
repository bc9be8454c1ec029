package crawl

import (
	"bytes"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/frontier"
	"weir/page"
)

func drawPlace(t *rapid.T) frontier.Place {
	return frontier.Place{Class: rapid.Uint8().Draw(t, "class"), Seq: rapid.Uint64().Draw(t, "seq")}
}

func drawEntry(t *rapid.T) frontier.Entry {
	return frontier.Entry{
		Hash: rapid.Uint64().Draw(t, "hash"), Place: drawPlace(t), Depth: rapid.Uint16().Draw(t, "depth"), Hops: rapid.Uint8().Draw(t, "hops"),
		Attempt: rapid.Uint8().Draw(t, "attempt"), Root: rapid.Bool().Draw(t, "root"), Score: rapid.Float32().Draw(t, "score"),
		Rest: rapid.String().Draw(t, "rest"),
	}
}

// Every row reads back as it was written.
func TestRowsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := drawEntry(t)
		got, err := readEntry(queueKey(7, e.Place), appendEntry(nil, &e))
		if got.Hash = e.Hash; err != nil || got != e && !math.IsNaN(float64(e.Score)) {
			t.Fatalf("entry %+v: %+v, %v", e, got, err)
		}
		why := rapid.String().Draw(t, "why")
		parked := e
		parked.Place = frontier.Place{}
		if w, got, err := readPark(e.Hash, appendPark(nil, why, &parked)); err != nil || w != why || got != parked {
			t.Fatalf("parked %q %+v: %q %+v, %v", why, parked, w, got, err)
		}
		u := urlRow{state: rapid.Uint8Range(1, 3).Draw(t, "state"), seed: rapid.Bool().Draw(t, "seed"), root: rapid.Bool().Draw(t, "root"),
			free: rapid.Bool().Draw(t, "free"), depth: rapid.Uint16().Draw(t, "depth"), rule: Rule(rapid.Uint8().Draw(t, "rule"))}
		if id := rapid.Uint32().Draw(t, "parent"); id > 0 {
			u.parent = page.Key{Site: page.SiteID(id), Hash: rapid.Uint64().Draw(t, "hash")}
		}
		switch u.state {
		case stateQueued:
			u.place = drawPlace(t)
		case stateEnded:
			u.outcome, u.status, u.at = page.Outcome(rapid.Uint8().Draw(t, "outcome")), rapid.IntRange(0, 999).Draw(t, "status"), rapid.Int64().Draw(t, "at")
			u.hops = rapid.Uint8().Draw(t, "hops")
			if file := rapid.Uint32().Draw(t, "file"); file > 0 {
				u.archive = Archived{file, rapid.Int64Min(0).Draw(t, "offset"), rapid.Int64Min(0).Draw(t, "length")}
			}
		}
		var u2 urlRow
		if err := u2.read(u.append(nil)); err != nil || u2 != u {
			t.Fatalf("page %+v: %+v, %v", u, u2, err)
		}
		s := siteRow{name: rapid.SampledFrom([]string{"", "\x00", "\x01"}).Draw(t, "first") + rapid.String().Draw(t, "name"), queued: rapid.Int64().Draw(t, "queued"), ended: rapid.Int64().Draw(t, "ended"),
			fetched: rapid.Int64().Draw(t, "fetched"), parked: rapid.Int64().Draw(t, "parked"), seq: rapid.Uint64().Draw(t, "seq"),
			delay: time.Duration(rapid.Int64().Draw(t, "delay")), cash: rapid.Float64().Draw(t, "cash"), part: rapid.Uint16().Draw(t, "part")}
		var s2 siteRow
		if err := s2.read(s.append(nil)); err != nil || s2 != s {
			t.Fatalf("site %+v: %+v, %v", s, s2, err)
		}
		rb := robotsRow{at: rapid.Int64().Draw(t, "at"), version: rapid.Byte().Draw(t, "heard"), text: rapid.String().Draw(t, "robots")}
		var rb2 robotsRow
		if err := rb2.read(rb.append(nil)); err != nil || rb2 != rb {
			t.Fatalf("robots %+v: %+v, %v", rb, rb2, err)
		}
		x := textRow{rapid.String().Draw(t, "rest"), rapid.String().Draw(t, "mime"), rapid.String().Draw(t, "server"),
			rapid.Int64Min(0).Draw(t, "bytes"), time.Duration(rapid.Int64Min(0).Draw(t, "elapsed"))}
		var x2 textRow
		if err := x2.read(x.append(nil)); err != nil || x2 != x {
			t.Fatalf("text %+v: %+v, %v", x, x2, err)
		}
	})
}

// Keys sort as queues do.
func TestQueueKeysKeepOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, q := drawPlace(t), drawPlace(t)
		if p.Before(q) != (bytes.Compare(queueKey(1, p), queueKey(1, q)) < 0) {
			t.Fatalf("%v, %v", p, q)
		}
	})
}

func TestNameKey(t *testing.T) {
	for name, want := range map[string]string{
		"https://docs.example.org":      "norg.example.docs https",
		"https://docs.example.org:8443": "norg.example.docs:8443 https",
		"http://192.0.2.1:81":           "n192.0.2.1:81 http",
		"http://[2001:db8::1]":          "n[2001:db8::1] http",
		"http://[2001:db8::1]:81":       "n[2001:db8::1]:81 http",
		"http://localhost":              "nlocalhost http",
	} {
		if got := string(nameKey(name)); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// FuzzDecodeRow: damaged rows are errors or rows, never a panic.
func FuzzDecodeRow(f *testing.F) {
	e := frontier.Entry{Hash: 1, Score: 2, Rest: "/x"}
	f.Add(appendEntry(nil, &e))
	f.Add(appendPark(nil, "why", &e))
	f.Add((&siteRow{name: "http://a.example"}).append(nil))
	f.Add((&textRow{rest: "/"}).append(nil))
	f.Add((&urlRow{state: stateEnded, archive: Archived{1, 2, 3}, hops: 4}).append(nil))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = readEntry(make([]byte, 14), b)
		_, _ = readEntry(b, b)
		_, _, _ = readPark(1, b)
		_, _ = readPageKey(b)
		_ = (&siteRow{}).read(b)
		_ = (&textRow{}).read(b)
		_ = (&robotsRow{}).read(b)
		var u urlRow
		if u.read(b) == nil {
			if again := (urlRow{}); again.read(u.append(nil)) != nil || again != u {
				t.Errorf("%+v reads back as %+v", u, again)
			}
		}
		_, _ = (&Ledger{}).readHost(b)
	})
}
