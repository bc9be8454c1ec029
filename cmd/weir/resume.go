package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
)

// ground is what lies in the folder of a crawl before it starts.
type ground int

const (
	vacant  ground = iota // nothing, or an empty folder
	begun                 // a crawl
	foreign               // something else
)

// look finds out what lies in dir.
func look(dir string) (ground, error) {
	list, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return vacant, nil
	}
	if err != nil {
		return foreign, err
	}
	found := vacant
	for _, entry := range list {
		switch entry.Name() {
		case crawlFile:
			return begun, nil
		case urlsFile, urlsFile + newSuffix, crawlFile + newSuffix, "lost+found": // cut short before it began; a disk of its own
		default:
			found = foreign
		}
	}
	return found, nil
}

// settle decides under which settings a crawl runs: the defaults, then what the
// folder's crawl.yaml says, then the config file, then the flags in given. It
// refuses to go on with a crawl under settings that would change its meaning.
// Deadlines are settled apart.
func settle(flags *settings, given map[string]bool, at ground) (*settings, *dues, error) {
	was := defaults()
	dues := new(dues)
	if at == begun {
		file := filepath.Join(flags.Dir, crawlFile)
		if _, err := readConfig(file, was, nil); err != nil {
			return nil, nil, err
		}
		dues.had = append(was.lift(), telling(file+": deadline", was.Deadline)...)
	}
	now := new(settings)
	*now = *was
	if flags.Config != "" {
		names, err := readConfig(flags.Config, now, given)
		if err != nil {
			return nil, nil, err
		}
		dues.file = now.lift()
		if from, ok := names["deadline"]; ok {
			dues.file = append(dues.file, telling(from+": deadline", now.Deadline)...)
		}
	}
	if given["deadline"] {
		dues.flags = telling("--deadline", flags.Deadline)
	}
	now.DeadlineAs = was.DeadlineAs
	from := fields(flags)
	for i, f := range fields(now) {
		if given[f.name] || f.name == "dir" {
			f.value.Set(from[i].value)
		}
	}
	if at == begun {
		if err := refuse(was, now); err != nil {
			return nil, nil, err
		}
	}
	return now, dues, forgotten(now)
}

// refuse says what keeps a crawl from going on under other settings.
func refuse(was, now *settings) error {
	var diffs []string
	old := fields(was)
	for i, f := range fields(now) {
		before, after := old[i].text(), f.text()
		switch {
		case f.name == "user-agent" && token(cmp.Or(before, product)) == token(cmp.Or(after, product)):
		case f.keep == "fixed" && before != after:
			diffs = append(diffs, fmt.Sprintf("--%s %s -> %s", f.name, shown(before), shown(after)))
		case f.keep == "longer" && f.value.Int() < old[i].value.Int():
			diffs = append(diffs, fmt.Sprintf("--%s %s -> %s", f.name, before, after))
		}
	}
	for _, s := range was.Sites {
		if wait := siteWait(now, s.Site); wait < s.Wait {
			diffs = append(diffs, fmt.Sprintf("wait of %s %s -> %s", s.Site, s.Wait, wait))
		}
	}
	if len(diffs) == 0 {
		return nil
	}
	return usage("leave it as it was (a wait can only be made longer; weir steer gives a running crawl another program), or start another crawl with --dir", "%s holds a crawl with other settings: %s", now.Dir, strings.Join(diffs, ", "))
}

// siteWait is how long a host rests under s.
func siteWait(s *settings, host string) span {
	wait := s.Wait
	for _, one := range s.Sites {
		if one.Site == host {
			wait = max(wait, one.Wait)
		}
	}
	return wait
}

func shown(value string) string {
	if value == "" {
		return "(not set)"
	}
	return value
}

// forgotten refuses settings whose values crawl.yaml does not keep and that
// were not given again.
func forgotten(s *settings) error {
	const hint = "give it again, on the command line or with --config"
	headers := s.Header
	for _, one := range s.Sites {
		headers = append(headers[:len(headers):len(headers)], one.Headers...)
	}
	for _, h := range headers {
		if name, ok := strings.CutSuffix(h, ": "+notKept); ok {
			return usage(hint, "this crawl sends the header %s, whose value is not kept in the folder", name)
		}
	}
	if s.Proxy == notKept {
		return usage(hint, "this crawl goes through a proxy whose password is not kept in the folder")
	}
	return nil
}

// same says that two crawls have equal settings as crawl.yaml keeps them.
func same(a, b *settings) bool { return reflect.DeepEqual(kept(a), kept(b)) }
