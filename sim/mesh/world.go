package mesh

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"weir/overlay"
	"weir/page"
)

// Setting says what a World is like.
type Setting struct {
	Seed   uint64
	Parts  int
	Pages  int           // of the web
	Fetch  time.Duration // that a request takes, on average
	Skew   float64       // by how much of its rate a clock may be off
	Loss   float64       // of messages
	Late   float64       // of requests
	Slow   float64       // of deliveries
	Chain  bool          // each page links to the next only
	Limit  int64         // of all nodes together
	Rounds int           // see overlay.Config
	Enough int           // pages of all nodes together after which they end; 0 = all
	Heavy  int64         // bytes, likewise

	New    func(overlay.Config) Machine          // nil = overlay.NewMember
	Wanted func(node int, now page.Time) float64 // bytes a second that a node could use; nil = none
}

// World is some nodes that crawl a web together, and one who sees all of it.
type World struct {
	Setting
	Net    *Net
	random *rand.Rand
	nodes  []*node
	lives  uint64
	on     func() bool // whether to go on; nil: yes

	pagesOf [][]int // by partition
	shared  *overlay.Owners
	sharing []overlay.Peer // whom shared is about

	// What is true.
	queued  []bool      // by page: it is in its log
	said    []bool      // by page: it was, at least
	doneAt  []uint64    // by page: where its log first says that it has ended; 0 = nowhere
	saidAt  []page.Time // by page: since when it does
	takenAt []map[uint64]uint64
	fetches []int   // by page
	again   int     // fetches of pages that were fetched before
	visits  []visit // by partition: the last one
	faults  []string

	// Moves counts adoptions, and tells when the last was.
	Moves    int
	LastMove page.Time
}

// NewWorld returns a world of so many nodes. They start at once.
func NewWorld(s Setting, nodes int) *World {
	if s.New == nil {
		s.New = func(c overlay.Config) Machine { return overlay.NewMember(c) }
	}
	if s.Wanted == nil {
		s.Wanted = func(int, page.Time) float64 { return 0 }
	}
	w := &World{
		Setting: s, Net: NewNet(s.Seed, s.Parts), random: rand.New(rand.NewPCG(s.Seed, 2)), shared: overlay.NewOwners(s.Parts),
		pagesOf: make([][]int, s.Parts), queued: make([]bool, s.Pages), said: make([]bool, s.Pages), doneAt: make([]uint64, s.Pages), saidAt: make([]page.Time, s.Pages),
		takenAt: make([]map[uint64]uint64, s.Parts), visits: make([]visit, s.Parts), fetches: make([]int, s.Pages),
	}
	w.Net.Loss, w.Net.Late, w.Net.Slow, w.Net.Appended, w.Net.Lost = s.Loss, s.Late, s.Slow, w.appended, w.lost
	for id := range s.Pages {
		w.pagesOf[w.part(id)] = append(w.pagesOf[w.part(id)], id)
	}
	for p := range w.takenAt {
		w.takenAt[p] = map[uint64]uint64{}
	}
	for range nodes {
		w.join()
	}
	return w
}

// join adds a node.
func (w *World) join() *node {
	n := &node{w: w, id: len(w.nodes), name: fmt.Sprintf("n%05d", len(w.nodes)), disk: w.newDisk()}
	w.nodes = append(w.nodes, n)
	n.start()
	return n
}

// homes finds the owners of partitions once for all nodes that know of the same peers.
func (w *World) homes(peers []overlay.Peer) *overlay.Owners {
	if len(peers) == len(w.sharing) && (len(peers) == 0 || &peers[0] == &w.sharing[0]) {
		return w.shared
	}
	w.shared, w.sharing = w.shared.With(peers), peers
	return w.shared
}

// log is the one that a page is announced in: of a few, the common log.
func (w *World) log(id int) int {
	if mix(uint64(id)+1)%16 == 0 {
		return w.Parts
	}
	return w.part(id)
}

// part is the partition of a page, children are the pages that it links to: three of
// its own and some that others link to as well.
func (w *World) part(id int) int { return int(mix(uint64(id)) % uint64(w.Parts)) }

