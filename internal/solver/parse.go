package solver

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

const (
	maxLine   = 4096
	maxValues = 4_000_000
)

var (
	errShort     = errors.New("its solution ends before its end")
	errUnbounded = errors.New("the objective has no bound")
)

// lines reads a solution line by line, fields separated by blanks.
type lines struct {
	scan   *bufio.Scanner
	number int
}

func newLines(r io.Reader) *lines {
	scan := bufio.NewScanner(io.LimitReader(r, maxFile))
	scan.Buffer(make([]byte, 0, maxLine), maxLine)
	return &lines{scan: scan}
}

// next returns the next line that is not blank, and false at the end.
func (l *lines) next() (string, bool) {
	for l.scan.Scan() {
		l.number++
		if text := strings.TrimSpace(l.scan.Text()); text != "" {
			return text, true
		}
	}
	return "", false
}

func (l *lines) err() error {
	if err := l.scan.Err(); err != nil {
		return fmt.Errorf("its solution, after line %d: %w", l.number, err)
	}
	return nil
}

func (l *lines) odd(line string) error {
	return fmt.Errorf("its solution, line %d: not understood: %.80q", l.number, line)
}

// value reads a number that is one.
func value(text string) (float64, bool) {
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil && !math.IsNaN(v) && !math.IsInf(v, 0)
}

// set adds a value to an answer.
func (a *Answer) set(name string, v float64) bool {
	if len(a.Values) >= maxValues {
		return false
	}
	if v != 0 {
		a.Values[name] = v
	}
	return true
}

// settle forgets the values of an answer that has no solution.
func (a *Answer) settle() *Answer {
	if !a.Status.Solved() {
		a.Values, a.Objective = nil, 0
	}
	return a
}

// parseCBC reads what cbc's -solution writes: a line that says how it ended and the objective, then
// for each variable that is not 0 its number, name, value and reduced cost. A
// line that begins with ** breaks a bound.
func parseCBC(r io.Reader) (*Answer, error) {
	in := newLines(r)
	head, ok := in.next()
	if !ok {
		return nil, errors.Join(in.err(), errShort)
	}
	how, rest, ok := strings.Cut(head, " - objective value ")
	if !ok {
		return nil, in.odd(head)
	}
	a := &Answer{Values: map[string]float64{}}
	switch {
	case strings.HasPrefix(how, "Optimal"):
		a.Status = Optimal
	case strings.Contains(how, "no integer solution"):
		a.Status = Unsolved
	case strings.HasPrefix(how, "Stopped on time"):
		a.Status = Feasible
	case strings.HasPrefix(how, "Infeasible"), strings.HasPrefix(how, "Integer infeasible"):
		a.Status = Infeasible
	case strings.HasPrefix(how, "Unbounded"):
		return nil, errUnbounded
	default:
		return nil, in.odd(head)
	}
	if !a.Status.Solved() {
		return a.settle(), nil
	}
	if a.Objective, ok = value(rest); !ok {
		return nil, in.odd(head)
	}
	for {
		line, ok := in.next()
		if !ok {
			break
		}
		if strings.HasPrefix(line, "**") {
			if a.Status == Optimal {
				return nil, fmt.Errorf("its solution breaks a bound: %.80q", line)
			}
			a.Status = Unsolved
			return a.settle(), nil
		}
		f := strings.Fields(line)
		if len(f) != 4 {
			return nil, in.odd(line)
		}
		v, ok := value(f[2])
		if !ok || !a.set(f[1], v) {
			return nil, in.odd(line)
		}
	}
	return a, in.err()
}

