package frontier

import (
	"testing"

	"pgregory.net/rapid"

	"weir/page"
)

// TestTaken holds the set against a map. Few keys meet often, so that holes are
// filled from behind, around the end too.
func TestTaken(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var set taken
		model := map[page.Key]bool{}
		key := rapid.Custom(func(t *rapid.T) page.Key {
			return page.Key{Site: page.SiteID(rapid.Uint32Range(0, 2).Draw(t, "site")), Hash: rapid.Uint64Range(0, 12).Draw(t, "hash")}
		})
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			k := key.Draw(t, "key")
			if rapid.Bool().Draw(t, "add") {
				set.add(k)
				model[k] = true
			} else {
				if set.remove(k) != model[k] {
					t.Fatalf("%v was there: %v", k, model[k])
				}
				delete(model, k)
			}
			if set.n != len(model) {
				t.Fatalf("%d, want %d", set.n, len(model))
			}
			if k = key.Draw(t, "look"); set.has(k) != model[k] {
				t.Fatalf("%v: %v", k, set.has(k))
			}
		}
	})
}
