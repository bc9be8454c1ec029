package chaos

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Span is what happened to a node, and when: a Fault as it was.
type Span struct {
	Kind        Kind
	Node, Other int // Other is of Part
	Start, End  time.Duration
}

// hits reports whether it happened to a node.
func (s Span) hits(node int) bool { return s.Node == node || s.Kind == Part && s.Other == node }

// Refetch is a page that was served again.
type Refetch struct {
	URL          string
	First, Again Visit

	// Acked is when its end was acknowledged to a node; 0: not before it was asked for again. Late is for how long it had
	// been then, less the time in which who asked could not hear of it.
	Acked, Late time.Duration

	Why Span          // the fault that explains it
	Age time.Duration // how long before Why the page had been served
	Own bool          // Why happened to who had it first; otherwise to another, which may have cost the quorum
}

// unsound says that who asked again should have known better.
func (r Refetch) unsound() bool { return r.Late > flight }

// unexplained says that no fault was near when the page was served first.
func (r Refetch) unexplained() bool { return r.Why.End == 0 }

func (r Refetch) String() string {
	why, acked := "no fault explains it", "its end was not acknowledged before"
	if !r.unexplained() {
		why = fmt.Sprintf("%s of n%d from %v to %v, age %v", r.Why.Kind, r.Why.Node, r.Why.Start, r.Why.End, r.Age)
	}
	if r.Acked > 0 {
		acked = fmt.Sprintf("its end was acknowledged at %v, and could be known for %v", r.Acked, r.Late)
	}
	return fmt.Sprintf("%s: by n%d at %v, again by n%d at %v; %s; %s", r.URL, r.First.Node, r.First.End, r.Again.Node, r.Again.At, acked, why)
}

const (
	oldest = 15 * time.Second // a page that was served so long before a fault is never fetched again
	fenced = 15 * time.Second // without a quorum, a node fetches so long at most
	flight = 5 * time.Second  // a request may be under way, and a busy machine late
)

// refetches finds pages that were served again, and for each whether its end had been acknowledged, and which fault explains
// it. Acked tells of each page when that was first. An answer that was fetched while its node, or the quorum, was about to go
// is not known to the others: it may be fetched again, by them or by the node itself. One whose end was acknowledged is in
// the log. Whoever takes the partition over reads that to its end before it orders anything; so a node that has a page's end
// still to read can only be one that owned the partition before the end came, from a node that had owned it before. It reads
// what comes at least twice a second, and looks before a request whether the page has ended. That leaves
//
//   - flight for what the end must pass, and the request: the log's next reading, a commit, the way to the web, on a machine
//     whose disk stands still for a second now and then;
//   - and the time in which the node was stopped, or one of the others did not hear it or was not heard: until it is over
//     what the others write does not reach it. Of this never more than 15 seconds count, after which it asks for nothing.
func refetches(visits []Visit, spans []Span, acked map[string]time.Duration) (again []Refetch) {
	first := map[string]Visit{}
	for _, v := range visits { // in the order of arrival
		if !v.counts() {
			continue
		}
		url := v.url()
		was, ok := first[url]
		first[url] = v
		if !ok {
			continue
		}
		r := Refetch{URL: url, First: was, Again: v}
		if at, ok := acked[url]; ok && at < v.At {
			r.Acked = at
			r.Late = max(0, v.At-at-min(fenced, hindered(spans, v.Node, at, v.At)))
		}
		r.explain(spans)
		again = append(again, r)
	}
	return again
}

// counts reports whether it was a page that was served.
func (v Visit) counts() bool { return v.Path != "/robots.txt" && v.Status == 200 }

func (v Visit) url() string { return v.Host + v.Path }

// hindered is for how long, between two times, a node was stopped or apart from another.
func hindered(spans []Span, node int, from, to time.Duration) (sum time.Duration) {
	spans = slices.Clone(spans)
	slices.SortFunc(spans, func(a, b Span) int { return cmp.Compare(a.Start, b.Start) })
	for _, s := range spans {
		switch s.Kind {
		case Pause, Cut, Mute, Deaf, Part, Dark:
			if begin, end := max(from, s.Start), min(to, s.End); s.hits(node) && begin < end {
				sum += end - begin
				from = end // what overlaps counts once
			}
		}
	}
	return sum
}

// explain looks for the fault that the answer came during or least before, and rather for one of the first visitor than of
// another, which may have cost it the quorum. With many faults there nearly always is one: that a page may be fetched again
// it does not show, only how old the page was, at least.
func (r *Refetch) explain(spans []Span) {
	for _, s := range spans {
		age := s.Start - r.First.End
		if s.Kind == Join || s.Start > r.Again.At || age > oldest || -age > max(fenced+flight, s.End-s.Start) {
			continue
		}
		age = max(age, 0)
		own := s.hits(r.First.Node)
		if r.unexplained() || age < r.Age || age == r.Age && own && !r.Own {
			r.Why, r.Age, r.Own = s, age, own
		}
	}
}

// weigh takes down what was fetched again.
func (r *Result) weigh(again []Refetch) {
	r.Again = again
	for _, a := range again {
		if a.Own {
			r.Own++
		}
		if a.unsound() {
			r.Unsound = append(r.Unsound, a)
		} else {
			r.Latest = max(r.Latest, a.Late)
		}
		if a.unexplained() {
			r.Unexplained = append(r.Unexplained, a)
		}
		r.Oldest = max(r.Oldest, a.Age)
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
