package crawl

import (
	"testing"

	"pgregory.net/rapid"

	"weir/overlay"
	"weir/page"
	"weir/query"
	"weir/query/flow"
)

// A page's row, the rows of tables that begin with its URL, and what is kept under
// its host's name live where both the nodes and the programs look for them.
func TestTablesLiveWithTheirPages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringMatching(`https?://([a-z]{1,3}@)?(\[::[0-9a-f]\]|[a-z0-9]{1,10}\.example)(:[0-9]{1,3})?/[a-z:/@?]{0,5}`).Draw(t, "url")
		u, err := page.Parse(s)
		if err != nil {
			t.Skip(err)
		}
		n := rapid.IntRange(2, 300).Draw(t, "n")
		parts := rapid.IntRange(1, 300).Draw(t, "parts")
		for _, way := range []struct {
			keys  overlay.Scheme
			table flow.Options
		}{
			{overlay.Scheme{}, flow.Options{Scheme: flow.ByHost}},
			{overlay.Scheme{By: overlay.ByURL}, flow.Options{Scheme: flow.ByURL}},
			{overlay.Scheme{By: overlay.ByHostN, N: n}, flow.Options{Scheme: flow.ByHostN, Spread: n}},
		} {
			k := overlay.NewKeys(way.keys, parts)
			if got, want := way.table.Home(query.URL, query.Value{S: u.String()}, parts), k.Home(u); got != want {
				t.Fatalf("by %s, rows of %s live in partition %d and the page in %d", way.keys, u, got, want)
			}
			if got, want := way.table.Home(query.Text, query.Value{S: u.Host()}, parts), k.HostPart(u.Host()); got != want {
				t.Fatalf("by %s, rows of the host of %s live in partition %d and the host in %d", way.keys, u, got, want)
			}
		}
	})
}
