package wirelab

import (
	"math"
	"slices"
	"time"
)

// Step is the length of a bin: windows of a second slide by so much.
const Step = 100 * time.Millisecond

const perSecond = int(time.Second / Step)

// Bin sums packets into steps from a time on; what is left of a step at the
// end is not in it.
func Bin(packets []Packet, from, to time.Duration) []float64 {
	return bin(packets, from, to, func(p Packet) time.Duration { return p.At })
}

// BinDue does the same with the times at which packets would have come, had the
// laboratory not been late.
func BinDue(packets []Packet, from, to time.Duration) []float64 {
	return bin(packets, from, to, func(p Packet) time.Duration { return p.At - time.Duration(p.Late)*time.Microsecond })
}

func bin(packets []Packet, from, to time.Duration, when func(Packet) time.Duration) []float64 {
	if to < from {
		return nil
	}
	bins := make([]float64, (to-from)/Step)
	for _, p := range packets {
		at := when(p)
		if i := (at - from) / Step; at >= from && int(i) < len(bins) {
			bins[i] += float64(p.Bytes)
		}
	}
	return bins
}

// BinSamples does the same with what a counter said, taking the wire to be
// even between two readings.
func BinSamples(samples []Sample, from, to time.Duration) []float64 {
	if to < from || len(samples) == 0 {
		return nil
	}
	bins := make([]float64, (to-from)/Step)
	last := receivedBy(samples, from)
	for i := range bins {
		now := receivedBy(samples, from+time.Duration(i+1)*Step)
		bins[i], last = now-last, now
	}
	return bins
}

// receivedBy is the counter at a time.
func receivedBy(samples []Sample, at time.Duration) float64 {
	i, _ := slices.BinarySearchFunc(samples, at, func(s Sample, at time.Duration) int { return int(s.At - at) })
	switch {
	case i == 0:
		return float64(samples[0].Received)
	case i == len(samples):
		return float64(samples[i-1].Received)
	}
	a, b := samples[i-1], samples[i]
	share := float64(at-a.At) / float64(b.At-a.At)
	return float64(a.Received) + share*float64(b.Received-a.Received)
}

// Use is how well a limit was kept and used, judged on windows of one second.
// All are shares of the limit or of the windows.
type Use struct {
	Begin   int  // the first bin that was judged
	Windows int  // seconds that were judged
	Reached bool // it began with a second of at least 90% of the limit
	Mean    float64
	Std     float64
	Above   float64 // windows above the limit
	Above1  float64 // above 1.01 of it
	Above2  float64 // above 1.02 of it
	Worst   float64 // the fullest window, less the limit
	Sliding float64 // the fullest second that begins at any step
}

// Judge looks at windows of a second each, from the first that has 90% of the
// limit. If there is none it takes all but the first ten seconds, or all when
// there are no more.
func Judge(bins []float64, limit float64) Use {
	var u Use
	var windows []float64
	for i := 0; i+perSecond <= len(bins); i += perSecond {
		windows = append(windows, sum(bins[i:i+perSecond])/limit)
	}
	first := slices.IndexFunc(windows, func(w float64) bool { return w >= 0.9 })
	u.Reached = first >= 0
	if first < 0 {
		first = 0
		if len(windows) > 10 {
			first = 10
		}
	}
	windows = windows[first:]
	u.Begin, u.Windows = first*perSecond, len(windows)
	if len(windows) == 0 {
		return u
	}
	n := float64(len(windows))
	u.Mean = sum(windows) / n
	u.Worst = slices.Max(windows) - 1
	for _, w := range windows {
		u.Std += (w - u.Mean) * (w - u.Mean) / n
		u.Above += share(w > 1, n)
		u.Above1 += share(w > 1.01, n)
		u.Above2 += share(w > 1.02, n)
	}
	u.Std = math.Sqrt(u.Std)
	for i := u.Begin; i+perSecond <= len(bins); i++ {
		u.Sliding = max(u.Sliding, sum(bins[i:i+perSecond])/limit)
	}
	return u
}

func share(is bool, of float64) float64 {
	if is {
		return 1 / of
	}
	return 0
}

func sum(xs []float64) (s float64) {
	for _, x := range xs {
		s += x
	}
	return s
}

