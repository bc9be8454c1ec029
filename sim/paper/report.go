package paper

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"weir/sim/chart"
)

// Report makes a document of findings.
func Report(all []Finding, scale float64) *chart.Report {
	r := &chart.Report{
		Title: "The papers, repeated",
		Intro: lines(append(sources(all, scale), Summary(all)+".")...),
	}
	for _, f := range all {
		r.Parts = append(r.Parts, f.parts()...)
	}
	return r
}

// sources says which papers the findings are of.
func sources(all []Finding, scale float64) (list []string) {
	for _, by := range []struct {
		names []string // begin so
		text  string
	}{
		{[]string{"table-", "figure-", "beyond-"}, "Tables and figures of chapter 6, Scheduling Algorithms for Web Crawling, of Castillo's thesis, Effective Web Crawling (2004), " +
			fmt.Sprintf("made again with weir's own scheduler in virtual time, on webs at a scale of %g of the paper's 3.5 million pages.", scale)},
		{[]string{"zhu-"}, "Figures of Zhu, Li, Xu and Cui, Optimal Bandwidth Allocation for Web Crawler Systems (2019), made again with weir's planner, and with live crawls where the paper has them."},
		{[]string{"loo-"}, "Figures of Loo, Cooper and Krishnamurthy, Distributed Web Crawling over DHTs (2004), made again with weir's own nodes."},
	} {
		if slices.ContainsFunc(all, func(f Finding) bool {
			return slices.ContainsFunc(by.names, func(begin string) bool { return strings.HasPrefix(f.Name, begin) })
		}) {
			list = append(list, by.text)
		}
	}
	return list
}

// heading writes an experiment's name for people.
func heading(name string) string {
	for _, by := range []struct{ prefix, authors string }{{"zhu-", "Zhu et al., "}, {"loo-", "Loo et al., "}} {
		if figure, ok := strings.CutPrefix(name, by.prefix); ok {
			if strings.Trim(figure, "0123456789ab") == "" {
				figure = "figure " + figure
			}
			return by.authors + strings.Replace(figure, "table-", "table ", 1)
		}
	}
	return strings.ToUpper(name[:1]) + strings.Replace(name[1:], "-", " ", 1)
}

// parts shows one finding.
func (f *Finding) parts() []chart.Part {
	head := chart.Part{Heading: heading(f.Name) + ": " + f.Title, Text: lines("Paper: "+f.Paper, "Here: "+f.Setup)}
	parts := []chart.Part{head}
	for _, p := range f.Plates {
		parts = append(parts, chart.Part{Table: p.Table, Chart: p.Chart, Bars: p.Bars})
	}
	if len(f.Targets) > 0 {
		t := &chart.Table{Columns: []string{"target", "wanted", "got", "verdict"}}
		for _, x := range f.Targets {
			t.Add(x.What, x.Want, x.Got, string(x.Verdict))
		}
		parts = append(parts, chart.Part{Table: t})
	}
	text := "Comment: " + f.Comment
	if len(f.Gaps) > 0 {
		text = lines(text, "Stopped before these were played: "+strings.Join(f.Gaps, "; ")+".")
	}
	return append(parts, chart.Part{Text: text})
}

// Write puts the findings into a folder, which it makes: report.html, for every
// picture an SVG, a PNG and a CSV, and for every table a CSV.
func Write(dir string, all []Finding, scale float64) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	if err := write(filepath.Join(dir, "report.html"), Report(all, scale).WriteHTML); err != nil {
		return err
	}
	for i := range all {
		if err := all[i].write(dir); err != nil {
			return err
		}
	}
	return nil
}

func (f *Finding) write(dir string) error {
	type picture interface {
		WriteSVG(io.Writer) error
		WritePNG(io.Writer) error
		WriteCSV(io.Writer) error
	}
	draw := func(name string, p picture) error {
		return errors.Join(write(name+".svg", p.WriteSVG), write(name+".png", p.WritePNG), write(name+".csv", p.WriteCSV))
	}
	for _, p := range f.Plates {
		name := filepath.Join(dir, f.Name)
		if p.Name != "" {
			name += "-" + p.Name
		}
		var err error
		switch {
		case p.Table != nil:
			err = write(name+"-table.csv", p.Table.WriteCSV)
		case p.Chart != nil:
			err = draw(name, p.Chart)
		case p.Bars != nil:
			err = draw(name, p.Bars)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func write(name string, to func(io.Writer) error) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(to(file), file.Close())
}
