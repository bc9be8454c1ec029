package sim

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"weir/crawl"
)

var (
	_ crawl.KV     = (*rows)(nil)
	_ crawl.Writer = (*rows)(nil)
)

// TestRows holds the store against a plain map.
func TestRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, model := newRows(1, 1), map[string][]byte{}
		site := rapid.Uint32Range(1, 3)
		key := rapid.Custom(func(t *rapid.T) []byte {
			kind := rapid.SampledFrom([]byte("uqsmh")).Draw(t, "kind")
			k := binary.BigEndian.AppendUint32([]byte{kind}, site.Draw(t, "site"))
			switch kind {
			case 'u':
				k = binary.BigEndian.AppendUint64(k, rapid.Uint64Range(0, 40).Draw(t, "hash"))
			case 'q':
				k = append(k, rapid.SampledFrom([]byte{0, 1, 255}).Draw(t, "class"))
				k = binary.BigEndian.AppendUint64(k, rapid.Uint64Range(0, 60).Draw(t, "seq"))
			}
			return k
		})
		value := rapid.OneOf(rapid.SliceOfN(rapid.Byte(), 1, 60), rapid.SliceOfN(rapid.Byte(), 250, 260))
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			k := key.Draw(t, "key")
			switch {
			case rapid.IntRange(0, 2).Draw(t, "do") > 0 || k[0] == 'u' || k[0] == 's':
				v := value.Draw(t, "value")
				r.Set(k, v)
				model[string(k)] = v
			default:
				r.Delete(k)
				delete(model, string(k))
			}
			k = key.Draw(t, "look")
			v, ok, err := r.Get(k)
			if want, there := model[string(k)]; err != nil || ok != there || !bytes.Equal(v, want) {
				t.Fatalf("%q: %q, %v, %v; want %q, %v", k, v, ok, err, want, there)
			}
			if k[0] == 'q' {
				scan(t, r, model, k, binary.BigEndian.AppendUint32([]byte{'q'}, binary.BigEndian.Uint32(k[1:])+1))
			}
		}
		for _, kind := range []byte("smh") {
			scan(t, r, model, []byte{kind}, []byte{kind + 1})
		}
	})
}

func scan(t *rapid.T, r *rows, model map[string][]byte, lower, upper []byte) {
	var want, got []string
	for k := range model {
		if k >= string(lower) && k < string(upper) {
			want = append(want, k)
		}
	}
	slices.Sort(want)
	err := r.Scan(lower, upper, func(k, v []byte) bool {
		if !bytes.Equal(v, model[string(k)]) {
			t.Fatalf("%q: %q, want %q", k, v, model[string(k)])
		}
		got = append(got, string(k))
		return true
	})
	if err != nil || !slices.Equal(got, want) {
		t.Fatalf("from %q: %q, %v; want %q", lower, got, err, want)
	}
}

func TestNames(t *testing.T) {
	w := plain(12, 13)
	n, err := newNames(w)
	if err != nil {
		t.Fatal(err)
	}
	for p := range uint32(w.Pages()) {
		u, err := n.url(p)
		if err != nil || u.String() != w.URL(p) {
			t.Fatalf("page %d is %s, %v; want %s", p, u, err, w.URL(p))
		}
		s := n.findSite(u.Site())
		if q, ok := n.findPage(s, u.Rest(), n.hash(p)); s != w.SiteOf[p] || q != p || !ok {
			t.Fatalf("page %d, %s, was found as page %d of site %d, %v", p, u, q, s, ok)
		}
	}
	for _, rest := range []string{"/13", "/robots.txt", "/0", "/-1", "/4294967296"} {
		if p, ok := n.findPage(3, rest, 1); ok {
			t.Errorf("%s was found as page %d", rest, p)
		}
	}
}
