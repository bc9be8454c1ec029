package chaos

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"syscall"
	"testing"
	"time"
)

// Without ip the tests of root fail: they would pass by being left out. Who may not make networks leaves them out.
func TestNothingIsLeftOutUnseen(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	err := Usable()
	if err == nil || excused(err) != (os.Geteuid() != 0) {
		t.Errorf("without ip: excused by %v", err)
	}
	if err := fmt.Errorf("make a network namespace: %w", syscall.EPERM); !excused(err) {
		t.Errorf("not excused by %v", err)
	}
}

// What is lost is lost in one direction, silently, and only until it is mended.
func TestLoss(t *testing.T) {
	usable(t)
	l, err := newLAN(2)
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	socket := func(i int) *net.UDPConn {
		var c *net.UDPConn
		err := l.nodes[i].Do(func() (err error) {
			c, err = net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(place(i), 9)))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	a, b := socket(0), socket(1)
	send := func(from *net.UDPConn, to int, text string) {
		if _, err := from.WriteToUDPAddrPort([]byte(text), netip.AddrPortFrom(place(to), 9)); err != nil {
			t.Fatal(err)
		}
	}
	hear := func(at *net.UDPConn) string {
		at.SetReadDeadline(time.Now().Add(patience))
		buf := make([]byte, 100)
		n, err := at.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		return string(buf[:n])
	}
	send(a, 1, "first")
	if got := hear(b); got != "first" {
		t.Fatal(got)
	}
	mend, err := l.lose(one(0), everyNode)
	if err != nil {
		t.Fatal(err)
	}
	send(a, 1, "lost")
	send(b, 0, "back")
	if got := hear(a); got != "back" {
		t.Fatal(got)
	}
	if err := mend(); err != nil {
		t.Fatal(err)
	}
	send(a, 1, "again")
	if got := hear(b); got != "again" {
		t.Errorf("heard %q, which was to be lost", got)
	}
}
