package mesh

import "weir/page"

// Next is when something happens next, if anything does. With Step and Wait another
// clock can lead the Net's.
func (n *Net) Next() (page.Time, bool) { return n.agenda.Next() }

// Step lets it happen.
func (n *Net) Step() {
	at, do := n.agenda.Pop()
	n.now = at
	do()
}

// Wait lets time pass, up to a moment that is not after Next.
func (n *Net) Wait(until page.Time) { n.now = max(n.now, until) }
