package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/signal"
	"syscall"
	"time"

	"weir/internal/solver"
	"weir/plan"
)

const (
	mipTime  = time.Minute // for the solver
	mipSlots = 40          // that a plan is cut into when nothing is said
	maxSlots = 2000
)

// program plans by the integer program of the paper, which a solver on this
// machine solves. A plan that is there already says how long it may take.
func (c *planCmd) program(e *env, p *plan.Problem, ours *plan.Plan) attempt {
	a := attempt{method: "mip"}
	began := time.Now()
	a.plan, a.note, a.err = c.solved(e, p, ours)
	a.spent = time.Since(began)
	return a
}

func (c *planCmd) solved(e *env, p *plan.Problem, ours *plan.Plan) (_ *plan.Plan, note string, err error) {
	s, err := solver.Find()
	if err != nil {
		return nil, "", err
	}
	slot := c.slot(p, ours)
	slots := math.Ceil(ours.Max*1.15/slot) + 2
	if !(slots <= maxSlots) {
		return nil, "", fmt.Errorf("mip: %s are %.0f slots of %s, and a program has %d at most", spanText(ours.Max), slots, spanText(slot), maxSlots)
	}
	g, err := plan.Slots(p, slot, int(slots))
	if err != nil {
		return nil, "", err
	}
	ctx, stop := signal.NotifyContext(e.ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	began := time.Now()
	say := func() string {
		return fmt.Sprintf("%s has been at it for %s of %s", s.Name, short(time.Since(began)), short(mipTime))
	}
	w := e.gauge(func() []string { return []string{"  " + say()} }, say)
	answer, err := s.Solve(ctx, g.WriteLP, mipTime)
	w.end()
	switch {
	case ctx.Err() != nil:
		return nil, "", errInterrupted
	case err != nil:
		return nil, "", fmt.Errorf("mip: %w", err)
	case answer.Status == solver.Infeasible && (p.Objective == plan.Lateness || p.Objective == plan.Tardiness):
		return nil, "", fmt.Errorf("mip: no plan fits into %.0f slots of %s", slots, spanText(slot))
	case answer.Status == solver.Infeasible:
		return nil, "", fmt.Errorf("mip: in slots of %s no plan keeps all deadlines", spanText(slot))
	case !answer.Status.Solved():
		return nil, "", fmt.Errorf("mip: %s found %w in %s", s.Name, errSlow, short(mipTime))
	}
	pl, err := g.Plan(answer.Values)
	if err != nil {
		return nil, "", fmt.Errorf("mip: what %s answers is no plan: %w", s.Name, err)
	}
	note = fmt.Sprintf("mip: the best %s in slots of %s, by %s", p.Objective, spanText(slot), s.Name)
	if answer.Status == solver.Feasible {
		note = fmt.Sprintf("mip: the best %s that %s found in %s, in slots of %s", p.Objective, s.Name, short(mipTime), spanText(slot))
	}
	return pl, note, nil
}

var (
	errInterrupted = errors.New("interrupted while the solver was at work")
	errSlow        = errors.New("no plan")
)

// slot is the length of a slot: what was asked for, or such that there are not too
// many and the first deadline is beyond the first of them.
func (c *planCmd) slot(p *plan.Problem, ours *plan.Plan) float64 {
	if c.Slot > 0 {
		return time.Duration(c.Slot).Seconds()
	}
	slot := ours.Max / mipSlots
	for i := range p.Sites {
		if due := p.Sites[i].Deadline; due > 0 {
			slot = min(slot, max(due/4, ours.Max/(10*mipSlots)))
		}
	}
	return max(slot, p.Startup)
}