func (w *World) children(id int) []int {
	if w.Chain {
		return []int{min(id+1, w.Pages-1)}
	}
	var list []int
	for k := 1; k <= 3; k++ {
		if c := 3*id + k; c < w.Pages {
			list = append(list, c)
		}
	}
	for k := range 3 {
		list = append(list, int(mix(uint64(id)<<8|uint64(k))%uint64(id+1)))
	}
	return list
}

func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// fail notes that something happened that must not.
func (w *World) fail(format string, args ...any) {
	if len(w.faults) < 20 {
		w.faults = append(w.faults, fmt.Sprintf("%v: ", time.Duration(w.Net.now))+fmt.Sprintf(format, args...))
	}
}

// appended sees what enters the logs.
func (w *World) appended(part int, offset uint64, b overlay.Batch) {
	for _, r := range b.Records {
		switch r := r.(type) {
		case overlay.Shipped:
			for _, s := range r.Rows {
				w.queued[s.Input], w.said[s.Input] = true, true
			}
		case overlay.Done:
			for _, e := range r.Pages {
				if w.doneAt[e.Hash] == 0 {
					w.doneAt[e.Hash], w.saidAt[e.Hash] = offset, w.Net.now
				}
				for _, c := range w.children(int(e.Hash)) {
					if !w.said[c] {
						w.fail("page %d has ended, and %d that it links to is in no log", e.Hash, c)
					}
				}
			}
		case overlay.Taken:
			if w.takenAt[part][r.Epoch] == 0 {
				w.takenAt[part][r.Epoch] = offset
			}
		}
	}
}

// lost sees a log without its end.
func (w *World) lost(part int, offset uint64) {
	for id := range w.queued {
		w.queued[id] = w.queued[id] && w.log(id) != part
	}
	for _, e := range w.Net.logs[part] {
		for _, r := range e.batch.Records {
			if s, ok := r.(overlay.Shipped); ok && e.offset < offset {
				for _, x := range s.Rows {
					w.queued[x.Input] = true
				}
			}
		}
	}
	if part == w.Parts {
		return
	}
	for _, id := range w.pagesOf[part] {
		if w.doneAt[id] >= offset {
			w.doneAt[id] = 0
		}
	}
	maps.DeleteFunc(w.takenAt[part], func(_, at uint64) bool { return at >= offset })
}

// visit is what the hosts of a partition see.
type visit struct {
	by *node
	at page.Time
}

// adopted sees a node adopt a partition whose hosts no other has visited since a time.
func (w *World) adopted(n *node, part int, since page.Time) {
	w.Moves++
	w.LastMove = w.Net.now
	if v := w.visits[part]; v.by != nil && v.by != n && v.at > since {
		w.fail("%v adopts partition %d, where %v was at %v and not at %v", n, part, v.by, time.Duration(v.at), time.Duration(since))
	}
}

// stale is the time after which an owner has read what is in its log, or orders nothing
// there: two deliveries may be late, and clocks wrong.
const stale = overlay.Hold + 2*late + time.Second

// checkOrder sees a request being sent.
func (w *World) checkOrder(n *node, part, id int) {
	if !n.m.Mine(part) {
		w.fail("%v asks for page %d of partition %d, which is not its own", n, id, part)
	}
	for _, other := range w.nodes {
		if other == n || !other.alive() {
			continue
		}
		if other.m.Mine(part) && other.clock() < other.m.Until() {
			w.fail("%v asks for page %d of partition %d, which %v owns", n, id, part, other)
		}
		if other.flying[part] > 0 && !other.paused {
			w.fail("%v asks for page %d of partition %d while %v has a request there", n, id, part, other)
		}
	}
	taken := w.takenAt[part][n.epochs[part]]
	if done := w.doneAt[id]; done != 0 && (taken == 0 || done < taken) {
		w.fail("%v asks for page %d, whose end was in the log before it took over (%d, %d)", n, id, done, taken)
	}
	if age := w.Net.now.Sub(w.saidAt[id]); w.doneAt[id] != 0 && age > stale {
		w.fail("%v asks for page %d, whose end is in the log since %v", n, id, age)
	}
	w.visits[part] = visit{n, w.Net.now}
	if w.fetches[id] > 0 {
		w.again++
	}
	w.fetches[id]++
}