// parseHiGHS reads what HiGHS's --solution_file writes: how it ended, whether
// there are values, the objective, and the variables by name under a line that says how many.
func parseHiGHS(r io.Reader) (*Answer, error) {
	in := newLines(r)
	var status, primal string
	a := &Answer{Values: map[string]float64{}}
	columns := -1
	for columns < 0 {
		line, ok := in.next()
		if !ok {
			break
		}
		switch {
		case line == "Model status":
			status, _ = in.next()
		case line == "# Primal solution values":
			primal, _ = in.next()
		case strings.HasPrefix(line, "Objective "):
			if a.Objective, ok = value(strings.TrimPrefix(line, "Objective ")); !ok {
				return nil, in.odd(line)
			}
		case strings.HasPrefix(line, "# Columns "):
			n, err := strconv.Atoi(strings.TrimPrefix(line, "# Columns "))
			if err != nil || n < 0 || n > maxValues {
				return nil, in.odd(line)
			}
			columns = n
		case primal == "":
			return nil, in.odd(line)
		}
	}
	if err := in.err(); err != nil {
		return nil, err
	}
	switch status {
	case "Optimal", "Empty":
		a.Status = Optimal
	case "Infeasible", "Primal infeasible or unbounded":
		a.Status = Infeasible
	case "Time limit reached":
		a.Status = Feasible
		if primal != "Feasible" {
			a.Status = Unsolved
		}
	case "Unbounded":
		return nil, errUnbounded
	case "":
		return nil, errShort
	default:
		return nil, fmt.Errorf("it ended with %.80q", status)
	}
	if !a.Status.Solved() {
		return a.settle(), nil
	}
	for range columns {
		line, ok := in.next()
		if !ok {
			return nil, errors.Join(in.err(), errShort)
		}
		name, text, _ := strings.Cut(line, " ")
		v, ok := value(strings.TrimSpace(text))
		if !ok || !a.set(name, v) {
			return nil, in.odd(line)
		}
	}
	if columns < 0 && status != "Empty" {
		return nil, errShort
	}
	return a, nil
}

// parseNames reads the names of variables from the program as glpsol's --wglp writes it,
// in lines "n j NUMBER NAME".
func parseNames(r io.Reader) ([]string, error) {
	in := newLines(r)
	var names []string
	for {
		line, ok := in.next()
		if !ok {
			return names, in.err()
		}
		if !strings.HasPrefix(line, "n j ") {
			continue
		}
		f := strings.Fields(line)
		if len(f) != 4 {
			return nil, in.odd(line)
		}
		// They come in their order.
		if j, err := strconv.Atoi(f[2]); err != nil || j != len(names)+1 || j > maxValues {
			return nil, in.odd(line)
		}
		names = append(names, f[3])
	}
}

// parseGLPK reads what glpsol's --write writes: a line s that says how it ended,
// lines i for rows and j for the numbered variables, and a last line "e o f".
func parseGLPK(r io.Reader, names []string) (*Answer, error) {
	in := newLines(r)
	a := &Answer{Values: map[string]float64{}}
	at := 0 // which field of a line j is the value; 0: no line s yet
	for {
		line, ok := in.next()
		if !ok {
			return nil, errors.Join(in.err(), errShort)
		}
		f := strings.Fields(line)
		switch f[0] {
		case "c", "i":
		case "s":
			how, err := glpkStatus(f)
			if err != nil {
				return nil, err
			}
			if a.Status, ok = how.status, at == 0; !ok {
				return nil, in.odd(line)
			}
			at = how.field
			if a.Objective, ok = value(f[len(f)-1]); !ok {
				return nil, in.odd(line)
			}
		case "j":
			if at == 0 || len(f) <= at {
				return nil, in.odd(line)
			}
			j, err := strconv.Atoi(f[1])
			v, ok := value(f[at])
			if err != nil || j < 1 || j > len(names) || !ok || !a.set(names[j-1], v) {
				return nil, in.odd(line)
			}
		case "e":
			if at == 0 {
				return nil, errShort
			}
			return a.settle(), nil
		default:
			return nil, in.odd(line)
		}
	}
}

type glpkEnd struct {
	status Status
	field  int // of a line j that holds the value
}

// glpkStatus reads a line s: of an integer program "s mip ROWS COLUMNS STATUS OBJECTIVE", of a
// linear one "s bas ROWS COLUMNS PRIMAL DUAL OBJECTIVE".
func glpkStatus(f []string) (glpkEnd, error) {
	switch {
	case len(f) == 6 && f[1] == "mip":
		switch f[4] {
		case "o":
			return glpkEnd{Optimal, 2}, nil
		case "f":
			return glpkEnd{Feasible, 2}, nil
		case "n":
			return glpkEnd{Infeasible, 2}, nil
		case "u":
			return glpkEnd{Unsolved, 2}, nil
		}
	case len(f) == 7 && f[1] == "bas":
		switch {
		case f[4] == "f" && f[5] == "f":
			return glpkEnd{Optimal, 3}, nil
		case f[4] == "f" && f[5] == "n":
			return glpkEnd{}, errUnbounded
		case f[4] == "f":
			return glpkEnd{Feasible, 3}, nil
		case f[4] == "n":
			return glpkEnd{Infeasible, 3}, nil
		default:
			return glpkEnd{Unsolved, 3}, nil
		}
	}
	return glpkEnd{}, fmt.Errorf("it ended with %.80q", strings.Join(f, " "))
}
