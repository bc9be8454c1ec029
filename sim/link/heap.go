package link

// heap is a binary heap of numbers from a fixed range, the smallest key first
// and the smallest number first among equals. It knows where each number is,
// so that any can be removed. Several heaps may share key and place if no
// number is in two of them.
type heap struct {
	ids   []int32
	key   []float64
	place []int32 // index in ids
}

func newHeap(n int) heap {
	return heap{ids: make([]int32, 0, n), key: make([]float64, n), place: make([]int32, n)}
}

func (h *heap) len() int     { return len(h.ids) }
func (h *heap) first() int32 { return h.ids[0] }

// set puts in a number that is not there.
func (h *heap) set(id int32, key float64) {
	h.key[id] = key
	h.ids = append(h.ids, id)
	h.up(len(h.ids)-1, id)
}

func (h *heap) pop() int32 {
	id := h.ids[0]
	h.remove(id)
	return id
}

// remove takes out a number that is there.
func (h *heap) remove(id int32) {
	i, last := int(h.place[id]), len(h.ids)-1
	moved := h.ids[last]
	h.ids = h.ids[:last]
	if i == last {
		return
	}
	if i > 0 && h.before(moved, h.ids[(i-1)/2]) {
		h.up(i, moved)
	} else {
		h.down(i, moved)
	}
}

func (h *heap) before(a, b int32) bool {
	return h.key[a] < h.key[b] || h.key[a] == h.key[b] && a < b
}

// up and down settle id, for which index i is free.
func (h *heap) up(i int, id int32) {
	for i > 0 {
		parent := (i - 1) / 2
		if !h.before(id, h.ids[parent]) {
			break
		}
		h.put(i, h.ids[parent])
		i = parent
	}
	h.put(i, id)
}

func (h *heap) down(i int, id int32) {
	for {
		child := 2*i + 1
		if child >= len(h.ids) {
			break
		}
		if child+1 < len(h.ids) && h.before(h.ids[child+1], h.ids[child]) {
			child++
		}
		if !h.before(h.ids[child], id) {
			break
		}
		h.put(i, h.ids[child])
		i = child
	}
	h.put(i, id)
}

func (h *heap) put(i int, id int32) {
	h.ids[i] = id
	h.place[id] = int32(i)
}
