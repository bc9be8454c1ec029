package search

import "math/bits"

// Suggest returns the word of the index that was probably meant by one that no
// page says, or nothing: the nearest by letters added, dropped, changed or
// swapped, of equally near ones that which most pages say. It reads all terms.
func (x *Index) Suggest(term string) (string, error) {
	want := []rune(term)
	far := 2 // how far is too far, less one
	switch {
	case len(want) < 3:
		return "", nil
	case len(want) < 6:
		far = 1
	}
	print := letters(term)
	pages := map[string]int{} // of the nearest
	for _, s := range x.segs {
		r := dictReader{s: s}
		for {
			if err := r.next(); err != nil {
				return "", err
			}
			if r.cur == nil {
				break
			}
			t := string(r.cur.term)
			// An edit changes at most two of the letters that a word has.
			if t == "" || t[0] == hostTerm("")[0] || bits.OnesCount64(print^letters(t)) > 2*far {
				continue
			}
			d := distance(want, []rune(t), far)
			if d > far {
				continue
			}
			if d < far {
				far = d
				clear(pages)
			}
			pages[t] += r.cur.n
		}
	}
	best := ""
	for t, n := range pages {
		if b := pages[best]; n > b || n == b && t < best {
			best = t
		}
	}
	return best, nil
}

// letters is the set of the letters of a word, some of which are taken for one.
func letters(s string) (set uint64) {
	for _, r := range s {
		set |= 1 << (r & 63)
	}
	return set
}

// distance is how many letters must be added, dropped, changed or swapped with
// their neighbour to make b of a, or more than most (optimal string alignment).
func distance(a, b []rune, most int) int {
	if len(a)-len(b) > most || len(b)-len(a) > most {
		return most + 1
	}
	rows := [3][]int{make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)}
	older, old, row := rows[0], rows[1], rows[2]
	for j := range row {
		row[j] = j
	}
	for i := range a {
		older, old, row = old, row, older
		row[0] = i + 1
		least := row[0]
		for j := range b {
			d := old[j]
			if a[i] != b[j] {
				d++
			}
			d = min(d, old[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				d = min(d, older[j-1]+1)
			}
			row[j+1] = d
			least = min(least, d)
		}
		if least > most {
			return most + 1
		}
	}
	return row[len(b)]
}
