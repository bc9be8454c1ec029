package plan

import (
	"cmp"
	"slices"
	"sort"
)

// book holds jobs in the order of their deadlines, and says whether they fit. When
// some are changed, those due before them are not filled in again.
type book struct {
	link  *link
	jobs  []job
	later int    // jobs that may not begin at 0: then there is no shortcut
	marks []mark // rising
	spare []group
}

// mark is what the first n jobs leave of the link.
type mark struct {
	n      int
	last   float64
	groups []group
}

// markStep is how many jobs lie between two marks.
const markStep = 16

// place returns where a job is, or would be.
func (b *book) place(j *job) int {
	return sort.Search(len(b.jobs), func(k int) bool {
		return cmp.Or(cmp.Compare(b.jobs[k].due, j.due), cmp.Compare(b.jobs[k].site, j.site)) >= 0
	})
}

func (b *book) put(j job) {
	at := b.place(&j)
	b.jobs = slices.Insert(b.jobs, at, j)
	b.change(&j, at, 1)
}

func (b *book) drop(j job) {
	at := b.place(&j)
	b.jobs = slices.Delete(b.jobs, at, at+1)
	b.change(&j, at, -1)
}

func (b *book) change(j *job, at, by int) {
	if j.from > 0 {
		b.later += by
	}
	for n := len(b.marks); n > 0 && b.marks[n-1].n > at; n-- {
		b.marks = b.marks[:n-1]
	}
}

// fails returns the first site that does not fit, -1 if all do.
func (b *book) fails() int {
	if b.later > 0 {
		site, _, _ := admit(b.link, b.jobs, false)
		return site
	}
	lv := leveler{link: b.link, groups: b.spare[:0]}
	n := 0
	if k := len(b.marks); k > 0 {
		m := b.marks[k-1]
		n, lv.last, lv.groups = m.n, m.last, append(lv.groups, m.groups...)
	}
	defer func() { b.spare = lv.groups }()
	for from := n; n < len(b.jobs); n++ {
		if n > from && n%markStep == 0 {
			b.marks = append(b.marks, mark{n, lv.last, slices.Clone(lv.groups)})
		}
		if _, ok := lv.add(&b.jobs[n]); !ok {
			return b.jobs[n].site
		}
	}
	return -1
}
