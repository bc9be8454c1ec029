package bandwidth

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net/netip"
)

// Row is one entry of what a Predictor knows, for the store. A nil Value means
// that the row is to be deleted.
//
// The key is one letter and a name:
//
//	s  4 or 16 bytes of address    a server
//	n  3 or 6 bytes of address     a network, /24 or /48
//	d  the registered domain       a domain
//	g                              all servers
//
// The value begins with a version and a form; numbers are little-endian:
//
//	server, weir    1 'w' n:2 size:2 err:2 days:1 then for each day 24 x (first:2 rate:2)
//	server, paper   1 'p' n:2 err:2 then 48 x rate:4, a float
//	level           1 'l' n:2 first:2 rate:2 size:2 err:2
//
// Two-byte values but n are logarithms (and err a square), spread evenly over
// the range that is believed of any server, so each of them is valid. days has
// bit 0 set if holidays follow, bit 1 if working days do.
type Row struct {
	Key   string
	Value []byte
}

const (
	rowVersion = 1
	rowWeir    = 'w'
	rowPaper   = 'p'
	rowLevel   = 'l'
)

// The kinds of rows: the first letters of their keys.
const (
	serverRow  = 's'
	networkRow = 'n'
	domainRow  = 'd'
	globalRow  = 'g'
)

// ref is where a row's value lives.
type ref struct {
	kind  byte
	place int32
}

// rowKey is a key before it is written out.
type rowKey struct {
	kind   byte
	addr   [16]byte
	domain string
}

func (k rowKey) String() string {
	addr := netip.AddrFrom16(k.addr)
	b := []byte{k.kind}
	switch k.kind {
	case serverRow:
		b = append(b, addr.Unmap().AsSlice()...)
	case networkRow:
		if addr.Is4In6() {
			b = append(b, k.addr[12:15]...)
		} else {
			b = append(b, k.addr[:6]...)
		}
	case domainRow:
		b = append(b, k.domain...)
	}
	return string(b)
}

func parseRowKey(s string) (rowKey, error) {
	if s == "" {
		return rowKey{}, errors.New("empty key")
	}
	k := rowKey{kind: s[0]}
	name := s[1:]
	switch {
	case k.kind == serverRow && (len(name) == 4 || len(name) == 16):
		addr, _ := netip.AddrFromSlice([]byte(name))
		k.addr = addr.As16()
	case k.kind == networkRow && len(name) == 3:
		k.addr = netip.AddrFrom4([4]byte{name[0], name[1], name[2], 0}).As16()
	case k.kind == networkRow && len(name) == 6:
		copy(k.addr[:], name)
	case k.kind == domainRow && name != "" && len(name) <= maxDomain:
		k.domain = name
	case k.kind == globalRow && name == "":
	default:
		return rowKey{}, fmt.Errorf("bad key %.20q", s)
	}
	return k, nil
}

// rowState says how an entry stands to its row in the store.
type rowState struct {
	written bool  // it has one
	queued  bool  // it is due
	changes uint8 // since it was written
}

// rowEvery is how many changes of a row are worth one write of it.
const rowEvery = 16

// use returns the place of a key, making one if need be. What had to be
// forgotten for it is put down for deletion.
func (p *Predictor) use(kind byte, addr [16]byte, domain string) (i int32) {
	gone, forgot := rowKey{kind: kind}, false
	switch kind {
	case serverRow:
		i, gone.addr, forgot = p.servers.use(addr)
	case networkRow:
		i, gone.addr, forgot = p.networks.use(addr)
	case domainRow:
		i, gone.domain, forgot = p.domains.use(domain)
	}
	// If nobody takes them, deletions are let go: a row left behind costs a
	// little room in the store.
	if forgot && len(p.gone) < p.cfg.Max {
		p.gone = append(p.gone, gone)
	}
	return i
}

// state returns how what r refers to stands to its row.
func (p *Predictor) state(r ref) *rowState {
	switch r.kind {
	case serverRow:
		return &p.servers.items[r.place].row
	case networkRow:
		return &p.networks.items[r.place].row
	case domainRow:
		return &p.domains.items[r.place].row
	}
	return &p.global.row
}

// changed counts a change of r and puts its row down for writing when it is the
// first or there have been rowEvery of them.
func (p *Predictor) changed(r ref) {
	s := p.state(r)
	s.changes = min(s.changes+1, rowEvery)
	if !s.queued && (!s.written || s.changes == rowEvery) {
		s.queued = true
		p.due = append(p.due, r)
	}
}

