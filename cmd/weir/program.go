package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"weir/query"
)

// maxProgramFile is how much of a file is read to say that it is too long.
const maxProgramFile = 16 * query.MaxProgram

// readProgram reads the text of a program; - is the standard input.
func (e *env) readProgram(file string) (string, error) {
	in := e.in
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return "", usage("check the name and the permissions of the file", "cannot read the program: %w", err)
		}
		defer f.Close()
		in = f
	}
	b, err := io.ReadAll(io.LimitReader(in, maxProgramFile))
	if err != nil {
		return "", usage("check the name and the permissions of the file", "cannot read the program: %w", err)
	}
	return string(b), nil
}

// parseSets reads the values of --set.
func parseSets(list []string) ([]query.Setting, error) {
	var sets []query.Setting
	for _, text := range list {
		name, value, ok := strings.Cut(text, "=")
		name = strings.TrimPrefix(strings.TrimSpace(name), "$")
		if !ok || name == "" {
			return nil, usage("write NAME=VALUE, as in --set max=3", "--set %q has no name or no value", cut(text, 60))
		}
		sets = append(sets, query.Setting{Name: name, Value: strings.TrimSpace(value)})
	}
	return sets, nil
}

// checked makes sure that a program means something. What is wrong with it, or
// worth a warning, is told at once.
func (e *env) checked(name, text string, sets []query.Setting, given ...string) (*query.Checked, error) {
	p, c, diags := query.Load(name, text, given, sets...)
	return c, e.faults(p, diags)
}

// faults tells what is wrong with a program; the error is nil when it is only
// warnings.
func (e *env) faults(p *query.Program, diags []query.Diag) error {
	for _, d := range diags {
		fmt.Fprint(e.err, d.Format(p))
	}
	if query.Failed(diags) {
		return quiet(exitUsage)
	}
	return nil
}
