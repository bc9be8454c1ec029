package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"weir/internal/program"
	"weir/query"
	"weir/query/flow"
)

// sources reads the programs that flags name. There are none for a crawl without
// one, and for one that goes on with those that it has.
func (s *settings) sources(e *env, given map[string]bool, at ground) ([]*program.Source, error) {
	if len(s.Program) == 0 {
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
	list, err := e.readSources(s.Program, s.Set)
	if err != nil {
		return nil, err
	}
	for _, src := range list {
		plan, err := src.Compile(flow.Options{Scheme: flow.ByHost, Crawl: true, IgnoreRobots: s.IgnoreRobots})
		if err != nil {
			return nil, e.programFault(err)
		}
		for _, d := range plan.Program.Warned {
			fmt.Fprint(e.err, d.Format(plan.Program.Program))
		}
		s.rank(plan.Program, given, at)
	}
	return list, nil
}

// rank lets the priorities of a program, if it has any, decide what comes first,
// unless somebody said otherwise.
func (s *settings) rank(p *query.Checked, given map[string]bool, at ground) {
	t := p.Table("crawl")
	if len(s.Program) > 0 && at == vacant && !given["order"] && s.Order == defaults().Order && t != nil && t.Arity() > 2 {
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

// readSources reads programs that share a crawl. A setting is for those that have
// it.
func (e *env) readSources(files, set []string) ([]*program.Source, error) {
	if len(files) == 1 {
		src, err := e.readSource(files[0], set)
		return []*program.Source{src}, err
	}
	var list []*program.Source
	used := make([]bool, len(set))
	for _, file := range files {
		bare, err := e.readSource(file, nil)
		if err != nil {
			return nil, err
		}
		var own []string
		for i, text := range set {
			if name, _, _ := strings.Cut(text, "="); program.Mentions(bare.Text, strings.TrimPrefix(strings.TrimSpace(name), "$")) {
				own, used[i] = append(own, text), true
			}
		}
		src, err := e.readSource(file, own)
		if err != nil {
			return nil, err
		}
		for _, other := range list {
			if other.As == src.As {
				return nil, usage("give one of the files another name: programs that share a crawl are told apart by it", "%s and %s are both called %s", other.Name, src.Name, src.As)
			}
		}
		list = append(list, src)
	}
	if i := slices.Index(used, false); i >= 0 {
		return nil, usage("in rules a setting is written $max", "--set %s: none of the programs has this setting", set[i])
	}
	return list, nil
}

// programFault tells everything that is wrong with a program, if that is it.
func (e *env) programFault(err error) error {
	var f *program.Fault
	if errors.As(err, &f) {
		return e.faults(f.Program, f.Diags)
	}
	return err
}
