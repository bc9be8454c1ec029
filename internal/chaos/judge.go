package chaos

import (
	"fmt"
	"time"
)

// Span is what happened to a node, and when: a Fault as it was.
type Span struct {
	Kind       Kind
	Node       int
	Start, End time.Duration
}

// Refetch is a page that was served again.
type Refetch struct {
	URL          string
	First, Again Visit
	Why          Span          // what explains it
	Age          time.Duration // how long before Why the page had been served
	Own          bool          // Why happened to who had it first; otherwise to another, which may have cost the quorum
}

func (r Refetch) String() string {
	why := "nothing explains it"
	if r.Why.End > 0 {
		why = fmt.Sprintf("%s of n%d from %v to %v, age %v", r.Why.Kind, r.Why.Node, r.Why.Start, r.Why.End, r.Age)
	}
	return fmt.Sprintf("%s: by n%d at %v, again by n%d at %v; %s", r.URL, r.First.Node, r.First.End, r.Again.Node, r.Again.At, why)
}

const (
	oldest = 15 * time.Second // a page that was served so long before a fault is never fetched again
	fenced = 15 * time.Second // without a quorum, a node fetches so long at most
	flight = 5 * time.Second  // an answer may be under way, and a busy machine late
)

// refetches finds pages that were served again, and for each what explains it. An answer that was fetched while its node, or the
// quorum, was about to go is not known to the others: it may be fetched again. One whose completion was acknowledged may not,
// and that takes less than 15 seconds.
func refetches(visits []Visit, spans []Span) (again, unsound []Refetch) {
	first := map[string]Visit{}
	for _, v := range visits { // in the order of arrival
		if v.Path == "/robots.txt" || v.Status != 200 {
			continue
		}
		url := v.Host + v.Path
		was, ok := first[url]
		if !ok {
			first[url] = v
			continue
		}
		r := Refetch{URL: url, First: was, Again: v}
		first[url] = v
		r.explain(spans)
		again = append(again, r)
		if r.Why.End == 0 {
			unsound = append(unsound, r)
		}
	}
	return again, unsound
}

// explain looks for the fault that the answer came during or least before, and rather for one of the first visitor than of
// another, which may have cost it the quorum.
func (r *Refetch) explain(spans []Span) {
	for _, s := range spans {
		age := s.Start - r.First.End
		if s.Kind == Join || s.Start > r.Again.At || age > oldest || -age > max(fenced+flight, s.End-s.Start) {
			continue
		}
		age = max(age, 0)
		own := s.Node == r.First.Node
		if r.Why.End == 0 || age < r.Age || age == r.Age && own && !r.Own {
			r.Why, r.Age, r.Own = s, age, own
		}
	}
}

// overtime lists answers that were asked for by a node which had been cut off for too long to know that it still may.
func overtime(visits []Visit, spans []Span) []string {
	var out []string
	for _, s := range spans {
		if s.Kind != Cut {
			continue
		}
		n := 0
		for _, v := range visits {
			if v.Node == s.Node && v.At > s.Start+fenced+flight && v.At < s.End {
				n++
			}
		}
		if n > 0 {
			out = append(out, fmt.Sprintf("n%d sent %d requests although it was cut off from %v to %v", s.Node, n, s.Start, s.End))
		}
	}
	return out
}

// longest is the longest time between two answers.
func longest(visits []Visit) (gap time.Duration) {
	for i := 1; i < len(visits); i++ {
		gap = max(gap, visits[i].At-visits[i-1].At)
	}
	return gap
}
