package link

import "math"

// speeds finds the tier of a speed: lists of tiers, one for all speeds that mix to
// the same number. Every download begins and ends one, as a rule, so it does
// without a map's care for keys of any kind.
type speeds struct {
	first []int32   // by what their speeds mix to
	next  []int32   // by tier
	speed []float64 // by tier
	shift uint8
}

func newSpeeds(tiers int) speeds {
	size, shift := 8, uint8(61)
	for size < 2*tiers {
		size, shift = 2*size, shift-1
	}
	s := speeds{first: make([]int32, size), next: make([]int32, tiers), speed: make([]float64, tiers), shift: shift}
	for i := range s.first {
		s.first[i] = none
	}
	return s
}

func (s *speeds) list(speed float64) *int32 {
	return &s.first[math.Float64bits(speed)*0x9e3779b97f4a7c15>>s.shift]
}

// tier returns that of a speed, or none.
func (s *speeds) tier(speed float64) int32 {
	g := *s.list(speed)
	for g != none && s.speed[g] != speed {
		g = s.next[g]
	}
	return g
}

// add notes the tier of a speed that has none.
func (s *speeds) add(speed float64, g int32) {
	at := s.list(speed)
	s.speed[g], s.next[g], *at = speed, *at, g
}

// remove forgets a tier that is there.
func (s *speeds) remove(speed float64, g int32) {
	at := s.list(speed)
	for *at != g {
		at = &s.next[*at]
	}
	*at = s.next[g]
}
