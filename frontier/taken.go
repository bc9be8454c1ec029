package frontier

import "weir/page"

// taken holds the pages that were handed out and are not settled: a few for every
// connection. It is a table with open addressing, half full at most, that does not
// shrink; the zero taken is empty and ready.
type taken struct {
	slots []page.Key
	used  []bool
	n     int
}

func (t *taken) home(k page.Key) int {
	return int((k.Hash ^ uint64(k.Site)) * 0x9e3779b97f4a7c15 >> 32 & uint64(len(t.slots)-1))
}

// find returns where a page is, or would be.
func (t *taken) find(k page.Key) int {
	i := t.home(k)
	for t.used[i] && t.slots[i] != k {
		i = (i + 1) & (len(t.slots) - 1)
	}
	return i
}

func (t *taken) has(k page.Key) bool { return t.n > 0 && t.used[t.find(k)] }

func (t *taken) add(k page.Key) {
	if 2*t.n >= len(t.slots) {
		t.resize(max(16, 2*len(t.slots)))
	}
	i := t.find(k)
	if !t.used[i] {
		t.n++
	}
	t.slots[i], t.used[i] = k, true
}

func (t *taken) resize(size int) {
	old := *t
	*t = taken{make([]page.Key, size), make([]bool, size), old.n}
	for i, k := range old.slots {
		if old.used[i] {
			at := t.find(k)
			t.slots[at], t.used[at] = k, true
		}
	}
}

// remove takes a page out and says whether it was there. Those behind it move up,
// so that none is hidden by the hole.
func (t *taken) remove(k page.Key) bool {
	if !t.has(k) {
		return false
	}
	mask := len(t.slots) - 1
	hole := t.find(k)
	for i := (hole + 1) & mask; t.used[i]; i = (i + 1) & mask {
		if (i-t.home(t.slots[i]))&mask >= (i-hole)&mask {
			t.slots[hole], hole = t.slots[i], i
		}
	}
	t.used[hole] = false
	t.n--
	return true
}
