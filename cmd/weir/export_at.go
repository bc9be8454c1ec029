package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"weir/internal/cluster"
)

// A node writes its part of a table into a file of its own, and hands that out
// piece by piece.
const (
	exportTopic = "export"
	exportTime  = 5 * time.Minute // to write a table, or to ask for its next piece
	maxPiece    = 2 << 20
	maxDrafts   = 4 // at a time
)

// excerpt asks a node for its part of a table, or, with an ID, for more of it.
type excerpt struct {
	Table  string `json:"table"`
	Format string `json:"format"`
	ID     uint64 `json:"id,omitempty"`
	Offset int64  `json:"offset,omitempty"`
}

// piece is some of it.
type piece struct {
	ID   uint64 `json:"id"`
	Data []byte `json:"data"`
	End  bool   `json:"end"` // and the node has forgotten it
}

// draft is a table that is being handed out.
type draft struct {
	file  *os.File
	timer *time.Timer // forgets it
}

// export answers an excerpt.
func (s *station) export(ctx context.Context, b []byte) ([]byte, error) {
	var q excerpt
	if err := json.Unmarshal(b, &q); err != nil {
		return nil, fmt.Errorf("read which table is wanted: %w", err)
	}
	if q.ID == 0 {
		id, err := s.draft(ctx, q)
		if err != nil {
			return nil, err
		}
		if id == 0 {
			return json.Marshal(piece{End: true}) // it has no crawl
		}
		q.ID, q.Offset = id, 0
	}
	s.mu.Lock()
	d := s.drafts[q.ID]
	if d != nil {
		d.timer.Reset(exportTime)
	}
	s.mu.Unlock()
	if d == nil {
		return nil, errors.New("the table was asked for too slowly: begin anew")
	}
	data := make([]byte, maxPiece)
	n, err := d.file.ReadAt(data, q.Offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if err != nil {
		s.forget(q.ID)
	}
	return json.Marshal(piece{q.ID, data[:n], err != nil})
}

// draft writes the node's part of a table into a file, and returns its number; 0
// when the node has no crawl.
func (s *station) draft(ctx context.Context, q excerpt) (uint64, error) {
	if !slices.Contains(exported, q.Table) || q.Format != "csv" && q.Format != "jsonl" {
		return 0, fmt.Errorf("a node cannot write the table %s as %s", q.Table, q.Format)
	}
	s.mu.Lock()
	none, full := s.store == nil, len(s.drafts) >= maxDrafts
	s.mu.Unlock()
	if none {
		return 0, nil
	}
	if full {
		return 0, errors.New("too many tables are asked for at once")
	}
	f, _, done, err := s.reader()
	if err != nil {
		return 0, err
	}
	defer done()
	file, err := os.CreateTemp("", "weir-export-")
	if err != nil {
		return 0, err
	}
	os.Remove(file.Name()) // gone with the process, where the system can; forget removes it elsewhere
	ctx, cancel := context.WithTimeout(ctx, exportTime)
	defer cancel()
	buf := bufio.NewWriterSize(file, 64<<10)
	err = (&exportCmd{Table: q.Table}).write(ctx, f, buf, q.Format)
	if err == nil {
		err = buf.Flush()
	}
	if err != nil {
		file.Close()
		os.Remove(file.Name())
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drawn++
	id := s.drawn
	s.drafts[id] = &draft{file, time.AfterFunc(exportTime, func() { s.forget(id) })}
	return id, nil
}

// forget drops a draft.
func (s *station) forget(id uint64) {
	s.mu.Lock()
	d := s.drafts[id]
	delete(s.drafts, id)
	s.mu.Unlock()
	if d != nil {
		d.timer.Stop()
		d.file.Close()
		os.Remove(d.file.Name())
	}
}

// forgetAll drops all drafts: the node ends.
func (s *station) forgetAll() {
	s.mu.Lock()
	var ids []uint64
	for id := range s.drafts {
		ids = append(ids, id)
	}
	s.mu.Unlock()
	for _, id := range ids {
		s.forget(id)
	}
}

// gather writes a table of all nodes, one after the other.
func (c *exportCmd) gather(e *env, format string) error {
	if format == "" {
		format = "csv"
	}
	if format == "parquet" {
		return usage("take --format csv or jsonl", "parquet is not written of several nodes")
	}
	cl, err := c.contact().client()
	if err != nil {
		return err
	}
	all, err := gather(e.ctx, cl)
	if err != nil {
		return err
	}
	out, err := e.create("-o", c.Output)
	if err != nil {
		return err
	}
	buf := bufio.NewWriterSize(out, 64<<10)
	var missing []string
	headed := false
	for _, n := range all.Nodes {
		if n.State == "silent" || n.State == "gone" {
			missing = append(missing, n.Name)
			continue
		}
		if err = c.fetch(e.ctx, cl, n.Name, format, &headed, buf); err != nil {
			break
		}
	}
	if err == nil {
		err = buf.Flush()
	}
	if err = out.finish(err); err != nil {
		if closed(err) {
			return nil
		}
		return failure(fmt.Errorf("export %s: %w", c.Table, err), "nothing is lost: ask again")
	}
	if from := all.from(); from != nil && from.Pages > 0 {
		fmt.Fprintf(e.err, "weir: %s that ended before the cluster took over are not in it: weir export %s --dir %s, on %s, has them\n", many(from.Pages, "page"), c.Table, from.Dir, from.Machine)
	}
	if len(missing) > 0 {
		return failure(fmt.Errorf("the table is written, without what %s has: no answer", strings.Join(missing, " and ")), "start the node, or export on its machine with --dir, and add that")
	}
	return nil
}

// fetch writes a node's part of the table. The line of names comes once.
func (c *exportCmd) fetch(ctx context.Context, cl *cluster.Client, node, format string, headed *bool, out io.Writer) error {
	q := excerpt{Table: c.Table, Format: format}
	skip := format == "csv" && *headed
	for {
		var p piece
		if err := c.ask(ctx, cl, node, q, &p); err != nil {
			return err
		}
		data := p.Data
		if skip && len(data) > 0 {
			_, data, _ = bytes.Cut(data, []byte("\n")) // shorter than a piece
			skip = false
		}
		*headed = *headed || len(p.Data) > 0
		if _, err := out.Write(data); err != nil {
			return err
		}
		if p.End {
			return nil
		}
		q.ID, q.Offset = p.ID, q.Offset+int64(len(p.Data))
	}
}

func (c *exportCmd) ask(ctx context.Context, cl *cluster.Client, node string, q excerpt, p *piece) error {
	ctx, cancel := context.WithTimeout(ctx, exportTime)
	defer cancel()
	data, err := json.Marshal(q)
	if err != nil {
		return err
	}
	b, err := cl.Ask(ctx, node, exportTopic, data)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, p)
}
