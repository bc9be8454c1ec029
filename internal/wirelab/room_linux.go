package wirelab

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// Room is a network namespace and the thread that lives in it. What must
// happen inside, such as making a socket or starting a process, is done by that
// thread; a socket once made stays where it is, whoever uses it. The namespace
// goes with the thread and the last socket and process in it.
type Room struct {
	tid    int
	orders chan func()
	gone   sync.WaitGroup
}

// NewRoom makes a namespace.
func NewRoom() (*Room, error) {
	r := &Room{orders: make(chan func())}
	begun := make(chan error)
	r.gone.Add(1)
	go r.live(begun)
	if err := <-begun; err != nil {
		r.gone.Wait()
		return nil, err
	}
	return r, nil
}

// live is the room's thread. It is never unlocked, so it ends with its goroutine.
func (r *Room) live(begun chan<- error) {
	runtime.LockOSThread()
	if unix.Gettid() == os.Getpid() {
		// The first thread of a process cannot end. It is kept away from the
		// goroutine that tries again, and then set free.
		passed := make(chan error)
		go r.live(passed)
		begun <- <-passed
		runtime.UnlockOSThread()
		return
	}
	defer r.gone.Done()
	r.tid = unix.Gettid()
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		begun <- fmt.Errorf("make a network namespace: %w", err)
		return
	}
	begun <- nil
	for f := range r.orders {
		f()
	}
}

// Do runs f in the namespace and waits for it.
func (r *Room) Do(f func() error) error {
	done := make(chan error)
	r.orders <- func() { done <- f() }
	return <-done
}

// Close ends the thread. Nobody may use the room any more.
func (r *Room) Close() {
	close(r.orders)
	r.gone.Wait()
}

// ID is that of the thread: where the kernel asks for a process of a namespace, it
// serves.
func (r *Room) ID() int { return r.tid }

// path names the namespace to other processes while it is open.
func (r *Room) path() string { return fmt.Sprintf("/proc/%d/task/%d/ns/net", os.Getpid(), r.tid) }

// set writes kernel settings of this namespace. One that this kernel lacks is left out.
func set(name, value string) error {
	err := os.WriteFile("/proc/sys/net/"+name, []byte(value), 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// device is an interface whose packets this process reads and writes.
type device struct{ fd int }

// furnish sets the room up: loopback, one tun device with an address, and no IPv6.
func furnish(addr netip.Addr, bits int) (device, error) {
	d := device{-1}
	ctl, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return d, os.NewSyscallError("socket", err)
	}
	defer unix.Close(ctl)
	if err := set("ipv6/conf/all/disable_ipv6", "1"); err != nil {
		return d, err
	}
	if err := set("ipv6/conf/default/disable_ipv6", "1"); err != nil {
		return d, err
	}
	if err := up(ctl, "lo"); err != nil {
		return d, err
	}
	if d.fd, err = openTun("tun0"); err != nil {
		return d, err
	}
	err = errors.Join(
		number(ctl, "tun0", unix.SIOCSIFMTU, largestPacket),
		number(ctl, "tun0", unix.SIOCSIFTXQLEN, 10_000),
		address(ctl, "tun0", addr, bits),
		up(ctl, "tun0"))
	if err != nil {
		unix.Close(d.fd)
		d.fd = -1
	}
	return d, err
}

func openTun(name string) (int, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("open /dev/net/tun: %w", err)
	}
	r, err := unix.NewIfreq(name)
	if err == nil {
		r.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, r)
	}
	if err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("make a tun device: %w", err)
	}
	return fd, nil
}

// number sets a property of an interface.
func number(ctl int, name string, what uint, n uint32) error {
	r, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	r.SetUint32(n)
	return named(name, unix.IoctlIfreq(ctl, what, r))
}

func up(ctl int, name string) error {
	r, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	r.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return named(name, unix.IoctlIfreq(ctl, unix.SIOCSIFFLAGS, r))
}

// address gives an interface its address and with it the route to its network.
// On loopback every address of the network becomes one of this machine.
func address(ctl int, name string, addr netip.Addr, bits int) error {
	mask := uint32(0xffffffff) << (32 - bits)
	for _, step := range []struct {
		what uint
		addr [4]byte
	}{
		{unix.SIOCSIFADDR, addr.As4()},
		{unix.SIOCSIFNETMASK, [4]byte{byte(mask >> 24), byte(mask >> 16), byte(mask >> 8), byte(mask)}},
	} {
		r, err := unix.NewIfreq(name)
		if err != nil {
			return err
		}
		if err := r.SetInet4Addr(step.addr[:]); err != nil {
			return err
		}
		if err := unix.IoctlIfreq(ctl, step.what, r); err != nil {
			return named(name, err)
		}
	}
	return nil
}

func named(name string, err error) error {
	if err != nil {
		return fmt.Errorf("set up %s: %w", name, err)
	}
	return nil
}
