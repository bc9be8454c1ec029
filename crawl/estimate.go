package crawl

import (
	"math"
	"time"
)

// sample is what pages were like: of one site, or of all.
//
// How much of the link a site's pages take is xi times their size (t = xi D / v
// in Zhu et al., section VI): headers, packets, redirects, pages that came twice.
// It is fitted over spells of pages, in the logarithm, and what is still to come
// is reckoned with its 80th percentile.
type sample struct {
	Had   int64   `json:",omitempty"` // pages that came
	Body  float64 `json:",omitempty"` // bytes of them; a page has some, however empty it is
	Wire  float64 `json:",omitempty"` // bytes on the wire, with all that was in vain
	Visit float64 `json:",omitempty"` // bytes that a request brings, a running mean
	Cycle float64 `json:",omitempty"` // seconds from one request to the next that may be sent, the same
	Tries int64   `json:",omitempty"` // requests that the two were learned from
	Xi    float64 `json:",omitempty"` // logarithm, a running mean
	Dev   float64 `json:",omitempty"` // its variance
	Fits  int64   `json:",omitempty"` // spells that both were learned from
	Spell spell   `json:",omitzero"`
}

// spell is some pages on end.
type spell struct {
	Had        int64   `json:",omitempty"`
	Body, Wire float64 `json:",omitempty"`
}

const (
	cycleGain  = 0.1
	longRest   = 10 // times the usual
	xiGain     = 0.2
	spellPages = 10
	usualXi    = 1.1  // until something is known
	usualDev   = 0.1  // of its logarithm: 80% of sites lie below 1.2
	usualPage  = 30e3 // bytes
	usualTime  = 1.0  // seconds that a page takes
	percentile = 0.84 // deviations above the mean: four of five lie below
	priorPages = 4    // that a guess of the size of pages counts for
	priorFits  = 3    // spells that what is known of others counts for
	doubt      = 2    // how many times larger than was said a site may be
	leastPage  = 500  // bytes: an answer without a body is not for nothing
	maxXi      = 100
	maxBytes   = 1e18 // that are reckoned with at all
)

// add takes an answer after which its host rests for a time. A rest that is far
// longer than usual, as a server asks for now and then, says little of the next.
func (s *sample) add(ev Done, own, rest time.Duration, robots, final bool) {
	wire := float64(max(ev.Wire, ev.Bytes))
	s.Wire += wire
	s.Spell.Wire += wire
	if robots {
		return
	}
	pause := rest.Seconds()
	if s.Tries >= 1/cycleGain {
		pause = min(pause, float64(longRest*s.Cycle))
	}
	s.Tries++
	gain := max(cycleGain, 1/float64(s.Tries))
	s.Visit += float64(gain * (wire - s.Visit))
	s.Cycle += float64(gain * (own.Seconds() + pause - s.Cycle))
	if !final {
		return
	}
	body := float64(max(ev.Bytes, leastPage))
	s.Had++
	s.Body += body
	s.Spell.Had++
	s.Spell.Body += body
	if s.Spell.Had < spellPages {
		return
	}
	x := math.Log(min(max(s.Spell.Wire/s.Spell.Body, 1), maxXi))
	s.Spell = spell{}
	s.Fits++
	gain = max(xiGain, 1/float64(s.Fits))
	d := x - s.Xi
	s.Xi += float64(gain * d)
	s.Dev = (1 - gain) * (s.Dev + float64(gain*d*d))
}

// xi returns how much of the link a byte takes, as four of five spells of pages
// have it. While little is known it is near that of all sites.
func (s *sample) xi(all *sample) float64 {
	mean, dev := math.Log(usualXi), usualDev*usualDev
	for _, of := range []*sample{all, s} {
		w := float64(of.Fits) / float64(of.Fits+priorFits)
		mean += float64(w * (of.Xi - mean))
		dev += float64(w * (of.Dev - dev))
	}
	return min(math.Exp(mean+float64(percentile*math.Sqrt(dev))), maxXi)
}

// remains returns how many bytes are still to come on the wire when so many pages
// are known to wait. What the user said counts for as long as more waits than has
// come: then the site may still be larger than is known, up to doubt times as
// large as was said.
func (s *sample) remains(left int64, d Demand, doubt float64, all *sample) float64 {
	page := usualPage
	switch {
	case d.Size > 0 && d.Pages > 0:
		page = float64(d.Size) / float64(d.Pages)
	case all.Had > 0:
		page = all.Body / float64(all.Had)
	}
	page = (s.Body + float64(priorPages*page)) / float64(s.Had+priorPages)
	known := float64(float64(left) * page)
	said := float64(d.Size)
	if said == 0 {
		said = float64(d.Pages) * page
	}
	if more := float64(doubt*said) - s.Body - known; more > 0 {
		if n := float64(s.Had + left); n > 0 {
			more *= float64(left) / n
		}
		known += float64(more)
	}
	return min(known*s.xi(all), maxBytes)
}

// bytes returns how many a request brings, about.
func (s *sample) bytes() float64 {
	if s.Tries == 0 {
		return usualPage
	}
	return max(s.Visit, 1)
}

// cycle returns the seconds from one request to the next.
func (s *sample) cycle() float64 {
	if s.Tries == 0 {
		return usualTime
	}
	return s.Cycle
}

// speed returns what the site can bring, in bytes a second, with its waits. So
// many requests are trusted to be as expected before any was made.
func (s *sample) speed(bytes, cycle float64) float64 {
	w := priorPages / float64(s.Tries+priorPages)
	bytes = float64(w*bytes) + float64((1-w)*s.Visit)
	cycle = float64(w*cycle) + float64((1-w)*s.Cycle)
	return max(bytes/max(cycle, 1e-3), 1)
}

// sane says that a row can have been written by us.
func (s *sample) sane() bool {
	for _, x := range []float64{s.Body, s.Wire, s.Visit, s.Spell.Body, s.Spell.Wire} {
		if !(x >= 0 && x < maxBytes) {
			return false
		}
	}
	const most = 25 // of a logarithm of maxXi, or its square
	for _, n := range []int64{s.Had, s.Tries, s.Fits} {
		if n < 0 || n > 1e15 {
			return false
		}
	}
	return s.Spell.Had >= 0 && s.Spell.Had < spellPages &&
		s.Cycle >= 0 && s.Cycle < 1e9 && s.Xi >= 0 && s.Xi < most && s.Dev >= 0 && s.Dev < most
}

// pace returns what is expected of a promise's site before anything came: bytes
// of a request, and seconds to the next.
func (e *Engine) pace(p *promise) (bytes, cycle float64) {
	all := &e.promises.sample
	bytes = usualPage
	switch {
	case p.Size > 0 && p.Pages > 0:
		bytes = float64(p.Size) / float64(p.Pages)
	case all.Tries > 0:
		bytes = all.bytes()
	}
	f := &e.cfg.Frontier
	wait := f.Wait
	for _, h := range p.hosts {
		wait = max(wait, f.Sites[h].Wait)
	}
	return bytes, usualTime + wait.Seconds()/float64(max(f.PerConn, 1))
}
