package search

import "fmt"

// merge writes the documents and terms of neighbouring segments, which are in
// the order of the archive, as one. It holds one block of each in memory, and one
// list of postings.
func merge(w *writer, segs []*segment) error {
	for _, s := range segs {
		if err := s.load(); err != nil {
			return err
		}
		for block := range s.doc {
			err := s.documents(block, func(_ int, d *document) bool {
				w.addDoc(d)
				return w.err == nil
			})
			if err != nil {
				return err
			}
		}
		s.words, s.prints = nil, nil
	}
	var readers []*dictReader
	base := 0
	for _, s := range segs {
		r := &dictReader{s: s, base: base}
		if err := r.next(); err != nil {
			return err
		}
		readers = append(readers, r)
		base += s.foot.docs
	}
	for w.err == nil {
		var least []byte
		for _, r := range readers {
			if r.cur != nil && (least == nil || string(r.cur.term) < string(least)) {
				least = r.cur.term
			}
		}
		if least == nil {
			break
		}
		term := string(least)
		var all list
		for _, r := range readers {
			if r.cur == nil || string(r.cur.term) != term {
				continue
			}
			if err := r.copyTo(&all); err != nil {
				return err
			}
			if err := r.next(); err != nil {
				return err
			}
		}
		w.addTerm(term, all.n, all.b)
	}
	return w.err
}

// dictReader reads all entries of a segment in order.
type dictReader struct {
	s     *segment
	base  int // number of its first document in what is merged
	block int // the next
	terms *termReader
	cur   *entry // nil at the end
	last  string
}

func (r *dictReader) next() error {
	err := r.read()
	if err != nil {
		err = fmt.Errorf("%s: %w", r.s.name, err)
	}
	return err
}

func (r *dictReader) read() (err error) {
	for {
		if r.terms == nil {
			r.cur = nil
			if r.block == len(r.s.dict) {
				return nil
			}
			if r.terms, err = r.s.openTerms(r.block); err != nil {
				return err
			}
			r.block++
		}
		if r.cur, err = r.terms.next(); err != nil {
			return err
		}
		if r.cur == nil {
			r.terms = nil
			continue
		}
		if string(r.cur.term) <= r.last && r.last != "" {
			return r.s.damaged("its terms are not in order")
		}
		r.last = string(r.cur.term)
		return nil
	}
}

// copyTo appends the postings of the current entry.
func (r *dictReader) copyTo(all *list) error {
	p, err := r.s.postings(r.cur)
	for err == nil && p.doc < r.s.foot.docs {
		all.add(r.base+p.doc, p.times)
		err = p.step()
	}
	return err
}
