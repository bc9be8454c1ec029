package frontier

import "slices"

// fifo is a queue that reuses its array.
type fifo[T any] struct {
	items []T
	head  int
}

func (q *fifo[T]) len() int { return len(q.items) - q.head }

func (q *fifo[T]) first() T { return q.items[q.head] }

func (q *fifo[T]) push(x T) { q.items = append(q.items, x) }

func (q *fifo[T]) pop() T {
	var zero T
	x := q.items[q.head]
	q.items[q.head] = zero
	q.head++
	switch {
	case q.head == len(q.items):
		q.items, q.head = q.items[:0], 0
	case q.head >= 64 && q.head >= len(q.items)/2:
		n := copy(q.items, q.items[q.head:])
		clear(q.items[n:])
		q.items, q.head = q.items[:n], 0
	}
	return x
}

// take takes out the first that is wanted, if one is.
func (q *fifo[T]) take(wanted func(T) bool) (x T, ok bool) {
	at := slices.IndexFunc(q.items[q.head:], wanted)
	if at < 0 {
		return x, false
	}
	x = q.items[q.head+at]
	q.items = slices.Delete(q.items, q.head+at, q.head+at+1)
	return x, true
}
