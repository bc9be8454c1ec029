package mesh

import (
	"time"

	"weir/overlay"
)

// Trouble lets things go wrong at random for a while, one every few seconds and
// sometimes several at once; what was broken is mended again, the last of it soon
// after the end. It keeps the nodes between a few and limit.
func (w *World) Trouble(length time.Duration, limit int) {
	end := w.Net.now.Add(length)
	var next func()
	next = func() {
		if w.Net.now >= end {
			w.mend()
			return
		}
		switch w.random.IntN(12) {
		case 0: // everything at once
			for _, n := range w.nodes {
				w.harm(n)
			}
		case 1: // the power of all
			for _, n := range w.nodes {
				w.kill(n, w.between(0, 20*time.Second))
			}
			w.Net.Lose(w.between(0, time.Second))
		case 2:
			w.Net.Stall(w.between(time.Second, 25*time.Second))
		case 3:
			if len(w.nodes) < limit {
				w.join()
			}
		case 4:
			w.split(w.between(time.Second, 40*time.Second))
		default:
			w.harm(w.nodes[w.random.IntN(len(w.nodes))])
		}
		w.Net.After(w.between(0, 10*time.Second), next)
	}
	next()
}

// Outages has all nodes lose power again and again for a while, and the logs their ends.
func (w *World) Outages(length time.Duration) {
	end := w.Net.now.Add(length)
	var next func()
	next = func() {
		if w.Net.now >= end {
			return
		}
		for _, n := range w.nodes {
			w.kill(n, w.between(0, time.Second))
		}
		w.Net.Lose(w.between(0, time.Second))
		w.Net.After(w.between(2*time.Second, 8*time.Second), next)
	}
	w.Net.After(w.between(2*time.Second, 8*time.Second), next)
}

func (w *World) between(low, high time.Duration) time.Duration {
	return low + time.Duration(w.random.Int64N(int64(high-low)))
}

// harm does something to a node.
func (w *World) harm(n *node) {
	if !n.alive() {
		return
	}
	life := n.life
	length := w.between(time.Second, 40*time.Second)
	switch w.random.IntN(7) {
	case 0:
		w.kill(n, length)
	case 1: // as kill -STOP does
		n.paused = true
		w.Net.After(length, func() {
			if n.life == life {
				n.resume()
			}
		})
	case 2, 3:
		up, down := w.random.IntN(2) == 0, w.random.IntN(2) == 0
		n.port.Cut(up, down || !up)
		port := n.port
		w.Net.After(length, func() { port.Cut(false, false) })
	case 4:
		n.port.Lag(length / 4)
	case 5:
		w.drain(n, length)
	case 6:
		n.port.Block(w.random.IntN(overlay.Logs), length)
	}
}

// kill crashes a node and starts it again later.
func (w *World) kill(n *node, length time.Duration) {
	if !n.alive() {
		return
	}
	n.crash()
	w.Net.After(length, func() { w.start(n) })
}

func (w *World) start(n *node) {
	if !n.alive() {
		n.start()
	}
}

// drain asks a node to leave, and lets it come back some time after it did.
func (w *World) drain(n *node, length time.Duration) {
	life := n.life
	n.draining()
	var look func()
	look = func() {
		switch {
		case n.life != life:
		case n.left:
			w.kill(n, length)
		default:
			w.Net.After(time.Second, look)
		}
	}
	look()
}

// split cuts some nodes off from the service and the others, but not from one another.
func (w *World) split(length time.Duration) {
	var ports []*Port
	for _, n := range w.nodes {
		if n.alive() && w.random.IntN(3) == 0 {
			n.port.Side(1)
			ports = append(ports, n.port)
		}
	}
	w.Net.After(length, func() {
		for _, p := range ports {
			p.Side(0)
		}
	})
}

// mend lets all nodes live and hear each other.
func (w *World) mend() {
	for _, n := range w.nodes {
		if n.left {
			continue // it comes back by itself
		}
		w.start(n)
		n.port.Cut(false, false)
		n.port.Side(0)
		if n.paused {
			n.resume()
		}
	}
}
