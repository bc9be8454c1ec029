package node

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"weir/crawl"
	question "weir/internal/ask"
	"weir/internal/extract"
	"weir/page"
	"weir/query"
	"weir/query/flow"
)

// A running crawl answers questions too, from a snapshot of its state:
//
//	POST /query  Query  -> Reply, then a row a line, each an array, then {"end": true}
//
// Texts are strings; of other values it is the number in query.Value.

// Query is a question to a running crawl.
type Query struct {
	Name   string            `json:"name"`
	Text   string            `json:"text"`
	Table  string            `json:"table,omitempty"`
	Of     string            `json:"of,omitempty"` // the program whose crawl it is about, of several
	Sets   []query.Setting   `json:"sets,omitempty"`
	Inputs map[string]string `json:"inputs,omitempty"` // the files of inputs that it declares, by table
	Limit  int64             `json:"limit,omitempty"`  // rows at most; 0: all
	Memory int64             `json:"memory"`
}

// Reply begins an answer, or ends it.
type Reply struct {
	Columns []string     `json:"columns,omitempty"`
	Types   []query.Type `json:"types,omitempty"`
	Pages   int64        `json:"pages"`             // that ended, when the question came
	Waiting int64        `json:"waiting"`           // to be fetched
	Missing []string     `json:"missing,omitempty"` // facts of which nothing is known
	Said    []string     `json:"said,omitempty"`    // facts that are as the crawl, which has no archive, kept them
	Faults  []string     `json:"faults,omitempty"`  // what is wrong with the question, as a person should see it
	Failed  bool         `json:"failed,omitempty"`  // and that it has no answer therefore
	End     bool         `json:"end,omitempty"`
	Error   string       `json:"error,omitempty"`
}

const (
	maxQuery   = 128 << 20 // bytes of a question with its inputs
	maxQueries = 2         // at the same time: the crawl goes on beside them
)

// query answers a question. It runs beside the crawl and takes nothing from it
// but time and memory.
func (n *node) query(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	c := http.NewResponseController(w)
	c.SetReadDeadline(time.Now().Add(steerTime))
	c.SetWriteDeadline(time.Time{}) // whoever asks for much may read slowly
	var q Query
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxQuery)).Decode(&q); err != nil {
		refuse(w, http.StatusBadRequest, "the question cannot be read: "+err.Error())
		return
	}
	c.SetReadDeadline(time.Time{})
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.Context(), cancel)() // who does not listen any more
	out := bufio.NewWriterSize(w, 64<<10)
	enc := json.NewEncoder(out)
	err := n.reply(ctx, q, enc)
	end := Reply{End: true}
	switch {
	case errors.Is(err, context.Canceled):
		end = Reply{Error: "the crawl is ending"}
	case err != nil:
		end = Reply{Error: err.Error()}
	}
	enc.Encode(end) // if nobody takes it, nobody misses it
	out.Flush()
}

func refuse(w http.ResponseWriter, status int, why string) {
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(Reply{Error: why})
}

