package node

import (
	"weir/internal/search"
	"weir/internal/store"
)

// openIndex begins to index pages as they are committed, if their words are read
// anyway. A crawl whose index fails goes on without: it can be made afterwards.
func (n *node) openIndex() {
	if !n.extract().Want.Words || n.cfg.Archive == store.None {
		return
	}
	x, err := search.Open(n.cfg.Dir, search.Options{Crawl: n.secret.Hash(search.Folder), Memory: int(n.cfg.Memory / 16)})
	if err == nil {
		n.index, err = x.Live(n.indexEnd())
	}
	n.indexFault(err)
}

// indexEnd is up to where the archive is committed.
func (n *node) indexEnd() search.Point { return search.Start(n.store.End()) }

func (n *node) indexFault(err error) {
	if err != nil {
		n.log.event("warning", map[string]any{"what": err.Error()})
	}
}
