package frontier

// Batches takes the pages of the current batch, in the order of their ranks, and
// no others (Castillo, section 6.3, "Batch"). Pages that are found wait outside,
// in the class Outside, until a ranking of all pages puts them into a batch.
type Batches struct{}

// Outside is the class of pages that are in no batch.
const Outside = 1

func (Batches) Name() string { return "batch" }

func (Batches) Place(_ uint16, _ float32, n uint64) Place { return Place{Class: Outside, Seq: n} }

// Site goes by the site's best page: an earlier batch first, then its rank.
func (Batches) Site(v View) int64 { return int64(v.Head.Seq) }

func (Batches) Traits() Traits { return Traits{Ranked: true, Batched: true} }

// InBatch is the place of the page that came out n-th when pages were ranked,
// for the version-th time.
func InBatch(version, n uint32) Place { return Place{Seq: uint64(version)<<32 | uint64(n)} }
