package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"weir/crawl"
	"weir/internal/node"
	"weir/page"
)

// writeReport writes the report as one line for programs.
func writeReport(w io.Writer, r node.Report) error {
	return json.NewEncoder(w).Encode(struct {
		Event string `json:"event"`
		node.Report
	}{"report", r})
}

// summary tells a person how a crawl went, what is where and what to do next.
func summary(w io.Writer, r node.Report, archive bool) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	dir := dirFlag(r.Dir)
	fmt.Fprintf(out, "%s after %s: %s fetched", ended(r), short(seconds(r.Seconds)), many(r.Fetched, "page"))
	if r.Resumed {
		fmt.Fprintf(out, ", %s of them in this run", thousands(r.RunPages))
	}
	fmt.Fprintf(out, "\n\n")
	for _, o := range page.Outcomes() {
		if n := r.Outcomes[o.String()]; n > 0 {
			fmt.Fprintf(out, "  %s\t%s\t%s\n", o, thousands(n), o.Row().What)
		}
	}
	for _, row := range []struct {
		name string
		n    int64
		what string
	}{
		{"shared", r.Lent, "of these, in this run, were taken from the crawls of --share-with"},
		{"queued", r.Queued - r.Waiting, "still to be fetched"},
		{"waiting", r.Waiting, "robots.txt could not be had, so nothing may be fetched; the same command asks again"},
		{"parked", r.Parked, "looked endless: weir export parked lists them, weir release queues them"},
	} {
		if row.n > 0 {
			fmt.Fprintf(out, "  %s\t%s\t%s\n", row.name, thousands(row.n), row.what)
		}
	}
	limit := ""
	if r.Bandwidth.Limit > 0 {
		limit = ", limit " + bytesOf(float64(r.Bandwidth.Limit)) + "/s"
	}
	if r.Yields > 0 {
		limit += fmt.Sprintf("; stepped aside for others %s, %s in all", many(int64(r.Yields), "time"), short(seconds(r.Bandwidth.Aside)))
	}
	if r.Bandwidth.Used > 0 {
		limit += fmt.Sprintf("; %s of the quota used", bytesOf(float64(r.Bandwidth.Used)))
	}
	for i, p := range r.Promises {
		if i == 0 {
			fmt.Fprintln(out)
		}
		fmt.Fprintf(out, "  %s\t%s\n", p.Site, promiseLine(p, time.Now()))
	}
	fmt.Fprintf(out, "\n  bytes\t%s of bodies, %s on the wire\n", bytesOf(float64(r.Bytes)), bytesOf(float64(r.WireBytes)))
	fmt.Fprintf(out, "  rate\t%s/s on average, %s at most in a second%s\n", bytesOf(r.Bandwidth.Mean), bytesOf(float64(r.Bandwidth.Max1s)), limit)
	if archive {
		fmt.Fprintf(out, "  archive\t%s/warc, index in %s/index.cdxj\n", r.Dir, r.Dir)
	}
	fmt.Fprintf(out, "  report\t%s/report.json, log in %s/log.jsonl\n\n", r.Dir, r.Dir)
	switch {
	case strings.HasPrefix(r.StoppedBy, crawl.StopRule):
		fmt.Fprintf(out, "  weir crawl --dir NEW\tstarts another one: here the program has it stop, until you change it and name it again with --program\n")
	case r.StoppedBy != crawl.StopDone:
		fmt.Fprintf(out, "  weir crawl%s\tgoes on%s\n", dir, raise(r.StoppedBy))
	}
	fmt.Fprintf(out, "  weir export pages%s\tlists the pages\n", dir)
	if archive {
		fmt.Fprintf(out, "  weir get%s URL\tprints a stored page\n", dir)
	}
	fmt.Fprintf(out, "  weir why%s URL\ttells what became of a URL\n", dir)
	return out.Flush()
}

// ended says how the crawl ended.
func ended(r node.Report) string {
	switch r.StoppedBy {
	case crawl.StopDone:
		return "finished"
	case crawl.StopByUser:
		return "interrupted"
	}
	if reason, ok := strings.CutPrefix(r.StoppedBy, crawl.StopRule); ok {
		return "stopped by the program: " + tame(reason) + ","
	}
	return "stopped by --" + r.StoppedBy
}

// raise says which bound keeps a crawl from going on.
func raise(reason string) string {
	if reason == crawl.StopPages || reason == crawl.StopBytes {
		return ", with a larger --" + reason
	}
	return ""
}

// dirFlag is what to add to a command to mean a folder.
func dirFlag(dir string) string {
	if dir == defaults().Dir {
		return ""
	}
	return " --dir " + quoted(dir)
}

// quoted is a word as a shell takes it.
func quoted(word string) string {
	if word == "" || strings.ContainsAny(word, " \t\n'\"`\\$&;()<>|*?[]{}!#~") {
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return word
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// noSeed is the error of a crawl that reached none of its seeds. Hint is for outcomes that
// have no remedy of their own.
func noSeed(outcomes map[string]int64, waiting int64, hint string) error {
	var reasons []string
	for _, o := range page.Outcomes() {
		n := outcomes[o.String()]
		if n == 0 || o == page.Redirected {
			continue
		}
		reason := fmt.Sprintf("%s (%s)", o, o.Row().What)
		if n > 1 {
			reason = fmt.Sprintf("%s times %s", thousands(n), reason)
		}
		reasons = append(reasons, reason)
		if h := remedy[o]; h != "" {
			hint = h
		}
	}
	if waiting > 0 {
		o := page.RobotsUnreachable
		reasons = append(reasons, fmt.Sprintf("%s (%s)", o, o.Row().What))
		hint = remedy[o]
	}
	return failure(fmt.Errorf("no seed could be fetched: %s", strings.Join(reasons, ", ")), hint)
}

// remedy says what a person can do about a seed that ended so.
var remedy = map[page.Outcome]string{
	page.ClientError:       "open the URL in a browser; it may have moved, or want --auth, --cookies or --header",
	page.ServerError:       "the server has trouble; try again later",
	page.TLSFailed:         "its certificate is not trusted here; a browser tells why",
	page.ConnectFailed:     "is the server running, and the port right?",
	page.ConnectTimeout:    "is the server up, and is there a way to it from here? --proxy goes another one",
	page.DNSFailed:         "check the spelling of the host; --resolve HOST=ADDR names its address by hand",
	page.DNSTimeout:        "check the network; --dns ADDR asks another DNS server",
	page.PrivateAddress:    "if you mean a server of your own network, add --allow-private",
	page.ProxyFailed:       "check --proxy: is it running, and does it want a password?",
	page.Denied:            "weir inspect robots URL shows the rule; ask the site's owner for permission",
	page.RobotsUnreachable: "until robots.txt can be read nothing may be fetched; try again later",
}