// Dirty returns up to max rows that are worth writing now, those to delete
// first, and takes them for written. A server's row comes up when it is first
// learnt of and after every sixteenth download.
func (p *Predictor) Dirty(max int) []Row {
	var rows []Row
	n := min(max, len(p.gone))
	for _, k := range p.gone[:n] {
		rows = append(rows, Row{Key: k.String()})
	}
	p.gone = append(p.gone[:0], p.gone[n:]...)
	n = min(max-n, len(p.due))
	for _, r := range p.due[:n] {
		rows = append(rows, p.row(r))
	}
	p.due = append(p.due[:0], p.due[n:]...)
	return rows
}

// Unsaved returns every row that Dirty has not given out as it is now: for the
// end of a crawl.
func (p *Predictor) Unsaved() []Row {
	rows := p.Dirty(math.MaxInt)
	for i := range p.servers.items {
		if p.servers.items[i].row.changes > 0 {
			rows = append(rows, p.row(ref{serverRow, int32(i)}))
		}
	}
	for i := range p.networks.items {
		if p.networks.items[i].row.changes > 0 {
			rows = append(rows, p.row(ref{networkRow, int32(i)}))
		}
	}
	for i := range p.domains.items {
		if p.domains.items[i].row.changes > 0 {
			rows = append(rows, p.row(ref{domainRow, int32(i)}))
		}
	}
	if p.global.row.changes > 0 {
		rows = append(rows, p.row(ref{globalRow, 0}))
	}
	return rows
}

// row writes r out and takes it for written.
func (p *Predictor) row(r ref) Row {
	*p.state(r) = rowState{written: true}
	k := rowKey{kind: r.kind}
	switch r.kind {
	case serverRow:
		it := &p.servers.items[r.place]
		k.addr = it.key
		return Row{k.String(), it.value.append(nil)}
	case networkRow:
		it := &p.networks.items[r.place]
		k.addr = it.key
		return Row{k.String(), it.value.append(nil)}
	case domainRow:
		it := &p.domains.items[r.place]
		k.domain = it.key
		return Row{k.String(), it.value.append(nil)}
	}
	return Row{k.String(), p.global.value.append(nil)}
}

// Load takes in a row that Dirty or Unsaved once gave out, of this crawl or of
// an earlier one, whichever form it was learnt in. It is not put down for
// writing again. Rows may come from outside: whatever is not one is an error
// and changes nothing.
func (p *Predictor) Load(r Row) error {
	k, err := parseRowKey(r.Key)
	if err != nil {
		return fmt.Errorf("load predictor row: %w", err)
	}
	if k.kind == serverRow {
		s, err := p.parseServer(r.Value)
		if err != nil {
			return fmt.Errorf("load predictor row of server %v: %w", netip.AddrFrom16(k.addr).Unmap(), err)
		}
		it := &p.servers.items[p.use(k.kind, k.addr, "")]
		it.value, it.row.written = s, true
		return nil
	}
	l, err := parseLevel(r.Value)
	if err != nil {
		return fmt.Errorf("load predictor row %.40q: %w", r.Key, err)
	}
	switch k.kind {
	case networkRow:
		it := &p.networks.items[p.use(k.kind, k.addr, "")]
		it.value, it.row.written = l, true
	case domainRow:
		it := &p.domains.items[p.use(k.kind, k.addr, k.domain)]
		it.value, it.row.written = l, true
	default:
		p.global.value, p.global.row.written = l, true
	}
	return nil
}

// span is a range of values as two bytes.
type span struct{ low, high float32 }

var (
	firstSpan = span{lnMinFirst, lnMaxFirst}
	rateSpan  = span{lnMinRate, lnMaxRate}
	sizeSpan  = span{0, float32(math.Log(maxSize))}
	errSpan   = span{0, 1 << 10} // a square: (ln 1e13)² is less
)

func (s span) append(b []byte, v float32) []byte {
	x := math.Round(float64(v-s.low) / float64(s.high-s.low) * math.MaxUint16)
	return binary.LittleEndian.AppendUint16(b, uint16(min(max(x, 0), math.MaxUint16)))
}

func (s span) value(b []byte) float32 {
	x := float64(binary.LittleEndian.Uint16(b))
	return s.low + float32(x/math.MaxUint16*float64(s.high-s.low))
}

func (s *server) append(b []byte) []byte {
	if s.hour != nil {
		b = binary.LittleEndian.AppendUint16(append(b, rowVersion, rowPaper), s.n)
		b = errSpan.append(b, s.err)
		for w := range s.hour {
			for _, v := range s.hour[w] {
				b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
			}
		}
		return b
	}
	b = binary.LittleEndian.AppendUint16(append(b, rowVersion, rowWeir), s.n)
	b = sizeSpan.append(b, s.size)
	b = errSpan.append(b, s.err)
	var days byte
	for w, day := range s.day {
		if day != nil {
			days |= 1 << w
		}
	}
	b = append(b, days)
	for _, day := range s.day {
		if day == nil {
			continue
		}
		for _, q := range day {
			b = rateSpan.append(firstSpan.append(b, q.first), q.rate)
		}
	}
	return b
}

