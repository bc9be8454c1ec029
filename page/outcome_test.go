package page

import (
	"encoding/json"
	"testing"
	"time"
)

func TestOutcomeRows(t *testing.T) {
	names := map[string]Outcome{}
	for _, o := range append(Outcomes(), None) {
		r := o.Row()
		if r.Name == "" || r.What == "" {
			t.Errorf("outcome %d has name %q, meaning %q", o, r.Name, r.What)
		}
		if other, ok := names[r.Name]; ok {
			t.Errorf("outcomes %d and %d are both called %s", other, o, r.Name)
		}
		names[r.Name] = o
		if r.Kept && !r.Answer {
			t.Errorf("%s keeps a body without an answer", o)
		}
		if r.Pause == NoPause && r.Retries > 0 {
			t.Errorf("%s is tried again without a pause", o)
		}

		text, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		var back Outcome
		if err := json.Unmarshal(text, &back); err != nil || back != o {
			t.Errorf("%s reads back as %s, %v", text, back, err)
		}
	}
	if len(Outcomes()) != int(outcomes)-1 || Outcomes()[0] != OK {
		t.Errorf("Outcomes: %v", Outcomes())
	}
}

// TestOutcomeNumbers pins the numbers that stored crawls hold.
func TestOutcomeNumbers(t *testing.T) {
	for o, n := range map[Outcome]uint8{
		None: 0, OK: 1, BadRedirect: 9, BadResponse: 10, TLSFailed: 15,
		ConnectFailed: 16, ProxyFailed: 21, Denied: 22, DeadHost: 28, Aborted: 29,
	} {
		if uint8(o) != n {
			t.Errorf("%s is number %d; stored crawls call it %d", o, o, n)
		}
	}
}

func TestOutcomeUnknown(t *testing.T) {
	if o := Outcome(255); o.String() != "none" || o.Row() != None.Row() {
		t.Errorf("an unknown outcome is %s", o)
	}
	o := OK
	if err := o.UnmarshalText([]byte("nonsense")); err == nil || o != OK {
		t.Errorf("nonsense is read as %s", o)
	}
}

func TestFinal(t *testing.T) {
	for _, c := range []struct {
		outcome   Outcome
		hostFault bool
		tries     int // visits that end so until it is final; 0 for never
	}{
		{OK, false, 1},
		{Redirected, false, 1},
		{ClientError, false, 1},
		{RateLimited, false, 5},
		{ServerError, false, 3},
		{Truncated, false, 2},
		{TooLarge, false, 1},
		{Bomb, false, 1},
		{BadRedirect, false, 1},
		{BadResponse, false, 3},
		{HeaderTooLarge, false, 1},
		{FirstByteTimeout, false, 3},
		{TooSlow, false, 2},
		{EarlyClose, false, 32},
		{TLSFailed, true, 0},
		{ConnectFailed, true, 0},
		{ConnectTimeout, true, 0},
		{DNSFailed, true, 0},
		{DNSTimeout, true, 0},
		{PrivateAddress, true, 0},
		{ProxyFailed, true, 0},
		{Denied, false, 1},
		{RobotsUnreachable, false, 1},
		{TooManyRedirects, false, 1},
		{Trap, false, 1},
		{SiteBudget, false, 1},
		{DomainBudget, false, 1},
		{DeadHost, false, 1},
		{Aborted, false, 256},
	} {
		if got := c.outcome.HostFault(); got != c.hostFault {
			t.Errorf("%s is the host's fault: %v", c.outcome, got)
		}
		for attempt := range 256 {
			want := c.tries > 0 && attempt+1 >= c.tries
			if got := c.outcome.Final(uint8(attempt)); got != want {
				t.Errorf("%s after %d tries is final: %v", c.outcome, attempt, got)
				break
			}
		}
	}
}

func TestRest(t *testing.T) {
	const ms, s, m, h = time.Millisecond, time.Second, time.Minute, time.Hour
	for _, c := range []struct {
		name        string
		outcome     Outcome
		wait, asked time.Duration
		failures    int
		want        time.Duration
	}{
		{"polite", OK, s, 0, 0, s},
		{"polite without wait", OK, 0, 0, 0, 0},
		{"polite does not double", ClientError, s, 0, 9, s},
		{"polite may be longer than other pauses", OK, h, 0, 0, h},
		{"polite is not asked", OK, s, h, 0, s},
		{"doubled, first", ServerError, s, 0, 1, s},
		{"doubled, second", ServerError, s, 0, 2, 2 * s},
		{"doubled, fifth", ServerError, s, 0, 5, 16 * s},
		{"doubled, capped", ServerError, s, 0, 11, MaxPause},
		{"doubled, never below the wait", ServerError, h, 0, 3, h},
		{"doubled without wait", ServerError, 0, 0, 1, 100 * ms},
		{"doubled without wait, third", ServerError, 0, 0, 3, 400 * ms},
		{"doubled without failures", ServerError, s, 0, 0, s},
		{"backoff, first", ConnectFailed, s, 0, 1, 10 * s},
		{"backoff, third", ConnectFailed, s, 0, 3, 40 * s},
		{"backoff, capped", ConnectFailed, s, 0, 8, MaxPause},
		{"backoff without wait", ConnectFailed, 0, 0, 1, s},
		{"backoff without wait, fourth", ConnectFailed, 0, 0, 4, 8 * s},
		{"backoff, never below the wait", ConnectFailed, 20 * m, 0, 1, 20 * m},
		{"backoff, many failures", ConnectFailed, s, 0, 1 << 40, MaxPause},
		{"backoff, a long wait and many failures", ConnectFailed, 24 * h, 0, 1 << 40, 24 * h},
		{"backoff is not asked", ConnectFailed, s, h, 1, 10 * s},
		{"asked for nothing", RateLimited, s, 0, 1, 10 * s},
		{"asked for less", RateLimited, s, 3 * s, 2, 20 * s},
		{"asked for more", RateLimited, s, 2 * m, 1, 2 * m},
		{"asked for more than any other pause", RateLimited, s, 3 * h, 1, 3 * h},
		{"asked for the past", RateLimited, s, -h, 1, 10 * s},
		{"no pause", Denied, s, h, 9, 0},
	} {
		if got := c.outcome.Rest(c.wait, c.asked, c.failures); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestKindString(t *testing.T) {
	for k, want := range map[Kind]string{Nav: "nav", Requisite: "requisite", Redirect: "redirect", Sitemap: "sitemap"} {
		if k.String() != want {
			t.Errorf("%d is %s, want %s", k, k, want)
		}
	}
}

func TestTime(t *testing.T) {
	start := Time(5)
	if end := start.Add(time.Second); end.Sub(start) != time.Second {
		t.Errorf("%v after %v is %v", time.Second, start, end)
	}
}
