package node

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"weir/crawl"
	"weir/frontier"
	"weir/internal/program"
	"weir/page"
	"weir/query/flow"
)

// share works out which programs a crawl has after a turn.
type share struct {
	*node
	programs crawl.Programs // of now, then those that will be
	had      []*program.Source
	got      *Turned

	number uint8 // of the program that is new
	rules  rules
	want   page.Want
}

// replace puts a program in the place of the only one.
func (s *share) replace(t Turn) error {
	had, err := s.source()
	if err != nil {
		return err
	}
	src := &t.Program
	if t.Add {
		src = had.Add(src)
	}
	plan, err := s.checked(src)
	if err != nil {
		return err
	}
	if s.got.Same = src.Same(had); s.got.Same {
		return nil
	}
	s.got.Removed, s.got.Added = program.Diff(had, src)
	if err := s.keep(src); err != nil {
		return err
	}
	s.programs.Version = s.number
	one, err := crawl.NewProgram(crawl.ProgramConfig{Plan: plan, Own: true, Version: s.number, Secret: s.secret}, s.store)
	if err != nil {
		return err
	}
	s.rules, s.want = one, plan.Wants()
	s.warn(one.Traits())
	return nil
}

// join lets a program share the crawl, or puts it in the place of the one with its
// name.
func (s *share) join(t Turn) error {
	src := &t.Program
	if src.As == "" {
		return fmt.Errorf("a program that shares a crawl needs a name")
	}
	var members []crawl.Member
	if s.several != nil {
		members = s.several.Members()
	}
	had := &program.Source{}
	at := slices.Index(s.programs.Names(), src.As)
	switch {
	case s.several == nil: // both begin anew, so that each has a crawl table of its own
		first, err := s.source()
		if err != nil {
			return err
		}
		if first.As = cmp.Or(first.As, "main"); first.As == src.As {
			return fmt.Errorf("the crawl's own program is called %s already: give the file another name", src.As)
		}
		m, err := s.ready(first)
		if err != nil {
			return err
		}
		members = append(members, m)
		s.programs.Version = s.number
	case t.Beside && at >= 0:
		return fmt.Errorf("a program called %s shares the crawl already: leave --beside out to put this one in its place, or give the file another name", src.As)
	case !t.Beside && at < 0:
		return fmt.Errorf("no program that shares the crawl is called %s; there are %s; --beside lets it share the crawl too", src.As, strings.Join(s.programs.Names(), ", "))
	case at >= 0:
		had = s.had[at]
		if t.Add {
			src = had.Add(src)
			src.As, src.Seeds = had.As, had.Seeds
		}
	}
	if _, err := s.checked(src); err != nil {
		return err
	}
	if s.got.Same = at >= 0 && src.Same(had); s.got.Same {
		return nil
	}
	s.got.Removed, s.got.Added = program.Diff(had, src)
	m, err := s.ready(src)
	if err != nil {
		return err
	}
	if at >= 0 {
		members[at] = m
	} else {
		members = append(members, m)
	}
	s.take(members)
	s.warn(m.Rules.Traits())
	return nil
}

// leave ends that a program shares the crawl.
func (s *share) leave(name string) error {
	at := slices.Index(s.programs.Names(), name)
	switch {
	case at < 0:
		return fmt.Errorf("no program that shares the crawl is called %s; there are %s", name, cmp.Or(strings.Join(s.programs.Names(), ", "), "none: it has one"))
	case len(s.had) == 1:
		return fmt.Errorf("%s is the last program of the crawl; stop the crawl instead", name)
	}
	s.got.Removed, _ = program.Diff(s.had[at], &program.Source{})
	s.number = s.programs.Each[at].Number
	s.take(slices.Delete(s.several.Members(), at, at+1))
	return nil
}

// ready keeps a program under the next number and makes it ready to share.
func (s *share) ready(src *program.Source) (crawl.Member, error) {
	if err := s.keep(src); err != nil {
		return crawl.Member{}, err
	}
	return s.member(crawl.Named{Name: src.As, Number: s.number}, src)
}

// take makes rules of those who will share the crawl.
func (s *share) take(members []crawl.Member) {
	s.programs.Each = nil
	for _, m := range members {
		s.programs.Each = append(s.programs.Each, crawl.Named{Name: m.Name, Number: m.Rules.Number()})
		s.want = s.want.Merge(m.Rules.Wants())
	}
	s.rules = crawl.NewSeveral(s.store, members)
}

// keep writes a program into the folder, under the next number.
func (s *share) keep(src *program.Source) error {
	if s.programs.Next > crawl.MaxProgram {
		return fmt.Errorf("this crawl has had %d programs, more than that cannot be told apart: start another one", crawl.MaxProgram+1)
	}
	s.number = s.programs.Next
	s.programs.Next++
	return src.Save(s.cfg.Dir, int(s.number))
}

// checked makes a plan of a program whose inputs came with it.
func (s *share) checked(src *program.Source) (*flow.Plan, error) {
	plan, err := s.compile(src)
	if err != nil {
		return nil, err
	}
	for _, in := range plan.Program.Inputs {
		if !src.Has(in.Table) {
			return nil, fmt.Errorf("the rows of the input %s are missing", in.Table)
		}
	}
	if wants := plan.Wants(); s.keeps && !s.kept.Has(wants) {
		return nil, fmt.Errorf("this crawl keeps no archive (--warc none), and of its pages only what its first program looked at: the pages that it has cannot be asked for %s", wants.Without(s.kept))
	}
	for _, d := range plan.Program.Warned {
		s.got.Warnings = append(s.got.Warnings, src.Format(plan.Program.Program, d))
	}
	return plan, nil
}

// warn says what the crawl does not do for a program.
func (s *share) warn(t crawl.RuleTraits) {
	if t.Priority && s.cfg.Order != (frontier.Score{}).Name() {
		s.got.Warnings = append(s.got.Warnings, fmt.Sprintf("weir: warning: the program gives priorities, but --order %s of this crawl does not go by them\n", s.cfg.Order))
	}
}
