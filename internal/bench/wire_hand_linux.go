package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"weir/internal/wirelab"
)

// byHand opens a laboratory for a person: it runs one program in it and
// judges that, or stays open until it is interrupted.
func byHand(args []string) error {
	set := flag.NewFlagSet("wire-lab", flag.ContinueOnError)
	limit := set.String("limit", "1MB", "`rate` that the web can keep busy and that is judged, bytes a second")
	length := set.Duration("length", 5*time.Minute, "end the program after so long; the queue lasts a little longer")
	seed := set.Uint64("seed", 1, "of the web")
	secure := set.Bool("tls", false, "give https URLs")
	link := set.String("link", "", "`rate` of a link that all share, none if empty")
	conns := set.Int("conns", 64, "connections that the program may have: it is judged until fewer pages wait")
	series := set.Bool("series", false, "print what came in each second, in percent of the limit")
	bulk := set.Bool("bulk", false, "a neighbour downloads through the link all the while")
	if err := set.Parse(args); err != nil {
		return err
	}
	l, err := rate(*limit)
	if err != nil {
		return err
	}
	t := trial{limit: l, length: *length, tls: *secure, conns: *conns, argv: set.Args(), say: true}
	if *link != "" {
		if t.link.Rate, err = rate(*link); err != nil {
			return err
		}
	}
	t.web = wirelab.NewWeb(wirelab.WebConfig{Limit: l, Length: *length, Seed: *seed})
	if t.dir, err = os.MkdirTemp("", "wire-lab"); err != nil {
		return err
	}
	defer os.RemoveAll(t.dir)
	if len(t.argv) == 0 {
		return t.stay(*bulk)
	}
	if *bulk {
		t.beside = pourAll
	}
	r, err := t.run()
	if err != nil {
		return err
	}
	fmt.Println(head)
	fmt.Println(newRow(t.argv[0], l, r))
	if *series {
		for i := 0; i+10 <= len(r.received); i += 10 {
			sum := 0.0
			for _, bytes := range r.received[i : i+10] {
				sum += bytes
			}
			fmt.Printf("%.1f ", 100*sum/l)
		}
		fmt.Println()
	}
	u := wirelab.Judge(r.counted, l)
	fmt.Printf("the counters say: mean %.1f%%, worst %+.1f%%; %d packets lost, %.2f%% late, %.1f s CPU, %d pages\n", 100*u.Mean, 100*u.Worst, r.dropped, lateness(r), r.cpu.Seconds(), len(t.web.Pages)-left(t.web, r.requests))
	return nil
}

// stay keeps a laboratory open.
func (t trial) stay(bulk bool) error {
	l, err := wirelab.Start(wirelab.Config{Web: t.web, Link: t.link, Seed: 1})
	if err != nil {
		return err
	}
	defer l.Close()
	t.argv = []string{"weir", "crawl", "--seeds", "{seeds}", "--depth", "0", "--order", "score", "--wait", "0s", "--dns", "{dns}",
		"--allow-private", "--warc", "none", "--limit", say(t.limit), "--dir", "{dir}"}
	cmd, err := t.command(l)
	if err != nil {
		return err
	}
	fmt.Printf("enter:  nsenter --net=%s sh\nCA:     %s\nURLs:   %s\nprobe:  10.77.0.53 answers ping, DNS, and echoes UDP on port 7\ncrawl:  %s\n",
		l.Enter(), filepath.Join(t.dir, "ca"), filepath.Join(t.dir, "list"), strings.Join(cmd.Args, " "))
	if bulk {
		b, err := l.Pour()
		if err != nil {
			return err
		}
		defer b.Stop()
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	last, err := l.Count()
	if err != nil {
		return err
	}
	for {
		select {
		case <-stop:
			return nil
		case <-tick.C:
		}
		now, err := l.Count()
		if err != nil {
			return err
		}
		if now.Received != last.Received {
			fmt.Printf("%8.1f KB/s received %8.1f KB/s sent\n", float64(now.Received-last.Received)/1e3/(now.At-last.At).Seconds(), float64(now.Sent-last.Sent)/1e3/(now.At-last.At).Seconds())
		}
		last = now
	}
}

// rate reads bytes a second: 140KB, 1.5MB or a plain number, /s at will.
func rate(s string) (float64, error) {
	text := strings.TrimSuffix(s, "/s")
	unit := 1.0
	for _, u := range []struct {
		name string
		size float64
	}{{"KB", 1e3}, {"MB", 1e6}} {
		if n, ok := strings.CutSuffix(text, u.name); ok {
			text, unit = n, u.size
			break
		}
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || !(x*unit >= 1000 && x*unit <= 100e6) {
		return 0, fmt.Errorf("%q is no rate between 1KB and 100MB", s)
	}
	return x * unit, nil
}

// say is a rate as weir reads it.
func say(limit float64) string { return fmt.Sprintf("%gKB/s", limit/1e3) }
