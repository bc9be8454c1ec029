package flow

// slots find things by their hash: open addressing, and in each slot the hash
// beside the number of the thing, so that what does not fit is not touched, and
// growing touches nothing else. Whoever asks compares those with an equal hash.
type slots []uint64

// next returns the first thing with a hash that lies at a slot or behind it, and
// where; if there is none, -1 and the slot where it would go.
func (s slots) next(h, slot uint32) (thing int, at uint32) {
	if len(s) == 0 {
		return -1, 0
	}
	mask := uint32(len(s) - 1)
	for slot &= mask; s[slot] != 0; slot = (slot + 1) & mask {
		if uint32(s[slot]>>32) == h {
			return int(uint32(s[slot])) - 1, slot
		}
	}
	return -1, slot
}

// put fills a slot that next has found free.
func (s slots) put(slot, h uint32, thing int) { s[slot] = uint64(h)<<32 | uint64(thing+1) }

// grow makes room for one thing more, if need be.
func (s *slots) grow(things int) {
	old := *s
	if 3*things < 2*len(old) {
		return
	}
	*s = make(slots, max(16, 2*len(old)))
	mask := uint32(len(*s) - 1)
	for _, v := range old {
		if v == 0 {
			continue
		}
		slot := uint32(v>>32) & mask
		for (*s)[slot] != 0 {
			slot = (slot + 1) & mask
		}
		(*s)[slot] = v
	}
}
