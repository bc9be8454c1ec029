package crawl

import (
	"encoding/binary"
	"fmt"
	"math"

	"weir/page"
)

// Claim is a row of the crawl table of one of several programs: that it asks for
// a page, and how near and how dear the page is to it. What brought the page is
// there for people who ask why.
type Claim struct {
	Depth  uint16
	Root   bool
	Score  float32
	By     Rule
	Parent page.Key
}

func (c *Claim) append(b []byte) []byte {
	flags := byte(0)
	if c.Root {
		flags |= 1
	}
	if c.Score != 0 {
		flags |= 2
	}
	b = append(b, flags, byte(c.By))
	b = binary.AppendUvarint(b, uint64(c.Depth))
	b = binary.AppendUvarint(b, uint64(c.Parent.Site))
	if c.Parent.Site != 0 {
		b = binary.BigEndian.AppendUint64(b, c.Parent.Hash)
	}
	if c.Score != 0 {
		b = binary.BigEndian.AppendUint32(b, math.Float32bits(c.Score))
	}
	return b
}

func (c *Claim) read(b []byte) error {
	d := decoder{b: b}
	flags := d.byte()
	*c = Claim{Root: flags&1 != 0, By: Rule(d.byte()), Depth: uint16(d.uvarint())}
	if c.Parent.Site = page.SiteID(d.uvarint()); c.Parent.Site != 0 {
		c.Parent.Hash = d.uint64()
	}
	if flags&2 != 0 {
		c.Score = math.Float32frombits(d.uint32())
	}
	return d.err
}

// claimed is the number beneath which the crawl tables of several programs lie,
// in the rules' part of the store; no program has it.
//
//	f|255|program|site|hash -> Claim
//	f|255|program|site      -> the program asks for a page of the site
const claimed = math.MaxUint8

// MaxProgram is the greatest number that a program of a crawl can have.
const MaxProgram = claimed - 1

// claimKey is the key of a claim beneath the rules' part of the store; that of the
// site's row, if the key has no hash.
func claimKey(program uint8, k page.Key) []byte {
	b := make([]byte, 0, 14)
	b = append(b, claimed, program)
	b = binary.BigEndian.AppendUint32(b, uint32(k.Site))
	if k.Hash != 0 {
		b = binary.BigEndian.AppendUint64(b, k.Hash)
	}
	return b
}

// readClaim returns the claim of a program on a page, if it has one.
func readClaim(kv KV, program uint8, k page.Key) (c Claim, ok bool, err error) {
	b, ok, err := kv.Get(append([]byte{keyFact}, claimKey(program, k)...))
	if err == nil && ok && k.Hash != 0 {
		err = c.read(b)
	}
	if err != nil {
		return c, false, fmt.Errorf("look up who asks for a page: %w", err)
	}
	return c, ok, nil
}

// claims are the crawl tables of several programs: what is committed, and what is
// not yet. Claims that were looked at of late are remembered.
type claims struct {
	kv     KV
	fresh  map[claimID]Claim // not committed
	recent []recentClaim     // direct-mapped
}

type claimID struct {
	program uint8
	key     page.Key
}

type recentClaim struct {
	id    claimID
	claim Claim
}

const recentClaims = 1 << 15

func newClaims(kv KV) claims {
	return claims{kv: kv, fresh: map[claimID]Claim{}, recent: make([]recentClaim, recentClaims)}
}

func (c *claims) at(id claimID) *recentClaim {
	return &c.recent[(fingerprint(id.key)+uint64(id.program))%recentClaims]
}

func (c *claims) get(id claimID) (Claim, bool, error) {
	if r := c.at(id); r.id == id {
		return r.claim, true, nil
	}
	if got, ok := c.fresh[id]; ok {
		return got, true, nil
	}
	got, ok, err := readClaim(c.kv, id.program, id.key)
	if ok {
		*c.at(id) = recentClaim{id, got}
	}
	return got, ok, err
}

// put notes a claim and has it written.
func (c *claims) put(id claimID, claim Claim, out *Out) {
	c.fresh[id] = claim
	*c.at(id) = recentClaim{id, claim}
	value := []byte{}
	if id.key.Hash != 0 {
		value = claim.append(nil)
	}
	out.Put = append(out.Put, Pair{Key: claimKey(id.program, id.key), Value: value})
}

// committed says that all claims are in the store.
func (c *claims) committed() { clear(c.fresh) }
