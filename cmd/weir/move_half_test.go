package main

import (
	"context"

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