// reply works out an answer over the state as it is now.
func (n *node) reply(ctx context.Context, q Query, enc *json.Encoder) error {
	snap, err := n.store.Snapshot()
	if err != nil {
		return err
	}
	defer snap.Close() // it was only read
	view, err := crawl.NewView(snap)
	if err != nil {
		return err
	}
	scope := n.cfg.Scope
	scope.NoRobots = n.cfg.IgnoreRobots
	if view, err = question.Of(view, q.Of); err != nil {
		return err
	}
	own, err := question.ReadOwn(n.cfg.Dir, snap, view, scope)
	if err != nil {
		return err
	}
	asked := question.Question{Name: q.Name, Text: q.Text, Table: q.Table, Sets: q.Sets, Own: own}
	if q.Of == "" {
		asked.Programs = view.Programs().Names()
	}
	p, diags := asked.Read()
	var head Reply
	for _, d := range diags {
		head.Faults = append(head.Faults, asked.Format(d))
	}
	if p == nil {
		head.Failed = true
		return enc.Encode(head)
	}
	archive, err := extract.NewArchive(n.store, extract.Config{
		Want:  p.Wants().Merge(page.Want{Requisites: scope.Requisites, Sitemaps: scope.Sitemaps}),
		Agent: n.cfg.Agent, Strip: n.cfg.Strip, Memory: n.cfg.Memory,
	})
	if err != nil {
		return err
	}
	if !archive.Bodies() {
		if err := p.WithoutArchive(archive.Has); err != nil {
			return err
		}
		head.Missing, head.Said = p.Missing(archive.Has), p.Said(archive.Has)
	}
	head.Columns, head.Types = p.Answer.Columns, p.Answer.Types
	err = view.Sites(func(s *crawl.SiteInfo) bool {
		head.Pages += s.Ended
		head.Waiting += s.Queued
		return ctx.Err() == nil
	})
	if err = errors.Join(err, ctx.Err(), enc.Encode(head)); err != nil {
		return err
	}
	work := question.Work{Memory: max(minQuery, min(q.Memory, n.cfg.Memory/2)), Temp: n.cfg.Dir, Now: time.Now().Unix()}
	rows := int64(0)
	var bad error
	cells := make([]any, len(head.Types))
	err = p.Rows(ctx, question.Crawl{View: view, Archive: archive, Input: q.input}, work, func(row flow.Row) bool {
		for i, v := range row {
			if head.Types[i].Textual() {
				cells[i] = v.S
			} else {
				cells[i] = v.N
			}
		}
		bad = enc.Encode(cells)
		rows++
		return bad == nil && (q.Limit <= 0 || rows < q.Limit)
	})
	return errors.Join(err, bad)
}

// minQuery is the memory that a question has at least.
const minQuery = 64 << 20

// input reads an input that came with the question.
func (q *Query) input(in *query.Input) ([]flow.Row, error) {
	text, ok := q.Inputs[in.Table]
	if !ok {
		return nil, fmt.Errorf("the rows of the input %s are missing", in.Table)
	}
	rows, diags := in.Read(text)
	for _, d := range diags {
		return nil, errors.New(strings.TrimSpace(d.Format(&query.Program{Name: in.File, Text: text})))
	}
	return rows, nil
}

// Ask has the crawl that runs in dir answer a question: begin is called once,
// then row for every row until it returns false. The error is ErrNotRunning when
// there is no such crawl.
func Ask(ctx context.Context, dir string, q Query, begin func(Reply) error, row func(flow.Row) bool) error {
	client, err := caller(dir)
	if err != nil {
		return err
	}
	b, err := json.Marshal(q)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://weir/query", bytes.NewReader(b))
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return spoken(err)
	}
	defer resp.Body.Close()
	lines := json.NewDecoder(resp.Body)
	var head Reply
	if err := lines.Decode(&head); err != nil {
		return unfinished(ctx, err)
	}
	if head.Error != "" {
		return errors.New(head.Error)
	}
	if err := begin(head); err != nil || head.Failed {
		return err
	}
	for {
		var raw json.RawMessage
		if err := lines.Decode(&raw); err != nil {
			return unfinished(ctx, err)
		}
		if raw[0] == '{' {
			var end Reply
			if err := json.Unmarshal(raw, &end); err != nil {
				return unfinished(ctx, err)
			}
			if end.Error != "" {
				return errors.New(end.Error)
			}
			return nil
		}
		r, err := readRow(raw, head.Types)
		if err != nil {
			return err
		}
		if !row(r) {
			return nil
		}
	}
}

// unfinished is the error of an answer that broke off.
func unfinished(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the crawl ended before it had answered")
	}
	return fmt.Errorf("read the crawl's answer: %w", err)
}

func readRow(raw []byte, types []query.Type) (flow.Row, error) {
	var cells []json.RawMessage
	err := json.Unmarshal(raw, &cells)
	if err == nil && len(cells) != len(types) {
		err = fmt.Errorf("%d columns instead of %d", len(cells), len(types))
	}
	row := make(flow.Row, len(types))
	for i := 0; i < len(types) && err == nil; i++ {
		if types[i].Textual() {
			err = json.Unmarshal(cells[i], &row[i].S)
		} else {
			err = json.Unmarshal(cells[i], &row[i].N)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read the crawl's answer: %w", err)
	}
	return row, nil
}
