package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"golang.org/x/term"

	"weir/internal/fetch"
	"weir/page"
)

// inspectCmd shows how weir sees one thing.
type inspectCmd struct {
	URL    inspectURLCmd    `cmd:"" name:"url" help:"Canonical forms of URLs, or why they are refused."`
	Robots inspectRobotsCmd `cmd:"" name:"robots" help:"What a robots.txt lets a crawler fetch."`
	Page   inspectPageCmd   `cmd:"" name:"page" help:"Title, links and wishes of a page."`
}

// source is an argument FILE|URL|-.
type source string

// url returns the URL that the source is; ok is false for a file.
func (s source) url() (u page.URL, ok bool, err error) {
	lower := strings.ToLower(string(s))
	if !strings.HasPrefix(lower, "http://") && !strings.HasPrefix(lower, "https://") {
		return page.URL{}, false, nil
	}
	u, err = page.Parse(string(s))
	if err != nil {
		err = usage("quote the URL if it holds & or ?", "%q: %w", string(s), err)
	}
	return u, true, err
}

// read returns at most max bytes of a file, or of the input for "-".
func (s source) read(e *env, max int64) ([]byte, error) {
	in := e.in
	if s != "-" {
		f, err := os.Open(string(s))
		if err != nil {
			hint := "name a file, a URL that begins with http:// or https://, or - for the input"
			return nil, failure(fmt.Errorf("%s: %w", s, plain(err)), hint)
		}
		defer f.Close()
		in = f
	}
	b, err := io.ReadAll(io.LimitReader(in, max))
	if err != nil {
		return nil, failure(fmt.Errorf("%s: %w", s, plain(err)), "name a file that can be read")
	}
	return b, nil
}

// plain drops the operation and path that an error of the os repeats.
func plain(err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// visitor fetches single URLs that a person has named, so private addresses
// are fine.
type visitor struct {
	client *fetch.Client
}

func newVisitor(max int64) (*visitor, error) {
	c, err := fetch.New(fetch.Config{Agent: agent(), AllowPrivate: true, Limits: fetch.Limits{MaxBody: max}})
	if err != nil {
		return nil, fmt.Errorf("prepare to fetch: %w", err)
	}
	return &visitor{c}, nil
}

// agent is the User-Agent of what a person asks for.
func agent() string { return "weir/" + version() }

// get asks for u and for what it redirects to, at most hops times. The answer
// belongs to at and is the caller's to release; it is nil, and why says why,
// when nobody answered.
func (v *visitor) get(ctx context.Context, u page.URL, hops int) (a *fetch.Answer, at page.URL, o page.Outcome, why string) {
	for at = u; ; hops-- {
		if a, o, why = v.once(ctx, at); o != page.Redirected || hops == 0 {
			return a, at, o, why
		}
		next, err := at.Resolve(a.Location)
		if err != nil {
			return a, at, page.BadRedirect, err.Error()
		}
		a.Release()
		at = next
	}
}

func (v *visitor) once(ctx context.Context, u page.URL) (*fetch.Answer, page.Outcome, string) {
	addrs, _, o := v.client.Lookup(ctx, u.Host())
	if o != page.OK {
		return nil, o, o.Row().What
	}
	why := ""
	for _, addr := range addrs {
		var conn *fetch.Conn
		if conn, o = v.client.Open(ctx, u, addr); o != page.OK {
			why = conn.Err
			continue
		}
		a := conn.Get(ctx, u, true)
		conn.Close()
		if a.Status == 0 {
			o, why = a.Outcome, a.Err
			a.Release()
			return nil, o, why
		}
		return a, a.Outcome, a.Err
	}
	return nil, o, why
}

// closed says that the reader of our output has left, as head does: there is
// nobody to complain to.
func closed(err error) bool { return errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) }

// terminal says whether a stream is a person's terminal.
func terminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// width is how many columns the terminal of a stream has; 0 when it goes
// elsewhere.
func width(stream any) int {
	if !terminal(stream) {
		return 0
	}
	if n, _, err := term.GetSize(int(stream.(*os.File).Fd())); err == nil && n > 0 {
		return n
	}
	return 80
}
