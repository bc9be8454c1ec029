package frontier

import "math"

// Score takes the page with the highest score. Seeds bring their scores from
// the seed file and hand them on to what they lead to.
//
// The order among a site's pages is exact: the upper half of Seq is the score,
// turned so that larger scores come first, the lower half keeps equal scores in
// order of discovery.
type Score struct{}

func (Score) Name() string { return "score" }

func (Score) Place(_ uint16, score float32, n uint64) Place {
	b := math.Float32bits(score)
	if score != score {
		b = math.Float32bits(float32(math.Inf(-1))) // no number: last
	}
	if b>>31 == 1 {
		b = ^b
	} else {
		b |= 1 << 31
	}
	down := ^b
	return Place{Class: 0, Seq: uint64(down)<<32 | n&math.MaxUint32}
}

func (Score) Site(v View) int64 { return int64(v.Head.Seq >> 32) }

func (Score) Traits() Traits { return Traits{} }
