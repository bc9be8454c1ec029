package survey

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"weir/bandwidth"
	"weir/crawl"
	"weir/internal/store"
	"weir/page"
)

// FromCrawl estimates hosts from the crawl folder in dir, finished or
// interrupted; without hosts, all that the crawl knows, in the order in which it
// found them. What was fetched counts as it is, and what waits with the mean size
// of that. Hosts that the crawl does not know have an Err of their own. A folder
// whose crawl is running is store.ErrInUse.
func FromCrawl(dir string, hosts []string) ([]Estimate, error) {
	ts, err := parseTargets(hosts)
	if err != nil {
		return nil, err
	}
	f, err := openFolder(dir)
	if err != nil {
		return nil, err
	}
	defer f.close()
	found, err := f.measure(&ts, len(hosts) == 0)
	if err != nil {
		return nil, fmt.Errorf("crawl folder %s: %w", dir, err)
	}
	out := make([]Estimate, len(ts.list))
	for i, t := range ts.list {
		out[i] = f.estimate(t, found[ts.by[t.key]])
	}
	return out, nil
}

// folder is a crawl folder that is read.
type folder struct {
	*crawl.View
	store     *store.Store
	predictor *bandwidth.Predictor // nil: it learned nothing of servers
	overhead  float64              // bytes on the wire that an answer takes beyond its body
	sample    bool                 // it is small, and its links were kept
}

// maxLearned is how many rows about servers are read.
const maxLearned = 1 << 16

func openFolder(dir string) (_ *folder, err error) {
	st, err := store.Open(dir, store.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			st.Close()
		}
	}()
	f := &folder{store: st}
	if f.View, err = crawl.NewView(st); err != nil {
		return nil, fmt.Errorf("crawl folder %s: %w", dir, err)
	}
	totals, err := crawl.ReadTotals(st)
	if err != nil {
		return nil, fmt.Errorf("crawl folder %s: %w", dir, err)
	}
	if n := totals.Fetched + totals.Robots; n > 0 {
		f.overhead = max(0, float64(totals.Wire-totals.Bytes)/float64(n))
	}
	rows, err := f.Learned(maxLearned)
	if err != nil {
		return nil, fmt.Errorf("crawl folder %s: %w", dir, err)
	}
	if len(rows) > 0 {
		f.predictor = bandwidth.NewPredictor(bandwidth.PredictorConfig{Max: maxLearned})
		for _, r := range rows {
			// What cannot be read was written by another version; the rest may do.
			_ = f.predictor.Load(bandwidth.Row{Key: string(r.Key), Value: r.Value})
		}
	}
	return f, nil
}

func (f *folder) close() { f.store.Close() } // nothing was written that could fail

// measured is what a crawl has of one target.
type measured struct {
	crawl.Tally
	known bool
	delay time.Duration
	looks looks // of a sample
}

// measure adds up the sites of each target. With all, every host becomes one.
func (f *folder) measure(ts *targets, all bool) ([]measured, error) {
	out := make([]measured, len(ts.list))
	of := map[page.SiteID][]int{}
	var bad error
	err := f.Sites(func(s *crawl.SiteInfo) bool {
		u := page.Join(s.Name, "/")
		if _, ok := ts.by[u.Host()]; all && !ok {
			ts.by[u.Host()] = len(ts.list)
			ts.list = append(ts.list, target{name: u.Host(), key: u.Host()})
			out = append(out, measured{})
		}
		owners := ts.find(u)
		if len(owners) == 0 {
			return true
		}
		var t crawl.Tally
		if t, bad = f.Tally(s.ID); bad != nil {
			return false
		}
		of[s.ID] = owners
		for _, i := range owners {
			m := &out[i]
			m.known = true
			m.delay = max(m.delay, s.Delay)
			m.Add(&t)
		}
		return true
	})
	if err == nil {
		err = bad
	}
	if err == nil && f.sample {
		err = f.look(of, out)
	}
	return out, err
}

// left is how many pages were known and not asked for. A budget may have ended
// them; the site has them nevertheless.
func (m *measured) left() int64 {
	return m.Queued + m.Outcomes[page.SiteBudget] + m.Outcomes[page.DomainBudget]
}

// trouble says why no page of a site could be had, if so.
func (m *measured) trouble() error {
	worst := page.None
	for _, o := range page.Outcomes() {
		if o.Row().Kept && m.Outcomes[o] > 0 {
			return nil
		}
		if o != page.SiteBudget && m.Outcomes[o] > m.Outcomes[worst] {
			worst = o
		}
	}
	if worst == page.None {
		return errors.New("no page of it was fetched yet")
	}
	return fmt.Errorf("no page of it could be had: %s", worst.Row().What)
}

func (f *folder) estimate(t target, m measured) Estimate {
	e := Estimate{Host: t.name, Delay: m.delay, Fetched: m.Answered(), Queued: m.left()}
	e.Pages = e.Fetched + e.Queued
	e.How = fmt.Sprintf("crawl: %d pages fetched, %d more known", e.Fetched, e.Queued)
	if e.Err = m.trouble(); !m.known {
		e.Err = ErrUnknown
	}
	if e.Err != nil {
		return e
	}
	e.PageBytes = float64(m.Bytes)/float64(e.Fetched) + f.overhead
	e.More = e.Queued > 0
	e.Least = e.More
	e.doubt = meanDoubt(e.Fetched, float64(m.Bytes), m.Squares)
	e.weigh(float64(e.Pages), 0, 0)
	if m.Elapsed > 0 {
		e.PageTime = m.Elapsed / time.Duration(m.Bodies)
		e.Speed = float64(m.Bytes) / m.Elapsed.Seconds()
	}
	// Servers are learned of under a limit, where answers may take longer than their
	// servers need. What was learned leaves out what it can of that.
	e.Held = f.predictor != nil
	if addr, err := netip.ParseAddr(m.Server); err == nil && f.predictor != nil {
		if p := f.predictor.Rate(time.Now(), addr, ""); p.Known && p.Rate > e.Speed {
			e.Speed = p.Rate
			e.PageTime = time.Duration(float64(m.Bytes) / float64(m.Bodies) / p.Rate * float64(time.Second))
		}
	}
	return e
}

// weigh sets the size of so many pages and what it lies between; down and up are
// the doubts in their number. What was fetched is in no doubt.
func (e *Estimate) weigh(pages, down, up float64) {
	had := float64(e.Fetched) * e.PageBytes
	rest := max(0, pages-float64(e.Fetched)) * e.PageBytes
	e.Size = had + rest
	e.Low = had + rest/factor(e.doubt, down)
	e.High = had + rest*factor(e.doubt, up)
}
