package crawl

import (
	"cmp"
	"math"
	"slices"
	"time"

	"weir/page"
	"weir/plan"
)

// changed says that a plan was made for another promise than this is now, or that
// there is none for one that could have it.
func (p *promise) changed() bool {
	if p.Done != 0 || p.stuck != "" {
		return false
	}
	if p.at.p == nil {
		return !p.unready()
	}
	expected := max(p.at.work-(p.Wire-p.at.wire), 0)
	size := max(expected, p.bytes())
	return math.Abs(p.work-expected) > float64(planChange*size)+p.bytes() || math.Abs(p.most-p.at.most) > planChange*p.at.most
}

// tight says that a promise is held whose site could not bring all that is left in
// time: whether it is broken must be known at once.
func (p *promise) tight(wall int64) bool {
	return p.Standing == Held && p.Done == 0 && p.share(wall) > 1
}

// share returns which part of the time to its deadline a promise takes at the speed
// of its site.
func (p *promise) share(wall int64) float64 {
	return p.work / max(p.most, 1) / max(float64(p.Deadline-wall)/1e9, 1e-3)
}

// unready says that a promise is not to be planned yet.
func (p *promise) unready() bool { return p.left == 0 || !p.Given && (p.young || p.Had == 0) }

// plan asks for a plan of all promises that have not ended.
func (e *Engine) plan(now page.Time, wall int64) {
	ps := &e.promises
	ps.stale, ps.planned = false, now
	ps.asked = ps.asked[:0]
	o := Plan{}
	far := 0.0
	for _, p := range ps.all {
		if p.Done != 0 || p.stuck != "" || p.unready() || e.others(p) {
			continue
		}
		due := float64(p.Deadline-wall) / 1e9
		if due <= 0 {
			due = -1
		}
		far = max(far, due)
		aim := p.Aim
		switch p.Standing {
		case Wished, Refused:
			aim = p.target(wall, aimShare)
		case Held:
			// An aim that is over is none: what is left should be done early too.
			if aim < wall {
				aim = p.target(wall, aimShare)
			}
		case Broken:
			aim = p.target(wall, 1-regain)
		}
		o.Promises = append(o.Promises, plan.Promise{
			Site:   plan.Site{Name: p.Host, Size: p.work, Deadline: due, Cap: p.most},
			Likely: p.remains(p.left, p.Demand, 1, &ps.sample), Aim: float64(aim-wall) / 1e9, Held: p.given(), Broken: p.Standing == Broken, Waits: true,
		})
		ps.asked = append(ps.asked, asked{p, p.Deadline, p.work, p.Wire, p.most})
	}
	if len(o.Promises) == 0 {
		return
	}
	ps.version++
	ps.busy = true
	o.Version, o.Link = ps.version, e.ahead(now, far)
	e.out = append(e.out, o)
}

// target is when a promise given now should be done: a share of the time that is
// left.
func (p *promise) target(wall int64, share float64) int64 {
	return wall + int64(share*float64(p.Deadline-wall))
}

// ahead is the link as far as a plan must know it, in seconds from now. What a
// quota leaves is spread evenly over its period, and beyond maxSteps changes the
// lowest rate is taken to hold: rather too little is promised than too much.
func (e *Engine) ahead(now page.Time, far float64) []plan.Step {
	v := e.valve
	if v == nil {
		return []plan.Step{{Rate: noLimit}}
	}
	var steps []plan.Step
	lowest := noLimit
	begin, left := v.clock.Time(now), v.cfg.Quota.Bytes-v.usage.Used(v.cfg.Quota, v.clock.Time(now)) // of the quota's period
	for t := now; ; {
		at := v.clock.Time(t)
		most, good := v.cfg.steady(at)
		rate := float64(most)
		if v.cfg.Quota.Set() {
			end := v.cfg.Quota.End(at)
			rate = min(rate, max(float64(left), 0)/max(end.Sub(begin).Seconds(), 1))
			if d := end.Sub(at); good <= 0 || d <= good {
				good, begin, left = d, end, v.cfg.Quota.Bytes
			}
		}
		step := plan.Step{From: t.Sub(now).Seconds(), Rate: min(linkShare*rate, noLimit)}
		lowest = min(lowest, step.Rate)
		if len(steps) == maxSteps {
			steps = append(steps, plan.Step{From: step.From, Rate: lowest})
			break
		}
		steps = append(steps, step)
		if good <= 0 || step.From > far {
			break
		}
		t = t.Add(max(good, time.Millisecond))
	}
	if last := &steps[len(steps)-1]; last.Rate <= 0 {
		// A plan needs a link that is open in the end.
		steps = append(steps, plan.Step{From: max(last.From, far) + 1, Rate: 1})
	}
	return steps
}

