package pack

import (
	"encoding/binary"
	"errors"
	"slices"
)

var errUseless = errors.New("pages that make no dictionary")

// MakeDictionary returns a dictionary in zstd's own format, with content to refer
// to and tables that suit pages like the given ones. The identifier must not be
// zero.
func MakeDictionary(id uint32, content []byte, pages [][]byte) ([]byte, error) {
	if id == 0 || len(content) < 8 {
		return nil, errUseless
	}
	d := &Dictionary{id: id, content: content, repeat: [3]int{1, 4, 8}}
	d.index()
	var z Zstd
	var lits [256]uint32
	var seqs, in [3][fseSyms]uint32 // how often, and in how many blocks
	blocks := uint32(0)
	for _, p := range pages {
		from := z.begin(d, p[:min(len(p), ZstdMax)])
		for end := from + min(len(p), ZstdMax); from < end; blocks++ {
			to := min(from+blockMax, end)
			z.find(z.far, from, to)
			for _, c := range z.lits[:z.nlit] {
				lits[c]++
			}
			for k := range seqs {
				for s, n := range z.seqCount[k] {
					seqs[k][s] += n
					in[k][s] += min(n, 1)
				}
			}
			from = to
		}
	}
	// Any page may have these. The last byte is there for readers before zstd
	// 1.5.6, which want a code for it.
	for c := ' '; c <= '~'; c++ {
		lits[c]++
	}
	lits['\n']++
	lits[255]++
	if !z.maker.make(&z.own[0], &lits) {
		return nil, errUseless
	}
	b := binary.LittleEndian.AppendUint32(nil, dictMagic)
	b = binary.LittleEndian.AppendUint32(b, id)
	b = append(b, z.own[0].desc...)
	for _, k := range dictOrder {
		kinds := 0
		for s := range seqs[k] {
			// A code for what few pages have would make those of all longer.
			if in[k][s] <= blocks/16 {
				seqs[k][s] = 0
			} else {
				kinds++
			}
		}
		if kinds < 2 { // there are no tables of one
			seqs[k][0]++
			seqs[k][1]++
		}
		var room [fseSyms]int16
		norm, log := fseNormal(room[:0], seqs[k][:], seqKinds[k].log)
		b = fseWrite(b, norm, log)
	}
	for _, r := range d.repeat {
		b = binary.LittleEndian.AppendUint32(b, uint32(r))
	}
	return slices.Concat(b, content), nil
}
