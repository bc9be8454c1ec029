package main

import (
	"errors"
	"fmt"

	"weir/internal/program"
	"weir/query"
	"weir/query/flow"
)

// source reads the program that flags name. It is nil for a crawl without one,
// and for one that goes on with the program it has.
func (s *settings) source(e *env, given map[string]bool, at ground) (*program.Source, error) {
	if s.Program == "" {
		if len(s.Set) > 0 {
			return nil, usage("name the program with --program FILE", "--set %s: there is no program that could have this setting", s.Set[0])
		}
		return nil, nil
	}
	if at == begun && !given["program"] && !given["set"] {
		return nil, nil
	}
	if err := s.clash(); err != nil {
		return nil, err
	}
	src, err := e.readSource(s.Program, s.Set)
	if err != nil {
		return nil, err
	}
	plan, err := src.Compile(flow.Options{Scheme: flow.ByHost, Crawl: true, IgnoreRobots: s.IgnoreRobots})
	if err != nil {
		return nil, e.programFault(err)
	}
	for _, d := range plan.Program.Warned {
		fmt.Fprint(e.err, d.Format(plan.Program.Program))
	}
	s.rank(plan.Program, given, at)
	return src, nil
}

// rank lets the priorities of a program, if it has any, decide what comes first,
// unless somebody said otherwise.
func (s *settings) rank(p *query.Checked, given map[string]bool, at ground) {
	t := p.Table("crawl")
	if s.Program != "" && at == vacant && !given["order"] && s.Order == defaults().Order && t != nil && t.Arity() > 2 {
		s.Order = "score"
	}
}

// clash refuses flags that a program takes the place of.
func (s *settings) clash() error {
	was := fields(defaults())
	for i, f := range fields(s) {
		switch f.name {
		case "scope", "depth", "match", "exclude", "requisites", "sitemaps":
			if f.text() != was[i].text() {
				return usage("say it in the program: weir explain --"+f.name+" ... prints how", "--%s and --program do not go together", f.name)
			}
		}
	}
	return nil
}

// readSource reads a program's file and its inputs.
func (e *env) readSource(file string, set []string) (*program.Source, error) {
	sets, err := parseSets(set)
	if err != nil {
		return nil, err
	}
	src, err := program.Read(file, sets)
	if err != nil {
		return nil, usage("check the names and the permissions of the files", "cannot read the program: %w", err)
	}
	return src, nil
}

// programFault tells everything that is wrong with a program, if that is it.
func (e *env) programFault(err error) error {
	var f *program.Fault
	if errors.As(err, &f) {
		return e.faults(f.Program, f.Diags)
	}
	return err
}
