package bandwidth

import (
	"bytes"
	"encoding/binary"
	"math"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// trained returns a predictor that has seen the generated recording.
func trained(cfg PredictorConfig) *Predictor {
	p := NewPredictor(cfg)
	replay(p, generate())
	return p
}

// reload returns a predictor that begins with the rows of another.
func reload(tb testing.TB, cfg PredictorConfig, rows []Row) *Predictor {
	p := NewPredictor(cfg)
	for _, r := range rows {
		if err := p.Load(r); err != nil {
			tb.Fatal(err)
		}
	}
	return p
}

// The next crawl begins with what this one learnt, of servers seen and not seen.
func TestRowsWarmStart(t *testing.T) {
	all := generate()
	for _, exact := range []bool{true, false} {
		cfg := PredictorConfig{Exact: exact}
		old := trained(cfg)
		warm := reload(t, cfg, old.Unsaved())
		strange := download{at: monday, server: netip.MustParseAddr("203.0.113.1"), domain: "unheard.example"}
		kin := download{at: monday, server: netip.AddrFrom4([4]byte{198, 18, 3, 255}), domain: "unheard.example"}
		for _, d := range append(all[:200:200], strange, kin) {
			was, is := old.Rate(d.at, d.server, d.domain), warm.Rate(d.at, d.server, d.domain)
			if !within(was.Rate, is.Rate, 1.002) || math.Abs(was.Sigma-is.Sigma) > 0.1 || was.Known != is.Known {
				t.Fatalf("exact %v, server %v: %+v before, %+v after", exact, d.server, was, is)
			}
		}
		if rows := warm.Unsaved(); rows != nil {
			t.Errorf("%d rows just read are written again", len(rows))
		}
	}
}

// A row that was read and is written again is the same.
func TestRowsStable(t *testing.T) {
	for _, exact := range []bool{true, false} {
		cfg := PredictorConfig{Exact: exact}
		p := NewPredictor(cfg)
		for _, row := range trained(cfg).Unsaved() {
			if err := p.Load(row); err != nil {
				t.Fatal(err)
			}
		}
		for i := range p.servers.items {
			if again := p.row(ref{serverRow, int32(i)}); again.Key != p.row(ref{serverRow, int32(i)}).Key {
				t.Error("keys differ")
			} else if s, err := p.parseServer(again.Value); err != nil || !bytes.Equal(s.append(nil), again.Value) {
				t.Fatalf("row %q changed: %v", again.Key, err)
			}
		}
		for i := range p.networks.items {
			again := p.row(ref{networkRow, int32(i)})
			if l, err := parseLevel(again.Value); err != nil || !bytes.Equal(l.append(nil), again.Value) {
				t.Fatalf("row %q changed: %v", again.Key, err)
			}
		}
	}
}

// Rows are small: about a hundred bytes for a server that was seen on working days.
func TestRowsCompact(t *testing.T) {
	for exact, most := range map[bool]int{true: 198, false: 105} {
		p := NewPredictor(PredictorConfig{Exact: exact})
		p.Learn(monday, alice, "example.com", measured(1000))
		for _, r := range p.Dirty(100) {
			limit := map[byte]int{serverRow: most, networkRow: 12, domainRow: 12, globalRow: 12}[r.Key[0]]
			if len(r.Value) > limit {
				t.Errorf("exact %v: row %q takes %d bytes, more than %d", exact, r.Key, len(r.Value), limit)
			}
		}
	}
}

// A server is written when first seen and then every sixteenth download.
func TestRowsSeldom(t *testing.T) {
	for _, exact := range []bool{true, false} {
		p := NewPredictor(PredictorConfig{Exact: exact})
		var written []int
		for i := range 100 {
			p.Learn(monday.Add(time.Duration(i)*time.Minute), alice, "example.com", measured(1000))
			for _, r := range p.Dirty(100) {
				if r.Key[0] == serverRow {
					written = append(written, i)
				}
			}
		}
		want := []int{0, 16, 32, 48, 64, 80, 96}
		if len(written) != len(want) || written[1] != want[1] || written[6] != want[6] {
			t.Errorf("exact %v: written after downloads %v, want %v", exact, written, want)
		}
		rows := p.Unsaved()
		if len(rows) == 0 || rows[0].Key != "s\xc0\x00\x02\x01" {
			t.Errorf("exact %v: at the end %v", exact, rows)
		}
		if again := p.Unsaved(); again != nil {
			t.Errorf("exact %v: written twice: %v", exact, again)
		}
	}
}

// Dirty keeps to its bound and leaves the rest for the next time.
func TestRowsBounded(t *testing.T) {
	p := NewPredictor(PredictorConfig{Exact: true})
	for i := range 10 {
		p.Learn(monday, netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}), "", measured(1000))
	}
	seen := map[string]bool{}
	for _, want := range []int{4, 4, 2, 0} {
		rows := p.Dirty(4)
		if len(rows) != want {
			t.Errorf("%d rows, want %d", len(rows), want)
		}
		for _, r := range rows {
			if seen[r.Key] {
				t.Errorf("row %q twice", r.Key)
			}
			seen[r.Key] = true
		}
	}
}

