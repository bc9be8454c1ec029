package chaos

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"weir/internal/wirelab"
	"weir/page"
)

// machine is the computer of a node: it runs, stands still, or is off.
type machine struct {
	run  *run
	i    int
	room *wirelab.Room
	dir  string

	mu      sync.Mutex
	cmd     *exec.Cmd     // nil: off
	ended   chan struct{} // closed when cmd has ended
	meant   bool          // it should end
	pauses  int
	used    time.Duration // of the processor, by processes that have ended
	silence []silence
}

// silence is a time in which a machine cannot tell the web anything.
type silence struct{ start, end time.Time }

// longSilence is one during which others may take a node's hosts over, while it cannot hang up: its leases were renewed when
// half of their five seconds had passed.
const longSilence = 2 * time.Second

// slowTake is how long the web may need to take a connection, beside much other work.
const slowTake = 2 * time.Second

const lobby = 7400

func (m *machine) name() string { return fmt.Sprintf("n%d", m.i) }

// said is the file of what the node says: not in its folder, that is its own.
func (m *machine) said() string { return m.dir + ".stderr" }

// acked is the file of what the others have acknowledged to the node.
func (m *machine) acked() string { return m.dir + ".acked" }

// secret is what the nodes hash pages with.
func (m *machine) secret() (s page.Secret, err error) {
	b, err := os.ReadFile(filepath.Join(m.dir, "cluster", "cluster.json"))
	if err != nil {
		return s, err
	}
	var id struct{ Secret string }
	if err := json.Unmarshal(b, &id); err != nil {
		return s, fmt.Errorf("the identity of %s: %w", m.name(), err)
	}
	if b, err = hex.DecodeString(id.Secret); err != nil || len(b) != len(s) {
		return s, fmt.Errorf("the identity of %s has no secret", m.name())
	}
	copy(s[:], b)
	return s, nil
}

func (m *machine) addr() string { return netip.AddrPortFrom(place(m.i), lobby).String() }

