package frontier

// Partial takes the page with the highest score (Castillo, section 6.3,
// "Partial"): its rank, when pages were ranked last, and what pages that were
// fetched since then, and link to it, have handed on of their scores. Pages
// within one step of each other keep their order of discovery.
type Partial struct{}

func (Partial) Name() string { return "partial" }

func (Partial) Place(_ uint16, score float32, n uint64) Place {
	return Place{Class: class(score), Seq: n}
}

func (Partial) Site(v View) int64 { return int64(v.Head.Class) }

func (Partial) Traits() Traits { return Traits{Splits: true, Ranked: true} }
