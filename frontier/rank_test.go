package frontier

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestOrderNames(t *testing.T) {
	for _, name := range []string{"length", "depth", "depth-flat", "siteopic", "siterank", "opic", "partial", "batch", "score", "optimal"} {
		if r, err := Order(name); err != nil || r.Name() != name {
			t.Errorf("Order(%q) = %v, %v", name, r, err)
		}
	}
	_, err := Order("best")
	if err == nil || !strings.Contains(err.Error(), `"best"; there are siteopic, length, depth, depth-flat, siterank, opic, partial, batch, score, optimal`) {
		t.Errorf("an unknown order: %v", err)
	}
}

func TestPlaces(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, c := range []struct {
		order       Ranking
		aDepth      uint16
		aScore      float32
		aN          uint64
		bDepth      uint16
		bScore      float32
		bN          uint64
		aFirst, why string
	}{
		{Depth{}, 1, 0, 9, 2, 5, 1, "yes", "less depth goes first, whatever came first or scores more"},
		{Depth{}, 1, 0, 1, 1, 5, 2, "yes", "equal depth keeps its order"},
		{Depth{}, 255, 0, 1, 60000, 0, 2, "yes", "depths over 255 count as equal"},
		{Depth{}, 60000, 0, 1, 255, 0, 2, "yes", "depths over 255 count as equal"},
		{Length{}, 0, 0, 9, 1, 0, 1, "yes", "less depth goes first"},
		{DepthFlat{}, 0, 0, 9, 1, 0, 1, "yes", "less depth goes first"},
		{SiteOPIC{}, 9, 1.6, 9, 0, 1, 1, "yes", "a step more goes first, whatever the depth and what came first"},
		{SiteOPIC{}, 0, 1, 1, 0, 1.59, 2, "yes", "less than a step makes no difference"},
		{SiteOPIC{}, 0, 1e-20, 9, 0, 1e-21, 1, "yes", "small parts of parts still count"},
		{SiteOPIC{}, 0, 0, 9, 0, nan, 10, "yes", "what is no number goes last"},
		{SiteOPIC{}, 0, inf, 9, 0, 1e5, 1, "yes", "there is no end of cash"},
		{Partial{}, 9, 2, 9, 0, 1, 1, "yes", "a better rank goes first"},
		{Batches{}, 9, 0, 1, 0, 9, 2, "yes", "outside the batch nothing counts"},
		{Optimal{}, 9, 2, 9, 0, 1, 1, "yes", "the better rank goes first"},
		{Score{}, 9, 2, 9, 0, 1, 1, "yes", "more score goes first, whatever the depth"},
		{Score{}, 0, 1, 1, 0, 1, 2, "yes", "equal scores keep their order"},
		{Score{}, 0, 0.1, 9, 0, -0.1, 1, "yes", "negative scores come after positive ones"},
		{Score{}, 0, -1, 9, 0, -2, 1, "yes", "of two negative ones the larger"},
		{Score{}, 0, math.Nextafter32(1, 2), 9, 0, 1, 1, "yes", "the smallest difference counts"},
		{Score{}, 0, inf, 9, 0, math.MaxFloat32, 1, "yes", "infinity is a number"},
		{Score{}, 0, -math.MaxFloat32, 9, 0, nan, 1, "yes", "what is no number goes last"},
	} {
		a, b := c.order.Place(c.aDepth, c.aScore, c.aN), c.order.Place(c.bDepth, c.bScore, c.bN)
		if !a.Before(b) || b.Before(a) {
			t.Errorf("%s: %v, %v: %s", c.order.Name(), a, b, c.why)
		}
	}
}

func TestSiteKeys(t *testing.T) {
	many, few := View{Queued: 9, Head: Place{Class: 3, Seq: 7}}, View{Queued: 2, Head: Place{Class: 1, Seq: 8}}
	if k := (Length{}); k.Site(many) >= k.Site(few) {
		t.Error("length: the longer queue does not go first")
	}
	if k := (Depth{}); k.Site(few) >= k.Site(many) {
		t.Error("depth: the site with the less deep page does not go first")
	}
	rich, poor := View{Queued: 1, Cash: 2.5}, View{Queued: 9, Cash: 2.4}
	if k := (SiteOPIC{}); k.Site(rich) >= k.Site(poor) || k.Site(poor) >= k.Site(View{}) {
		t.Error("siteopic: the site with the most cash does not go first")
	}
	if k := (DepthFlat{}); k.Site(many) != k.Site(few) {
		t.Error("depth-flat: one site goes before another")
	}
	if k := (Batches{}); k.Site(View{Head: InBatch(1, 9)}) >= k.Site(View{Head: InBatch(2, 0)}) || k.Site(View{Head: InBatch(2, 1)}) <= k.Site(View{Head: InBatch(2, 0)}) {
		t.Error("batch: the order is not that of batches and their ranks")
	}
	good, bad := Score{}.Place(0, 2, 50), Score{}.Place(0, 1, 1)
	if k := (Score{}); k.Site(View{Queued: 1, Head: good}) >= k.Site(View{Queued: 9, Head: bad}) {
		t.Error("score: the site with the best page does not go first")
	}
}

// Places of one site never collide, and After skips nothing.
func TestPlacesAreUnique(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rapid.SampledFrom(rankings).Draw(t, "order")
		draw := func(n uint64) Place {
			return r.Place(rapid.Uint16().Draw(t, "depth"), rapid.Float32().Draw(t, "score"), n)
		}
		a, b := draw(1), draw(2)
		if a == b || a.Before(b) == b.Before(a) {
			t.Fatalf("%v and %v", a, b)
		}
		if a.Before(b) && b.Before(a.After()) {
			t.Fatalf("%v lies between %v and the place right behind it", b, a)
		}
	})
}