func (l level) append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint16(append(b, rowVersion, rowLevel), l.n)
	b = rateSpan.append(firstSpan.append(b, l.first), l.rate)
	return errSpan.append(sizeSpan.append(b, l.size), l.err)
}

// header checks the two bytes that begin every row, and the count after them.
func header(b []byte) (form byte, n uint16, rest []byte, err error) {
	switch {
	case len(b) < 4:
		return 0, 0, nil, fmt.Errorf("%d bytes are too few", len(b))
	case b[0] != rowVersion:
		return 0, 0, nil, fmt.Errorf("version %d is not known here", b[0])
	}
	n = binary.LittleEndian.Uint16(b[2:])
	if n == 0 || n > maxCount {
		return 0, 0, nil, fmt.Errorf("count %d is out of range", n)
	}
	return b[1], n, b[4:], nil
}

func parseLevel(b []byte) (level, error) {
	form, n, b, err := header(b)
	switch {
	case err != nil:
		return level{}, err
	case form != rowLevel || len(b) != 8:
		return level{}, fmt.Errorf("not a level: form %q with %d bytes", form, len(b))
	}
	return level{
		point: point{firstSpan.value(b), rateSpan.value(b[2:])},
		size:  sizeSpan.value(b[4:]),
		err:   errSpan.value(b[6:]),
		n:     n,
	}, nil
}

// parseServer reads a server's row into the form that p uses.
func (p *Predictor) parseServer(b []byte) (server, error) {
	form, n, b, err := header(b)
	if err != nil {
		return server{}, err
	}
	var s server
	switch form {
	case rowWeir:
		if s, err = parseWeir(b); err == nil && p.cfg.Exact {
			s = s.exact()
		}
	case rowPaper:
		if s, err = parsePaper(b); err == nil && !p.cfg.Exact {
			s = s.weir(p.global.value.size)
		}
	default:
		err = fmt.Errorf("not a server: form %q", form)
	}
	s.n = n
	return s, err
}

func parseWeir(b []byte) (server, error) {
	const hourLen = 4
	if len(b) < 5 {
		return server{}, fmt.Errorf("%d bytes are too few", len(b))
	}
	s := server{size: sizeSpan.value(b), err: errSpan.value(b[2:])}
	days := b[4]
	b = b[5:]
	if days < 1 || days > 3 {
		return server{}, fmt.Errorf("days %#x", days)
	}
	for w := range s.day {
		if days&(1<<w) == 0 {
			continue
		}
		if len(b) < 24*hourLen {
			return server{}, errors.New("cut short")
		}
		s.day[w] = new(day)
		for h := range 24 {
			s.day[w][h] = point{firstSpan.value(b), rateSpan.value(b[2:])}
			b = b[hourLen:]
		}
	}
	if len(b) > 0 {
		return server{}, fmt.Errorf("%d bytes too many", len(b))
	}
	return s, nil
}

func parsePaper(b []byte) (server, error) {
	if len(b) != 2+48*4 {
		return server{}, fmt.Errorf("%d bytes, not %d", len(b), 2+48*4)
	}
	s := server{err: errSpan.value(b), hour: new([2][24]float32)}
	for i := range 48 {
		v := math.Float32frombits(binary.LittleEndian.Uint32(b[2+4*i:]))
		if !(v >= minRate && v <= maxRate) { // NaN too
			return server{}, fmt.Errorf("rate %v is out of range", v)
		}
		s.hour[i/24][i%24] = v
	}
	return s, nil
}

// exact returns a server learnt in weir's form as the paper's.
func (s server) exact() server {
	to := server{err: s.err, hour: new([2][24]float32)}
	for w := range to.hour {
		for h := range to.hour[w] {
			r := s.rate(w, 60*h).Rate
			to.hour[w][h] = float32(min(max(r, minRate), maxRate))
		}
	}
	return to
}

// weir returns a server learnt in the paper's form as weir's, pages weighing
// e^size and half of their time passing before the first byte.
func (s server) weir(size float32) server {
	to := server{size: size, err: s.err}
	for w := range to.day {
		to.day[w] = new(day)
		for h, r := range s.hour[w] {
			ln := float32(math.Log(float64(r)))
			to.day[w][h] = point{size - ln - math.Ln2, ln + math.Ln2}.bound()
		}
	}
	return to
}
