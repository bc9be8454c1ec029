package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"weir/internal/testweb"
)

// builds measures what crawls cost with weir and with an earlier build of it.
// Both crawl one web at the same time, so that whatever else the machine does
// slows them alike: on a busy one the quotients of pairs differ by a few
// hundredths where runs by turns differ by a third. Both should be built with the
// same flags. A build beside itself tells how far to trust the quotient.
func (l *lab) builds() error {
	if l.before == "" {
		return errors.New("-before names the build to compare with")
	}
	// Both are copies, so that neither lies on the disk otherwise than the other.
	before, now := filepath.Join(l.dir, "before"), filepath.Join(l.dir, "now")
	if err := errors.Join(copyProgram(before, l.before), copyProgram(now, l.weir)); err != nil {
		return err
	}
	sites := testweb.Even(20, testweb.Site{Pages: l.scaled(1000), Links: 30, Size: 8 << 10})
	for _, form := range []string{"none", "gzip", "zstd"} {
		args := append(fast, form)
		l.say("weir crawl %s", strings.Join(args, " "))
		var was, is series
		var times figures
		for i := range max(1, l.runs) {
			pair := [2]string{before, now}
			if i%2 == 1 {
				pair = [2]string{now, before}
			}
			r, err := l.pair(sites, pair, args)
			if err != nil {
				return err
			}
			if i%2 == 1 {
				r[0], r[1] = r[1], r[0]
			}
			was, is = append(was, r[0]), append(is, r[1])
			times = append(times, r[1].perThousand()/r[0].perThousand())
		}
		l.value("CPU before, archive "+form, was.of(result.perThousand), "s/1,000 pages")
		l.value("CPU now, archive "+form, is.of(result.perThousand), "s/1,000 pages")
		l.target("CPU, archive "+form, times, "times before", atMost(1.05))
	}
	return nil
}

// pair crawls a web with two programs at once.
func (l *lab) pair(sites []testweb.Site, programs [2]string, args []string) ([2]result, error) {
	var results [2]result
	w, err := l.serve(webConfig{Sites: sites})
	if err != nil {
		return results, err
	}
	var errs [2]error
	var work sync.WaitGroup
	for i, program := range programs {
		l.n++
		dir := filepath.Join(l.dir, fmt.Sprintf("crawl%d", l.n))
		defer os.RemoveAll(dir)
		cmd := command(program, w, dir, args...)
		work.Go(func() { results[i], errs[i] = run(cmd) })
	}
	work.Wait()
	_, ended := w.close()
	err = errors.Join(errs[0], errs[1], ended)
	if a, b := results[0].Fetched, results[1].Fetched; err == nil && a != b {
		err = fmt.Errorf("one has fetched %d pages, the other %d", a, b)
	}
	return results, err
}

func copyProgram(to, from string) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o755)
}
