package survey

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/testweb"
)

// indexed makes a site whose start page lists all others, each of which links to
// the next few.
func indexed(t *testing.T, name string, pages, next int) testweb.Site {
	t.Helper()
	dir := t.TempDir()
	write := func(name string, links func(link func(int))) {
		var b strings.Builder
		b.WriteString("<!doctype html><title>" + name + "</title>")
		links(func(i int) { fmt.Fprintf(&b, "<a href='/%d.html'>%d</a> ", i, i) })
		if err := os.WriteFile(filepath.Join(dir, name), []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("index.html", func(link func(int)) {
		for i := 1; i < pages; i++ {
			link(i)
		}
	})
	for i := 1; i < pages; i++ {
		write(fmt.Sprintf("%d.html", i), func(link func(int)) {
			for j := i + 1; j <= i+next && j < pages; j++ {
				link(j)
			}
		})
	}
	return testweb.Site{Name: name, Folder: dir}
}

// TestSampleOfIndex samples sites that list all their pages at the start: there
// are as many as are listed, though most of them were met once.
func TestSampleOfIndex(t *testing.T) {
	web := start(t, indexed(t, "large.test", 500, 4), indexed(t, "small.test", 40, 4), indexed(t, "leaves.test", 500, 0), indexed(t, "chain.test", 100, 1))
	got, err := Sample(context.Background(), config(t, web), web.Seeds())
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int64{500, 40, 500, 100} {
		if e := got[i]; e.Pages != want || e.Err != nil || e.Fetched != 20 || !e.Least || !(e.Low <= e.Size && e.Size <= e.High) {
			t.Errorf("%+v", e)
		}
	}
	polite(t, web)
}

// TestHubs looks at sites of 1000 pages whose links lead anywhere, and one of which
// lists some of them: what the others lead to tells how much it left out.
func TestHubs(t *testing.T) {
	const trials, pages, others, links = 300, 1000, 19, 10
	for listed, least := range map[int]float64{0: 0.6, 100: 0.6, 500: 0.6, 900: 0.6} {
		r := rand.New(rand.NewPCG(5, 6))
		inside, sum := 0, 0.0
		for range trials {
			known := map[uint64]bool{}
			some := func(n int) (l []uint64) {
				for _, i := range r.Perm(pages)[:n] {
					l = append(l, uint64(i))
					known[uint64(i)] = true
				}
				return l
			}
			var ls looks
			for range others {
				ls = append(ls, some(links))
			}
			if listed > 0 {
				ls = append(ls, some(listed))
			}
			got, doubt := ls.unseen()
			all := float64(len(known)) + got
			sum += all
			if math.Abs(math.Log((pages-float64(len(known)))/got)) <= doubt {
				inside++
			}
		}
		within(t, fmt.Sprintf("the number of pages, %d listed,", listed), sum/trials, 0.8*pages, 1.25*pages)
		if share := float64(inside) / trials; share < least {
			t.Errorf("%d listed: within the bounds in %.3f of the cases", listed, share)
		}
	}
	// Catalogues that prove nothing do not make a site endless, nor does nothing at all.
	strange := looks{{1, 2}, {3, 4}, {5, 6}, make([]uint64, 100)}
	for i := range strange[3] {
		strange[3][i] = uint64(100 + i)
	}
	for _, ls := range []looks{nil, strange[:1], strange[3:], strange} {
		if got, _ := ls.unseen(); got != 0 {
			t.Errorf("%d looks tell of %v pages", len(ls), got)
		}
	}
}
