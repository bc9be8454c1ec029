package crawl

import (
	"encoding/json"
	"slices"

	"weir/page"
)

// promiseRow is what of a promise survives a restart.
type promiseRow struct {
	Demand
	Standing Standing `json:",omitempty"`
	Given    bool     `json:",omitempty"` // it was promised once
	Why      string   `json:",omitempty"` // it stands so
	Cause    string   `json:",omitempty"` // why it could not be given, or kept, as was known last
	Since    int64    `json:",omitempty"` // when it was wanted first, nanoseconds since 1970
	Aim      int64    `json:",omitempty"` // when it should be done, before its deadline
	Done     int64    `json:",omitempty"` // when its last page came, nanoseconds since 1970; 0 = it has not
	Ended    int64    `json:",omitempty"` // pages, whatever became of them
	Lost     int64    `json:",omitempty"` // of them, that could not be had
	sample
}

// savePromise makes a promise durable.
func (e *Engine) savePromise(now page.Time, p *promise) {
	p.fresh, p.saved = false, now
	value, err := json.Marshal(p.promiseRow)
	if err != nil {
		return // it holds no numbers that could not be written
	}
	e.out = append(e.out, Keep{Key: []byte(promiseKey + bare(p.Host)), Value: value})
}

func (e *Engine) dropPromise(host string) {
	e.out = append(e.out, Keep{Key: []byte(promiseKey + bare(host))})
}

// settlePromises says how promises have ended, and keeps all that was learned.
func (e *Engine) settlePromises(now page.Time) {
	for _, p := range e.promises.all {
		if e.clock.Unix != 0 {
			e.look(now, e.clock.Time(now).UnixNano(), p)
		}
		if p.fresh {
			e.savePromise(now, p)
		}
	}
}

// recallPromises takes what an earlier run knew. What the user wants now goes
// before. Rows that do not read are no loss: they are learned anew.
func (e *Engine) recallPromises(rows []Keep) {
	for _, r := range rows {
		var row promiseRow
		if json.Unmarshal(r.Value, &row) == nil && row.sane() && string(r.Key) == promiseKey+bare(row.Host) {
			e.recallPromise(row)
		}
	}
}

func (e *Engine) recallPromise(row promiseRow) {
	p := e.promised(row.Host)
	if p == nil {
		if e.unwanted(row.Host) {
			e.dropPromise(row.Host)
			return
		}
		e.demand(row.Demand)
		p = e.promised(row.Host)
		p.fresh, p.saved = false, 1
	}
	if p.Size <= 0 && p.Pages <= 0 {
		p.Size, p.Pages = row.Size, row.Pages
	}
	p.recalled = true
	p.sample, p.Ended, p.Lost = row.sample, row.Ended, row.Lost
	if p.Deadline == row.Deadline && !(e.cfg.Shared && row.Done == 0) { // others may have it by now
		p.Standing, p.Given, p.Why, p.Cause, p.Since, p.Aim, p.Done = row.Standing, row.Given, row.Why, row.Cause, row.Since, row.Aim, row.Done
	}
}

// unwanted says that the user has taken a demand back before the crawl began.
func (e *Engine) unwanted(host string) bool {
	return slices.ContainsFunc(e.cfg.Demands, func(d Demand) bool { return d.Deadline == 0 && bare(d.Host) == bare(host) })
}

// sane says that a row can have been written by us.
func (r *promiseRow) sane() bool {
	switch r.Standing {
	case Wished, Held, Refused, Broken, Kept, Missed:
	default:
		return false
	}
	return r.Deadline > 0 && r.Since >= 0 && r.Aim >= 0 && r.Aim <= r.Deadline && r.Done >= 0 && (r.Done > 0 || r.Standing != Kept) && r.Lost >= 0 && r.Ended >= r.Lost && r.Size >= 0 && r.Pages >= 0 && r.sample.sane()
}
