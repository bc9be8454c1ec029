package frontier

import "math"

// roster is a heap of hosts, as heap is of anything, for those through which all
// hosts of a crawl pass. Their keys lie in it: to compare two hosts, which may
// both be far away in memory, takes no look at them unless they are equals.
//
// key says how early a host goes. Those below coarse only say so roughly, and
// finer, as cmp.Compare does, decides between two of them that are alike; else who came first goes
// first. A host whose key or finer order has changed must be fixed before
// anything else is done.
type roster struct {
	heap[standing]
	key func(*host) int64
}

type standing struct {
	key  int64
	host *host
}

const coarse = math.MinInt64 + 256

func newRoster(key func(*host) int64, finer func(a, b *host) int) roster {
	before := func(a, b standing) bool {
		if a.key != b.key {
			return a.key < b.key
		}
		if a.key < coarse {
			if c := finer(a.host, b.host); c != 0 {
				return c < 0
			}
		}
		return a.host.turn < b.host.turn
	}
	return roster{heap[standing]{less: before, place: func(s standing) *int32 { return &s.host.placed }}, key}
}

func (r *roster) top() *host { return r.heap.top().host }

func (r *roster) push(h *host) { r.heap.push(standing{r.key(h), h}) }

func (r *roster) pop() *host { return r.heap.pop().host }

// fix restores the order after a host's key has changed.
func (r *roster) fix(h *host) {
	x := &r.items[h.placed-1]
	x.key = r.key(h)
	r.heap.fix(*x)
}

func (r *roster) remove(h *host) { r.heap.remove(standing{host: h}) }
