// Package solver has linear and integer programs solved by a program that is
// installed on this machine: cbc, HiGHS or glpsol. It keeps nothing: a program goes in as
// an LP file, its answer comes out, and the files between are removed.
//
// The solver is somebody else's program. It gets a time after which it is ended,
// and what it writes is read within bounds.
package solver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Solver is a program on this machine that solves LP files.
type Solver struct {
	Name string // cbc, highs or glpsol
	Path string
}

// kind is how one solver is called and read.
type kind struct {
	name  string
	get   string // how to come by it
	warns int    // exit code with which it ends when it wrote what it has, besides 0
	args  func(seconds string) []string
	parse func(open func(file string) (io.ReadCloser, error)) (*Answer, error)
}

// The files of a run, in a folder of its own.
const (
	modelFile    = "model.lp"
	solutionFile = "solution.txt"
	namesFile    = "names.txt" // glpsol numbers the variables of a solution
)

// kinds are the solvers in the order of preference.
var kinds = []kind{
	{
		name: "cbc", get: "apt-get install coinor-cbc",
		args: func(seconds string) []string {
			return []string{modelFile, "-timeMode", "elapsed", "-seconds", seconds, "-solve", "-solution", solutionFile}
		},
		parse: func(open func(string) (io.ReadCloser, error)) (*Answer, error) {
			return parseFile(open, solutionFile, parseCBC)
		},
	},
	{
		name: "highs", get: "highs.dev", warns: 1, // time was up
		args: func(seconds string) []string {
			return []string{"--time_limit", seconds, "--solution_file", solutionFile, modelFile}
		},
		parse: func(open func(string) (io.ReadCloser, error)) (*Answer, error) {
			return parseFile(open, solutionFile, parseHiGHS)
		},
	},
	{
		name: "glpsol", get: "apt-get install glpk-utils",
		args: func(seconds string) []string {
			// Its presolver finds out that there is no solution without writing so.
			return []string{"--lp", modelFile, "--nopresol", "--tmlim", seconds, "--wglp", namesFile, "--write", solutionFile}
		},
		parse: func(open func(string) (io.ReadCloser, error)) (*Answer, error) {
			names, err := parseFile(open, namesFile, parseNames)
			if err != nil {
				return nil, err
			}
			return parseFile(open, solutionFile, func(r io.Reader) (*Answer, error) { return parseGLPK(r, names) })
		},
	},
}

// parseFile opens one file of a run and reads it.
func parseFile[T any](open func(string) (io.ReadCloser, error), file string, parse func(io.Reader) (T, error)) (T, error) {
	f, err := open(file)
	if err != nil {
		var none T
		return none, err
	}
	defer f.Close()
	return parse(f)
}

// Missing says that no solver is on the PATH, and how to come by one.
type Missing struct{ Wanted []string }

func (e *Missing) Error() string {
	var ways []string
	for _, k := range kinds {
		for _, name := range e.Wanted {
			if k.name == name {
				ways = append(ways, k.name+" ("+k.get+")")
			}
		}
	}
	if len(ways) == 1 {
		return "the solver is not on the PATH: install " + ways[0]
	}
	return "no solver is on the PATH: install one of " + strings.Join(ways, ", ")
}

// Names are the solvers that this package knows, in the order of preference.
func Names() []string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.name
	}
	return names
}

// Find returns the first of the named solvers that is on the PATH, or of all
// that it knows when none is named. It fails with *Missing.
func Find(names ...string) (Solver, error) {
	if len(names) == 0 {
		names = Names()
	}
	for _, name := range names {
		if kindOf(name) == nil {
			return Solver{}, fmt.Errorf("no solver is called %q; there are %s", name, strings.Join(Names(), ", "))
		}
		if path, err := exec.LookPath(name); err == nil {
			return Solver{name, path}, nil
		}
	}
	return Solver{}, &Missing{names}
}

func kindOf(name string) *kind {
	for i := range kinds {
		if kinds[i].name == name {
			return &kinds[i]
		}
	}
	return nil
}

// Status is how far a solver came.
type Status uint8

