package bandwidth

// recent keeps values by key, at most max of them: a new one takes the place of
// the one longest unused. Places are numbered and stay the same while a key is
// kept.
type recent[K comparable, V any] struct {
	max   int
	place map[K]int32
	items []item[K, V]
	front int32 // the last one used; items are linked from it to the first
}

type item[K comparable, V any] struct {
	key        K
	value      V
	next, prev int32 // in a ring: towards longer unused, towards later used
	row        rowState
}

func (r *recent[K, V]) init(max int) {
	r.max, r.place = max, make(map[K]int32)
}

// find returns the place of k without counting it as a use.
func (r *recent[K, V]) find(k K) (int32, bool) {
	i, ok := r.place[k]
	return i, ok
}

// use returns the place of k, making one if there is none. If that made another
// key go, it is returned.
func (r *recent[K, V]) use(k K) (i int32, gone K, forgot bool) {
	if i, ok := r.place[k]; ok {
		r.raise(i)
		return i, gone, false
	}
	if len(r.items) < r.max {
		i = int32(len(r.items))
		r.items = append(r.items, item[K, V]{key: k, next: i, prev: i})
		if i > 0 {
			r.link(i)
		}
		r.front = i
		r.place[k] = i
		return i, gone, false
	}
	i = r.items[r.front].prev // the ring's end is just before its front
	it := &r.items[i]
	gone = it.key
	delete(r.place, gone)
	var zero V
	it.key, it.value = k, zero
	it.row = rowState{queued: it.row.queued} // the queue knows the place, not the key
	r.front = i
	r.place[k] = i
	return i, gone, true
}

// raise makes i the last one used.
func (r *recent[K, V]) raise(i int32) {
	if i == r.front {
		return
	}
	it := &r.items[i]
	r.items[it.prev].next, r.items[it.next].prev = it.next, it.prev
	r.link(i)
	r.front = i
}

// link puts i, which is in no ring, before the front.
func (r *recent[K, V]) link(i int32) {
	next := r.front
	prev := r.items[next].prev
	r.items[i].next, r.items[i].prev = next, prev
	r.items[prev].next, r.items[next].prev = i, i
}
