package crawl

import "weir/page"

// flight is an order that is not over: it was not answered, or its end is not
// durable yet. Done and Committed may come in either order.
type flight struct {
	id      uint64 // only its place while nothing flies
	key     page.Key
	host    string
	attempt uint8
	counted bool // see frontier.Entry
	vain    bool // it has changed nothing, see Committed
	change  int8 // what it has added to the pages of its site so far
	score   float32
	robots  bool
	settle  bool
	hops    int
	bytes   int64 // of its page, once that has come
	done    bool
	saved   bool
}

// flights are the orders that are not over. The lower bits of an ID say where
// one is; the upper ones count, so that no ID comes twice.
type flights struct {
	slots []*flight
	free  []*flight
	count uint64
	n     int
}

// slotBits is how many of an ID say where its flight is: there are never more of
// them than EngineConfig.Open.
const slotBits = 24

// start takes an order and returns its ID.
func (f *flights) start(fl flight) uint64 {
	var at *flight
	if n := len(f.free); n > 0 {
		at, f.free = f.free[n-1], f.free[:n-1]
	} else {
		at = &flight{id: uint64(len(f.slots))}
		f.slots = append(f.slots, at)
	}
	slot := at.id & (1<<slotBits - 1)
	f.count++
	*at = fl
	at.id = f.count<<slotBits | slot
	f.n++
	return at.id
}

// find returns the order with an ID; nil when it is over, or never was.
func (f *flights) find(id uint64) *flight {
	slot := id & (1<<slotBits - 1)
	if slot >= uint64(len(f.slots)) || f.slots[slot].id != id || id>>slotBits == 0 {
		return nil
	}
	return f.slots[slot]
}

// under counts the pages whose end is not durable yet, and the bytes of those that have
// come. What has landed is saved.
func (f *flights) under() (pages, bytes int64) {
	for _, fl := range f.slots {
		if !fl.robots && !fl.settle && !fl.saved {
			pages++
			bytes += fl.bytes
		}
	}
	return pages, bytes
}

// land ends an order that is answered and durable.
func (f *flights) land(fl *flight) {
	fl.id &= 1<<slotBits - 1
	f.free = append(f.free, fl)
	f.n--
}
