package crawl

// PromiseStatus is how it stands with a promise, for people and reports.
type PromiseStatus struct {
	Demand
	Standing Standing
	Why      string  // it is not held, or was missed
	ETA      int64   // when its last page should come, or came, nanoseconds since 1970; 0 = nobody knows
	Had      int64   // pages
	Left     int64   // pages that are known
	Bytes    int64   // that came for it
	Expected int64   // and are still to come, with caution
	Rate     float64 // bytes a second that its site can bring
	Risk     Risk
	Xi       float64 // bytes on the wire for a byte of its pages
}

// Risk says how likely it is that a promise breaks.
type Risk string

const (
	NoRisk   Risk = "none" // it is kept
	LowRisk  Risk = "low"
	SomeRisk Risk = "some"
	HighRisk Risk = "high"
	Lost     Risk = "lost"    // it is broken, missed or was never given
	NoIdea   Risk = "unknown" // nothing is promised yet
)

func (e *Engine) promiseStatus() []PromiseStatus {
	ps := &e.promises
	if len(ps.all) == 0 {
		return nil
	}
	all := make([]PromiseStatus, 0, len(ps.all))
	wall := e.clock.Time(ps.looked).UnixNano()
	for _, p := range ps.all {
		if e.others(p) && p.Standing == Wished {
			continue
		}
		s := PromiseStatus{
			Demand: p.Demand, Standing: p.Standing, Why: p.Why, Had: p.fetched(), Left: p.left, Bytes: int64(p.Wire), Expected: int64(p.work), Rate: p.most,
			Xi: p.xi(&ps.sample), Risk: Lost, ETA: p.Done,
		}
		need := p.work / max(p.most, 1)
		if p.Done == 0 && p.given() {
			behind := max(p.due(ps.looked)-p.Wire, 0) / max(p.most, 1)
			s.ETA = later(wall, max(p.ends-ps.looked.Sub(p.begun).Seconds()+behind, need))
		}
		switch share := p.share(wall); {
		case p.Standing == Kept:
			s.Risk = NoRisk
		case p.Standing == Wished:
			s.Risk = NoIdea
		case p.Standing != Held:
		case share < 0.5:
			s.Risk = LowRisk
		case share < 0.8:
			s.Risk = SomeRisk
		default:
			s.Risk = HighRisk
		}
		all = append(all, s)
	}
	return all
}

// later returns a time so many seconds later, or 0 when that is beyond all times
// that can be told.
func later(wall int64, seconds float64) int64 {
	const most = 5e9
	if !(seconds < most) {
		return 0
	}
	return wall + int64(max(seconds, 0)*1e9)
}

// fetched is how many pages of a promise have come. What was counted for it may
// be behind after a crash; what its sites have had is not.
func (p *promise) fetched() int64 {
	if p.recalled {
		return max(p.Had, p.used)
	}
	return p.Had
}
