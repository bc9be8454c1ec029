package plan

import (
	"fmt"
	"math"
	"strings"
)

// text says what the matter is and what would help, in a sentence or two.
func (t *Trouble) text(p *Problem) string {
	s := &p.Sites[t.Site]
	var b strings.Builder
	switch {
	case t.Room && crowd(p) != "":
		fmt.Fprintf(&b, "The link has room for %s within %s, but no plan was found that has it done by then with %s: the best has it after %s.",
			s.Name, timeText(s.Deadline), crowd(p), later(t.Earliest, s.Deadline))
		return b.String()
	case t.Room:
		fmt.Fprintf(&b, "The link has room for %s within %s, but not for all that are late: so that others are late by less, the plan has it after %s.",
			s.Name, timeText(s.Deadline), later(t.Earliest, s.Deadline))
		return b.String()
	case s.Deadline < 0:
		fmt.Fprintf(&b, "%s cannot be done in time: its deadline is over.", s.Name)
	case s.Deadline <= s.NotBefore:
		fmt.Fprintf(&b, "%s cannot be done within %s, whatever the link: it may begin only after %s.", s.Name, timeText(s.Deadline), timeText(s.NotBefore))
	case t.Own:
		fmt.Fprintf(&b, "%s cannot be done within %s, whatever the link: %s.", s.Name, timeText(s.Deadline), own(p, s, t.Least))
	case t.For >= 0:
		o := &p.Sites[t.For]
		fmt.Fprintf(&b, "%s is not done within %s so that %s is done within %s: besides what the plan keeps, %s.",
			s.Name, timeText(s.Deadline), o.Name, timeText(o.Deadline), lack(s.Size, t.Fits))
	default:
		fmt.Fprintf(&b, "%s cannot be done within %s: ", s.Name, timeText(s.Deadline))
		if !t.first {
			b.WriteString("besides what is due before, ")
		}
		b.WriteString(lack(s.Size, t.Fits) + ".")
	}
	var ways []string
	if t.Earliest > 0 && !math.IsInf(t.Earliest, 1) {
		ways = append(ways, "within "+later(t.Earliest, s.Deadline))
	}
	if t.LinkNeeded > 0 && !math.IsInf(t.LinkNeeded, 1) {
		ways = append(ways, fmt.Sprintf("on %s times the link", upper(t.LinkNeeded)))
	}
	if t.Slip != nil {
		g := &p.Sites[t.Slip.Site]
		ways = append(ways, fmt.Sprintf("if %s had %s instead of %s", g.Name, later(t.Slip.To, g.Deadline), timeText(g.Deadline)))
	}
	if t.Trim > 0 && upSize(t.Trim) < s.Size*(1-tiny) {
		ways = append(ways, "without "+sizeText(upSize(t.Trim))+" of it")
	}
	could := " It could be, "
	if t.rough {
		could = " But for " + crowd(&Problem{MaxSites: p.MaxSites, MinRate: p.MinRate}) + ", it could be, "
	}
	switch len(ways) {
	case 0:
	case 1:
		b.WriteString(could + ways[0] + ".")
	default:
		b.WriteString(could + strings.Join(ways[:len(ways)-1], ", ") + ", or " + ways[len(ways)-1] + ".")
	}
	return b.String()
}

// lack says how much of a size fits.
func lack(size, fits float64) string {
	if fits <= tiny*size {
		return "nothing of its " + sizeText(size) + " fits"
	}
	return fmt.Sprintf("only %s of its %s fit", sizeText(fits), sizeText(size))
}

// own says why a site cannot be faster.
func own(p *Problem, s *Site, least float64) string {
	var why string
	m := &s.Manners
	pages := fmt.Sprintf("%s pages", thousands(m.Pages))
	switch polite := m.Least(); {
	case polite > 0 && polite >= s.Size/s.Most()*(1-tiny) && polite == float64(m.Pages)*m.Delay:
		why = fmt.Sprintf("%s with a crawl-delay of %s", pages, timeText(m.Delay))
	case polite > 0 && polite >= s.Size/s.Most()*(1-tiny):
		why = fmt.Sprintf("%s with a wait of %s", pages, timeText(m.Wait))
		if m.PerConn > 1 {
			why += fmt.Sprintf(" after every %s", thousands(m.PerConn))
		}
		if m.PageTime > 0 {
			why += fmt.Sprintf(" and %s each", timeText(m.PageTime))
		}
	case math.IsInf(s.Most(), 1):
		return "it takes " + timeText(p.Startup) + " to start"
	default:
		why = fmt.Sprintf("%s at its own %s", sizeText(s.Size), rateText(s.Most()))
	}
	why += " take " + timeText(s.Size/s.Most()) + " at least"
	if least > s.Size/s.Most() {
		why += ", and it takes " + timeText(p.Startup) + " to start"
	}
	if s.NotBefore > 0 {
		why += ", and it may begin only after " + timeText(s.NotBefore)
	}
	return why
}

// crowd names what bounds the sites besides the link, if anything does.
func crowd(p *Problem) string {
	var bounds []string
	switch {
	case p.MaxSites == 1:
		bounds = append(bounds, "one site at a time")
	case p.MaxSites > 0:
		bounds = append(bounds, thousands(p.MaxSites)+" sites at a time")
	}
	if p.Startup > 0 {
		bounds = append(bounds, timeText(p.Startup)+" to start one")
	}
	if p.MinRate > 0 {
		bounds = append(bounds, "at least "+rateText(p.MinRate)+" for each")
	}
	return strings.Join(bounds, ", ")
}

// later writes a time, rounded up, so that nobody takes it for one that was too
// early.
func later(t, than float64) string {
	up := upTime(t)
	if text := timeText(up); text != timeText(than) {
		return text
	}
	return timeText(upTime(up + timeUnit(up)))
}

// upper writes a factor with two digits after the point, rounded up: a bit less
// would not do.
func upper(factor float64) string {
	return fmt.Sprintf("%.2f", upFactor(factor))
}

func upFactor(factor float64) float64 { return math.Ceil(float64(factor*100)-tiny) / 100 }

// thousands writes a number for people: 12,000.
func thousands(n int) string {
	text := fmt.Sprint(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
