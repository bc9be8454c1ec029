// Package program keeps the programs of crawls: where their text and their
// inputs come from, and the copy in the crawl's folder by which the crawl goes on,
// whatever becomes of the files it was made from.
//
//	DIR/program/0/program.dl    the text of the first version
//	DIR/program/0/set           settings that the user gave, name=value a line
//	DIR/program/0/blocked.tsv   the rows of the input blocked
//	DIR/program/0/name          what it is called where several programs share the crawl
//	DIR/program/0/seeds         its own, if it has any: a URL a line, a tab and a score
//	DIR/program/1/...           the next one, see weir steer, or another one beside it
//
// A version is written before the crawl's state names it, and never changed.
package program

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"weir/query"
	"weir/query/flow"
)

// Source is a program as it was written: everything that decides what it means.
type Source struct {
	Name     string // for messages: the file's name
	As       string // what it is called where several programs share a crawl
	Text     string
	Settings []query.Setting
	Inputs   []File // in the order of the program
	Seeds    []Seed // its own; none: those of the crawl

	tail  *Source // what was added, see Add
	above int     // lines before it
}

// File is the content of an input's file.
type File struct {
	Table string
	Name  string // for messages
	Text  string
}

// Seed is a page that a program of several starts from.
type Seed struct {
	URL   string
	Score float32
}

// Fault is what is wrong with a program: all of it.
type Fault struct {
	Program *query.Program
	Diags   []query.Diag

	src *Source // nil: it is about an input
}

