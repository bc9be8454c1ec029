package mesh

import "weir/page"

// Next is when something happens next, if anything does. With Step and Wait another
// clock can lead the Net's.
func (n *Net) Next() (page.Time, bool) {
	if len(n.agenda.items) == 0 {
		return 0, false
	}
	return n.agenda.items[0].at, true
}

// Step lets it happen.
func (n *Net) Step() {
	x := n.agenda.pop()
	n.now = x.at
	x.do()
}

// Wait lets time pass, up to a moment that is not after Next.
func (n *Net) Wait(until page.Time) { n.now = max(n.now, until) }
