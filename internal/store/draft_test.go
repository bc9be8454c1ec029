package store

import (
	"bytes"
	"fmt"
	"maps"
	"testing"

	"pgregory.net/rapid"
)

// What a group says last of a row counts, however its rows are written.
func TestLastWordOfAGroup(t *testing.T) {
	s, err := Create(t.TempDir(), Options{Form: None, Info: info})
	must(t, err)
	defer s.Close()
	want := map[string]string{}
	rapid.Check(t, func(t *rapid.T) {
		g := s.Begin()
		for i := range rapid.IntRange(0, 40).Draw(t, "rows") {
			key := rapid.StringMatching(`u[ab]{0,3}(12345678[ab]?)?`).Draw(t, "key")
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0:
				upper := key + rapid.StringMatching(`[ab]{1,2}`).Draw(t, "upper")
				g.DeleteRange([]byte(key), []byte(upper))
				maps.DeleteFunc(want, func(k, _ string) bool { return k >= key && k < upper })
			case 1:
				g.Delete([]byte(key))
				delete(want, key)
			default:
				value := fmt.Sprint(i)[:i%2]
				g.Set([]byte(key), []byte(value))
				want[key] = value
			}
		}
		if err := g.Commit(); err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		if err := s.Scan([]byte("u"), []byte("v"), func(k, v []byte) bool {
			got[string(bytes.Clone(k))] = string(v)
			return true
		}); err != nil {
			t.Fatal(err)
		}
		if !maps.Equal(got, want) {
			t.Fatalf("rows are %q, want %q", got, want)
		}
	})
}
