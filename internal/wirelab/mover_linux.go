package wirelab

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

const (
	round     = 300 * time.Microsecond // between looks at busy devices
	mostReads = 512                    // of one device a round, so that none waits for another
)

// mover carries packets between the devices as its wan says. One goroutine
// runs it until stop is written to.
type mover struct {
	wan     *wan
	book    *book
	begin   time.Time
	clients [2]device // client and neighbour; the latter may be missing
	servers device
	stop    int // eventfd
	failed  error
}

func (m *mover) now() time.Duration { return time.Since(m.begin) }

// run moves packets. While there is traffic it looks at the devices every round instead of
// at every packet; when there is none it sleeps until the next packet is due.
func (m *mover) run() {
	// Not unlocked: the priority is for this thread, and no other work.
	runtime.LockOSThread()
	// It wakes before all that is in less of a hurry. Where that is not allowed
	// packets are later than they should be, which Late tells.
	if unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1, Flags: unix.SCHED_FLAG_RESET_ON_FORK}, 0) != nil {
		_ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), -20)
	}

	fds := []unix.PollFd{{Fd: int32(m.stop), Events: unix.POLLIN}, {Fd: int32(m.servers.fd), Events: unix.POLLIN}}
	for _, d := range m.clients {
		if d.fd >= 0 {
			fds = append(fds, unix.PollFd{Fd: int32(d.fd), Events: unix.POLLIN})
		}
	}
	busy := false
	for {
		wait := &unix.Timespec{}
		at, some := m.wan.wake()
		left := max(0, time.Duration(at)-m.now())
		switch {
		case busy:
			nap := unix.NsecToTimespec(int64(round))
			_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &nap, nil) // a short nap does as well
		case some:
			*wait = unix.NsecToTimespec(int64(left))
		default:
			wait = nil
		}
		if _, err := unix.Ppoll(fds, wait, nil); err != nil && err != unix.EINTR {
			m.failed = fmt.Errorf("wait for packets: %w", err)
			return
		}
		if fds[0].Revents != 0 {
			return
		}
		moved, err := m.turn()
		if err != nil {
			m.failed = err
			return
		}
		busy = moved
	}
}

// turn reads what the devices have and writes what is due.
func (m *mover) turn() (moved bool, err error) {
	m.book.mu.Lock()
	defer m.book.mu.Unlock()
	now := m.now()
	for i, d := range m.clients {
		if d.fd < 0 {
			continue
		}
		n, err := m.drain(d, func(slot int32, size int) {
			if i == 0 {
				b := m.wan.room(slot)[:size]
				m.book.out(now, b, m.serverOf(b, 16))
			}
			m.wan.up(int64(now), slot, size)
		})
		if err != nil {
			return false, err
		}
		moved = moved || n > 0
	}
	n, err := m.drain(m.servers, func(slot int32, size int) { m.wan.down(int64(now), slot, size) })
	if err != nil {
		return false, err
	}
	moved = moved || n > 0
	for {
		d, ok := m.wan.next(int64(now))
		if !ok {
			return moved, nil
		}
		moved = true
		if err := m.deliver(now, d); err != nil {
			return false, err
		}
	}
}

func (m *mover) drain(d device, take func(slot int32, size int)) (int, error) {
	for n := range mostReads {
		slot := m.wan.slot()
		if slot < 0 {
			return n, errors.New("too many packets in flight")
		}
		size, err := unix.Read(d.fd, m.wan.room(slot))
		if err != nil {
			m.wan.release(slot)
			if err == unix.EAGAIN || err == unix.EINTR {
				return n, nil
			}
			return n, fmt.Errorf("read a packet: %w", err)
		}
		take(slot, size)
	}
	return mostReads, nil
}

func (m *mover) deliver(now time.Duration, d due) error {
	b := m.wan.packet(d.slot)
	defer m.wan.release(d.slot)
	var to device
	switch d.next {
	case toServer:
		to = m.servers
	case toNeighbour:
		to = m.clients[1]
	default:
		to = m.clients[0]
	}
	if _, err := unix.Write(to.fd, b); err != nil {
		if err == unix.EAGAIN || err == unix.ENOBUFS || err == unix.ENOMEM {
			m.wan.dropped++
			return nil
		}
		return fmt.Errorf("write a packet: %w", err)
	}
	switch d.next {
	case toClient:
		m.book.in(now, time.Duration(d.at), b, m.serverOf(b, 12))
	case toNeighbour:
		m.book.other.add(Packet{At: now, Bytes: int32(len(b))})
	}
	return nil
}

// serverOf is the server whose address a packet has at an offset.
func (m *mover) serverOf(b []byte, at int) int {
	if !isIPv4(b) {
		return -1
	}
	return m.wan.server(b[at : at+4])
}
