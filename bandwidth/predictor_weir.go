package bandwidth

import (
	"math"
	"net/netip"
)

// weir's form: a download of s bytes takes T0 + s/C seconds. Both T0, the time
// to the first byte, and C, the rate after it, are averaged as logarithms, since
// both vary by factors; and s is what pages of the server weighed of late.

const (
	// priorWeight is how many downloads of its own a server's kin are worth to
	// it, and levelWeight how many servers all others are worth to a level.
	priorWeight = 0.5
	levelWeight = 2

	// sizeGain is how fast the typical size moves: neighbouring pages are alike.
	// One page moves it as if it were at most e^sizeReach times as heavy or
	// light, since redirects and archives are no pages.
	sizeGain  = 0.2
	sizeReach = 2

	// levelGain is how fast a level that knows many servers still moves, and
	// levelShare how many downloads of one server it learns from: enough to know
	// it, not so many that it drowns the others.
	levelGain  = 0.05
	levelShare = 8

	// typicalSize is what a page is taken to weigh before any was seen, in bytes.
	typicalSize = 30e3
)

// point is T0 and C at one hour.
type point struct {
	first float32 // ln seconds
	rate  float32 // ln bytes a second
}

// day is a server's 24 hours of one kind of day.
type day [24]point

// toward moves q by the share g of the way to t.
func (q *point) toward(t point, g float32) {
	q.first += float32(g * (t.first - q.first))
	q.rate += float32(g * (t.rate - q.rate))
}

var (
	lnMinRate, lnMaxRate   = float32(math.Log(minRate)), float32(math.Log(maxRate))
	lnMinFirst, lnMaxFirst = float32(math.Log(minFirst)), float32(math.Log(maxFirst))
)

func (q point) bound() point {
	return point{min(max(q.first, lnMinFirst), lnMaxFirst), min(max(q.rate, lnMinRate), lnMaxRate)}
}

// estimate foretells a page of e^size bytes at q.
func (q point) estimate(size, err float32) Estimate {
	s := math.Exp(float64(size))
	return Estimate{
		Rate:  s / (math.Exp(float64(q.first)) + float64(s*math.Exp(-float64(q.rate)))),
		Sigma: math.Sqrt(float64(err)),
	}
}

// ln is the natural logarithm of a positive x, as exact as its result can hold
// and twice as fast as math.Log: with x = m 2^e and m from 1 to 2, it is a series
// in (m-√2)/(m+√2), which is at most a sixth.
func ln(x float64) float32 {
	bits := math.Float64bits(x)
	e := float64(int(bits>>52) - 1023)
	m := math.Float64frombits(bits&(1<<52-1) | 1023<<52)
	t := (m - math.Sqrt2) / (m + math.Sqrt2)
	u := t * t
	return float32(float64((e+0.5)*math.Ln2) + float64(2*t*(1+float64(u*(1./3+float64(u*(1./5+float64(u*(1./7+u/9)))))))))
}

// level is what is known of many servers together: those of a network, of a
// domain, or all. It is what a server never seen is taken for.
type level struct {
	point
	size float32 // ln bytes of a typical page
	err  float32 // mean square of the error of ln rate when it stood for a new server
	n    uint16  // servers learnt from, up to maxCount
}

// blank returns the level that knows nothing: it foretells prior, half of the
// time being spent before the first byte.
func blank(prior float64) level {
	return level{
		point: point{float32(math.Log(typicalSize / prior / 2)), float32(math.Log(2 * prior))}.bound(),
		size:  float32(math.Log(typicalSize)),
		err:   noIdea * noIdea,
	}
}

// sample is a Measure as weir's form sees it.
type sample struct {
	bytes, elapsed float64
	first, body    float64 // seconds to the first byte and from it on; 0: not known
	lnBytes        float32
	lnFirst        float32
	lnBody         float32 // of the rate after the first byte
	throttled      bool
}

func newSample(m Measure) sample {
	s := sample{
		bytes:     min(float64(m.Bytes), maxSize),
		elapsed:   m.Elapsed.Seconds(),
		throttled: m.Throttled,
	}
	s.lnBytes = ln(s.bytes)
	if m.First > 0 && m.First <= m.Elapsed {
		s.first = max(m.First.Seconds(), minFirst)
		s.lnFirst = ln(s.first)
		if s.body = s.elapsed - s.first; s.body > 0 {
			s.lnBody = s.lnBytes - ln(s.body)
		}
	}
	return s
}

