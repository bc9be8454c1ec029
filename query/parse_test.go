package query

import (
	"os"
	"path/filepath"
	"testing"
)

// program reads testdata/programs/NAME.
func program(t testing.TB, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestPrograms reads the thirty programs, and what is printed of them, before
// they are checked and afterwards.
func TestPrograms(t *testing.T) {
	files, _ := filepath.Glob("testdata/programs/*.dl")
	if len(files) != 30 {
		t.Fatalf("%d programs, want 30", len(files))
	}
	for _, file := range files {
		p, diags := Parse(file, program(t, file))
		for _, d := range diags {
			t.Error(d.Format(p))
		}
		again(t, p)
		c, _ := Check(p)
		if c == nil {
			t.Errorf("%s means nothing", file)
			continue
		}
		_, printed, diags := Load(file, p.String(), nil)
		if printed == nil {
			t.Errorf("what is printed of %s once it was checked: %v", file, diags)
			continue
		}
		for i, table := range c.Tables {
			if got, want := described(printed.Tables[i]), described(table); got != want {
				t.Errorf("%s printed has the table %s, not %s", file, got, want)
			}
		}
	}
}

func TestFaults(t *testing.T) {
	goldens(t, "testdata/faults.txtar", func(name, program string, settings []Setting) string {
		p, diags := Parse(name, program, settings...)
		if len(diags) == 0 {
			return p.String()
		}
		return format(p, diags)
	})
}

func TestLoad(t *testing.T) {
	goldens(t, "testdata/load.txtar", func(name, program string, settings []Setting) string {
		p, c, diags := Load(name, program, nil, settings...)
		if (c == nil) != Failed(diags) {
			t.Errorf("%s: checked %v, failed %v", name, c != nil, Failed(diags))
		}
		return format(p, diags)
	})
}
