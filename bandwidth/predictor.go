package bandwidth

import (
	"fmt"
	"math"
	"net/netip"
	"time"
)

// Defaults of a PredictorConfig. The first two are the paper's (section 3).
const (
	DefaultGain    = 0.3
	DefaultSpread  = 120 * time.Minute
	DefaultPrior   = 100e3
	DefaultServers = 1 << 16
)

// Bounds on what is believed of any server, so that a lying clock or a hostile
// row cannot carry a value from which the estimate would not come back.
const (
	minRate, maxRate   = 1, 1e13    // bytes a second
	minFirst, maxFirst = 1e-6, 86e3 // seconds
	maxSize            = 1e12       // bytes
	maxDomain          = 253        // bytes of a domain's name
)

// PredictorConfig sets up a Predictor. A field left zero takes its default.
type PredictorConfig struct {
	Gain     float64       // of a download at the hour itself; k in the paper
	Spread   time.Duration // how far a download teaches about other hours; sigma in the paper
	Holidays Holidays      // besides weekends
	Exact    bool          // predict by the paper's formula, not by weir's
	Prior    float64       // bytes a second of a server while nothing at all is known
	Max      int           // servers kept, and networks, and domains; the longest unused is forgotten
}

// Check says what is wrong with c.
func (c PredictorConfig) Check() error {
	switch {
	case !(c.Gain >= 0 && c.Gain <= 1): // NaN too
		return fmt.Errorf("gain %v is not between 0 and 1; %v is the usual value", c.Gain, DefaultGain)
	case c.Spread < 0 || c.Spread > 24*time.Hour:
		return fmt.Errorf("spread %v is not between 0 and 24h; %v is the usual value", c.Spread, DefaultSpread)
	case c.Prior != 0 && !(c.Prior >= minRate && c.Prior <= maxRate):
		return fmt.Errorf("prior rate %v is not between %v and %v bytes a second", c.Prior, float64(minRate), float64(maxRate))
	case c.Max < 0 || c.Max > math.MaxInt32:
		return fmt.Errorf("cannot keep %d servers", c.Max)
	}
	return nil
}

// Measure is what one download told about its server.
type Measure struct {
	Bytes     int64
	Elapsed   time.Duration // from the request to the last byte
	First     time.Duration // from the request to the first byte; 0: not known
	Throttled bool          // our own limit slowed it, so the server may be faster
}

// rate returns the transfer rate as the paper measures it, bytes over the time
// from request to end (M in section 2), and whether m says anything.
func (m Measure) rate() (float64, bool) {
	if m.Bytes <= 0 || m.Elapsed <= 0 {
		return 0, false
	}
	return min(max(float64(m.Bytes)/m.Elapsed.Seconds(), minRate), maxRate), true
}

// Estimate is what a download is expected to take of the link.
type Estimate struct {
	Rate  float64 // bytes a second for a page of typical size; B(u) in the paper
	Sigma float64 // standard error of the natural logarithm of Rate
	Known bool    // from downloads of this very server, not from its kin
}

// Predictor keeps, for each server, how fast its downloads go by hour of day,
// on working days and on holidays apart (Diligenti et al., section 2), and
// foretells the rate of the next one.
//
// It knows two forms. The paper's averages the rates themselves, in 48 values a
// server. weir's keeps the time to the first byte and the rate after it, both
// as logarithms, learns faster while little is known, and takes a new server
// for the like of its network, else of its domain, else of all servers.
//
// The same calls in the same order give the same estimates. Memory is bounded
// by PredictorConfig.Max. A Predictor is not safe for concurrent use; the
// Engine owns it.
type Predictor struct {
	cfg PredictorConfig
	// alpha holds the gains: of a download r minutes past an hour, for the hour
	// k later, at [r][24+k]. A day's hours in order are 24 neighbours.
	alpha [60][48]float32

	servers  recent[[16]byte, server]
	networks recent[[16]byte, level]
	domains  recent[string, level]
	global   item[string, level]
	due      []ref    // rows to write, each once
	gone     []rowKey // rows to delete, at most cfg.Max
	date     int64    // the local day last asked for, in days since 1970
	holiday  bool     // whether date is one
}

const fullDay = 24 * 60 // minutes

