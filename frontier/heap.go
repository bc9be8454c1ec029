package frontier

// heap is an indexed 4-ary heap: items know their place, so that any of them
// can be moved or removed in logarithmic time. An item is in at most one heap
// of each place function. The zero heap is not ready: less and place are set
// by its owner.
type heap[T any] struct {
	items []T
	less  func(a, b T) bool
	place func(T) *int32 // where the item keeps its index + 1; 0 = not here
}

func (h *heap[T]) len() int { return len(h.items) }

func (h *heap[T]) top() T { return h.items[0] }

func (h *heap[T]) push(x T) {
	h.items = append(h.items, x)
	*h.place(x) = int32(len(h.items))
	h.up(len(h.items) - 1)
}

func (h *heap[T]) pop() T {
	x := h.items[0]
	h.remove(x)
	return x
}

// fix restores the order after x's key has changed.
func (h *heap[T]) fix(x T) {
	i := int(*h.place(x)) - 1
	if !h.up(i) {
		h.down(i)
	}
}

func (h *heap[T]) remove(x T) {
	i := int(*h.place(x)) - 1
	last := len(h.items) - 1
	*h.place(x) = 0
	moved := h.items[last]
	var zero T
	h.items[last] = zero
	h.items = h.items[:last]
	if i < last {
		h.set(i, moved)
		if !h.up(i) {
			h.down(i)
		}
	}
}

func (h *heap[T]) set(i int, x T) {
	h.items[i] = x
	*h.place(x) = int32(i + 1)
}

func (h *heap[T]) up(i int) bool {
	x := h.items[i]
	moved := false
	for i > 0 {
		p := (i - 1) / 4
		if !h.less(x, h.items[p]) {
			break
		}
		h.set(i, h.items[p])
		i, moved = p, true
	}
	h.set(i, x)
	return moved
}

func (h *heap[T]) down(i int) {
	x := h.items[i]
	for {
		c := 4*i + 1
		if c >= len(h.items) {
			break
		}
		best := c
		for j := c + 1; j < min(c+4, len(h.items)); j++ {
			if h.less(h.items[j], h.items[best]) {
				best = j
			}
		}
		if !h.less(h.items[best], x) {
			break
		}
		h.set(i, h.items[best])
		i = best
	}
	h.set(i, x)
}
