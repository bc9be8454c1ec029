package bandwidth

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/publicsuffix"
)

// download is one line of a recording: what the predictor is asked and then told.
type download struct {
	at     time.Time // its end, local time
	server netip.Addr
	domain string
	Measure
}

// readRecording reads a recording of downloads, oldest first: a CSV whose header
// is either that of testdata/README.md or that of `weir export pages`. Lines of
// pages that were not fetched are left out.
func readRecording(r io.Reader) ([]download, error) {
	in := csv.NewReader(r)
	in.ReuseRecord = true
	head, err := in.Read()
	if err != nil {
		return nil, fmt.Errorf("read recording: %w", err)
	}
	col := map[string]int{}
	for i, name := range head {
		col[name] = i
	}
	parse := parseDownload
	need := []string{"unix", "server", "domain", "bytes", "first", "seconds", "throttled"}
	if _, export := col["fetched_at"]; export {
		parse = parseExport
		need = []string{"url", "bytes", "server", "fetched_at", "seconds"}
	}
	for _, name := range need {
		if _, ok := col[name]; !ok {
			return nil, fmt.Errorf("read recording: no column %q", name)
		}
	}
	var all []download
	for {
		rec, err := in.Read()
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read recording: %w", err) // csv names the line
		}
		d, err := parse(func(name string) string { return rec[col[name]] })
		if err != nil {
			line, _ := in.FieldPos(0)
			return nil, fmt.Errorf("read recording, line %d: %w", line, err)
		}
		if d.Elapsed > 0 && d.Bytes > 0 {
			all = append(all, d)
		}
	}
}

func parseDownload(get func(string) string) (d download, err error) {
	unix, err := strconv.ParseInt(get("unix"), 10, 64)
	if err != nil {
		return d, err
	}
	d.at, d.domain = time.Unix(unix, 0).UTC(), get("domain")
	if d.server, err = netip.ParseAddr(get("server")); err != nil {
		return d, err
	}
	if d.Bytes, err = strconv.ParseInt(get("bytes"), 10, 64); err != nil {
		return d, err
	}
	if d.First, err = seconds(get("first")); err != nil {
		return d, err
	}
	if d.Elapsed, err = seconds(get("seconds")); err != nil {
		return d, err
	}
	d.Throttled, err = strconv.ParseBool(get("throttled"))
	return d, err
}

func parseExport(get func(string) string) (d download, err error) {
	if get("fetched_at") == "" || get("server") == "" {
		return d, nil
	}
	if d.at, err = time.Parse(time.RFC3339, get("fetched_at")); err != nil {
		return d, err
	}
	u, err := url.Parse(get("url"))
	if err != nil {
		return d, err
	}
	if d.domain, err = publicsuffix.EffectiveTLDPlusOne(u.Hostname()); err != nil {
		d.domain = u.Hostname()
	}
	server := get("server")
	if ap, err := netip.ParseAddrPort(server); err == nil {
		server = ap.Addr().String()
	}
	if d.server, err = netip.ParseAddr(server); err != nil {
		return d, err
	}
	if d.Bytes, err = strconv.ParseInt(get("bytes"), 10, 64); err != nil {
		return d, err
	}
	d.Elapsed, err = seconds(get("seconds"))
	return d, err
}

func seconds(s string) (time.Duration, error) {
	f, err := strconv.ParseFloat(s, 64)
	if err == nil && !(f >= 0 && f < 1e6) {
		err = fmt.Errorf("%q is no number of seconds", s)
	}
	return time.Duration(f * 1e9), err
}

func writeRecording(all []download) []byte {
	var b bytes.Buffer
	b.WriteString("unix,server,domain,bytes,first,seconds,throttled\n")
	for _, d := range all {
		fmt.Fprintf(&b, "%d,%v,%s,%d,%.4f,%.4f,%v\n", d.at.Unix(), d.server, d.domain, d.Bytes, d.First.Seconds(), d.Elapsed.Seconds(), d.Throttled)
	}
	return b.Bytes()
}

