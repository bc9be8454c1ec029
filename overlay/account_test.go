package overlay

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/page"
)

// Every byte of a batch is counted once, whatever was compressed or put before it.
func TestAccountCountsEveryByte(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := Batch{Origin: rapid.Uint64().Draw(t, "origin"), Records: rapid.SliceOfN(anyRecord, 0, 6).Draw(t, "records")}
		size := rapid.IntRange(0, 10_000).Draw(t, "size")
		var a Account
		a.ReceivedBatch(AppendBatch(nil, &x), size)
		if got := a.Total(); got != int64(size) {
			t.Fatalf("%d bytes were counted as %d: %v", size, got, a.Received)
		}
		a.ReceivedBatch(rapid.SliceOf(rapid.Byte()).Draw(t, "noise"), 7)
		if got := a.Total(); got != int64(size)+7 {
			t.Fatalf("noise was counted as %d", got-int64(size))
		}
	})
}

func TestAccountTellsKindsApart(t *testing.T) {
	var a, all Account
	b := AppendBatch(nil, &Batch{Records: []Record{Done{1, "a", []Ended{{"https://a.example", 1, page.OK, 200, 3, 0, 0, 0}}}, Taken{2, "a"}, Mark{Node: "a"}, Spread{[]Wide{{"a", 2, 1}}}}})
	a.SentBatch(b, len(b))
	if a.Sent[Ends] == 0 || a.Sent[Epochs] == 0 || a.Sent[HostNews] == 0 || a.Sent[Rows] != 0 || a.Total() != 0 {
		t.Errorf("sent %v, received %v", a.Sent, a.Received)
	}
	ask := AppendAsk(nil, &Ask{Wants: []Want{{Wait: time.Second}}})
	a.Received[TrafficOfWord(ask)] += int64(len(ask))
	a.Received[TrafficOfWord(writeWord(new(load)))] += 20
	if a.Received[Leases] != int64(len(ask)) || a.Received[Gossip] != 20 {
		t.Errorf("received %v", a.Received)
	}
	all.Add(&a)
	all.Add(&a)
	if got, want := all.PerURL(10), float64(2*(len(ask)+20))/10; got != want {
		t.Errorf("%v bytes a URL, want %v", got, want)
	}
	if all.PerURL(0) != 0 {
		t.Error("no URLs cost something")
	}
	for _, k := range Traffics() {
		if k.String() == "" {
			t.Errorf("kind %d has no name", k)
		}
	}
}
