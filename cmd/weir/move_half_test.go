package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"weir/internal/cluster"
	"weir/overlay"
)

// half begins to move the crawl of a folder to the node at an address, with one page,
// and gives up then: half ADDR CERTS FOLDER URL. The folder says that there is nothing
// left to move.
func half(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: half ADDR CERTS FOLDER URL")
	}
	cl, err := cluster.Dial(args[0], ts.MkAbs(args[1]))
	ts.Check(err)
	dir := ts.MkAbs(args[2])
	f, err := openFolder(dir)
	ts.Check(err)
	defer f.close()
	m := &mover{cl: cl, dir: dir, name: "crawl"}
	m.id, err = identity(f)
	ts.Check(err)
	scheme, err := overlay.ParseScheme("host")
	ts.Check(err)
	t, err := newTask(defaults(), nil, nil, scheme, 0)
	ts.Check(err)
	ctx := context.Background()
	_, err = m.begin(ctx, t, 0)
	ts.Check(err)
	m.piece.Pages = []movedPage{{URL: args[3]}}
	ts.Check(m.ask(ctx))
	m.done.Mark, m.done.Count = []byte{0xff}, 1
	ts.Check(m.done.write(dir))
}

// Who asks for a transfer gives up at once when it will never be taken.
func TestMoveThatIsRefused(t *testing.T) {
	for _, err := range []error{
		(&transfer{ID: "i"}).belongs(nil),
		(&transfer{ID: "i", Try: "1"}).belongs(&taskFrom{ID: "i", Try: "2", Moving: true}),
		(&transfer{ID: "i", Try: "1"}).belongs(&taskFrom{ID: "i", Try: "1", Moving: true, Off: true}),
	} {
		if !stands(errors.New(err.Error())) { // it comes as text
			t.Errorf("%v: it is asked for again", err)
		}
	}
	for _, err := range []error{cluster.ErrHeadless, cluster.ErrSilent, context.DeadlineExceeded} {
		if stands(fmt.Errorf("ask a: %w", err)) {
			t.Errorf("%v: it is not asked for again", err)
		}
	}
}

// What was brought before a move was called off is gone: whoever goes on with it
// is refused.
func TestMoveThatWasCalledOff(t *testing.T) {
	for _, c := range []struct {
		what, want string
		q          transfer
		from       *taskFrom
	}{
		{"a piece", "", transfer{ID: "i", Try: "1"}, &taskFrom{ID: "i", Try: "1", Moving: true}},
		{"a beginning, which is told the try", "", transfer{ID: "i", Task: []byte("{}")}, &taskFrom{ID: "i", Try: "1", Moving: true}},
		{"a piece of the try before", "called off, and begun anew from big on m", transfer{ID: "i", Try: "1"}, &taskFrom{ID: "i", Try: "2", Dir: "big", Machine: "m", Moving: true}},
		{"the end of one", "begun anew", transfer{ID: "i", End: true}, &taskFrom{ID: "i", Try: "2", Moving: true}},
		{"a piece while it is dropped", "weir submit --cancel finish it", transfer{ID: "i", Try: "1"}, &taskFrom{ID: "i", Try: "1", Moving: true, Off: true}},
		{"another crawl", "choose another --name", transfer{ID: "j", Try: "1"}, &taskFrom{ID: "i", Try: "1", Moving: true}},
		{"one that was never moved", "choose another --name", transfer{ID: "j"}, nil},
	} {
		err := c.q.belongs(c.from)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}
