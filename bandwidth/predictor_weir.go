package bandwidth

import (
	"math"
	"net/netip"
)

// weir's form: a download of s bytes takes T0 + s/C seconds. Both T0, the time
// to the first byte, and C, the rate after it, are averaged as logarithms, since
// both vary by factors; and s is what pages of the server typically weigh.

// point is T0 and C at one hour.
type point struct {
	first float32 // ln seconds
	rate  float32 // ln bytes a second
}

// lnRate foretells the logarithm of bytes over time for a page of e^size bytes.
func (q point) lnRate(size float32) float64 {
	s := float64(size)
	return s - math.Log(math.Exp(float64(q.first))+math.Exp(s-float64(q.rate)))
}

// level is what is known of many servers together: those of a network, of a
// domain, or all. It is what a server never seen is taken for.
type level struct {
	point
	size float32 // ln bytes of a typical page
	err  float32 // mean square of the error of ln rate when it stood for a new server
	n    uint16  // how much was learnt, in servers, up to maxCount
}

// typicalSize is what a page is taken to weigh before any was seen.
const typicalSize = 30e3

// first returns the level that knows nothing: it foretells prior, half of the
// time being spent before the first byte.
func first(prior float64) level {
	return level{
		point: point{float32(math.Log(typicalSize / prior / 2)), float32(math.Log(2 * prior))},
		size:  float32(math.Log(typicalSize)),
		err:   noIdea * noIdea,
	}
}

func (l level) estimate() Estimate {
	return Estimate{Rate: math.Exp(l.lnRate(l.size)), Sigma: math.Sqrt(float64(l.err))}
}

// sample is a Measure in logarithms.
type sample struct {
	bytes, elapsed float64
	lnBytes        float32
	lnRate         float32 // over the whole time
	first, body    float64 // seconds to the first byte and from it on; 0: not known
	throttled      bool
}

func newSample(m Measure, rate float64) sample {
	s := sample{
		bytes:     min(float64(m.Bytes), maxSize),
		elapsed:   m.Elapsed.Seconds(),
		lnRate:    float32(math.Log(rate)),
		throttled: m.Throttled,
	}
	s.lnBytes = float32(math.Log(s.bytes))
	if m.First > 0 && m.First <= m.Elapsed {
		s.first = min(max(m.First.Seconds(), minFirst), maxFirst)
		s.body = max(s.elapsed-s.first, 0)
	}
	return s
}

// target is what the sample says T0 and C are, seen from what is now believed.
func (s sample) target(now point) point {
	t0 := math.Exp(float64(now.first))
	body := s.bytes / math.Exp(float64(now.rate))
	share := body / (t0 + body) // of the foretold time that is after the first byte
	to := now
	if s.first > 0 {
		to.first = float32(math.Log(s.first))
		if s.body > 0 {
			// A page that came with the first segments says little about the rate.
			share = max(share, s.body/s.elapsed)
			to.rate += float32(share * (math.Log(s.bytes/s.body) - float64(now.rate)))
		}
	} else {
		// Only the sum is known: the least change of both that explains it.
		e := math.Log(s.elapsed/(t0+body)) / (share*share + (1-share)*(1-share))
		to.first += float32(e * (1 - share))
		to.rate -= float32(e * share)
	}
	if s.throttled {
		// What is slower than believed measures our own limit.
		to.first, to.rate = min(to.first, now.first), max(to.rate, now.rate)
	}
	return to.bound()
}

var (
	lnMinRate, lnMaxRate   = float32(math.Log(minRate)), float32(math.Log(maxRate))
	lnMinFirst, lnMaxFirst = float32(math.Log(minFirst)), float32(math.Log(maxFirst))
)

func (q point) bound() point {
	return point{min(max(q.first, lnMinFirst), lnMaxFirst), min(max(q.rate, lnMinRate), lnMaxRate)}
}

// toward moves q by the share g of the way to t.
func (q *point) toward(t point, g float32) {
	q.first += g * (t.first - q.first)
	q.rate += g * (t.rate - q.rate)
}

// priorWeight is how many downloads of the server itself its kin are worth.
const priorWeight = 0.5

