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