// Error is the faults as a person should see them.
func (f *Fault) Error() string {
	var b strings.Builder
	for _, d := range f.Diags {
		if !d.Warning {
			b.WriteString(f.src.Format(f.Program, d))
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

// Read reads a program's file. Its inputs are found from the folder that it lies
// in. What is wrong with the text is left to Check; inputs of a text that does not
// parse may be missing.
func Read(file string, settings []query.Setting) (*Source, error) {
	text, err := readFile(file, query.MaxProgram)
	if err != nil {
		return nil, err
	}
	s := &Source{Name: file, As: Title(file), Text: text, Settings: settings}
	p, diags := query.Parse(s.Name, s.Text, s.Settings...)
	for _, in := range p.Inputs {
		name := in.File
		if !filepath.IsAbs(name) {
			name = filepath.Join(filepath.Dir(file), name)
		}
		text, err := readFile(name, query.MaxInput)
		if err != nil && query.Failed(diags) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: the input %s: %w", file, in.Line, in.Table, err)
		}
		s.Inputs = append(s.Inputs, File{Table: in.Table, Name: name, Text: text})
	}
	return s, nil
}

// maxTitle is how many bytes the name of a program may have.
const maxTitle = 100

// Title is what a program is called by its file's name: without the folder and
// without .dl.
func Title(file string) string {
	name := strings.TrimSuffix(filepath.Base(file), ".dl")
	name = strings.Map(func(r rune) rune {
		if r <= ' ' || r == '/' || r == '\\' || r == 0x7f {
			return '_'
		}
		return r
	}, strings.ToValidUTF8(name, "_"))
	return name[:min(len(name), maxTitle)]
}

// readFile reads a file, and one byte more than is allowed at most, so that
// whoever takes it can say that it is too long.
func readFile(name string, most int64) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return readAll(f, most)
}

// Check reads and checks the program. Given tables need no rule. What is wrong is
// a *Fault.
func (s *Source) Check(given ...string) (*query.Checked, error) {
	p, c, diags := query.Load(s.Name, s.Text, given, s.Settings...)
	if query.Failed(diags) {
		return nil, &Fault{p, diags, s}
	}
	return c, nil
}

// Compile makes a plan of the program, with its inputs.
func (s *Source) Compile(o flow.Options) (*flow.Plan, error) {
	c, err := s.Check(o.Given...)
	if err != nil {
		return nil, err
	}
	plan, diags := flow.Compile(c, o)
	if query.Failed(diags) {
		return nil, &Fault{c.Program, diags, s}
	}
	return plan, s.Load(plan)
}

// Load gives a plan its inputs.
func (s *Source) Load(plan *flow.Plan) error {
	for _, f := range s.Inputs {
		t := plan.Program.Table(f.Table)
		if t == nil || t.Input == nil {
			continue
		}
		rows, diags := t.Input.Read(f.Text)
		if query.Failed(diags) {
			return &Fault{&query.Program{Name: f.Name, Text: f.Text}, diags, nil}
		}
		if err := plan.Load(t, rows); err != nil {
			return fmt.Errorf("the input %s: %w", f.Table, err)
		}
	}
	return nil
}

// Same says that two sources mean the same.
func (s *Source) Same(t *Source) bool {
	if s.Text != t.Text || len(s.Inputs) != len(t.Inputs) || len(s.Settings) != len(t.Settings) || !slices.Equal(s.Seeds, t.Seeds) {
		return false
	}
	for i := range s.Inputs {
		if s.Inputs[i].Table != t.Inputs[i].Table || s.Inputs[i].Text != t.Inputs[i].Text {
			return false
		}
	}
	for i := range s.Settings {
		if s.Settings[i] != t.Settings[i] {
			return false
		}
	}
	return true
}

const (
	textFile = "program.dl"
	setFile  = "set"
	nameFile = "name"
	seedFile = "seeds"
	rowsEnd  = ".tsv"
)

// Dir is where a version of a crawl's program lies.
func Dir(crawl string, version int) string {
	return filepath.Join(crawl, "program", strconv.Itoa(version))
}

// Save writes a version of a crawl's program. It is whole on disk when Save
// returns, or not there.
func (s *Source) Save(crawl string, version int) error {
	dir := Dir(crawl, version)
	if err := os.MkdirAll(filepath.Dir(dir), 0o777); err != nil {
		return fmt.Errorf("keep the program: %w", err)
	}
	tmp := dir + ".new"
	if err := errors.Join(os.RemoveAll(tmp), os.RemoveAll(dir)); err != nil {
		return fmt.Errorf("keep the program: %w", err)
	}
	if err := os.Mkdir(tmp, 0o777); err != nil {
		return fmt.Errorf("keep the program: %w", err)
	}
	var set strings.Builder
	for _, v := range s.Settings {
		fmt.Fprintf(&set, "%s=%s\n", v.Name, v.Value)
	}
	files := map[string]string{textFile: s.Text, setFile: set.String(), nameFile: s.As}
	if len(s.Seeds) > 0 {
		files[seedFile] = writeSeeds(s.Seeds)
	}
	for _, in := range s.Inputs {
		files[in.Table+rowsEnd] = in.Text
	}
	for name, text := range files {
		if err := writeSynced(filepath.Join(tmp, name), text); err != nil {
			return fmt.Errorf("keep the program: %w", err)
		}
	}
	if err := syncDir(tmp); err != nil {
		return fmt.Errorf("keep the program: %w", err)
	}
	if err := os.Rename(tmp, dir); err != nil {
		return fmt.Errorf("keep the program: %w", err)
	}
	return errors.Join(syncDir(filepath.Dir(dir)), syncDir(crawl))
}

// Load reads a version of a crawl's program; nil when the crawl has none.
func Load(crawl string, version int) (*Source, error) {
	dir := Dir(crawl, version)
	text, err := readFile(filepath.Join(dir, textFile), query.MaxProgram)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	s := &Source{Name: filepath.Join(dir, textFile), Text: text}
	var set string
	if err == nil {
		set, err = readFile(filepath.Join(dir, setFile), query.MaxProgram)
	}
	if err != nil {
		return nil, fmt.Errorf("read the crawl's program: %w", err)
	}
	for line := range strings.Lines(set) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		s.Settings = append(s.Settings, query.Setting{Name: name, Value: value})
	}
	if err := s.loadShare(dir); err != nil {
		return nil, fmt.Errorf("read the crawl's program: %w", err)
	}
	p, diags := query.Parse(s.Name, s.Text, s.Settings...)
	if query.Failed(diags) {
		return s, nil
	}
	for _, in := range p.Inputs {
		name := filepath.Join(dir, in.Table+rowsEnd)
		text, err := readFile(name, query.MaxInput)
		if err != nil {
			return nil, fmt.Errorf("read the crawl's program: %w", err)
		}
		s.Inputs = append(s.Inputs, File{Table: in.Table, Name: name, Text: text})
	}
	return s, nil
}

// Last reads the newest version of a crawl's program; nil when the crawl has none.
func Last(crawl string) (*Source, error) {
	return newest(crawl, func(*Source) bool { return true })
}

// Newest reads the newest program of a crawl that has a name; nil when there is
// none.
func Newest(crawl, name string) (*Source, error) {
	return newest(crawl, func(s *Source) bool { return s.As == name })
}

func newest(crawl string, fits func(*Source) bool) (*Source, error) {
	list, err := os.ReadDir(filepath.Dir(Dir(crawl, 0)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the crawl's program: %w", err)
	}
	var versions []int
	for _, entry := range list {
		if n, err := strconv.Atoi(entry.Name()); err == nil {
			versions = append(versions, n)
		}
	}
	slices.Sort(versions)
	for _, n := range slices.Backward(versions) {
		if s, err := Load(crawl, n); err != nil || s != nil && fits(s) {
			return s, err
		}
	}
	return nil, nil
}
