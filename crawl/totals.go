package crawl

import (
	"strconv"
	"strings"

	"weir/page"
)

// Totals are the numbers of a crawl over all its runs. They are kept with the
// rows, in the same batches, so they are exact.
type Totals struct {
	Sites    uint32
	Seen     int64 // pages known: queued + parked + ended
	Queued   int64
	Parked   int64
	Fetched  int64 // pages with an answer
	Robots   int64 // robots.txt fetched, not counted as pages
	Bytes    int64 // bodies on the wire
	Wire     int64 // everything on the wire
	Seeds    int64
	SeedsOK  int64 // seeds that led to a page
	Due      int64 // pages to be delivered again
	Stale    bool  // all pages that ended are
	Steered  bool  // because the program is another one now
	Outcomes [64]int64
}

// Ended returns how many pages have come to their end.
func (t Totals) Ended() int64 { return t.Seen - t.Queued - t.Parked }

// Errors returns how many pages ended without a usable answer.
func (t Totals) Errors() int64 {
	var n int64
	for _, o := range page.Outcomes() {
		if !o.Row().Kept && o != page.Redirected && o != page.Denied && o != page.SteeredAway {
			n += t.Outcomes[o]
		}
	}
	return n
}

// append writes the totals as encoding/json would, without its cost: it is done
// for every group.
func (t *Totals) append(b []byte) []byte {
	field := func(name string, n int64) {
		b = append(b, name...)
		b = strconv.AppendInt(b, n, 10)
	}
	field(`{"Sites":`, int64(t.Sites))
	field(`,"Seen":`, t.Seen)
	field(`,"Queued":`, t.Queued)
	field(`,"Parked":`, t.Parked)
	field(`,"Fetched":`, t.Fetched)
	field(`,"Robots":`, t.Robots)
	field(`,"Bytes":`, t.Bytes)
	field(`,"Wire":`, t.Wire)
	field(`,"Seeds":`, t.Seeds)
	field(`,"SeedsOK":`, t.SeedsOK)
	field(`,"Due":`, t.Due)
	b = strconv.AppendBool(append(b, `,"Stale":`...), t.Stale)
	b = strconv.AppendBool(append(b, `,"Steered":`...), t.Steered)
	last := len(t.Outcomes) - 1
	for last > 0 && t.Outcomes[last] == 0 {
		last--
	}
	sep := `,"Outcomes":[`
	for _, n := range t.Outcomes[:last+1] {
		b = strconv.AppendInt(append(b, sep...), n, 10)
		sep = ","
	}
	return append(append(b, noOutcomes[2*last:]...), "]}"...)
}

var noOutcomes = strings.Repeat(",0", len(Totals{}.Outcomes)-1)
