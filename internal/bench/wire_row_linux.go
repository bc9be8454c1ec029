package main

import (
	"context"
	"fmt"
	"time"

	"weir/internal/wirelab"
)

// row is one line of the table.
type row struct {
	name     string
	limit    float64
	use      wirelab.Use
	began    int
	inverted int
	cpu      float64 // of a core
	sent     float64 // bytes a second
}

// outliers says of every second above so many limits how full it was, how full had
// the laboratory handed every packet over in time, and for how long it stood still
// in that second or in the one before.
func outliers(r trace, from int, limit, over float64) []string {
	var lines []string
	for i := from; i+10 <= len(r.received); i += 10 {
		var full, due float64
		for j := i; j < i+10; j++ {
			full += r.received[j] / limit
			due += r.due[j] / limit
		}
		if full <= over {
			continue
		}
		end := r.begin + time.Duration(i+10)*wirelab.Step
		var still time.Duration
		for _, s := range r.late.Still {
			if s.To > end-2*time.Second && s.From < end {
				still = max(still, s.To-s.From)
			}
		}
		line := fmt.Sprintf("second %d was %.3f L, and %.3f by when its packets were due", i/10, full, due)
		if still > 0 {
			line += fmt.Sprintf("; the laboratory stood still for %d ms in it or in the one before", still.Milliseconds())
		}
		lines = append(lines, line)
	}
	return lines
}

// newRow judges a trace.
func newRow(name string, limit float64, r trace) row {
	w := row{name: name, limit: limit, use: wirelab.Judge(r.received, limit)}
	from := r.begin + time.Duration(w.use.Begin)*wirelab.Step
	w.began, w.inverted = wirelab.Inversions(r.web, r.requests, r.flows, from, r.end)
	if r.wall > 0 {
		w.cpu = r.cpu.Seconds() / r.wall.Seconds()
	}
	if s := r.sent[min(len(r.sent), w.use.Begin):]; len(s) > 0 {
		for _, n := range s {
			w.sent += n
		}
		w.sent /= float64(len(s)) * wirelab.Step.Seconds()
	}
	return w
}

const head = "  limit KB/s  program                                     s   mean    std    > L  >1.01  >1.02   worst  sliding  inversions     CPU  sent KB/s"

func (w row) String() string {
	mark := " "
	if !w.use.Reached {
		mark = "*" // never a second at 90% of the limit
	}
	inversions := "-"
	if w.began > 0 {
		inversions = fmt.Sprintf("%.1f%%", 100*float64(w.inverted)/float64(w.began))
	}
	u := w.use
	return fmt.Sprintf("  %10g  %-40s %4d%s %5.1f%% %5.1f%% %5.1f%% %5.1f%% %5.1f%% %+6.1f%% %7.3f %11s %6.1f%% %10.1f", w.limit/1e3, w.name, u.Windows, mark,
		100*u.Mean, 100*u.Std, 100*u.Above, 100*u.Above1, 100*u.Above2, 100*u.Worst, u.Sliding, inversions, 100*w.cpu, w.sent/1e3)
}

// pourAll lets the neighbour download all the while.
func pourAll(ctx context.Context, l *wirelab.Lab) error {
	b, err := l.Pour()
	if err != nil {
		return err
	}
	<-ctx.Done()
	b.Stop()
	return nil
}