// What is forgotten is deleted, and what then comes back is written after that.
func TestRowsDeleted(t *testing.T) {
	p := NewPredictor(PredictorConfig{Exact: true, Max: 1})
	p.Learn(monday, alice, "", measured(1000))
	p.Dirty(10)
	p.Learn(monday, bob, "", measured(2000))
	p.Learn(monday, alice, "", measured(3000))
	store := map[string][]byte{"s\xc0\x00\x02\x01": {1}}
	for rows := p.Dirty(1); rows != nil; rows = p.Dirty(1) {
		if rows[0].Value == nil {
			delete(store, rows[0].Key)
		} else {
			store[rows[0].Key] = rows[0].Value
		}
	}
	if len(store) != 1 || len(store["s\xc0\x00\x02\x01"]) < 10 {
		t.Errorf("stored: %q", store)
	}
}

// A crawl that changes its form keeps what it learnt in the other.
func TestRowsOtherForm(t *testing.T) {
	for _, exact := range []bool{true, false} {
		p := NewPredictor(PredictorConfig{Exact: exact})
		for range 20 {
			p.Learn(monday.Add(9*time.Hour), alice, "example.com", took(30e3, 100*time.Millisecond, 60e3))
		}
		other := reload(t, PredictorConfig{Exact: !exact}, p.Unsaved())
		at := monday.Add(9 * time.Hour)
		if was, is := p.Rate(at, alice, ""), other.Rate(at, alice, ""); !is.Known || !within(was.Rate, is.Rate, 1.01) {
			t.Errorf("from exact %v: %+v became %+v", exact, was, is)
		}
		other.Learn(at, alice, "example.com", measured(1000))
		if !sane(other.Rate(at, alice, "")) {
			t.Error("cannot go on learning")
		}
	}
}

func TestRowsBad(t *testing.T) {
	p := NewPredictor(PredictorConfig{Exact: true})
	p.Learn(monday, alice, "", measured(1000))
	paper := p.Dirty(1)[0]
	p = NewPredictor(PredictorConfig{})
	p.Learn(monday, alice, "example.com", measured(1000))
	rows := p.Dirty(10)
	level, weir := rows[0], rows[len(rows)-1]
	if weir.Key[0] != serverRow || level.Key[0] == serverRow {
		t.Fatalf("rows in another order: %v", rows)
	}
	edit := func(r Row, at int, b ...byte) Row {
		v := append([]byte(nil), r.Value...)
		copy(v[at:], b)
		return Row{r.Key, v}
	}
	float := func(f float32) []byte { return binary.LittleEndian.AppendUint32(nil, math.Float32bits(f)) }
	for _, c := range []struct {
		row  Row
		want string
	}{
		{Row{"", weir.Value}, "empty key"},
		{Row{"x", weir.Value}, "bad key"},
		{Row{"s\x01\x02\x03", weir.Value}, "bad key"},
		{Row{"n\x01\x02\x03\x04", level.Value}, "bad key"},
		{Row{"d" + strings.Repeat("x", 300), level.Value}, "bad key"},
		{Row{"gg", level.Value}, "bad key"},
		{Row{weir.Key, nil}, "server 192.0.2.1: 0 bytes are too few"},
		{Row{weir.Key, weir.Value[:6]}, "too few"},
		{Row{weir.Key, weir.Value[:50]}, "cut short"},
		{Row{weir.Key, append(weir.Value[:len(weir.Value):len(weir.Value)], 0)}, "1 bytes too many"},
		{edit(weir, 0, 9), "version 9 is not known"},
		{edit(weir, 1, 'z'), `not a server: form 'z'`},
		{edit(weir, 2, 0, 0), "count 0 is out of range"},
		{edit(weir, 2, 0xff, 0xff), "count 65535 is out of range"},
		{edit(weir, 8, 0), "days 0x0"},
		{edit(weir, 8, 7), "days 0x7"},
		{Row{weir.Key, level.Value}, "not a server"},
		{Row{level.Key, weir.Value}, "not a level"},
		{Row{paper.Key, paper.Value[:40]}, "bytes, not"},
		{edit(paper, 6, float(float32(math.NaN()))...), "rate NaN is out of range"},
		{edit(paper, 10, float(float32(math.Inf(1)))...), "rate +Inf is out of range"},
		{edit(paper, 14, float(-5)...), "rate -5 is out of range"},
		{edit(paper, 18, float(0)...), "rate 0 is out of range"},
	} {
		p := NewPredictor(PredictorConfig{})
		err := p.Load(c.row)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "load predictor row") {
			t.Errorf("row %q %.10q: error %v, want %q", c.row.Key, c.row.Value, err, c.want)
		}
		if p.Len() != 0 {
			t.Errorf("a bad row of %q was kept", c.row.Key)
		}
	}
}

