package overlay

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/page"
)

func mustURL(t testing.TB, s string) page.URL {
	t.Helper()
	u, err := page.Parse(s)
	if err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	return u
}

var anyURL = rapid.Custom(func(t *rapid.T) page.URL {
	s := rapid.StringMatching(`https?://([a-z]{1,2}(:[a-z])?@)?([ab]\.example|\[::1\]|10\.0\.0\.1)(:81)?(/[a-c%é]{0,4}){1,3}(\?q=[a-b]{0,3})?`).Draw(t, "url")
	if rapid.IntRange(0, 9).Draw(t, "long") == 0 {
		s += strings.Repeat("x", rapid.IntRange(200, 2000).Draw(t, "tail"))
	}
	u, err := page.Parse(s)
	if err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	return u
})

var anyRow = rapid.Custom(func(t *rapid.T) Row {
	small := rapid.SampledFrom([]uint8{0, 0, 0, 1, 255})
	return Row{
		URL: anyURL.Draw(t, "url"), Depth: rapid.SampledFrom([]uint16{0, 1, 1, 1, 300, 65535}).Draw(t, "depth"),
		Hops: small.Draw(t, "hops"), Rule: small.Draw(t, "rule"), Program: small.Draw(t, "program"), Moves: small.Draw(t, "moves"),
		Root: rapid.Bool().Draw(t, "root"), Seed: rapid.Bool().Draw(t, "seed"),
		Score: rapid.SampledFrom([]float32{0, 0, 0.5, -1, float32(math.Inf(1))}).Draw(t, "score"),
	}
})

var anySpan = rapid.Custom(func(t *rapid.T) time.Duration {
	return rapid.SampledFrom([]time.Duration{0, 1, time.Millisecond, 1500 * time.Microsecond, 15 * time.Second, 24 * time.Hour, maxSpan}).Draw(t, "span")
})

var anyRecord = rapid.Custom(func(t *rapid.T) Record {
	node := rapid.SampledFrom([]string{"a", "b", "", strings.Repeat("n", MaxName)})
	body := rapid.SliceOfN(rapid.Byte(), 0, 20)
	number := rapid.Uint64()
	switch rapid.IntRange(0, 11).Draw(t, "kind") {
	case 0:
		return Shipped{Program: rapid.Byte().Draw(t, "program"), Rows: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Ship {
			return Ship{Input: rapid.Uint32().Draw(t, "input"), Row: body.Draw(t, "row")}
		}), 0, 4).Draw(t, "rows")}
	case 1:
		return Trips{rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Trip {
			return Trip{Host: rapid.StringMatching(`[a-z]{1,9}\.example`).Draw(t, "name"), Near: rapid.Byte().Draw(t, "near"), RTT: anySpan.Draw(t, "rtt")}
		}), 0, 4).Draw(t, "trips")}
	case 2:
		return Hosts{rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Host {
			return Host{
				Name: rapid.StringMatching(`[a-z]{1,9}\.example`).Draw(t, "name"), Failures: rapid.Uint16().Draw(t, "failures"),
				Last: anySpan.Draw(t, "last"), Rest: anySpan.Draw(t, "rest"), Pace: anySpan.Draw(t, "pace"), Delay: anySpan.Draw(t, "delay"),
			}
		}), 0, 4).Draw(t, "hosts")}
	case 3:
		return Taken{Epoch: number.Draw(t, "epoch"), Node: node.Draw(t, "node")}
	case 10:
		return Lost{Node: node.Draw(t, "node"), Rows: rapid.SliceOfN(anyRow, 0, 4).Draw(t, "rows")}
	case 11:
		return Handed{Epoch: number.Draw(t, "epoch"), Pages: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Handing {
			return Handing{To: rapid.Uint16().Draw(t, "to"), Row: anyRow.Draw(t, "row")}
		}), 0, 4).Draw(t, "handings")}
	case 8:
		return Mark{ID: number.Draw(t, "id"), Node: node.Draw(t, "node")}
	case 9:
		return Spread{[]Wide{{Host: "a.example", N: 1 << rapid.IntRange(0, 8).Draw(t, "n"), Version: number.Draw(t, "version")}}}
	case 4:
		return Unknown{Kind: 'z', Body: body.Draw(t, "body")}
	case 5:
		return Done{Epoch: number.Draw(t, "epoch"), Node: node.Draw(t, "node"), Pages: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Ended {
			return Ended{
				Site: anyURL.Draw(t, "url").Site(), Hash: number.Draw(t, "hash"),
				Outcome: page.Outcome(rapid.Byte().Draw(t, "outcome")), Status: rapid.SampledFrom([]uint16{0, 200, 200, 404, 65535}).Draw(t, "status"),
				Depth: rapid.SampledFrom([]uint16{0, 1, 1, 65535}).Draw(t, "depth"), Score: rapid.SampledFrom([]float32{0, 0, 0.5, -1}).Draw(t, "score"), Asked: rapid.SampledFrom([]uint32{0, 0, 7, 1 << 31}).Draw(t, "asked"),
				Bytes: rapid.SampledFrom([]uint64{0, 0, 1, 5000, maxRate}).Draw(t, "bytes"),
			}
		}), 0, 8).Draw(t, "pages")}
	}
	return Tuples{Rows: rapid.SliceOfN(anyRow, 0, 12).Draw(t, "rows"), Own: rapid.Bool().Draw(t, "own")}
})

func TestBatchComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := Batch{Origin: rapid.Uint64().Draw(t, "origin"), Records: rapid.SliceOfN(anyRecord, 0, 6).Draw(t, "records")}
		b := AppendBatch([]byte("before"), &x)
		got, err := ReadBatch(b[len("before"):])
		if err != nil {
			t.Fatal(err)
		}
		same(t, got.Origin, x.Origin)
		sameRecords(t, got.Records, x.Records)
		if again := AppendBatch([]byte("before"), &got); !bytes.Equal(again, b) {
			t.Fatalf("what was read is written as %x, not %x", again, b)
		}
	})
}

func TestParcelComesBack(t *testing.T) {
	post := rapid.Custom(func(t *rapid.T) Post {
		return Post{Part: rapid.IntRange(0, Parts-1).Draw(t, "part"), Records: rapid.SliceOfN(anyRecord, 0, 3).Draw(t, "records")}
	})
	rapid.Check(t, func(t *rapid.T) {
		posts := rapid.SliceOfN(post, 0, 3)
		x := Parcel{Seq: rapid.Uint64().Draw(t, "seq"), Rows: posts.Draw(t, "rows"), Ended: posts.Draw(t, "ended")}
		b := AppendParcel(nil, &x)
		got, err := ReadParcel(b)
		if err != nil {
			t.Fatal(err)
		}
		same(t, got.Seq, x.Seq)
		for _, pair := range [][2][]Post{{got.Rows, x.Rows}, {got.Ended, x.Ended}} {
			same(t, len(pair[0]), len(pair[1]))
			for i := range pair[0] {
				same(t, pair[0][i].Part, pair[1][i].Part)
				sameRecords(t, pair[0][i].Records, pair[1][i].Records)
			}
		}
	})
}

type tester interface {
	Helper()
	Fatalf(string, ...any)
}

func same[T comparable](t tester, got, want T) {
	t.Helper()
	if got != want {
		t.Fatalf("got %v, want %v", got, want)
	}
}

// sameRecords takes an empty list for none.
func sameRecords(t tester, got, want []Record) {
	t.Helper()
	same(t, len(got), len(want))
	for i := range got {
		if a, b := fmt.Sprintf("%T%+v", got[i], got[i]), fmt.Sprintf("%T%+v", want[i], want[i]); a != b {
			t.Fatalf("record %d:\n got %s\nwant %s", i, a, b)
		}
		if rows, ok := got[i].(Tuples); ok {
			for j, r := range rows.Rows {
				if !reflect.DeepEqual(r, want[i].(Tuples).Rows[j]) {
					t.Fatalf("row %d: got %+v, want %+v", j, r, want[i].(Tuples).Rows[j])
				}
			}
		}
	}
}

