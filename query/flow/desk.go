package flow

import (
	"encoding/binary"
	"fmt"
)

// desk keeps rows in a state that takes changes at once: one for a question to a
// crawl, with more rows than fit into memory, that nobody needs afterwards. It
// remembers nothing itself.
type desk struct {
	state Writer
	err   error // the first that the state returned
	buf   []byte
}

func (d *desk) name(p *Path, key []byte) []byte {
	d.buf = append(binary.BigEndian.AppendUint16(d.buf[:0], p.ID), key...)
	return d.buf
}

func (d *desk) check(err error) {
	if err != nil && d.err == nil {
		d.err = fmt.Errorf("keep rows: %w", err)
	}
}

func (d *desk) get(p *Path, key []byte) (string, bool) {
	v, ok, err := d.state.Get(d.name(p, key))
	d.check(err)
	return string(v), ok || d.err != nil // so that nothing follows from a failure
}

func (d *desk) add(p *Path, key []byte, cut int, value []byte) (kept halves, old string, found bool) {
	if old, found := d.get(p, key); found {
		return kept, old, true
	}
	d.set(p, key, cut, value)
	return kept, "", false
}

func (d *desk) set(p *Path, key []byte, _ int, value []byte) {
	d.check(d.state.Set(d.name(p, key), value))
}

func (d *desk) drop(p *Path, prefix []byte) {
	d.scan(p, prefix, func(key, _ string) bool {
		d.check(d.state.Delete(d.name(p, []byte(key))))
		return true
	})
}

func (d *desk) scan(p *Path, prefix []byte, fn func(key, value string) bool) {
	lower := append([]byte(nil), d.name(p, prefix)...)
	d.check(d.state.Scan(lower, after(lower), func(key, value []byte) bool {
		return d.err == nil && fn(string(key[pathSize:]), string(value))
	}))
}

func (d *desk) sorted(p *Path, prefix []byte, fn func(key, value string) bool) { d.scan(p, prefix, fn) }