// learn updates the server, and while it is new its network, its domain and the
// whole.
func (p *Predictor) learn(s *server, addr netip.Addr, domain string, w, minute int, m sample) {
	if s.n < levelShare {
		p.teach(s.n, addr, domain, m)
	}
	if s.day[w] == nil {
		if other := s.day[1-w]; other != nil {
			day := *other
			s.day[w] = &day
		} else {
			l := p.prior(addr, domain)
			day := new([24]point)
			for h := range day {
				day[h] = l.point
			}
			s.day[w], s.size, s.err = day, l.size, l.err
		}
	}
	day := s.day[w]
	now := at(day, minute)
	e := m.lnRate - float32(now.lnRate(s.size))
	to := m.target(now)
	least := 1 / (float32(s.n) + 1 + priorWeight)
	s.size += max(errGain, least) * (m.lnBytes - s.size)
	if m.throttled && to == now {
		s.n = max(s.n, 1)
		return
	}
	s.judge(e)
	for h := range day {
		day[h].toward(to, max(p.alpha[apart(minute, 60*h)], least))
	}
	s.n = min(s.n+1, maxCount)
}

// at returns what is believed at a minute of the day, between the two hours
// around it.
func at(day *[24]point, minute int) point {
	h := minute / 60
	q := day[h]
	q.toward(day[(h+1)%24], float32(minute%60)/60)
	return q
}

func (s *server) rate(w, minute int) Estimate {
	day := s.day[w]
	if day == nil {
		day = s.day[1-w]
	}
	return Estimate{Rate: math.Exp(at(day, minute).lnRate(s.size)), Sigma: math.Sqrt(float64(s.err)), Known: true}
}

// levelShare is how many downloads of one server the levels above it learn from:
// enough to know it, not so many that it drowns the others.
const levelShare = 8

// prior returns the nearest level that knows something.
func (p *Predictor) prior(addr netip.Addr, domain string) level {
	if addr.IsValid() {
		if i, ok := p.networks.find(network(addr)); ok && p.networks.items[i].value.n > 0 {
			return p.networks.items[i].value
		}
	}
	if i, ok := p.domains.find(domain); ok && p.domains.items[i].value.n > 0 {
		return p.domains.items[i].value
	}
	return p.global.value
}

// teach updates the levels above a server that had n downloads before this.
func (p *Predictor) teach(n uint16, addr netip.Addr, domain string, m sample) {
	p.global.value.learn(n, m)
	p.changed(ref{globalRow, 0})
	parent := p.global.value
	if domain != "" && len(domain) <= maxDomain {
		i := p.use(domainRow, [16]byte{}, domain)
		l := &p.domains.items[i].value
		if l.n == 0 {
			*l = parent
			l.n = 0
		}
		l.learn(n, m)
		parent = *l
		p.changed(ref{domainRow, i})
	}
	i := p.use(networkRow, network(addr), "")
	l := &p.networks.items[i].value
	if l.n == 0 {
		*l = parent
		l.n = 0
	}
	l.learn(n, m)
	p.changed(ref{networkRow, i})
}

// levelGain is how fast a level that knows many servers still moves.
const levelGain = 0.05

// learn takes in the download after the n-th of a server; the later, the less.
func (l *level) learn(n uint16, m sample) {
	to := m.target(l.point)
	if m.throttled && to == l.point {
		return
	}
	g := max(levelGain, 1/(float32(l.n)+1))
	if n == 0 {
		e := m.lnRate - float32(l.lnRate(l.size))
		l.err += max(errGain, 1/(float32(l.n)+2)) * (e*e - l.err)
		l.n = min(l.n+1, maxCount)
	}
	g /= float32(n + 1)
	l.toward(to, g)
	l.size += g * (m.lnBytes - l.size)
}

// network returns the /24 of a v4 address and the /48 of a v6 one, which cannot
// be mistaken for one another: only v4 ones have their tenth byte set.
func network(a netip.Addr) [16]byte {
	k := a.As16()
	if a.Is4() || a.Is4In6() {
		k[15] = 0
	} else {
		clear(k[6:])
	}
	return k
}