func TestBatchOfALaterVersion(t *testing.T) {
	b := AppendBatch(nil, &Batch{Origin: 7})
	b[0] = codecVersion + 1
	if _, err := ReadBatch(b); !errors.Is(err, ErrVersion) {
		t.Errorf("got %v", err)
	}
}

// A node of the next version writes a record that this one does not know: what
// stands round it is read.
func TestUnknownKindIsSkipped(t *testing.T) {
	x := Batch{Origin: 1, Records: []Record{
		Tuples{Rows: []Row{{URL: mustURL(t, "https://a.example/x")}}},
		Unknown{'?', []byte("anything at all")},
		Tuples{Rows: []Row{{URL: mustURL(t, "https://a.example/xy")}}},
	}}
	got, err := ReadBatch(AppendBatch(nil, &x))
	if err != nil {
		t.Fatal(err)
	}
	sameRecords(t, got.Records, x.Records)
}

// A node that does not know whose own rows are reads the rows.
func TestOwnRowsAreRowsToOthers(t *testing.T) {
	x := Batch{Origin: 1, Records: []Record{Tuples{Rows: []Row{{URL: mustURL(t, "https://a.example/x")}}}}}
	plain := AppendBatch(nil, &x)
	x.Records[0] = Tuples{Rows: x.Records[0].(Tuples).Rows, Own: true}
	own := AppendBatch(nil, &x)
	if i := bytes.Index(own, []byte{ownKind, 0}); i < 0 || !bytes.Equal(slices.Delete(own, i, i+2), plain) {
		t.Errorf("%x is not an empty record and %x", own, plain)
	}
	// A parcel counts the empty record: who does not know it finds what follows.
	p := Parcel{Seq: 1, Rows: []Post{{Part: 3, Records: append(x.Records, Mark{})}, {Part: 4, Records: x.Records}}}
	b := AppendParcel(nil, &p)
	if !bytes.Contains(b, []byte{3, 3, ownKind, 0}) || !bytes.Contains(b, []byte{4, 2, ownKind, 0}) {
		t.Errorf("%x does not count the empty records", b)
	}
	if got, err := ReadParcel(b); err != nil || !reflect.DeepEqual(got, p) {
		t.Errorf("read back as %v: %v", got, err)
	}
}

