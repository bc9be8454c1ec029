package node

import (
	"context"
	"reflect"
	"testing"

	"weir/crawl"
	"weir/internal/extract"
	"weir/internal/fetch"
	"weir/internal/store"
	"weir/internal/testweb"
	"weir/page"
)

// The facts of a crawl, read again from its archive or its rows, are those that the pages
// have on the web.
func TestFactsReadAgain(t *testing.T) {
	t.Parallel()
	web := start(t, testweb.Config{Seed: 9, Sites: []testweb.Site{
		{Name: "a.test", Pages: 40, Links: 6, Size: 3000, Faults: []testweb.Fault{
			{Kind: testweb.Duplicate, Every: 5}, {Kind: testweb.RedirectPage, Every: 7}, {Kind: testweb.NotFound, Every: 11},
			{Kind: testweb.Gzip, Every: 3}, {Kind: testweb.Chunked, Every: 2},
		}},
		{Name: "b.test", Pages: 40, Links: 6, Size: 30_000, Faults: []testweb.Fault{
			{Kind: testweb.WrongType, Every: 5}, {Kind: testweb.RedirectSite, Every: 7}, {Kind: testweb.Gzip, Every: 2},
		}},
	}})
	for name, c := range map[string]struct {
		form  store.Form
		depth int // with a bound, facts are kept where there is no archive
	}{"gzip": {store.Gzip, -1}, "zstd": {store.Zstd, -1}, "nothing": {store.None, -1}, "kept": {store.None, 100}} {
		t.Run(name, func(t *testing.T) {
			cfg := config(t, web)
			cfg.Archive, cfg.Scope.Depth = c.form, c.depth
			cfg.Want = page.Want{Anchors: true, Requisites: true, Words: true, Metas: true, Translations: true}
			run(t, cfg)
			st, err := store.Open(cfg.Dir, store.Options{ReadOnly: true})
			if err != nil {
				t.Fatal(err)
			}
			defer st.Close()
			view, err := crawl.NewView(st)
			if err != nil {
				t.Fatal(err)
			}
			how := (&node{cfg: cfg}).extract()
			archive, err := extract.NewArchive(st, how)
			if err != nil {
				t.Fatal(err)
			}
			if how.Secret, _, err = crawl.ReadSecret(st); err != nil {
				t.Fatal(err)
			}
			client, err := fetch.New(cfg.Fetch)
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			live := extract.Reader{Config: how}
			outcomes := map[page.Outcome]int{}
			for got, err := range archive.Facts(context.Background(), view.Pages) {
				if err != nil {
					t.Fatal(err)
				}
				outcomes[got.Outcome]++
				want := *got
				want.Title, want.Links, want.Words, want.Metas, want.Translations = "", nil, nil, nil, nil
				want.Said, want.Redirect, want.NoIndex, want.NoFollow = 0, page.Link{}, false, false
				if archive.Has(page.Want{}) {
					a := askFor(t, client, got.URL)
					want.Outcome, want.Status, want.Bytes, want.Mime = a.Outcome, a.Status, a.BodyWire, ""
					live.Read(&want, extract.Answer{Head: a.Head, Header: a.Header, Body: a})
					a.Release()
				}
				if !reflect.DeepEqual(got, &want) {
					t.Errorf("read again:\n%+v\non the web:\n%+v", got, &want)
				}
			}
			for _, o := range []page.Outcome{page.OK, page.Redirected, page.ClientError} {
				if outcomes[o] == 0 {
					t.Errorf("no page ended with %v", o)
				}
			}
		})
	}
}

// askFor asks for a page over a connection of its own.
func askFor(t *testing.T, client *fetch.Client, u page.URL) *fetch.Answer {
	t.Helper()
	addrs, _, o := client.Lookup(context.Background(), u.Host())
	if o != page.OK {
		t.Fatal(o)
	}
	conn, o := client.Open(context.Background(), u, addrs[0])
	if o != page.OK {
		t.Fatal(o, conn.Err)
	}
	defer conn.Close()
	return conn.Get(context.Background(), u, true)
}