// starts gives for every page when its download began at the client, or
// never. A page that came first on its connection began with that.
func starts(web Web, requests []Request, flows []Flow) []time.Duration {
	const never = math.MaxInt64
	at := make([]time.Duration, len(web.Pages))
	for i := range at {
		at[i] = never
	}
	type key struct {
		server int
		port   uint16
	}
	byPort := make(map[key][]int)
	for i, f := range flows {
		k := key{f.Server, f.Port}
		byPort[k] = append(byPort[k], i)
	}
	asked := make([]bool, len(flows))
	for _, r := range requests {
		began := r.At - web.Servers[r.Server].RTT/2
		for _, i := range slices.Backward(byPort[key{r.Server, r.Port}]) {
			if flows[i].Began > r.At {
				continue
			}
			if !asked[i] {
				asked[i] = true
				began = flows[i].Began
			}
			break
		}
		if r.Page >= 0 {
			at[r.Page] = min(at[r.Page], began)
		}
	}
	return at
}

// Exhausted is when fewer pages wait than connections may be open, or the
// last start when that never happened.
func Exhausted(web Web, requests []Request, flows []Flow, conns int) time.Duration {
	at := starts(web, requests, flows)
	slices.Sort(at)
	n, _ := slices.BinarySearch(at, math.MaxInt64)
	if k := len(at) - conns; k >= 0 && k < n {
		return at[k]
	}
	if n == 0 {
		return 0
	}
	return at[n-1]
}

// over says that the client had closed a connection by a time. While it has
// not, it may still read what its kernel holds.
func (f Flow) over(at time.Duration) bool { return f.Ended > 0 && f.Ended < at }

// settle is how long a program may take from the end of a download to the next
// decision, and how close two starts are that count as one decision.
const settle = 100 * time.Millisecond

// Inversions counts the pages that began between two times, and those of them
// that began although a better one waited whose host was free: no connection
// to it was open.
func Inversions(web Web, requests []Request, flows []Flow, from, to time.Duration) (began, inverted int) {
	at := starts(web, requests, flows)
	type site struct {
		pages []int // by score
		busy  []Flow
		head  int // first of pages that has not begun
		gone  int // flows that ended before now
	}
	sites := make([]site, len(web.Servers))
	for i, p := range web.Pages {
		sites[p.Server].pages = append(sites[p.Server].pages, i)
	}
	for _, f := range flows {
		if f.Server < len(sites) {
			sites[f.Server].busy = append(sites[f.Server].busy, f)
		}
	}
	// waits is the best page of a site that could begin now, -1 if none. The
	// site whose page does begin was free for the better ones of its own.
	waits := func(s *site, now time.Duration, own bool) int {
		for s.head < len(s.pages) && at[s.pages[s.head]] <= now+settle {
			s.head++
		}
		if s.head == len(s.pages) {
			return -1
		}
		if own {
			return s.pages[s.head]
		}
		for s.gone < len(s.busy) && s.busy[s.gone].over(now-settle) {
			s.gone++
		}
		for _, f := range s.busy[s.gone:] {
			if f.Began > now+settle {
				break
			}
			if !f.over(now - settle) {
				return -1
			}
		}
		return s.pages[s.head]
	}
	order := make([]int, 0, len(at))
	for p, t := range at {
		if t >= from && t < to {
			order = append(order, p)
		}
	}
	slices.SortFunc(order, func(a, b int) int { return int(at[a] - at[b]) })
	for _, p := range order {
		began++
		for i := range sites {
			if q := waits(&sites[i], at[p], i == web.Pages[p].Server); q >= 0 && q < p {
				inverted++
				break
			}
		}
	}
	return began, inverted
}

// Sink is the first time at or after from at which half a second of bins has
// fallen to a rate in bytes a second, as time since from; ok is false if it
// never has.
func Sink(bins []float64, from int, rate float64) (time.Duration, bool) {
	return cross(bins, from, func(r float64) bool { return r <= rate })
}

// Rise is the same for reaching a rate.
func Rise(bins []float64, from int, rate float64) (time.Duration, bool) {
	return cross(bins, from, func(r float64) bool { return r >= rate })
}

func cross(bins []float64, from int, done func(rate float64) bool) (time.Duration, bool) {
	const half = perSecond / 2
	for i := from; i+half <= len(bins); i++ {
		if done(sum(bins[i:i+half]) / (float64(half) * Step.Seconds())) {
			return time.Duration(i-from) * Step, true
		}
	}
	return 0, false
}

// Total is the bytes of packets.
func Total(packets []Packet) (n int64) {
	for _, p := range packets {
		n += int64(p.Bytes)
	}
	return n
}
