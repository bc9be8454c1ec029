package node

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"

	"weir/crawl"
	"weir/internal/store"
)

// growEnv makes the test binary a process that grows a stored crawl: it holds
// the folder.
const growEnv = "WEIR_TEST_GROW"

// growAsChild grows the crawl until it knows as many pages as the flags say. It
// prints how many are durable after every group.
func growAsChild(dir string) int {
	if err := growIn(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func growIn(dir string) error {
	s, err := store.Open(dir, growingStore)
	if err != nil {
		return err
	}
	w, err := grow(s, *growthMemory)
	if err != nil {
		return err
	}
	// As in a crawl, what earlier runs knew is read while this one goes on.
	n := &node{store: s, ledger: w.ledger, known: make(chan recalled, 2), failed: make(chan error, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if !w.ledger.Remembers() {
		n.work.Go(func() { n.recall(ctx) })
	}
	for w.ledger.Totals().Seen < int64(*growthURLs) {
		select {
		case k := <-n.known:
			w.ledger.Recall(k.prints, k.last)
		case err := <-n.failed:
			return err
		default:
		}
		if err := w.group(s); err != nil {
			return err
		}
		fmt.Println(w.pages)
	}
	cancel()
	n.work.Wait()
	return s.Close()
}

// TestKillGrowing kills a process that grows a stored crawl, again and again:
// what it said was durable is there, the rows agree with the totals, and the
// next process goes on as if nothing had happened. With -urls 10000000 it is
// the test of a large crawl.
func TestKillGrowing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := store.Create(dir, growingStore)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	const rounds = 6
	rng := rand.New(rand.NewPCG(1, 1))
	for round := range rounds {
		// About seven and a half pages become known with each that is fetched.
		upTo := *growthURLs * 2 / 15 * (round + 1) / rounds * (80 + rng.IntN(20)) / 100
		acked, ended := growUntil(t, dir, upTo)
		totals := auditRows(t, dir)
		if totals.Fetched < int64(acked) {
			t.Errorf("%d pages of %d that were durable are there", totals.Fetched, acked)
		}
		t.Logf("killed at %d pages: %d fetched, %d known", acked, totals.Fetched, totals.Seen)
		if ended {
			break
		}
	}
	if _, ended := growUntil(t, dir, 1<<62); !ended {
		t.Fatal("it did not end")
	}
	totals := auditRows(t, dir)
	w := &growing{}
	w.plant()
	for w.pages < int(totals.Fetched) {
		w.page()
	}
	if err := w.check(totals); err != nil {
		t.Error(err)
	}
}

// growUntil runs the child until it has said that so many pages are durable,
// then kills it. It returns the last it said, and whether it ended by itself.
func growUntil(t *testing.T, dir string, pages int) (acked int, ended bool) {
	cmd := exec.Command(os.Args[0], fmt.Sprintf("-urls=%d", *growthURLs), fmt.Sprintf("-memory=%d", *growthMemory), fmt.Sprintf("-sites=%d", *growthSites))
	cmd.Env = append(os.Environ(), growEnv+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		fmt.Sscan(lines.Text(), &acked)
		if acked >= pages {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			return acked, false
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	return acked, true
}

// auditRows counts the rows of a stored crawl and holds them against its
// totals: what is known is queued, ended or parked, and each has the rows that
// belong to it.
func auditRows(t *testing.T, dir string) crawl.Totals {
	s, err := store.Open(dir, store.Options{Form: store.None, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	totals, err := crawl.ReadTotals(s)
	if err != nil {
		t.Fatal(err)
	}
	count := func(kind byte) (n int64) {
		if err := s.Scan([]byte{kind}, []byte{kind + 1}, func(_, _ []byte) bool { n++; return true }); err != nil {
			t.Fatal(err)
		}
		return n
	}
	known, queued, texts := count('u'), count('q'), count('t')
	if known != totals.Seen || queued != totals.Queued || texts != totals.Ended() || totals.Seen != totals.Queued+totals.Ended()+totals.Parked {
		t.Errorf("%d rows of pages, %d of queues, %d of ended ones; totals %+v", known, queued, texts, totals)
	}
	return totals
}