// generate makes the recording testdata/generated.csv: ten days of a crawler
// that works three times a day, on servers behind paths with slow start. It
// knows nothing of the predictor's own idea of a download.
func generate() []download {
	rng := rand.New(rand.NewPCG(2004, 5))
	spread := func(median, sigma float64) float64 { return median * math.Exp(sigma*rng.NormFloat64()) }
	type network struct{ trip, rate float64 }
	var networks []network
	for range 40 {
		networks = append(networks, network{spread(0.06, 0.8), spread(300e3, 1)})
	}
	var hosts []*genHost
	for d := range 80 {
		size, think, peak := spread(20e3, 0.8), spread(0.08, 0.8), rng.Float64()*2
		home := rng.IntN(len(networks))
		for range 1 + rng.IntN(4) {
			n := home
			if rng.IntN(4) == 0 {
				n = rng.IntN(len(networks))
			}
			hosts = append(hosts, &genHost{
				addr:   netip.AddrFrom4([4]byte{198, 18, byte(n), byte(len(hosts) + 1)}),
				domain: fmt.Sprintf("site%02d.example", d),
				trip:   networks[n].trip * spread(1, 0.05),
				rate:   networks[n].rate * spread(1, 0.4),
				think:  think * spread(1, 0.2),
				size:   size,
				peak:   peak,
			})
		}
	}
	rng.Shuffle(len(hosts), func(i, j int) { hosts[i], hosts[j] = hosts[j], hosts[i] })

	var all []download
	for day := range 10 {
		for range 3 {
			at := monday.AddDate(0, 0, day).Add(time.Duration(rng.IntN(22*3600)) * time.Second)
			for range 140 {
				at = at.Add(time.Duration(rng.IntN(60)) * time.Second)
				// Few hosts are asked often and many seldom.
				h := hosts[int(float64(len(hosts))*math.Pow(rng.Float64(), 2.5))]
				all = append(all, h.download(rng, at))
			}
		}
	}
	return all
}

// genHost is a server of the generator: in seconds, bytes and bytes a second.
type genHost struct {
	addr   netip.Addr
	domain string
	trip   float64 // round trip
	rate   float64 // of the path, when nobody else is there
	think  float64 // before it answers
	size   float64 // of its pages, the median
	peak   float64 // by how much it is slower at its busiest
	jam    float64 // how congestion differs from the usual, slowly changing
}

// download is one download, over a fresh or a kept connection.
func (h *genHost) download(rng *rand.Rand, at time.Time) download {
	busy := h.peak * bump(at, 15)
	if wd := at.Weekday(); wd == time.Saturday || wd == time.Sunday {
		busy = h.peak / 4 * bump(at, 21)
	}
	h.jam = 0.9*h.jam + 0.12*rng.NormFloat64()
	rate := h.rate / (1 + busy) * math.Exp(h.jam+0.2*rng.NormFloat64())
	think := h.think * (1 + busy) * math.Exp(0.35*rng.NormFloat64())
	bytes := math.Ceil(h.size * math.Exp(0.9*rng.NormFloat64()))
	if rng.IntN(8) == 0 {
		bytes = float64(300 + rng.IntN(1200)) // redirects and errors
	}
	first := h.trip + think
	if rng.IntN(3) == 0 {
		first += h.trip // to connect
	}
	elapsed := first
	left, window := bytes, 10*1448.0
	for left > window && window < rate*h.trip { // slow start
		left -= window
		window *= 2
		elapsed += h.trip
	}
	elapsed += left / rate
	d := download{at: at, server: h.addr, domain: h.domain}
	if rng.IntN(10) == 0 {
		d.Throttled = true
		elapsed = first + (elapsed-first)*(1.5+2.5*rng.Float64())
	}
	d.Bytes = int64(bytes)
	d.First = time.Duration(first*1e4) * 100 * time.Microsecond
	d.Elapsed = time.Duration(elapsed*1e4) * 100 * time.Microsecond
	return d
}

// bump is 1 at the hour and nothing half a day away.
func bump(t time.Time, hour float64) float64 {
	x := float64(t.Hour()) + float64(t.Minute())/60 - hour
	return (1 + math.Cos(x/24*2*math.Pi)) / 2
}

func recording(s string) ([]download, error) { return readRecording(strings.NewReader(s)) }