// reserved takes a plan.
func (e *Engine) reserved(now page.Time, ev Planned) {
	ps := &e.promises
	if !ps.busy || ev.Version != ps.version || e.finished {
		return
	}
	ps.busy = false
	if len(ev.Reserved) != len(ps.asked) {
		return
	}
	ps.eager = true
	wall := e.clock.Time(now).UnixNano()
	for i, r := range ev.Reserved {
		a := ps.asked[i]
		p := a.p
		if p.Deadline != a.deadline || p.Done != 0 || p.stuck != "" || e.others(p) {
			continue // the plan is not about it any more
		}
		p.curve, p.begun, p.base, p.ends, p.at = r.Rates, ps.planned, a.wire, r.Done, a
		left := float64(p.Deadline-wall)/1e9 + now.Sub(ps.planned).Seconds()
		switch {
		case p.Standing == Missed, wall >= p.Deadline: // it came too late to say anything
		case !r.Kept:
			e.fail(now, p, r.Why)
		case p.Standing == Wished, p.Standing == Refused:
			p.Aim = p.target(wall, aimShare)
			e.stand(now, p, Held, "")
		case p.Standing == Broken && r.Done < (1-regain/2)*left:
			p.Aim = p.target(wall, aimShare)
			e.stand(now, p, Held, "")
		}
	}
}

// due returns how many bytes should have come by then.
func (p *promise) due(at page.Time) float64 {
	t := at.Sub(p.begun).Seconds()
	sum := p.base
	for _, r := range p.curve {
		if t <= r.From {
			break
		}
		sum += float64((min(t, r.To) - r.From) * r.Rate)
	}
	return sum
}

// owed returns how many bytes a second promises take that are given, and those that
// could be besides, if the link were wide enough. More of it must be there than they
// take, as for any plan.
func (e *Engine) owed(now page.Time) (owed, asked float64) {
	if e.clock.Unix == 0 {
		return 0, 0
	}
	wall := e.clock.Time(now).UnixNano()
	for _, p := range e.promises.all {
		if p.Done != 0 || p.stuck != "" || p.left == 0 || wall >= p.Deadline || p.Standing == Missed {
			continue
		}
		switch need := p.work / (float64(p.Deadline-wall) / 1e9); {
		case p.given():
			owed += min(max(need, p.flow(now)), p.most) / linkShare
		case !p.unready() && need <= p.most:
			asked += min(need/(1-float64(2*regain)), p.most) / linkShare
		}
	}
	return owed, asked
}

// flow returns how many bytes a second its curve has for a promise now.
func (p *promise) flow(at page.Time) float64 {
	t := at.Sub(p.begun).Seconds()
	for _, r := range p.curve {
		if r.From <= t && t < r.To {
			return r.Rate
		}
	}
	return 0
}

// lag returns how many bytes a promise is behind, when its next page is counted
// that would come too late otherwise.
func (p *promise) lag(now page.Time) float64 {
	if p.Done != 0 || p.stuck != "" || !p.given() && p.Standing != Wished {
		return 0
	}
	if p.Standing == Wished || p.young {
		return p.bytes() // how much there is must be found out first
	}
	next := time.Duration(p.cycle()*float64(time.Second)) + lookPause
	return p.due(now.Add(next)) - p.Wire
}

// urge tells whose promises are behind: first those that are held, then sites that
// are looked at before anything is promised, then those that cannot be kept any
// more. In each class the one with the least to spare goes first: that which takes
// the largest part of the time to its deadline at its own speed. How far behind
// they are says less, since curves with much caution are steep.
func (e *Engine) urge(now page.Time, wall int64) {
	ps := &e.promises
	type behind struct {
		p     *promise
		class int
		share float64
	}
	var late []behind
	for _, p := range ps.all {
		if p.lag(now) > 0 && len(p.hosts) > 0 {
			late = append(late, behind{p, p.Standing.class(), p.share(wall)})
		}
	}
	slices.SortStableFunc(late, func(a, b behind) int {
		return cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(b.share, a.share))
	})
	var hosts []string
	for _, b := range late {
		hosts = append(hosts, b.p.hosts...)
	}
	if slices.Equal(hosts, ps.urged) {
		return
	}
	ps.urged = hosts
	e.f.Urge(hosts)
	share := Share{}
	for i, h := range hosts {
		share.Hosts = append(share.Hosts, Urgency{Host: h, Urge: float64(len(hosts) - i)})
	}
	e.out = append(e.out, share)
}
