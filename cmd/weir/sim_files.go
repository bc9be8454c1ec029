package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"weir/sim/chart"
)

// simOutput are the files that a simulation writes.
type simOutput struct {
	CSV  string `name:"csv" group:"output" placeholder:"FILE" help:"Write the numbers as CSV."`
	HTML string `name:"html" group:"output" placeholder:"FILE" help:"Write a report: one HTML file with everything in it."`
	SVG  string `name:"svg" group:"output" placeholder:"FILE" help:"Write the charts as SVG; the second goes to FILE-2."`
	PNG  string `name:"png" group:"output" placeholder:"FILE" help:"Write the charts as PNG; the second goes to FILE-2."`

	files []simFile
}

// simFile is one of them, open since before the simulation: a day of work must
// not end at a folder that is not there. Until it is finished, what stood under
// its name stays.
type simFile struct {
	flag, name string
	*output
}

// simCharts is how many charts run and compare draw.
const simCharts = 2

// open opens the files that were asked for, besides the trace if there is one.
// None may be a web that is read, or be written twice. The caller calls drop.
func (o *simOutput) open(e *env, trace string, webs []string) error {
	wanted := []simFile{{flag: "--csv", name: o.CSV}, {flag: "--html", name: o.HTML}, {flag: "--trace", name: trace}}
	for i := range simCharts {
		wanted = append(wanted, simFile{flag: "--svg", name: nth(o.SVG, i)}, simFile{flag: "--png", name: nth(o.PNG, i)})
	}
	taken := map[string]string{}
	for _, name := range webs {
		file, _ := form(name)
		taken[trueName(file)] = "--web"
	}
	return o.openAll(e, wanted, taken)
}

// openAll opens files whose names are not taken yet, by what the name is for.
func (o *simOutput) openAll(e *env, wanted []simFile, taken map[string]string) error {
	for _, f := range wanted {
		if f.name == "" || f.name == "-" || special(f.name) {
			continue
		}
		at := trueName(f.name)
		if other, twice := taken[at]; twice {
			return usage("name another file", "%s would write over %s, the file of %s", f.flag, f.name, other)
		}
		taken[at] = f.flag
	}
	for _, f := range wanted {
		if f.name == "" {
			continue
		}
		var err error
		if f.output, err = e.create(f.flag, f.name); err != nil {
			o.drop()
			return err
		}
		o.files = append(o.files, f)
	}
	return nil
}

// special says that a file is a device or a pipe, which nothing is lost of.
func special(name string) bool {
	at, err := os.Stat(name)
	return err == nil && !at.Mode().IsRegular()
}

// trueName is the one name of a file, which need not be there yet.
func trueName(name string) string {
	if at, err := filepath.Abs(name); err == nil {
		name = at
	}
	if at, err := filepath.EvalSymlinks(name); err == nil {
		return at
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(name)); err == nil {
		return filepath.Join(dir, filepath.Base(name))
	}
	return name
}

// file takes out the next file of a flag; nil when it was not asked for.
func (o *simOutput) file(flag string) *simFile {
	for i, f := range o.files {
		if f.flag == flag {
			o.files = append(o.files[:i:i], o.files[i+1:]...)
			return &f
		}
	}
	return nil
}

// drop removes the files that were opened and are not needed.
func (o *simOutput) drop() {
	for _, f := range o.files {
		_ = f.finish(errDropped)
	}
	o.files = nil
}

var errDropped = errors.New("not needed")

// write writes the files that were asked for.
func (o *simOutput) write(csv func(io.Writer) error, r *chart.Report, charts ...*chart.Chart) error {
	if err := o.file("--csv").write(csv); err != nil {
		return err
	}
	if err := o.file("--html").write(r.WriteHTML); err != nil {
		return err
	}
	for _, c := range charts {
		if err := o.file("--svg").write(c.WriteSVG); err != nil {
			return err
		}
		if err := o.file("--png").write(c.WritePNG); err != nil {
			return err
		}
	}
	return nil
}

// write writes the whole file.
func (f *simFile) write(what func(io.Writer) error) error {
	if f == nil {
		return nil
	}
	b := bufio.NewWriter(f.output)
	err := what(b)
	if err == nil {
		err = b.Flush()
	}
	if err = f.finish(err); err != nil && !closed(err) {
		return failure(fmt.Errorf("write %s: %w", f.name, plain(err)), "see that there is room for it, or let "+f.flag+" name another file")
	}
	return err
}

// nth is the name of the i-th file, counted from 0: a.svg, a-2.svg.
func nth(name string, i int) string {
	if i == 0 || name == "" || name == "-" {
		return name
	}
	ext := filepath.Ext(name)
	return strings.TrimSuffix(name, ext) + "-" + strconv.Itoa(i+1) + ext
}
