package flow

import (
	"testing"
)

// A count that grows orders a page when it is high enough, over restarts, and
// however often pages are delivered.
func TestGrowingCountsAreKept(t *testing.T) {
	state := mapState{}
	p := start(t, `crawl(U, 0, 0) :- seed(U). pop(V, max count<U>, min min<D>) :- crawl(U, D, _), link(U, V).
crawl(V, 1, N) :- pop(V, N, _), N >= 2.`, Options{Crawl: true}, state)
	commit := func() {
		state.commit(&p.out)
		p.part.Committed()
	}
	a, b, c := read(t, "http://a.org/1", "http://a.org/x"), read(t, "http://a.org/2", "http://a.org/x"), read(t, "http://a.org/3", "http://a.org/x", "http://a.org/y")
	a.Depth, b.Depth, c.Depth = 3, 4, 5
	p.want("one page links to it", p.page(a))
	commit()
	p.want("the same page again", p.page(a))
	p.restart(state)
	p.want("after a restart too", p.page(a))
	p.want("two pages do", p.page(b), "http://a.org/x 1 2")
	// Not committed, and lost: it comes again.
	p.restart(state)
	p.want("two pages do, again", p.page(b), "http://a.org/x 1 2")
	commit()
	p.want("three do", p.page(c), "http://a.org/x 1 3")
	p.want("counts", p.rows("pop"), "http://a.org/x 3 3", "http://a.org/y 1 5")
}

// What a page says of itself may decide which of its links are followed.
func TestSealedAggregatesSteer(t *testing.T) {
	p := start(t, `crawl(U, 0) :- seed(U). links(U, count<V>) :- link(U, V).
crawl(V, D+1) :- crawl(U, D), links(U, N), link(U, V), N < 3, D < 9.`, Options{Crawl: true}, NewMem())
	p.seed("http://a.org/", 0)
	p.do(func(out *Out) error { return p.part.Crawled("http://a.org/", 0, 0, out) })
	p.do(func(out *Out) error { return p.part.Crawled("http://b.org/", 0, 0, out) })
	p.want("a page of two links", p.page(read(t, "http://a.org/", "http://a.org/1", "http://a.org/2", "http://a.org/1")), "http://a.org/2 1 0", "http://a.org/1 1 0")
	p.want("a page of three", p.page(read(t, "http://b.org/", "http://b.org/1", "http://b.org/2", "http://b.org/3")))
	p.want("counts", p.rows("links"), "http://a.org/ 2", "http://b.org/ 3")
}

// Final levels also run over rows that the state does not have yet.
func TestFinishOverAnOverlay(t *testing.T) {
	state := mapState{}
	p := start(t, `crawl(U) :- seed(U). in(V, count<U>) :- link(U, V). best(top<1, N, V>) :- in(V, N).`, Options{}, state)
	p.page(read(t, "http://a.org/1", "http://a.org/x", "http://a.org/z"))
	state.commit(&p.out)
	p.part.Committed()
	p.page(read(t, "http://a.org/2", "http://a.org/x", "http://a.org/y"))
	p.must(Finish([]*Part{p.part}))
	p.want("in", p.rows("in"), "http://a.org/x 2", "http://a.org/y 1", "http://a.org/z 1")
	p.want("best", p.rows("best"), "1 2 http://a.org/x")
}