// on starts the node unless it runs.
func (m *machine) on() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cmd != nil {
		return nil
	}
	var join []string
	for _, o := range m.run.machines[:m.run.cfg.Nodes] {
		if o != m {
			join = append(join, o.addr())
		}
	}
	args := []string{
		"node", "--dir", m.dir, "--name", m.name(), "--certs", filepath.Join(m.run.certs, m.name()), "--listen", m.addr(),
		"--join", strings.Join(join, ","), "--expect", fmt.Sprint(m.run.cfg.Nodes),
	}
	if m.i >= m.run.cfg.Nodes {
		args = append(args, "--no-storage")
	}
	out, err := os.OpenFile(m.said(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	defer out.Close()
	fmt.Fprintf(out, "--- started at %v\n", m.run.now())
	cmd := exec.Command(m.run.cfg.Weir, args...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.Env = append(os.Environ(), "WEIR_WITNESS="+m.acked())
	if err := start(m.room, cmd); err != nil {
		return fmt.Errorf("start %s: %w", m.name(), err)
	}
	m.cmd, m.ended, m.meant, m.pauses = cmd, make(chan struct{}), false, 0
	m.run.say("%s is on", m.name())
	m.run.tasks.Go(func() { m.attend(cmd, m.ended) })
	return nil
}

// attend waits for the node's end.
func (m *machine) attend(cmd *exec.Cmd, ended chan struct{}) {
	err := cmd.Wait()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cmd = nil
	m.used += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	close(ended)
	m.run.say("%s has ended: %v", m.name(), cmd.ProcessState)
	if !m.meant {
		m.run.fail("%s ended by itself: %v; see %s", m.name(), err, m.said())
	}
}

// signal sends the node a signal if it runs.
func (m *machine) signal(s syscall.Signal) {
	if m.cmd != nil {
		m.cmd.Process.Signal(s)
	}
}

// kill ends it and waits for that.
func (m *machine) kill() {
	m.mu.Lock()
	ended := m.ended
	m.meant = true
	m.signal(syscall.SIGKILL)
	m.mu.Unlock()
	if ended != nil {
		<-ended
	}
}

// pause stops the process that runs now; the function continues it.
func (m *machine) pause() (goOn func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	cmd := m.cmd
	m.signal(syscall.SIGSTOP)
	m.pauses++
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.cmd != cmd {
			return
		}
		if m.pauses--; m.pauses == 0 {
			m.signal(syscall.SIGCONT)
		}
	}
}

// hush notes a silence; the function ends it.
func (m *machine) hush() (end func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := len(m.silence)
	m.silence = append(m.silence, silence{start: time.Now()})
	return func() {
		m.mu.Lock()
		m.silence[i].end = time.Now()
		m.mu.Unlock()
	}
}

// gone says whether a connection's end may not have reached the web. One that the web
// took when a silence had just begun was opened before it.
func (m *machine) gone(opened time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.silence {
		end := s.end
		if end.IsZero() {
			end = time.Now()
		}
		if opened.Before(s.start.Add(slowTake)) && end.Sub(s.start) >= longSilence {
			return true
		}
	}
	return false
}

// leave asks another node to have this one leave, and waits until it has.
func (m *machine) leave(ctx context.Context) {
	m.mu.Lock()
	running, ended := m.cmd != nil, m.ended
	m.meant = true
	m.mu.Unlock()
	if !running {
		return
	}
	for k := 1; ; k++ {
		o := m.run.machines[(m.i+k)%m.run.cfg.Nodes]
		short, cancel := context.WithTimeout(ctx, 5*time.Second)
		out, err := m.run.weir(short, "drain", m.name(), "--at", o.addr(), "--certs", m.run.certOf("me"))
		cancel()
		text := strings.TrimSpace(string(out))
		m.run.say("drain %s, asking %s: %v %s", m.name(), o.name(), err, text)
		select {
		case <-ended:
			return
		case <-ctx.Done():
			return
		case <-time.After(time.Second):
		}
		if err == nil || strings.Contains(text, "hands over") {
			break
		}
	}
	select {
	case <-ended:
	case <-ctx.Done():
	}
}

// weir runs the binary beside the web.
func (r *run) weir(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, r.cfg.Weir, args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := start(r.lan.web, cmd); err != nil {
		return nil, err
	}
	err := cmd.Wait()
	return out.Bytes(), err
}

// said is what weir status --json says.
type said struct {
	Quiet bool `json:"quiet"`
	Nodes []struct {
		Name    string           `json:"name"`
		State   string           `json:"state"`
		Owned   int              `json:"partitions"`
		Queued  int64            `json:"queued"`
		Flying  int              `json:"flying"`
		Fetched int64            `json:"fetched"`
		Unacked int64            `json:"unacked"`
		Spoken  map[string]int64 `json:"coordination_received"`
		Leader  string           `json:"leader"`
		Lag     uint64           `json:"lag"`
		Orphans []int            `json:"orphans"`
		Warned  []string         `json:"warnings"`
	} `json:"nodes"`
}

func (s said) String() string {
	var b strings.Builder
	for _, n := range s.Nodes {
		fmt.Fprintf(&b, "%s %s owns %d, %d queued, %d flying, %d fetched, %d unacked; ", n.Name, n.State, n.Owned, n.Queued, n.Flying, n.Fetched, n.Unacked)
	}
	return strings.TrimSuffix(b.String(), "; ")
}

// status asks a node how all of them are.
func (r *run) status(ctx context.Context, m *machine) (s said, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, r.cfg.Weir, "status", "--json", "--at", m.addr(), "--certs", r.certOf("me"))
	var out, text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &text
	if err := start(r.lan.web, cmd); err != nil {
		return s, err
	}
	if err := cmd.Wait(); err != nil {
		return s, errors.Join(err, errors.New(strings.TrimSpace(text.String())))
	}
	return s, json.Unmarshal(out.Bytes(), &s)
}
