package cluster

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"weir/overlay"
)

// childEnv holds the configuration of a node that runs in a process of its own,
// where it can be killed.
const childEnv = "WEIR_CLUSTER_TEST_NODE"

const childParts = 12

// child runs a node that appends to its partitions for as long as it lives and
// prints each batch that was acknowledged.
func child(conf string) error {
	var cfg Config
	if err := json.Unmarshal([]byte(conf), &cfg); err != nil {
		return err
	}
	done := make(chan overlay.Event, maxFlying)
	cfg.Now, cfg.ttl = now, 4*time.Second
	cfg.Tell = func(e overlay.Event) {
		switch e.(type) {
		case overlay.Acked, overlay.Failed:
			done <- e
		}
	}
	n, err := Open(context.Background(), cfg)
	if err != nil {
		return err
	}
	var id uint64
	next := func() {
		id++
		n.Do(overlay.Append{ID: id, Part: int(id % childParts), Batch: overlay.Batch{Origin: id, Records: []overlay.Record{overlay.Mark{ID: id, Node: cfg.Name}}}})
	}
	for range 64 {
		next()
	}
	for e := range done {
		if e, ok := e.(overlay.Acked); ok {
			if _, err := fmt.Printf("%s %d\n", cfg.Name, e.ID); err != nil {
				return err
			}
		}
		next()
	}
	return nil
}

type told struct {
	node string
	id   uint64
}

// All processes are killed in the middle of writing. Whatever one of them was
// told to be safe is read by all when they come back.
func TestKillingAllLosesNothingThatWasAcknowledged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var (
		mu    sync.Mutex
		acked = map[told]bool{}
		count = map[string]int{}
		wg    sync.WaitGroup
		procs []*exec.Cmd
	)
	names := []string{"a", "b", "c"}
	for _, name := range names {
		cfg := w.config(name)
		cfg.Now, cfg.Tell, cfg.Warn, cfg.Log = nil, nil, nil, nil
		conf, err := json.Marshal(childConfig{cfg.Dir, cfg.Certs, cfg.Name, cfg.Join, cfg.Listen, cfg.Routes, cfg.Storage, cfg.MaxStore})
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childEnv+"="+string(conf))
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		procs = append(procs, cmd)
		wg.Go(func() {
			for sc := bufio.NewScanner(out); sc.Scan(); {
				var k told
				if n, _ := fmt.Sscanf(sc.Text(), "%s %d", &k.node, &k.id); n == 2 {
					mu.Lock()
					acked[k] = true
					count[name]++
					mu.Unlock()
				}
			}
		})
	}
	killed := false
	kill := func() {
		if killed {
			return
		}
		killed = true
		for _, p := range procs {
			p.Process.Kill()
		}
		wg.Wait()
		for _, p := range procs {
			p.Wait() // that it was killed is no news
		}
	}
	defer kill()
	w.Until("all three have written a lot", func() bool {
		mu.Lock()
		defer mu.Unlock()
		for _, name := range names {
			if count[name] < 500 {
				return false
			}
		}
		return true
	})
	kill()

	read := map[told]bool{}
	w.tune = func(c *Config) {
		c.Tell = func(e overlay.Event) {
			d, ok := e.(overlay.Delivered)
			if !ok {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			for _, r := range d.Batch.Records {
				if m, ok := r.(overlay.Mark); ok {
					read[told{m.Node, m.ID}] = true
				}
			}
		}
	}
	nodes := w.three(nil)
	for part := range childParts {
		nodes["b"].Do(overlay.Follow{Part: part})
	}
	w.Until("everything that was acknowledged is read", func() bool {
		mu.Lock()
		defer mu.Unlock()
		for k := range acked {
			if !read[k] {
				return false
			}
		}
		return true
	})
	t.Logf("%d batches were acknowledged, %d read", len(acked), len(read))
}

// childConfig is the part of a Config that can be written down.
type childConfig struct {
	Dir, Certs, Name string
	Join             []string
	Listen, Routes   string
	Storage          bool
	MaxStore         int64
}
