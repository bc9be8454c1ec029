package node

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"weir/crawl"
)

// recalled are known pages of earlier runs.
type recalled struct {
	prints []crawl.Print
	last   bool
}

func (n *node) snapshotFile() string { return filepath.Join(n.cfg.Dir, "seen") }

// recall brings the pages of earlier runs into the Ledger's memory while the
// crawl already runs: from the snapshot that the last run left when it ended
// well, else from the rows.
func (n *node) recall(ctx context.Context) {
	send := func(k recalled) bool {
		select {
		case n.known <- k:
			return true
		case <-ctx.Done():
			return false
		}
	}
	take := func(p []crawl.Print) bool { return send(recalled{prints: p}) }
	if n.readSnapshot(take) != nil {
		if err := crawl.ReadPrints(n.store, take); err != nil {
			n.fail(err)
			return
		}
	}
	if ctx.Err() != nil {
		return // it was cut short
	}
	send(recalled{last: true})
}

func (n *node) readSnapshot(take func([]crawl.Print) bool) error {
	stamp, ok := n.ledger.Stamp()
	if !ok {
		return fs.ErrNotExist
	}
	f, err := os.Open(n.snapshotFile())
	if err != nil {
		return err
	}
	return errors.Join(crawl.ReadSnapshot(f, stamp, take), f.Close())
}

// keepSeen leaves a snapshot of the known pages for the next run. The file is
// whole before its stamp is. Without one of them the next run reads the rows,
// so a file that could not be written is no failure of the crawl.
func (n *node) keepSeen() error {
	var draw [8]byte
	if _, err := rand.Read(draw[:]); err != nil {
		return err
	}
	stamp := binary.BigEndian.Uint64(draw[:])
	switch kept, err := n.writeSnapshot(stamp); {
	case err != nil:
		n.log.event("no-snapshot", map[string]any{"error": err.Error()})
		return nil
	case !kept:
		return nil
	}
	g := n.store.Begin()
	crawl.WriteStamp(g, stamp)
	return g.Commit()
}

// writeSnapshot puts a snapshot in the place of the last one, which is of no
// more use in any case.
func (n *node) writeSnapshot(stamp uint64) (kept bool, err error) {
	name := n.snapshotFile()
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	if !n.ledger.Remembers() {
		return false, nil
	}
	f, err := os.Create(name)
	if err != nil {
		return false, err
	}
	kept, err = n.ledger.Snapshot(f, stamp)
	if err == nil && kept {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err != nil || !kept {
		return false, errors.Join(err, os.Remove(name))
	}
	return true, nil
}
