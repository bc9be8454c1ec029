package main

import (
	"bufio"
	"fmt"
	"io"

	"weir/internal/store"
	"weir/page"
)

// getCmd prints what the archive holds of a URL.
type getCmd struct {
	URL     string `arg:"" help:"URL of a page that was crawled, or of a robots.txt."`
	Dir     string `placeholder:"DIR" default:"weir-crawl" help:"Folder of the crawl. Default: weir-crawl."`
	Record  bool   `xor:"part" help:"The whole WARC record."`
	Headers bool   `xor:"part" help:"The HTTP head of the answer."`
	Raw     bool   `xor:"part" help:"The body as it was sent, still compressed."`
}

// Help shows examples.
func (c *getCmd) Help() string {
	return `The body is printed as a reader would get it, unless a flag says otherwise.

Examples:
  weir get https://example.org/ --dir crawl > index.html
  weir get https://example.org/ --headers
  weir get https://example.org/robots.txt`
}

// maxGet bounds a body that is decoded.
const maxGet = 1 << 34

// Run implements the verb.
func (c *getCmd) Run(e *env) error {
	f, err := openFolder(c.Dir)
	if err != nil {
		return err
	}
	defer f.close()
	place, err := c.place(f)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(e.out, 64<<10)
	err = c.print(out, f.store, place)
	if flushed := out.Flush(); err == nil {
		err = flushed
	}
	if err == nil || closed(err) {
		return nil
	}
	return failure(err, "the archive may be damaged; weir get --raw prints a body as it was sent")
}

// place finds the record, or says what is known instead.
func (c *getCmd) place(f *folder) (store.Place, error) {
	u, info, err := f.page(c.URL)
	if err != nil {
		return store.Place{}, err
	}
	if info == nil {
		if u.Path() == "/robots.txt" {
			return findRecord(f.store, u)
		}
		return store.Place{}, failure(fmt.Errorf("%s is not part of this crawl", u), "weir why"+dirFlag(c.Dir)+" "+u.String()+" tells why; weir export pages lists those that are")
	}
	why := "weir why" + dirFlag(c.Dir) + " " + u.String() + " tells more"
	switch {
	case info.State == "queued":
		return store.Place{}, failure(fmt.Errorf("%s has not been fetched yet", u), "weir crawl"+dirFlag(c.Dir)+" goes on; "+why)
	case info.State == "parked":
		return store.Place{}, failure(fmt.Errorf("%s is parked: %s", u, info.Why), "weir release"+dirFlag(c.Dir)+" "+u.String()+" puts it back into the queue")
	case info.State == "elsewhere":
		return store.Place{}, failure(fmt.Errorf("%s was fetched by another node of the cluster", u), "ask there, in the node's own folder: weir status lists the nodes")
	case info.Record.File != 0:
		return store.Place(info.Record), nil
	case f.store.Form() == store.None:
		return store.Place{}, failure(fmt.Errorf("%s was fetched, but this crawl keeps no archive (--warc none)", u), "a crawl with --warc gzip keeps bodies")
	}
	return store.Place{}, failure(fmt.Errorf("%s ended as %s: %s", u, info.Outcome, info.Outcome.Row().What), why)
}

// findRecord looks for the last record of something that is no page of the
// crawl, and so is in no table.
func findRecord(st *store.Store, u page.URL) (store.Place, error) {
	var last *store.Entry
	err := st.Walk(func(e *store.Entry) error {
		if (e.Type == "response" || e.Type == "revisit") && e.URI == u.String() {
			last = e
		}
		return nil
	})
	switch {
	case err != nil:
		return store.Place{}, failure(err, "the archive is damaged")
	case last == nil:
		return store.Place{}, failure(fmt.Errorf("%s was never fetched", u), "weir export hosts lists the sites of this crawl")
	}
	return last.Place, nil // its length is known now that the walk has gone past it
}

func (c *getCmd) print(w io.Writer, st *store.Store, place store.Place) error {
	if !c.Record && !c.Headers && !c.Raw {
		rec, body, err := openBody(st, place)
		if err != nil {
			return err
		}
		defer rec.Close()
		_, err = io.Copy(w, body)
		return err
	}
	rec, err := st.ReadRecord(place)
	if err != nil {
		return err
	}
	defer rec.Close()
	switch {
	case c.Record:
		return printRecord(w, rec)
	case c.Headers:
		_, err = w.Write(rec.Head)
		return err
	}
	body, err := rec.Body()
	if err != nil {
		return err
	}
	_, err = io.Copy(w, body)
	return err
}

// openBody opens the body of a record without its codings. A body that does not
// have the coding it claims is taken as it came. The caller closes the entry.
func openBody(st records, place store.Place) (*store.Entry, io.Reader, error) {
	for _, open := range []func(*store.Entry) (io.Reader, error){
		func(e *store.Entry) (io.Reader, error) { return e.Decoded(maxGet) },
		(*store.Entry).Body,
	} {
		rec, err := st.ReadRecord(place)
		if err != nil {
			return nil, nil, err
		}
		if body, err := open(rec); err == nil {
			r := bufio.NewReaderSize(body, 32<<10)
			if _, err := r.Peek(1); err == nil || err == io.EOF {
				return rec, r, nil
			}
		}
		rec.Close()
	}
	return nil, nil, fmt.Errorf("the body of the record at %d of %s cannot be read", place.Offset, st.FileName(place.File))
}

// printRecord writes a record as it stands in the archive, uncompressed.
func printRecord(w io.Writer, rec *store.Entry) error {
	fmt.Fprint(w, "WARC/1.1\r\n")
	for _, f := range rec.Header {
		fmt.Fprintf(w, "%s: %s\r\n", f[0], f[1])
	}
	fmt.Fprintf(w, "\r\n%s", rec.Head)
	if _, err := io.Copy(w, rec.Raw()); err != nil {
		return err
	}
	_, err := fmt.Fprint(w, "\r\n\r\n")
	return err
}
