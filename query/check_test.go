package query

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// described is a table as goldens show it: columns, level, and what else is
// known of it.
func described(t *Table) string {
	cols := make([]string, t.Arity())
	for i, typ := range t.Types {
		cols[i] = strings.TrimSpace(strings.TrimSpace(t.Lattice[i].String()+" "+t.Columns[i]) + " " + typ.String())
	}
	s := fmt.Sprintf("%s(%s)", t.Name, strings.Join(cols, ", "))
	switch {
	case t.Kind == File:
		return s + " input"
	case t.Level > 0:
		s += fmt.Sprintf(" level %d", t.Level)
	}
	if t.Steers {
		s += " steers"
	}
	if t.Live {
		s += " live"
	}
	if t.Small {
		s += " small"
	}
	if t.Step >= 0 {
		s += fmt.Sprintf(" step %d rounds %d turn %d", t.Step, t.Rounds, t.Turn)
	}
	for _, r := range t.Rules {
		if r.Class != Plain {
			s += " " + [...]string{"", "sealed", "growing", "final"}[r.Class]
		}
	}
	return s
}

// checked parses and checks a program, and says what came of it.
func checked(name, program string, given []string, settings []Setting) string {
	p, diags := Parse(name, program, settings...)
	if Failed(diags) {
		return format(p, diags)
	}
	c, diags := Check(p, given...)
	s := format(p, diags)
	if c == nil {
		return s
	}
	for _, t := range c.Tables {
		if t.Kind == File || t.Kind == Derived {
			s += described(t) + "\n"
		}
	}
	return s
}

// TestTables says what Check makes of the tables of the thirty programs.
func TestTables(t *testing.T) {
	const golden = "testdata/tables.txt"
	files, _ := filepath.Glob("testdata/programs/*.dl")
	var b strings.Builder
	for _, file := range files {
		fmt.Fprintf(&b, "%s\n%s\n", filepath.Base(file), checked(filepath.Base(file), program(t, file), nil, nil))
	}
	if *rewrite {
		if err := os.WriteFile(golden, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if want := program(t, golden); b.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", b.String(), want)
	}
}

func TestRefusals(t *testing.T) {
	goldens(t, "testdata/refusals.txtar", func(name, program string, settings []Setting) string {
		return checked(name, program, nil, settings)
	})
}