// server is what is kept of one address. Exactly one of hour and day is used,
// by the form.
type server struct {
	n    uint16  // downloads learnt from, up to maxCount
	size float32 // ln bytes of a typical page
	err  float32 // mean square of the error of ln rate
	hour *[2][24]float32
	day  [2]*day // by kind of day; nil: nothing seen, the other one serves
}

const maxCount = 1 << 12

// NewPredictor returns a predictor that knows nothing yet. What cfg.Check would
// refuse is replaced by the default.
func NewPredictor(cfg PredictorConfig) *Predictor {
	if cfg.Check() != nil {
		cfg = PredictorConfig{Holidays: cfg.Holidays, Exact: cfg.Exact}
	}
	if cfg.Gain == 0 {
		cfg.Gain = DefaultGain
	}
	if cfg.Spread == 0 {
		cfg.Spread = DefaultSpread
	}
	if cfg.Prior == 0 {
		cfg.Prior = DefaultPrior
	}
	if cfg.Max == 0 {
		cfg.Max = DefaultServers
	}
	p := &Predictor{cfg: cfg, date: math.MinInt64}
	for r := range p.alpha {
		for k := range p.alpha[r] {
			y := wrap(r - 60*(k-24))
			p.alpha[r][k] = float32(gaussian(cfg.Gain, y, cfg.Spread.Minutes()))
		}
	}
	p.servers.init(cfg.Max)
	p.networks.init(cfg.Max)
	p.domains.init(cfg.Max)
	p.global.value = blank(cfg.Prior)
	return p
}

// gaussian is alpha(y) = k exp(-y²/sigma²) of section 2, with the minus sign
// that its print lacks.
func gaussian(k, y, sigma float64) float64 { return k * math.Exp(-(y*y)/(sigma*sigma)) }

// wrap takes y = t - 60h the short way round midnight: at most half a day.
func wrap(y int) float64 {
	y = (y%fullDay + fullDay) % fullDay
	return float64(min(y, fullDay-y))
}

// gains returns what a download at a minute of the day weighs for every hour.
func (p *Predictor) gains(minute int) *[24]float32 {
	return (*[24]float32)(p.alpha[minute%60][24-minute/60:])
}

// Working days and holidays; w in the paper.
const (
	holiday = 0
	working = 1
)

// when places t in the table: its kind of day and its minute of the day.
func (p *Predictor) when(t time.Time) (w, minute int) {
	_, offset := t.Zone()
	sec := t.Unix() + int64(offset)
	date := sec / 86400
	if sec%86400 < 0 {
		date--
	}
	if date != p.date {
		p.date, p.holiday = date, p.cfg.Holidays.Has(t)
	}
	w = working
	if p.holiday {
		w = holiday
	}
	return w, int(sec-date*86400) / 60
}

// Rate foretells a download that would start at t, local time, from server, a
// host of the registered domain. The server may be the zero Addr while its
// address is unknown. Asking does not keep a server from being forgotten.
func (p *Predictor) Rate(t time.Time, addr netip.Addr, domain string) Estimate {
	if s := p.seen(addr); s != nil {
		w, minute := p.when(t)
		if p.cfg.Exact {
			return s.rateExact(w, minute)
		}
		return s.rate(w, minute)
	}
	if p.cfg.Exact {
		return Estimate{Rate: p.cfg.Prior, Sigma: noIdea}
	}
	l := p.prior(addr, domain)
	return l.estimate(l.size, l.err)
}

// Learn takes in a download that ended at t, local time. A measure without
// bytes or time is ignored.
func (p *Predictor) Learn(t time.Time, addr netip.Addr, domain string, m Measure) {
	rate, ok := m.rate()
	if !ok || !addr.IsValid() {
		return
	}
	w, minute := p.when(t)
	i := p.use(serverRow, addr.As16(), "")
	s := &p.servers.items[i].value
	if p.cfg.Exact {
		s.learnExact(p.gains(minute), w, minute, rate)
	} else {
		sample := newSample(m)
		p.learn(s, addr, domain, w, minute, &sample)
	}
	p.changed(ref{serverRow, i})
}

// seen returns the server of addr if something was learnt of it, else nil.
func (p *Predictor) seen(addr netip.Addr) *server {
	if !addr.IsValid() {
		return nil
	}
	i, ok := p.servers.find(addr.As16())
	if !ok || p.servers.items[i].value.n == 0 {
		return nil
	}
	return &p.servers.items[i].value
}

// Len returns how many servers are kept.
func (p *Predictor) Len() int { return len(p.servers.items) }
