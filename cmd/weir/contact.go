package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"weir/internal/cluster"
)

// contact says where to ask a cluster something.
type contact struct {
	At    string `placeholder:"HOST:PORT" help:"A node of the cluster, any of them."`
	Certs string `placeholder:"DIR" help:"Folder of your certificate, as weir node cert makes it."`
	Node  string `placeholder:"DIR" default:"weir-node" help:"Folder of a node on this machine: asks that one, instead of --at and --certs. Default: weir-node."`
}

// addrHint says what an address is.
const addrHint = "write HOST:PORT, as in 192.0.2.7:7400 or a.example.org:7400"

// askTime is how long a node may take to answer a short question.
const askTime = 10 * time.Second

// client finds the node to ask.
func (c *contact) client() (*cluster.Client, error) {
	at, certs := c.At, c.Certs
	if err := cluster.CheckAddr(at); err != nil && at != "" {
		return nil, usage(addrHint, "--at: %w", err)
	}
	if at == "" || certs == "" {
		h, err := readHome(c.Node)
		switch {
		case errors.Is(err, fs.ErrNotExist) && at == "":
			return nil, usage("name a node with --at HOST:PORT and your certificate with --certs DIR, or the folder of a node on this machine with --node", "there is no node in %s", c.Node)
		case errors.Is(err, fs.ErrNotExist):
			return nil, usage("name its folder with --certs DIR; weir node cert NAME makes one", "a question to %s needs a certificate", at)
		case err != nil:
			return nil, failure(err, "name a node with --at HOST:PORT and your certificate with --certs DIR")
		}
		if at == "" {
			at = cmp.Or(h.At, h.Listen)
		}
		if certs == "" {
			certs = h.Certs
		}
	}
	cl, err := cluster.Dial(at, certs)
	return cl, clusterFault(err)
}

// put asks a node a short question; "" is the one that is dialled.
func put(ctx context.Context, cl *cluster.Client, node, topic string, question, answer any) error {
	return putFor(ctx, askTime, cl, node, topic, question, answer)
}

// electionTime is how long a question waits for nodes that have no leader: they choose
// another within seconds.
const electionTime = 15 * time.Second

// putAgreed puts a question whose answer most nodes must agree on, and that may be put
// twice. If they cannot agree yet it waits a little, and puts it again: the first time may
// have counted all the same.
func putAgreed(ctx context.Context, cl *cluster.Client, topic string, question, answer any) (again bool, err error) {
	for begin := time.Now(); ; again = true {
		err := put(ctx, cl, "", topic, question, answer)
		if err == nil || !strings.Contains(err.Error(), cluster.ErrHeadless.Error()) || time.Since(begin) > electionTime || !pauseFor(ctx, nil, time.Second) {
			return again, err
		}
	}
}

// putFor asks one that may take its time.
func putFor(ctx context.Context, d time.Duration, cl *cluster.Client, node, topic string, question, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	data, err := json.Marshal(question)
	if err != nil {
		return err
	}
	b, err := cl.Ask(ctx, node, topic, data)
	if err != nil {
		return clusterFault(err)
	}
	if answer == nil || len(b) == 0 { // a node of an older weir has less to say
		return nil
	}
	return json.Unmarshal(b, answer)
}

// home is what a node's folder says about the node, in node.json: how it was
// started, and where it is asked.
type home struct {
	Name      string   `json:"name"`
	Certs     string   `json:"certs"`
	Listen    string   `json:"listen"`
	Routes    string   `json:"routes,omitempty"`
	Advertise string   `json:"advertise,omitempty"`
	Join      []string `json:"join,omitempty"`
	Storage   bool     `json:"storage"`
	Expect    int      `json:"expect"`
	At        string   `json:"at,omitempty"` // where it answers, of the last run

	mu sync.Mutex // of At, and of the file
}

const homeFile = "node.json"

func readHome(dir string) (*home, error) {
	b, err := os.ReadFile(filepath.Join(dir, homeFile))
	if err != nil {
		return nil, err
	}
	h := new(home)
	return h, json.Unmarshal(b, h)
}

// write keeps it, with where the node answers if that is known by now.
func (h *home) write(dir, at string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.At = cmp.Or(at, h.At)
	b, err := json.MarshalIndent(h, "", "\t")
	if err != nil {
		return err
	}
	return replace(filepath.Join(dir, homeFile), append(b, '\n'))
}
