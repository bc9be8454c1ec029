package frontier

// Depth takes the page of the least depth, whatever its site (Castillo,
// section 6.3, "Depth", in the reading where the heap of sites follows the
// depth of each site's best page). Depths over 255 count as equal.
type Depth struct{}

func (Depth) Name() string { return "depth" }

func (Depth) Place(depth uint16, _ float32, n uint64) Place {
	return Place{Class: uint8(min(depth, 255)), Seq: n}
}

func (Depth) Site(v View) int64 { return int64(v.Head.Class) }

func (Depth) Traits() Traits { return Traits{} }

// DepthFlat takes the page of the least depth of the site whose turn it is, and
// sites one after another (the same section, in the reading where only the heaps
// of pages follow the depth).
type DepthFlat struct{ Depth }

func (DepthFlat) Name() string { return "depth-flat" }

func (DepthFlat) Site(View) int64 { return 0 }
