package crawl

import (
	"fmt"
	"time"

	"weir/page"
)

// Tally is what a crawl knows of the pages of one site, in sums.
type Tally struct {
	Outcomes [64]int64 // pages that ended, by outcome
	Queued   int64
	Parked   int64
	Bytes    int64         // of bodies on the wire
	Squares  float64       // the sum of the squares of the bytes of each page
	Bodies   int64         // pages that had any bytes
	Elapsed  time.Duration // of those, from the request to the end of the answer
	Server   string        // that answered one of them; "" when none did
}

// Answered returns how many pages brought an answer.
func (t *Tally) Answered() int64 {
	var n int64
	for _, o := range page.Outcomes() {
		if o.Row().Answer {
			n += t.Outcomes[o]
		}
	}
	return n
}

// Add adds what is known of another site.
func (t *Tally) Add(o *Tally) {
	for i, n := range o.Outcomes {
		t.Outcomes[i] += n
	}
	t.Queued += o.Queued
	t.Parked += o.Parked
	t.Bytes += o.Bytes
	t.Squares += o.Squares
	t.Bodies += o.Bodies
	t.Elapsed += o.Elapsed
	if o.Server != "" {
		t.Server = o.Server
	}
}

// Tally adds up the pages of a site that are here. It reads the site's rows in their order and
// looks nothing up, so that a million pages take a second or two.
func (v *View) Tally(id page.SiteID) (Tally, error) {
	var t Tally
	err := v.rows(keyURL, id, func(b []byte) error {
		var r urlRow
		if err := r.read(b); err != nil {
			return err
		}
		switch r.state {
		case stateQueued:
			t.Queued++
		case stateParked:
			t.Parked++
		case stateEnded:
			if r.archive.File == elsewhere {
				return nil
			}
			t.Outcomes[r.outcome%64]++
		}
		return nil
	})
	if err != nil {
		return t, fmt.Errorf("add up the pages of site %d: %w", id, err)
	}
	err = v.rows(keyText, id, func(b []byte) error {
		d := decoder{b: b}
		bytes, elapsed := int64(d.uvarint()), time.Duration(d.uvarint())
		d.span() // its type
		server := d.span()
		if bytes == 0 || d.err != nil {
			return d.err // it may not have been answered at all
		}
		t.Bodies++
		t.Bytes += bytes
		t.Squares += float64(float64(bytes) * float64(bytes))
		t.Elapsed += elapsed
		if t.Server != string(server) {
			t.Server = string(server)
		}
		return nil
	})
	if err != nil {
		return t, fmt.Errorf("add up the bytes of site %d: %w", id, err)
	}
	return t, nil
}

// rows calls fn for the rows of one kind that a site has.
func (v *View) rows(kind byte, id page.SiteID, fn func(value []byte) error) error {
	prefix := siteKey(kind, id)
	var bad error
	err := v.kv.Scan(prefix, after(prefix), func(_, value []byte) bool {
		bad = fn(value)
		return bad == nil
	})
	if err == nil {
		err = bad
	}
	return err
}
