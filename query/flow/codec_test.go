package flow

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"weir/query"
)

func anyValue(t *rapid.T, of query.Type) query.Value {
	switch {
	case of == query.URL: // canonical, so without control characters
		return query.Value{S: rapid.StringMatching(`[ -~\x{80}-\x{10ffff}]*`).Draw(t, "url")}
	case of.Textual():
		return query.Value{S: rapid.OneOf(rapid.StringOf(rapid.RuneFrom([]rune{0, 1, 2, 'a', 0x10ffff})), rapid.String()).Draw(t, "text")}
	case of == query.Float:
		return query.FloatValue(rapid.Float64().Filter(func(f float64) bool { return !math.IsInf(f, 0) && !math.IsNaN(f) }).Draw(t, "float"))
	}
	return query.Value{N: rapid.OneOf(rapid.Int64(), rapid.Int64Range(-300, 300)).Draw(t, "int")}
}

// Rows sort as their values do, and come back as they were.
func TestPackedRowsKeepTheirOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		types := rapid.SliceOfN(rapid.SampledFrom([]query.Type{query.URL, query.Text, query.Int, query.Float, query.Time}), 1, 4).Draw(t, "types")
		var rows [2]Row
		var packed [2][]byte
		for i := range rows {
			for c, of := range types {
				v := anyValue(t, of)
				if i == 1 && rapid.Bool().Draw(t, "equal") {
					v = rows[0][c]
				}
				rows[i] = append(rows[i], v)
				packed[i] = appendValue(packed[i], of, v)
			}
			rest, at := string(packed[i]), 0
			for c, of := range types {
				v, next, ok := cutValue(rest, of)
				if !ok || v != rows[i][c] {
					t.Fatalf("%q of %v came back as %v", packed[i], rows[i][c], v)
				}
				at += len(rest) - len(next)
				st, p := &Store{Types: types}, &Path{Prefix: c + 1}
				for c := range types {
					p.Columns = append(p.Columns, c)
				}
				if got := st.cut(p, packed[i]); got != at {
					t.Fatalf("%d columns of %q end at %d, not %d", c+1, packed[i], at, got)
				}
				rest = next
			}
		}
		want := 0
		for c, of := range types {
			if want == 0 {
				want = compare(of, rows[0][c], rows[1][c])
			}
		}
		if got := bytes.Compare(packed[0], packed[1]); got != want {
			t.Fatalf("%v and %v compare %d, packed %d", rows[0], rows[1], want, got)
		}
	})
}

// Bytes from elsewhere are a row or not; if they are, there is no other way to
// write it.
func FuzzCutValue(f *testing.F) {
	for of := query.URL; of <= query.Time; of++ {
		for _, s := range []string{"", "\x00", "a\x00b", "\x01\x01\x01\x02\x00", "\x01\x00", "\x80", "\x7f\xff", "\x7f\x7f", "\x82\x00\x01", "\x89", strings.Repeat("\xff", 9)} {
			f.Add(byte(of), s)
		}
	}
	f.Fuzz(func(t *testing.T, b byte, s string) {
		of := query.Type(b%5) + query.URL
		v, rest, ok := cutValue(s, of)
		if !ok {
			return
		}
		if got := string(appendValue(nil, of, v)) + rest; got != s {
			t.Errorf("%q as %s is %v, which is %q", s, of, v, got)
		}
	})
}