// checkQuiet sees a node say that nothing is left to do: nowhere in the logs, and on
// no node that has a session.
func (w *World) checkQuiet(n *node) {
	if n.disk.full {
		return
	}
	for id, queued := range w.queued {
		if queued && w.doneAt[id] == 0 && !w.known(id) {
			w.fail("%v is quiet, and page %d is queued", n, id)
			return
		}
	}
	for _, other := range w.nodes {
		if !other.alive() || other.clock() >= other.m.Until() {
			continue
		}
		if len(other.group) > 0 {
			w.fail("%v is quiet, and %v has fetched something", n, other)
		}
		for _, p := range other.disk.outbox {
			for _, post := range p.Rows {
				for _, s := range post.Records[0].(overlay.Shipped).Rows {
					if !w.queued[s.Input] {
						w.fail("%v is quiet, and %v has page %d to tell of", n, other, s.Input)
						return
					}
				}
			}
		}
	}
}

// known reports whether the owner of a page's partition has heard that it has ended,
// from a log that has lost that since: whoever fetched it will say so again.
func (w *World) known(id int) bool {
	p := w.part(id)
	return slices.ContainsFunc(w.nodes, func(n *node) bool { return n.alive() && n.epochs[p] != 0 && n.disk.ended[id] })
}

// checkEnough hears a node say that all together have fetched enough.
func (w *World) checkEnough(n *node) {
	if pages, bytes := w.ended(), w.weight(); (w.Enough == 0 || pages < w.Enough) && (w.Heavy == 0 || bytes < w.Heavy) {
		w.fail("%v has enough, with %d pages of %d and %d bytes of %d", n, pages, w.Enough, bytes, w.Heavy)
	}
}

// weight counts the bytes of the pages that some node has fetched.
func (w *World) weight() (bytes int64) {
	for id := range w.Pages {
		if slices.ContainsFunc(w.nodes, func(n *node) bool { return n.disk.ended[id] }) {
			bytes += size(id)
		}
	}
	return bytes
}

// ended counts the pages that some node has fetched.
func (w *World) ended() (pages int) {
	for id := range w.Pages {
		if slices.ContainsFunc(w.nodes, func(n *node) bool { return n.disk.ended[id] }) {
			pages++
		}
	}
	return pages
}

// full reports whether all nodes know that they have fetched enough, and rest.
func (w *World) full() bool {
	return !slices.ContainsFunc(w.nodes, func(n *node) bool { return n.alive() && !n.left && !(n.disk.full && n.quiet) })
}

// checkShares sees a share change.
func (w *World) checkShares() {
	sum := int64(0)
	for _, n := range w.nodes {
		if n.alive() && n.clock() < n.m.Until() {
			sum += n.share
		}
	}
	if sum > w.Limit {
		w.fail("shares of %d exceed the limit of %d", sum, w.Limit)
	}
}

// checkLeft sees a node leave.
func (w *World) checkLeft(n *node) {
	if len(n.disk.outbox) > 0 || n.total > 0 || len(n.group) > 0 {
		w.fail("%v has left, and has something to say", n)
	}
}

// finished reports whether every page has ended, and all nodes know.
func (w *World) finished() bool {
	for _, n := range w.nodes {
		if n.alive() && !n.left && !n.quiet {
			return false
		}
	}
	for id := range w.doneAt {
		if w.doneAt[id] == 0 {
			return false
		}
	}
	return true
}

// settled reports whether every partition is owned by who should own it.
func (w *World) settled() bool {
	for p, o := range w.Net.owners {
		if o.Node == "" {
			return false
		}
		n := w.byName(o.Node)
		if !n.alive() || n.epochs[p] != o.Epoch {
			return false
		}
	}
	return true
}

func (w *World) byName(name string) *node {
	id, _ := strconv.Atoi(name[1:])
	return w.nodes[id]
}
