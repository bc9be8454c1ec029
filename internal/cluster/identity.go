package cluster

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"weir/overlay"
	"weir/page"
)

const (
	identityFile = "cluster.json"
	lockFile     = "lock"
)

// identity is what a node knows of itself and of its cluster when it starts. It
// is written before anything is done that depends on it.
type identity struct {
	Node    string `json:"node"` // drawn once for this folder, so that a copied name is told from a restarted node
	Name    string `json:"name"`
	Cluster string `json:"cluster,omitempty"` // "" until it belongs to one
	Secret  string `json:"secret,omitempty"`
	Storage bool   `json:"storage"`

	// Promised is the proposal that this node gave its word to: it takes no other
	// one until that is known to have failed.
	Promised *proposal `json:"promised,omitempty"`

	// Peers are the nodes of the cluster that were met, itself left out.
	Peers []place `json:"peers,omitempty"`

	// Stores are the crawls that the node has a part of, and the numbers of the stores
	// that it keeps them in.
	Stores map[string]string `json:"stores,omitempty"`
}

// place is where a node is found.
type place struct {
	Name    string `json:"name"`
	Node    string `json:"node"` // the folder's own number, see identity
	Lobby   string `json:"lobby"`
	Routes  string `json:"routes"`
	Storage bool   `json:"storage"`
	Seen    int64  `json:"seen,omitempty"` // when it had a session last, in seconds

	Protocol int `json:"protocol,omitempty"` // that its weir speaks; 0: an older one, before 6, or not known
}

// loadIdentity reads the node's identity, or draws a new one.
func loadIdentity(dir, name string, storage bool) (*identity, error) {
	b, err := os.ReadFile(filepath.Join(dir, identityFile))
	if errors.Is(err, fs.ErrNotExist) {
		return &identity{Node: draw(8), Name: name, Storage: storage}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the node's identity: %w", err)
	}
	id := new(identity)
	if err := json.Unmarshal(b, id); err != nil {
		return nil, fmt.Errorf("read the node's identity: %s: %w", filepath.Join(dir, identityFile), err)
	}
	if id.Name != name && id.Cluster == "" && id.Promised == nil {
		id.Name = name // nobody knows it by another one
	}
	if id.Name != name {
		return nil, fmt.Errorf("%s belongs to node %s, not to %s: its name cannot change, since the others know it by that", dir, id.Name, name)
	}
	if id.Cluster != "" {
		if _, err := id.secret(); err != nil {
			return nil, err
		}
	}
	if id.Cluster != "" && id.Storage != storage {
		return nil, fmt.Errorf("%s was started with storage %v: this cannot change, drain the node and join with a new folder", dir, id.Storage)
	}
	id.Storage = storage
	return id, nil
}

// save writes the identity in one step: what was there, or this.
func (id *identity) save(dir string) error {
	b, err := json.MarshalIndent(id, "", "\t")
	if err != nil {
		return fmt.Errorf("keep the node's identity: %w", err)
	}
	tmp := filepath.Join(dir, identityFile+".new")
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("keep the node's identity: %w", err)
	}
	_, err = f.Write(append(b, '\n'))
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("keep the node's identity: %w", err)
	}
	if err := os.Rename(tmp, filepath.Join(dir, identityFile)); err != nil {
		return fmt.Errorf("keep the node's identity: %w", err)
	}
	return syncDir(dir)
}

func (id *identity) secret() (page.Secret, error) {
	var s page.Secret
	b, err := hex.DecodeString(id.Secret)
	if err != nil || len(b) != len(s) {
		return s, errors.New("the cluster's secret is not 16 bytes: the node's identity was damaged")
	}
	copy(s[:], b)
	return s, nil
}

// ErrLost says that what the node had of a crawl is gone.
var ErrLost = errors.New("what this node had fetched is gone, and would be missing from all answers")

// Keep notes in which store the node keeps its part of a crawl, by the number that was
// drawn for that. Once it has one, another is refused.
func (n *Node) Keep(crawl string, store uint64) error {
	h := n.host
	h.mu.Lock()
	defer h.mu.Unlock()
	number := strconv.FormatUint(store, 16)
	switch had, ok := h.id.Stores[crawl]; {
	case had == number:
		return nil
	case ok:
		return ErrLost
	}
	if h.id.Stores == nil {
		h.id.Stores = map[string]string{}
	}
	h.id.Stores[crawl] = number
	return h.id.save(h.cfg.Dir)
}

// Keeps says whether the node has had a part of a crawl.
func (n *Node) Keeps(crawl string) bool {
	n.host.mu.Lock()
	defer n.host.mu.Unlock()
	return n.host.id.Stores[crawl] != ""
}

// Back says whether the node has had a part of any crawl.
func (n *Node) Back() bool {
	n.host.mu.Lock()
	defer n.host.mu.Unlock()
	return len(n.host.id.Stores) > 0
}

// meet remembers where a peer is and reports whether that is new.
func (id *identity) meet(p place) bool {
	if p.Name == id.Name || p.Name == "" {
		return false
	}
	i, found := slices.BinarySearchFunc(id.Peers, p.Name, func(q place, name string) int { return strings.Compare(q.Name, name) })
	if !found {
		id.Peers = slices.Insert(id.Peers, i, p)
		return true
	}
	old := id.Peers[i]
	p.Seen = max(p.Seen, old.Seen)
	id.Peers[i] = p
	old.Seen = p.Seen
	return old != p
}

// saw notes when peers had sessions last, and reports whether there are any.
func (id *identity) saw(peers []overlay.Peer, now int64) bool {
	for i := range id.Peers {
		if slices.ContainsFunc(peers, func(p overlay.Peer) bool { return p.Name == id.Peers[i].Name }) {
			id.Peers[i].Seen = now
		}
	}
	return len(peers) > 0
}

// draw returns n random bytes in hexadecimal digits.
func draw(n int) string {
	b := make([]byte, n)
	rand.Read(b) // never fails: it ends the program instead
	return hex.EncodeToString(b)
}
