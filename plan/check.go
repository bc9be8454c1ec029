package plan

import (
	"fmt"
	"math"
)

// Check returns the first fault of a Problem, or nil; it is a *Fault. The other
// functions of this package take Problems without faults.
func (p *Problem) Check() error {
	// A nil *Fault must not become an error.
	if f := p.fault(); f != nil {
		return f
	}
	return nil
}

func (p *Problem) fault() *Fault {
	if f := p.linkFault(); f != nil {
		return f
	}
	if p.MaxSites < 0 {
		return &Fault{-1, "max_sites", fmt.Sprintf("%d sites at a time; give 1 or more, or 0 for no bound", p.MaxSites)}
	}
	if f := amount(-1, "startup", p.Startup); f != nil {
		return f
	}
	if f := amount(-1, "min_rate", p.MinRate); f != nil {
		return f
	}
	if int(p.Objective) >= len(objectives) {
		return &Fault{-1, "objective", fmt.Sprintf("there is none with number %d", p.Objective)}
	}
	first := make(map[string]int, len(p.Sites))
	total := 0.0
	for i := range p.Sites {
		s := &p.Sites[i]
		if s.Name != "" {
			if j, ok := first[s.Name]; ok {
				return &Fault{i, "name", fmt.Sprintf("%q is listed twice, as sites %d and %d", s.Name, j+1, i+1)}
			}
			first[s.Name] = i
		}
		if f := s.fault(i); f != nil {
			return f
		}
		total += s.Size
	}
	return p.loadFault(total)
}

func (p *Problem) linkFault() *Fault {
	if len(p.Link) == 0 && len(p.Sites) > 0 {
		return &Fault{-1, "link", "there is none"}
	}
	for i, s := range p.Link {
		if f := amount(-1, "link", s.From); f != nil {
			return f
		}
		if f := amount(-1, "link", s.Rate); f != nil {
			return f
		}
		if i == 0 && s.From != 0 {
			return &Fault{-1, "link", fmt.Sprintf("it begins at %g, and nothing says what it is before; the first step is from 0", s.From)}
		}
		if i > 0 && s.From <= p.Link[i-1].From {
			return &Fault{-1, "link", fmt.Sprintf("the step from %g comes after the one from %g", s.From, p.Link[i-1].From)}
		}
	}
	return nil
}

// fault returns the first fault of the site, which is number i.
func (s *Site) fault(i int) *Fault {
	m := &s.Manners
	for _, a := range []struct {
		field string
		value float64
	}{
		{"size", s.Size}, {"cap", s.Cap}, {"weight", s.Weight}, {"not_before", s.NotBefore},
		{"pages", float64(m.Pages)}, {"per_conn", float64(m.PerConn)}, {"wait", m.Wait}, {"delay", m.Delay}, {"page_time", m.PageTime},
	} {
		if f := amount(i, a.field, a.value); f != nil {
			return f
		}
	}
	if math.IsNaN(s.Deadline) || math.IsInf(s.Deadline, 0) {
		return &Fault{i, "deadline", fmt.Sprintf("%g is not a time", s.Deadline)}
	}
	if s.Size > 0 && s.Most() < math.SmallestNonzeroFloat64*1e16 {
		return &Fault{i, "pages", "at these manners the site would never be done"}
	}
	return nil
}

// loadFault is about the link and the sites together.
func (p *Problem) loadFault(total float64) *Fault {
	if total == 0 {
		return nil
	}
	if math.IsInf(total, 1) {
		return &Fault{-1, "size", "the sizes add up to more than a number can hold"}
	}
	l := newLink(p.Link)
	most := l.most()
	if most == 0 {
		return &Fault{-1, "link", "a link of 0 carries nothing"}
	}
	if last := p.Link[len(p.Link)-1]; last.Rate == 0 && l.work(last.From) < total*(1-tiny) {
		return &Fault{-1, "link", fmt.Sprintf("it is 0 from %g on, and carries %g of %g before", last.From, l.work(last.From), total)}
	}
	for i := range p.Sites {
		if s := &p.Sites[i]; s.Size > 0 && p.floor(s) > most {
			return &Fault{-1, "min_rate", fmt.Sprintf("%g is more than the link ever has", p.MinRate)}
		}
	}
	return nil
}

// amount returns a fault when a value is not a finite number from 0 on.
func amount(site int, field string, v float64) *Fault {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return &Fault{site, field, fmt.Sprintf("%g is not an amount", v)}
	case v < 0:
		return &Fault{site, field, fmt.Sprintf("%g is less than 0", v)}
	}
	return nil
}

// floor returns the least rate of a site while it is being crawled.
func (p *Problem) floor(s *Site) float64 { return min(p.MinRate, s.Most()) }
