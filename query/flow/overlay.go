package flow

import (
	"encoding/binary"
	"fmt"
)

// keeper is what a Part keeps its rows in. Keys are without the path's name.
// Texts that it returns hold until the end of the delivery.
type keeper interface {
	get(p *Path, key []byte) (value string, ok bool)
	// add puts a row that is not there yet, and returns its key to hold. Of one that
	// is there it returns the value. key[:cut] are the columns by which rows of the
	// path are looked for.
	add(p *Path, key []byte, cut int, value []byte) (kept halves, old string, found bool)
	set(p *Path, key []byte, cut int, value []byte)
	// scan walks over the rows whose key begins with whole columns. What is added
	// meanwhile may be met or not.
	scan(p *Path, prefix []byte, fn func(key, value string) bool)
	// sorted does the same in order, whatever the prefix is; what is added meanwhile
	// is not met. What fn is given holds until it returns.
	sorted(p *Path, prefix []byte, fn func(key, value string) bool)
	// drop makes all rows gone whose key begins with prefix.
	drop(p *Path, prefix []byte)
}

// overlay lays what a Part has changed over the State that does not know of it
// yet. Every change is also put out.
type overlay struct {
	state State
	mem   Mem // what is not committed
	out   *Out
	err   error // the first that the state returned
	text  arena // what was read from the state during this delivery
	buf   []byte
}

// name returns a key as the state knows it.
func (o *overlay) name(p *Path, key []byte) []byte {
	o.buf = binary.BigEndian.AppendUint16(o.buf[:0], p.ID)
	o.buf = append(o.buf, key...)
	return o.buf
}

func (o *overlay) fail(err error) {
	if o.err == nil {
		o.err = fmt.Errorf("read the program's state: %w", err)
	}
}

func (o *overlay) get(p *Path, key []byte) (string, bool) {
	if v, ok := o.mem.get(p, key); ok {
		return v, true
	}
	v, ok, err := o.state.Get(o.name(p, key))
	if err != nil {
		o.fail(err)
		return "", true // so that nothing follows from it
	}
	if !ok {
		return "", false
	}
	return o.text.text(v), true
}

func (o *overlay) add(p *Path, key []byte, cut int, value []byte) (kept halves, old string, found bool) {
	if v, ok := o.get(p, key); ok {
		return kept, v, true
	}
	kept, _, _ = o.mem.add(p, key, cut, value)
	o.put(p, key, value)
	return kept, "", false
}

func (o *overlay) set(p *Path, key []byte, cut int, value []byte) {
	if _, _, found := o.mem.add(p, key, cut, value); found {
		o.mem.set(p, key, cut, value)
	}
	o.put(p, key, value)
}

func (o *overlay) put(p *Path, key, value []byte) {
	pair := make([]byte, 0, pathSize+len(key)+len(value))
	pair = append(binary.BigEndian.AppendUint16(pair, p.ID), key...)
	n := len(pair)
	pair = append(pair, value...)
	o.out.Put = append(o.out.Put, Pair{Key: pair[:n:n], Value: pair[n:]})
}

func (o *overlay) scan(p *Path, prefix []byte, fn func(key, value string) bool) {
	lower := append([]byte(nil), o.name(p, prefix)...) // the prefix may be gone after the first row
	more := true
	o.mem.scan(p, prefix, func(key, value string) bool {
		more = fn(key, value)
		return more
	})
	if !more {
		return
	}
	mem := o.mem.at(p.ID)
	err := o.state.Scan(lower, after(lower), func(key, value []byte) bool {
		key = key[pathSize:]
		if mem.live > 0 {
			if _, ok := mem.get(key); ok {
				return true
			}
		}
		return fn(o.text.text(key), o.text.text(value))
	})
	if err != nil {
		o.fail(err)
	}
}

func (o *overlay) sorted(p *Path, prefix []byte, fn func(key, value string) bool) {
	// What is not committed is put between what is.
	type row struct{ key, value string }
	var mine []row
	o.mem.sorted(p, prefix, func(key, value string) bool {
		mine = append(mine, row{key, value})
		return true
	})
	lower, more := append([]byte(nil), o.name(p, prefix)...), true
	err := o.state.Scan(lower, after(lower), func(k, v []byte) bool {
		key := string(k[pathSize:])
		for more && len(mine) > 0 && mine[0].key < key {
			more = fn(mine[0].key, mine[0].value)
			mine = mine[1:]
		}
		if len(mine) == 0 || mine[0].key != key {
			more = more && fn(key, string(v))
		}
		return more
	})
	for more && len(mine) > 0 {
		more = fn(mine[0].key, mine[0].value)
		mine = mine[1:]
	}
	if err != nil {
		o.fail(err)
	}
}

// drop keeps the rows: what wants room is not worked out over a crawl's own
// state.
func (o *overlay) drop(*Path, []byte) {}

// committed forgets what the state knows now.
func (o *overlay) committed() {
	for _, s := range o.mem.shelves {
		if s != nil && s.n > 0 {
			s.reset()
		}
	}
}

// after returns the first key behind all that begin with prefix.
func after(prefix []byte) []byte {
	end := append([]byte(nil), prefix...)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i]++; end[i] != 0 {
			return end[:i+1]
		}
	}
	return nil
}