// Whatever bytes the store hands back, a row is refused or gives sane estimates
// from which learning goes on.
func FuzzRow(f *testing.F) {
	for _, exact := range []bool{true, false} {
		p := NewPredictor(PredictorConfig{Exact: exact})
		p.Learn(monday, alice, "example.com", took(30e3, 100*time.Millisecond, 60e3))
		p.Learn(saturday, netip.MustParseAddr("2001:db8::1"), "example.com", took(30e3, 100*time.Millisecond, 60e3))
		for _, r := range p.Unsaved() {
			f.Add(r.Key, r.Value, exact)
		}
	}
	f.Fuzz(func(t *testing.T, key string, value []byte, exact bool) {
		p := NewPredictor(PredictorConfig{Exact: exact, Max: 4})
		if err := p.Load(Row{key, value}); err != nil {
			if p.Len() != 0 {
				t.Error("a bad row was kept")
			}
			return
		}
		server, domain := alice, "example.com"
		switch key[0] {
		case serverRow:
			server, _ = netip.AddrFromSlice([]byte(key[1:]))
		case domainRow:
			domain = key[1:]
		}
		for range 3 {
			for h := range 48 {
				if e := p.Rate(monday.AddDate(0, 0, h/24*5).Add(time.Duration(h%24)*time.Hour), server, domain); !sane(e) {
					t.Fatalf("row %q %q: %+v", key, value, e)
				}
			}
			p.Learn(monday, server, domain, measured(1000))
		}
		if key[0] == serverRow {
			again := p.row(ref{serverRow, 0})
			if err := NewPredictor(PredictorConfig{Exact: exact}).Load(again); err != nil {
				t.Errorf("a row of our own is refused: %v", err)
			}
		}
	})
}

// Recordings come from outside too.
func FuzzRecording(f *testing.F) {
	f.Add("unix,server,domain,bytes,first,seconds,throttled\n1,192.0.2.1,example.com,1000,0.1,0.5,false\n")
	f.Add("url,status,mime,bytes,depth,outcome,server,fetched_at,seconds\nhttp://a.example/,200,text/html,10,0,ok,192.0.2.1:80,2026-03-02T00:00:00Z,0.5\n")
	f.Fuzz(func(t *testing.T, text string) {
		all, err := recording(text)
		if err != nil {
			return
		}
		p := NewPredictor(PredictorConfig{})
		for _, d := range all[:min(len(all), 20)] {
			p.Learn(d.at, d.server, d.domain, d.Measure)
			if e := p.Rate(d.at, d.server, d.domain); !sane(e) {
				t.Errorf("%+v: %+v", d, e)
			}
		}
	})
}

// A comparison can be run on a recording of either kind.
func TestRecordingKinds(t *testing.T) {
	for _, text := range []string{
		"unix,server,domain,bytes,first,seconds,throttled\n1772442000,192.0.2.1,example.co.uk,1000,0,0.5,false\n",
		"url,status,mime,bytes,depth,outcome,server,fetched_at,seconds,via\n" +
			"https://www.example.co.uk/a,200,text/html,1000,0,ok,192.0.2.1:443,2026-03-02T09:00:00Z,0.5,\n" +
			"https://www.example.co.uk/b,0,,0,1,denied,,,0,\n",
	} {
		all, err := recording(text)
		want := download{at: monday.Add(9 * time.Hour), server: alice, domain: "example.co.uk", Measure: Measure{Bytes: 1000, Elapsed: 500 * time.Millisecond}}
		if err != nil || len(all) != 1 || all[0] != want {
			t.Errorf("read %+v, %v, want %+v", all, err, want)
		}
	}
	for text, want := range map[string]string{
		"":                    "EOF",
		"unix,server\n1,2\n":  `no column "domain"`,
		"url,fetched_at\n,\n": `no column "bytes"`,
		"unix,server,domain,bytes,first,seconds,throttled\nx,192.0.2.1,a,1,0,1,false\n": "line 2",
	} {
		if _, err := recording(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %s", text, err, want)
		}
	}
}