const (
	Optimal    Status = iota // the best there is
	Feasible                 // time was up: the best that was found
	Infeasible               // there is none
	Unsolved                 // time was up, and none was found
)

var statuses = []string{"optimal", "feasible, time was up", "infeasible", "time was up"}

func (s Status) String() string {
	if int(s) < len(statuses) {
		return statuses[s]
	}
	return fmt.Sprintf("status %d", uint8(s))
}

// Solved says that the answer has values.
func (s Status) Solved() bool { return s == Optimal || s == Feasible }

// Answer is what a solver found. Variables that Values leaves out are 0; it is nil unless
// Status says that there are some. Solvers round: cbc writes eight digits.
type Answer struct {
	Status    Status
	Objective float64
	Values    map[string]float64
}

const (
	grace     = 10 * time.Second // after the time limit, until the solver is ended
	maxOutput = 8 << 10          // of what it says, from the end
	maxFile   = 256 << 20        // of what it writes
)

// Solve has the program solved that write writes as an LP file, within a time limit that
// the solver is told; it is ended when it takes much longer, or when ctx ends.
// Anything but one of the four Statuses is an error that holds the solver's last words.
func (s Solver) Solve(ctx context.Context, write func(io.Writer) error, limit time.Duration) (*Answer, error) {
	k := kindOf(s.Name)
	if k == nil {
		return nil, fmt.Errorf("no solver is called %q", s.Name)
	}
	answer, err := s.run(ctx, k, write, limit)
	if err != nil {
		return nil, fmt.Errorf("solving with %s: %w", s.Name, err)
	}
	return answer, nil
}

func (s Solver) run(ctx context.Context, k *kind, write func(io.Writer) error, limit time.Duration) (_ *Answer, err error) {
	dir, err := os.MkdirTemp("", "weir-solver-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := writeFile(filepath.Join(dir, modelFile), write); err != nil {
		return nil, fmt.Errorf("writing the program: %w", err)
	}

	// Whole seconds are what every solver understands.
	seconds := max(1, math.Ceil(limit.Seconds()))
	timed, cancel := context.WithTimeout(ctx, time.Duration(seconds)*time.Second+grace)
	defer cancel()
	said := &tail{}
	cmd := exec.CommandContext(timed, s.Path, k.args(strconv.FormatFloat(seconds, 'f', -1, 64))...)
	cmd.Dir = dir
	cmd.Stdout, cmd.Stderr = said, said
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case timed.Err() != nil:
			return nil, fmt.Errorf("it did not end %v after its time limit of %.0f s", grace, seconds)
		}
		exit := new(exec.ExitError)
		if !errors.As(err, &exit) || k.warns == 0 || exit.ExitCode() != k.warns {
			return nil, fmt.Errorf("%w%s", err, said.words())
		}
	}
	answer, err := k.parse(func(file string) (io.ReadCloser, error) { return open(filepath.Join(dir, file)) })
	if errors.Is(err, os.ErrNotExist) {
		err = errors.New("it wrote no solution")
	}
	if err != nil {
		return nil, fmt.Errorf("%w%s", err, said.words())
	}
	return answer, nil
}

func writeFile(path string, write func(io.Writer) error) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return write(f)
}

// open opens a file that is not too large.
func open(path string) (io.ReadCloser, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, fmt.Errorf("a solution of %d bytes, more than %d", info.Size(), maxFile)
	}
	return os.Open(path)
}

// tail keeps the end of what is written to it.
type tail struct{ kept []byte }

func (t *tail) Write(p []byte) (int, error) {
	n := len(p)
	p = p[max(0, n-maxOutput):]
	t.kept = append(t.kept[max(0, len(t.kept)+len(p)-maxOutput):], p...)
	return n, nil
}

// words returns the last lines, to be put behind an error.
func (t *tail) words() string {
	const most = 5
	lines := strings.Split(strings.TrimSpace(strings.ToValidUTF8(string(t.kept), "?")), "\n")
	text := strings.Join(lines[max(0, len(lines)-most):], "; ")
	if text == "" {
		return ""
	}
	return ": " + text
}
