package flow

import (
	"strings"

	"weir/page"
)

// sieve lets values pass or not. What most crawls ask of most links is written out
// here, since calls of functions that are only known at run time take longer than
// most tests do; anything else is such a call.
type sieve struct {
	how   how
	neg   bool
	slot  int // the text that is looked at, or is given a value
	texts []string
	hall  *lookup
	call  func(x *Part, e *env) bool
}

type how uint8

const (
	byCall     how = iota
	starts         // with one of texts
	ends           // with one of them
	has            // one of them
	inHall         // a row of the hall has the text
	hostInHall     // or the host of the link
	setHost        // the slot becomes the host of the link
)

func called(f func(x *Part, e *env) bool) sieve { return sieve{call: f} }

func (s *sieve) pass(x *Part, e *env) bool {
	switch s.how {
	case byCall:
		return s.call(x, e)
	case inHall:
		_, rows := s.hall.bare(x, e.v[s.slot].S)
		return (len(rows) > 0) != s.neg
	case hostInHall:
		_, rows := s.hall.bare(x, e.link.URL.Host())
		return (len(rows) > 0) != s.neg
	case setHost:
		e.v[s.slot].S = e.link.URL.Host()
		return true
	}
	return s.test(e.v[s.slot].S) != s.neg
}

// ofLink says that all it looks at is a link, whose URL is in a slot.
func (s *sieve) ofLink(slot int) bool {
	switch s.how {
	case starts, ends, has, inHall:
		return s.slot == slot
	}
	return s.how == hostInHall
}

// pick keeps those of some links that pass, at the front, and returns how many.
func (s *sieve) pick(x *Part, links []page.Link, some []int32) int {
	n := 0
	switch s.how {
	case hostInHall:
		for _, i := range some {
			if _, rows := s.hall.bare(x, links[i].URL.Host()); (len(rows) > 0) != s.neg {
				some[n] = i
				n++
			}
		}
	case inHall:
		for _, i := range some {
			if _, rows := s.hall.bare(x, links[i].URL.String()); (len(rows) > 0) != s.neg {
				some[n] = i
				n++
			}
		}
	default:
		for _, i := range some {
			if s.test(links[i].URL.String()) != s.neg {
				some[n] = i
				n++
			}
		}
	}
	return n
}

// test looks for one of the texts.
func (s *sieve) test(in string) bool {
	switch s.how {
	case starts:
		for _, t := range s.texts {
			if strings.HasPrefix(in, t) {
				return true
			}
		}
	case ends:
		for _, t := range s.texts {
			if strings.HasSuffix(in, t) {
				return true
			}
		}
	case has:
		for _, t := range s.texts {
			if strings.Contains(in, t) {
				return true
			}
		}
	}
	return false
}

// sift puts sieves before an op.
func sift(pass []sieve, next op) op {
	if len(pass) == 0 {
		return next
	}
	return func(x *Part, e *env) {
		for i := range pass {
			if !pass[i].pass(x, e) {
				return
			}
		}
		next(x, e)
	}
}
