package main

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"

	"weir/frontier"
	"weir/sim/chart"
)

// simCompareCmd plays a matrix of configurations.
type simCompareCmd struct {
	labFlags
	simOutput
	JSON bool `name:"json" group:"output" help:"Print a line of JSON for each configuration instead of the table."`
}

// Help shows examples.
func (c *simCompareCmd) Help() string {
	return `Every flag that takes a value takes a list, and all combinations are played, as many at a time as there are cores. Webs are
made once and shared. Ctrl-C ends the comparison and prints the configurations that are through.

Examples:
  weir sim compare                                             all orders on a hundredth of the Chilean web
  weir sim compare --order length,depth --conns 1,16,64,256 --per-conn 1,10,100
  weir sim compare --order length --line 2KB/s,20KB/s,200KB/s,2MB/s --sharing even --html table61.html
  weir sim compare --web chile,core,isolated --seed 1,2,3 --csv runs.csv
  weir sim compare --web crawl.weirweb --conns 8,64 --svg orders.svg

` + ordersHelp() + `

Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted.`
}

// Run implements the verb.
func (c *simCompareCmd) Run(e *env) error {
	if len(c.Order) == 0 {
		c.Order = frontier.Orders()
	}
	trials, err := c.trials()
	if err != nil {
		return err
	}
	if err := c.open(e, "", c.Web); err != nil {
		return err
	}
	defer c.drop()
	s := newSweep(trials, c.bound())
	all, err := s.watched(e, min(runtime.GOMAXPROCS(0), len(trials)))
	if err != nil {
		return err
	}
	cut := len(all) < len(trials)
	if len(all) > 0 {
		if err := c.tell(e, all); err != nil && !closed(err) {
			return err
		}
	}
	if cut {
		fmt.Fprintf(e.err, "weir: interrupted: %s of %s configurations are through\n", thousands(int64(len(all))), thousands(int64(len(trials))))
		return quiet(exitInterrupted)
	}
	return nil
}

// tell prints and writes what was found.
func (c *simCompareCmd) tell(e *env, all []*finding) error {
	t, charts := tabulate(all), compared(all)
	trials := make([]*trial, len(all))
	for i, f := range all {
		trials[i] = f.trial
	}
	t.Title = alike(trials)
	t.Notes = append(t.Notes, best(all)...)
	if c.JSON {
		enc := json.NewEncoder(e.out)
		for _, f := range all {
			if err := enc.Encode(f.json(false)); err != nil {
				return err
			}
		}
	} else {
		room := width(e.out)
		if err := t.WriteTextIn(e.out, room); err != nil {
			return err
		}
		if room > 0 {
			fmt.Fprintln(e.out)
			if err := charts[0].WriteTextIn(e.out, room); err != nil {
				return err
			}
		}
	}
	intro := fmt.Sprintf("%s, played by the scheduler of weir crawl in virtual time.", many(int64(len(all)), "configuration"))
	return c.write(func(w io.Writer) error { return matrix(w, all) }, report("Comparison", intro, t, charts), charts...)
}

// best names the configurations that finish first, and that have what matters
// first.
func best(all []*finding) []string {
	if len(all) < 2 {
		return nil
	}
	whole := slices.DeleteFunc(slices.Clone(all), func(f *finding) bool { return f.Stopped != "done" })
	if len(whole) == 0 {
		return nil
	}
	first := func(of func(*finding) float64) *finding {
		return slices.MinFunc(whole, func(a, b *finding) int { return cmp.Compare(of(a), of(b)) })
	}
	quick := first(func(f *finding) float64 { return f.Seconds })
	early := first(func(f *finding) float64 { return f.RankTime })
	return []string{
		fmt.Sprintf("First to finish: %s, after %s.", quick.Name, clock(quick.Seconds)),
		fmt.Sprintf("Earliest by rank: %s, at %s in the mean.", early.Name, clock(early.RankTime)),
	}
}

// maxLines is how many lines a chart can bear.
const maxLines = 12

// compared draws the rank of what was fetched, against time and against pages.
func compared(all []*finding) []*chart.Chart {
	some, of := all, ""
	if len(all) > maxLines {
		some = slices.Clone(all)
		slices.SortStableFunc(some, func(a, b *finding) int { return cmp.Compare(a.RankTime, b.RankTime) })
		some = some[:maxLines]
		of = fmt.Sprintf(" (the %d of %s that have it earliest)", maxLines, thousands(int64(len(all))))
	}
	share := chart.Axis{Label: "share of the PageRank that can be had", Unit: chart.Percent, To: 1}
	byTime := &chart.Chart{Title: "PageRank gathered over time" + of, X: timeAxis, Y: share}
	byPages := &chart.Chart{Title: "PageRank gathered over pages" + of, X: pagesAxis, Y: share}
	for _, f := range some {
		byTime.Lines = append(byTime.Lines, f.line(f.Name, virtual, f.ranked))
		byPages.Lines = append(byPages.Lines, f.line(f.Name, pages, f.ranked))
	}
	return []*chart.Chart{byTime, byPages}
}

// matrix writes every setting and number of every finding as CSV.
func matrix(w io.Writer, all []*finding) error {
	out := csv.NewWriter(w)
	var head []string
	for _, k := range knobs {
		head = append(head, k.name)
	}
	head = append(head, "stopped_by", "pages", "bytes", "virtual_seconds", "floor_seconds", "rank", "rank_time", "busy", "idle_connections")
	for _, of := range []string{"pages_", "rank_"} {
		for _, part := range shares {
			head = append(head, of+strconv.FormatFloat(100*part, 'f', -1, 64))
		}
	}
	out.Write(append(head, "wall_seconds", "trace"))
	for _, f := range all {
		var row []string
		for _, k := range knobs {
			row = append(row, k.text(f.trial))
		}
		row = append(row, f.Stopped, strconv.FormatInt(f.Pages, 10), exactly(f.Bytes), exactly(f.Seconds), exactly(f.trial.floor(f.Bytes)),
			exactly(f.Rank), exactly(f.RankTime), exactly(f.Busy), exactly(f.idle()))
		for _, part := range shares {
			row = append(row, exactly(f.reached(part).pages))
		}
		for _, part := range shares {
			row = append(row, exactly(f.reached(part).rank))
		}
		out.Write(append(row, exactly(f.wall.Seconds()), f.trace()))
	}
	out.Flush()
	return out.Error()
}

// exactly writes a number for programs; what is not known is left empty.
func exactly(v float64) string {
	if v != v {
		return ""
	}
	return strconv.FormatFloat(v, 'g', 9, 64)
}
