package chaos

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"weir/page"
)

// ended names a page as nodes do among themselves.
type ended struct {
	site string
	hash uint64 // of the rest, under the cluster's secret
}

// witnessed is what nodes have written down: when the end of each page was acknowledged first, in times of the run: all
// nodes, and the web, go by the clock of this machine.
type witnessed map[ended]time.Duration

// read takes what one node has written, see witness in cmd/weir. A line that a kill has torn was not heard of by the node
// either: it does not count.
func (w witnessed) read(from io.Reader, begin time.Time) error {
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) != 4 {
			continue
		}
		nanos, err := strconv.ParseInt(f[0], 10, 64)
		hash, wrong := strconv.ParseUint(f[3], 16, 64)
		if err != nil || wrong != nil || f[1] != "200" {
			continue
		}
		at, e := time.Unix(0, nanos).Sub(begin), ended{f[2], hash}
		if was, ok := w[e]; !ok || at < was {
			w[e] = at
		}
	}
	return lines.Err()
}

// pages finds those that were visited among them, by their URLs; unknown are those that no node has heard anything of.
func (w witnessed) pages(visits []Visit, secret page.Secret) (acked map[string]time.Duration, unknown []string, err error) {
	acked = map[string]time.Duration{}
	seen := map[string]bool{}
	for _, v := range visits {
		name := v.url()
		if !v.counts() || seen[name] {
			continue
		}
		seen[name] = true
		u, err := page.Parse("http://" + name)
		if err != nil {
			return nil, nil, fmt.Errorf("what the web was asked for: %w", err)
		}
		if at, ok := w[ended{u.Site(), secret.Hash(u.Rest())}]; ok {
			acked[name] = at
		} else {
			unknown = append(unknown, name)
		}
	}
	return acked, unknown, nil
}
