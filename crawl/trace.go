package crawl

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"

	"weir/page"
)

// Tracer records an Engine's events, one JSON object a line, each with the
// number of orders it caused and a hash of them. The first line of every run is
// the Engine's configuration. Not safe for concurrent use.
type Tracer struct {
	w   io.Writer
	err error
}

// TraceHead is how every trace begins.
const TraceHead = `{"t":0,"ev":"config"`

type traceLine struct {
	T      page.Time       `json:"t"`
	Event  string          `json:"ev"`
	Data   json.RawMessage `json:"data"`
	Orders int             `json:"orders"`
	Hash   uint64          `json:"hash"`
}

// NewTracer writes the head of a run.
func NewTracer(w io.Writer, cfg EngineConfig) *Tracer {
	t := &Tracer{w: w}
	t.line(0, "config", cfg, nil)
	return t
}

// Step records one event and what came of it.
func (t *Tracer) Step(now page.Time, ev Event, orders []Order) { t.line(now, ev.event(), ev, orders) }

// Err returns the first error of writing; nothing is written after it.
func (t *Tracer) Err() error { return t.err }

func (t *Tracer) line(now page.Time, kind string, data any, orders []Order) {
	if t.err != nil {
		return
	}
	raw, err := json.Marshal(data)
	if err == nil {
		var b []byte
		if b, err = json.Marshal(traceLine{now, kind, raw, len(orders), hashOrders(orders)}); err == nil {
			_, err = t.w.Write(append(b, '\n'))
		}
	}
	if err != nil {
		t.err = fmt.Errorf("write the trace: %w", err)
	}
}

// hashOrders is the same for the same orders, and with all likelihood for no
// others.
func hashOrders(orders []Order) uint64 {
	h := fnv.New64a()
	for _, o := range orders {
		b, err := json.Marshal(o)
		if err != nil {
			b = []byte(err.Error())
		}
		_, _ = io.WriteString(h, o.order())
		_, _ = h.Write(b)
	}
	return h.Sum64()
}

// Replayed says how much of a trace was played, and found to be the same.
type Replayed struct {
	Runs, Events, Orders int

	Cut bool // the last line is not whole
}

// Difference says where the orders of a trace and those of the Engine differ
// first.
type Difference struct {
	Line      int
	Event     string
	Now, Then int // how many orders; when as many, they are others
}

func (d *Difference) Error() string {
	return fmt.Sprintf("trace line %d: the orders differ after %q: %d now, %d then", d.Line, d.Event, d.Now, d.Then)
}

// maxTrace bounds a line of a trace. The first event of a run names every site.
const maxTrace = 1 << 30

// Replay plays a recorded trace on new Engines and compares every order. A last
// line that was cut off, as a crash leaves it, ends its run. Orders that are not
// those of the trace are a *Difference. A trace that no Engine of this version can
// have written is refused with the number of the line.
func Replay(r io.Reader) (Replayed, error) {
	in := bufio.NewReader(r)
	var e *Engine
	var done Replayed
	var last page.Time
	for n := 1; ; n++ {
		text, err := readLine(in)
		if err == io.EOF {
			done.Cut = len(text) > 0
			return done, nil
		}
		if err != nil {
			return done, fmt.Errorf("read the trace: %w", err)
		}
		var line traceLine
		if err := json.Unmarshal(text, &line); err != nil {
			if i := bytes.Index(text, []byte(TraceHead)); i > 0 && json.Unmarshal(text[i:], &line) == nil {
				err = nil // a crash cut the line before this run's head
			}
			if err != nil {
				return done, fmt.Errorf("trace line %d: %w", n, err)
			}
		}
		if line.Event == "config" {
			var cfg EngineConfig
			if err := json.Unmarshal(line.Data, &cfg); err != nil {
				return done, fmt.Errorf("trace line %d: %w", n, err)
			}
			if e, err = NewEngine(cfg); err != nil {
				return done, fmt.Errorf("trace line %d: %w", n, err)
			}
			done.Runs++
			last = 0
			continue
		}
		if e == nil {
			return done, fmt.Errorf("trace line %d: no configuration stands before it", n)
		}
		ev, err := decodeEvent(line.Event, line.Data)
		if err != nil {
			return done, fmt.Errorf("trace line %d: %w", n, err)
		}
		if line.T < last {
			return done, fmt.Errorf("trace line %d: time runs back from %d to %d: the trace is damaged", n, last, line.T)
		}
		last = line.T
		orders, err := e.replay(line.T, ev)
		if err != nil {
			return done, fmt.Errorf("trace line %d: %q is no event that could come here: the trace is damaged, or of another version of weir (%w)", n, line.Event, err)
		}
		if len(orders) != line.Orders || hashOrders(orders) != line.Hash {
			return done, &Difference{n, line.Event, len(orders), line.Orders}
		}
		done.Events++
		done.Orders += len(orders)
	}
}

// readLine reads up to the end of a line.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		if err != bufio.ErrBufferFull {
			return line, err
		}
		if len(line) > maxTrace {
			return nil, fmt.Errorf("a line has more than %d bytes", maxTrace)
		}
	}
}

// replay is Step for events that nobody vouches for. An Engine trusts its driver:
// what names a site or a request that is not there makes it panic, and the Engine
// is then of no more use.
func (e *Engine) replay(now page.Time, ev Event) (orders []Order, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("%v", fault)
		}
	}()
	return e.Step(now, ev), nil
}

func decodeEvent(kind string, data []byte) (Event, error) {
	switch kind {
	case "start":
		return decode[Start](data)
	case "done":
		return decode[Done](data)
	case "committed":
		return decode[Committed](data)
	case "loaded":
		return decode[Loaded](data)
	case "resolved":
		return decode[Resolved](data)
	case "command":
		return decode[Command](data)
	case "wall":
		return decode[Wall](data)
	case "wire":
		return decode[Wire](data)
	case "ranked":
		return decode[Ranked](data)
	case "planned":
		return decode[Planned](data)
	case "redelivered":
		return Redelivered{}, nil
	case "await":
		return decode[Await](data)
	case "adopted":
		return decode[Adopted](data)
	case "disowned":
		return decode[Disowned](data)
	case "hold":
		return decode[Hold](data)
	case "allow":
		return decode[Allow](data)
	case "leased":
		return decode[Leased](data)
	case "relief":
		return decode[Relief](data)
	case "census":
		return decode[Census](data)
	case "tick":
		return Tick{}, nil
	}
	return nil, fmt.Errorf("no event is called %q", kind)
}

func decode[E Event](data []byte) (Event, error) {
	var e E
	err := json.Unmarshal(data, &e)
	return e, err
}
