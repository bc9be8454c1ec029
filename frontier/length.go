package frontier

// Length takes the site with the most pages waiting, and of it the page of the
// least depth (Castillo, section 6.3, "Length"). It keeps many sites going for
// as long as possible, which is what politeness needs.
type Length struct{}

func (Length) Name() string { return "length" }

func (Length) Place(depth uint16, _ float32, n uint64) Place {
	return Place{Class: uint8(min(depth, 255)), Seq: n}
}

func (Length) Site(v View) int64 { return -v.Queued }

func (Length) Traits() Traits { return Traits{} }
