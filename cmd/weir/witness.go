package main

import (
	"fmt"
	"os"
	"sync"
	"time"

	"weir/internal/node"
	"weir/overlay"
)

// witnessEnv names a file for tests from outside (internal/chaos): which page's end the
// others have acknowledged to this node, and when. Nothing else depends on it.
const witnessEnv = "WEIR_WITNESS"

// witness is a carrier that writes a line for every page whose end is acknowledged:
//
//	1763370000123456789 200 http://example.org 00c0ffee00c0ffee
//
// the time in nanoseconds, the status, the site, and the hash of the rest under the
// cluster's secret. A line is written before the node hears of the acknowledgement. So
// whatever kills the node, it has not acted on one that is missing, and says the end
// again when it is back. A kill may tear a line; each start begins a new one.
type witness struct {
	node.Carrier
	file *os.File
	warn func(error)

	mu    sync.Mutex
	ended map[uint64][]overlay.Ended // of appends that are not answered
}

// newWitness watches a carrier, and writes behind what the file holds.
func newWitness(path string, of node.Carrier, warn func(error)) (*witness, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err == nil {
		_, err = f.WriteString("\n")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", witnessEnv, err)
	}
	return &witness{Carrier: of, file: f, warn: warn, ended: map[uint64][]overlay.Ended{}}, nil
}

// Do implements overlay.Carrier.
func (w *witness) Do(a overlay.Action) {
	if a, ok := a.(overlay.Append); ok {
		var pages []overlay.Ended
		for _, r := range a.Batch.Records {
			if d, ok := r.(overlay.Done); ok {
				pages = append(pages, d.Pages...)
			}
		}
		if len(pages) > 0 {
			w.mu.Lock()
			w.ended[a.ID] = pages
			w.mu.Unlock()
		}
	}
	w.Carrier.Do(a)
}

// Close implements node.Carrier.
func (w *witness) Close() error {
	defer w.file.Close()
	return w.Carrier.Close()
}

// before returns tell with what is written first.
func (w *witness) before(tell func(overlay.Event)) func(overlay.Event) {
	return func(ev overlay.Event) {
		switch ev := ev.(type) {
		case overlay.Acked:
			w.write(w.answered(ev.ID))
		case overlay.Failed:
			w.answered(ev.ID)
		}
		tell(ev)
	}
}

// answered returns what was said of ends in an append, and forgets it.
func (w *witness) answered(id uint64) []overlay.Ended {
	w.mu.Lock()
	defer w.mu.Unlock()
	pages := w.ended[id]
	delete(w.ended, id)
	return pages
}

func (w *witness) write(pages []overlay.Ended) {
	now := time.Now().UnixNano()
	var b []byte
	for _, p := range pages {
		b = fmt.Appendf(b, "%d %d %s %016x\n", now, p.Status, p.Site, p.Hash)
	}
	if len(b) == 0 {
		return
	}
	if _, err := w.file.Write(b); err != nil {
		w.warn(err)
	}
}