func TestBadBatch(t *testing.T) {
	row := func(site, rest string) []byte {
		body := []byte{newSite, 0, byte(len(site) << 1)}
		body = append(append(body, site...), 0, byte(len(rest)))
		body = append(body, rest...)
		return append([]byte{codecVersion, 0, 'T', byte(len(body))}, body...)
	}
	if _, err := ReadBatch(row("a.example", "/x")); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		b    []byte
		want string
	}{
		"empty":             {nil, "too early"},
		"huge":              {make([]byte, MaxBatch+1), "more than"},
		"cut":               {row("a.example", "/x")[:12], "too early"},
		"upper case":        {row("A.example", "/x"), "not a site"},
		"site with path":    {row("a.example/y", "/x"), "not a site"},
		"site with a user":  {row("u@a.example", "/x"), "not a site"},
		"fragment":          {row("a.example", "/x#y"), "not canonical"},
		"dots":              {row("a.example", "/../x"), "not canonical"},
		"other site":        {row("a.example", "u@/x@b.example/"), ""},
		"credentials only":  {row("a.example", "u"), "URL of"},
		"nothing":           {row("a.example", ""), "URL of"},
		"row without site":  {[]byte{codecVersion, 0, 'T', 4, 0, 0, 1, '/'}, "no site"},
		"begins like none":  {[]byte{codecVersion, 0, 'T', 8, newSite, 0, 2, 'a', 9, 1, '/', 0}, "begins like"},
		"page without site": {append([]byte{codecVersion, 0, 'D', 12, 1, 0, 0}, make([]byte, 9)...), "no site"},
		"node out of range": {[]byte{codecVersion, 0, 'E', 2, 1, 9}, "at most"},
		"left over":         {[]byte{codecVersion, 0, 'E', 4, 1, 0, 0, 0}, "left over"},
		"record too long":   {[]byte{codecVersion, 0, 'T', 9, 0}, "too early"},
	} {
		_, err := ReadBatch(c.b)
		if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func FuzzReadBatch(f *testing.F) {
	f.Add(AppendBatch(nil, realistic(f, 20)))
	f.Add(AppendBatch(nil, &Batch{Records: []Record{Taken{1, "a"}, Done{2, "a", []Ended{{"https://a.example", 3, page.OK, 200, 4, 0.5, 6, 7}}}, Hosts{[]Host{{Name: "a"}}}, Trips{[]Trip{{"a", 5, time.Second}}}, Shipped{1, []Ship{{2, []byte("y")}}}}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		x, err := ReadBatch(b)
		if err != nil {
			return
		}
		again, err := ReadBatch(AppendBatch(nil, &x))
		if err != nil {
			t.Fatalf("what was read cannot be read again: %v", err)
		}
		sameRecords(t, again.Records, x.Records)
	})
}

func FuzzReadParcel(f *testing.F) {
	x := realistic(f, 5)
	f.Add(AppendParcel(nil, &Parcel{Seq: 1, Rows: []Post{{3, x.Records}}, Ended: []Post{{9, []Record{Taken{1, "a"}}}}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		if x, err := ReadParcel(b); err == nil {
			if _, err := ReadParcel(AppendParcel(nil, &x)); err != nil {
				t.Fatalf("what was read cannot be read again: %v", err)
			}
		}
	})
}

// realistic is the batch of pages of a few sites, with the links that each has to
// its own site: most to places near by, some with queries.
func realistic(t testing.TB, pages int) *Batch {
	rng := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("news about archive product category review guide image forum topic release manual download support article story event index list user")
	word := func() string { return words[rng.IntN(len(words))] }
	x := &Batch{Origin: 1 << 40}
	for range pages {
		site := fmt.Sprintf("https://www.%s-%s.example", word(), word())
		dir := fmt.Sprintf("/%s/%s/", word(), word())
		rows := Tuples{}
		for range 40 {
			var s string
			switch rng.IntN(5) {
			case 0:
				s = fmt.Sprintf("%s/%s/%d", site, word(), rng.IntN(10000))
			case 1:
				s = fmt.Sprintf("%s%s?id=%d&lang=en", site, dir, rng.IntN(100000))
			default:
				s = fmt.Sprintf("%s%s%s-%s-%d.html", site, dir, word(), word(), rng.IntN(1000))
			}
			rows.Rows = append(rows.Rows, Row{URL: mustURL(t, s), Depth: 3})
		}
		x.Records = append(x.Records, rows)
	}
	return x
}

func ended(n int) *Batch {
	rng := rand.New(rand.NewPCG(1, 2))
	d := Done{Epoch: 1234, Node: "node-7"}
	for i := range n {
		d.Pages = append(d.Pages, Ended{fmt.Sprintf("https://www.site-%d.example", i/20), rng.Uint64(), page.OK, 200, uint16(i / 100), 0, 0, 0})
	}
	return &Batch{Origin: 1 << 40, Records: []Record{d}}
}

func BenchmarkAppendBatch(b *testing.B) {
	x := realistic(b, 100)
	urls, rows := 0, 0
	for _, r := range x.Records {
		for _, row := range r.(Tuples).Rows {
			urls += len(row.URL.String())
			rows++
		}
	}
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = AppendBatch(buf[:0], x)
	}
	b.ReportMetric(float64(len(buf))/float64(rows), "B/row")
	b.ReportMetric(float64(urls)/float64(rows), "URL-B/row")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*rows), "ns/row")
}

func BenchmarkReadBatch(b *testing.B) {
	buf := AppendBatch(nil, realistic(b, 100))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ReadBatch(buf); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*4000), "ns/row")
}

func BenchmarkAppendDone(b *testing.B) {
	x := ended(1000)
	var buf []byte
	for b.Loop() {
		buf = AppendBatch(buf[:0], x)
	}
	b.ReportMetric(float64(len(buf))/1000, "B/page")
}