// against holds s against the belief q that its pages weigh e^size: it returns
// what s says T0 and C are, whether that is news, and how far the logarithm of
// the rate was from what q foretold.
func (s *sample) against(q point, size float32) (to point, news bool, off float32) {
	t0, inverse := math.Exp(float64(q.first)), math.Exp(-float64(q.rate))
	typical := math.Exp(float64(size))
	off = ln(s.bytes * (t0 + float64(typical*inverse)) / (s.elapsed * typical))

	body := float64(s.bytes * inverse)
	share := body / (t0 + body) // of the time foretold for s that is after the first byte
	to = q
	if s.first > 0 {
		to.first = s.lnFirst
		if s.body > 0 {
			// A page that came with the first segments says little about the rate.
			to.rate += float32(float32(max(share, s.body/s.elapsed)) * (s.lnBody - q.rate))
		}
	} else {
		// Only the sum is known: take the least change of both that explains it.
		e := float64(ln(s.elapsed/(t0+body))) / (float64(share*share) + float64((1-share)*(1-share)))
		to.first += float32(e * (1 - share))
		to.rate -= float32(e * share)
	}
	if s.throttled {
		// What is slower than believed measures our own limit.
		to.first, to.rate = min(to.first, q.first), max(to.rate, q.rate)
	}
	to = to.bound()
	return to, !s.throttled || to != q, off
}

// weigh moves a typical size by the share g towards that of s.
func (s *sample) weigh(size *float32, g float32) {
	*size += float32(g * min(max(s.lnBytes-*size, -sizeReach), sizeReach))
}

// learn updates a server, and while it is new its network, its domain and the
// whole.
func (p *Predictor) learn(s *server, addr netip.Addr, domain string, w, minute int, m *sample) {
	if s.day[w] == nil {
		s.day[w] = new(day)
		if other := s.day[1-w]; other != nil {
			*s.day[w] = *other
		} else {
			l := p.prior(addr, domain)
			for h := range s.day[w] {
				s.day[w][h] = l.point
			}
			s.size, s.err = l.size, l.err
		}
	}
	if s.n < levelShare {
		p.teach(s.n, addr, domain, m)
	}
	d := s.day[w]
	to, news, off := m.against(d.at(minute), s.size)
	least := 1 / (float32(s.n) + 1 + priorWeight)
	m.weigh(&s.size, max(sizeGain, least))
	if news {
		s.judge(off)
		for h, a := range p.gains(minute) {
			if a < least { // half as long as max, which minds NaN
				a = least
			}
			d[h].toward(to, a)
		}
		s.n = min(s.n+1, maxCount)
	}
	s.n = max(s.n, 1)
}

// at returns what is believed at a minute of the day, between the two hours
// around it.
func (d *day) at(minute int) point {
	h := minute / 60
	q := d[h]
	q.toward(d[(h+1)%24], float32(minute%60)/60)
	return q
}

func (s *server) rate(w, minute int) Estimate {
	d := s.day[w]
	if d == nil {
		d = s.day[1-w]
	}
	e := d.at(minute).estimate(s.size, s.err)
	e.Known = true
	return e
}

// prior returns what a server never seen is taken for. A network knows the path,
// a domain its pages; each stands in for the other, and all servers for both.
func (p *Predictor) prior(addr netip.Addr, domain string) level {
	l := p.global.value
	d, known := p.domains.find(domain)
	if known {
		l = p.domains.items[d].value
	}
	if addr.IsValid() {
		if n, ok := p.networks.find(network(addr)); ok {
			size := l.size
			l = p.networks.items[n].value
			if known {
				l.size = size
			}
		}
	}
	return l
}

// teach updates the levels above a server that had n downloads before this. A
// new level begins as the one above it.
func (p *Predictor) teach(n uint16, addr netip.Addr, domain string, m *sample) {
	above := &p.global.value
	above.learn(n, m)
	p.changed(ref{globalRow, 0})
	if domain != "" && len(domain) <= maxDomain {
		i := p.use(domainRow, [16]byte{}, domain)
		l := &p.domains.items[i].value
		l.begin(above)
		l.learn(n, m)
		p.changed(ref{domainRow, i})
		above = l
	}
	i := p.use(networkRow, network(addr), "")
	l := &p.networks.items[i].value
	l.begin(above)
	l.learn(n, m)
	p.changed(ref{networkRow, i})
}

// begin makes l what is above it, unless it has learnt something itself.
func (l *level) begin(above *level) {
	if l.n == 0 {
		*l = *above
		l.n = 0
	}
}

// learn takes in the download after the n-th of a server; the later, the less.
func (l *level) learn(n uint16, m *sample) {
	to, news, off := m.against(l.point, l.size)
	g := max(levelGain, 1/(float32(l.n)+1+levelWeight)) / float32(n+1)
	m.weigh(&l.size, g)
	if news {
		l.toward(to, g)
	}
	if n == 0 {
		if news {
			l.err = max(l.err+float32(max(errGain, 1/(float32(l.n)+1+levelWeight))*(float32(off*off)-l.err)), minErr)
		}
		l.n = min(l.n+1, maxCount)
	}
	l.n = max(l.n, 1)
}

// network returns the /24 of a v4 address and the /48 of a v6 one. They cannot
// be mistaken for one another: only a v4 one has anything after its sixth byte.
func network(a netip.Addr) [16]byte {
	k := a.As16()
	if a.Is4() || a.Is4In6() {
		k[15] = 0
	} else {
		clear(k[6:])
	}
	return k
}
