//go:build amd64 || arm64

package probe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// canary is what no probe may read.
	canary = "canary-of-the-host"
	// environment is all that the command is given.
	environment = "LOOM_PROBE=inside"
	// patience is how long an answer may take: outside it comes at once, and
	// inside a refusal does.
	patience = 20 * time.Second
)

// bait is what probes try to get at, outside of the sandbox but for the
// workspace and what is readable.
type bait struct {
	Dir, File           string // outside
	Workspace, Readable string // inside: may be written, may be read
	Home                string
	TCP, TCP6, UDP      string // addresses that something listens at; TCP6 may be ""
	Unix, Abstract      string
	Shared              string // a file in shared memory, "" for none
	Segment             int    // a segment of shared memory
	Process             int
}

// trap is bait that has been laid.
type trap struct {
	bait
	root    string
	before  unix.Stat_t
	closers []func() error
	visits  atomic.Int64 // what came in from elsewhere
}

// lay lays the bait.
func lay() (*trap, error) {
	root, err := os.MkdirTemp("", "loom-probe-")
	if err == nil {
		root, err = filepath.EvalSymlinks(root)
	}
	if err != nil {
		return nil, fmt.Errorf("bait: %w", err)
	}
	t := &trap{root: root}
	t.closers = append(t.closers, func() error { return os.RemoveAll(root) })
	for _, step := range []func() error{t.layFiles, t.layListeners, t.layShared} {
		if err := step(); err != nil {
			t.clear()
			return nil, fmt.Errorf("bait: %w", err)
		}
	}
	return t, nil
}

func (t *trap) layFiles() error {
	t.Home, _ = os.UserHomeDir()
	t.Process = os.Getpid()
	for name, at := range map[string]*string{"outside": &t.Dir, "workspace": &t.Workspace, "readable": &t.Readable} {
		*at = filepath.Join(t.root, name)
		if err := os.Mkdir(*at, 0o700); err != nil {
			return err
		}
	}
	t.File = filepath.Join(t.Dir, "secret")
	return errors.Join(
		os.WriteFile(t.File, []byte(canary), 0o600), os.WriteFile(filepath.Join(t.Readable, "file"), []byte("readable"), 0o600),
		unix.Stat(t.File, &t.before),
	)
}

func (t *trap) layListeners() error {
	t.Unix, t.Abstract = filepath.Join(t.Dir, "socket"), "@"+filepath.Base(t.root)
	for _, l := range []struct {
		network, address string
		at               *string
		must             bool
	}{
		{"tcp", "127.0.0.1:0", &t.TCP, true},
		{"tcp", "[::1]:0", &t.TCP6, false},
		{"unix", t.Unix, &t.Unix, true},
		{"unix", t.Abstract, &t.Abstract, true},
	} {
		listener, err := (&net.ListenConfig{}).Listen(context.Background(), l.network, l.address)
		if err != nil && l.must {
			return err
		}
		if err == nil {
			*l.at = listener.Addr().String()
			t.closers = append(t.closers, listener.Close)
			go t.welcome(listener)
		}
	}
	datagrams, err := (&net.ListenConfig{}).ListenPacket(context.Background(), "udp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	t.UDP = datagrams.LocalAddr().String()
	t.closers = append(t.closers, datagrams.Close)
	go t.echo(datagrams)
	return nil
}

// welcome tells whoever connects that it got through.
func (t *trap) welcome(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		t.visits.Add(1)
		_, _ = c.Write([]byte(canary))
		_ = c.Close()
	}
}

func (t *trap) echo(c net.PacketConn) {
	b := make([]byte, 64)
	for {
		n, from, err := c.ReadFrom(b)
		if err != nil {
			return
		}
		t.visits.Add(1)
		_, _ = c.WriteTo(b[:n], from)
	}
}

func (t *trap) layShared() error {
	if f, err := os.CreateTemp("/dev/shm", "loom-probe-"); err == nil {
		t.Shared = f.Name()
		_, err = f.WriteString(canary)
		t.closers = append(t.closers, f.Close, func() error { return os.Remove(t.Shared) })
		if err != nil {
			return err
		}
	}
	t.Segment = -1 // where the kernel has none
	if id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, unix.IPC_CREAT|0o600); err == nil {
		t.Segment = id
		t.closers = append(t.closers, func() error {
			_, err := unix.SysvShmCtl(id, unix.IPC_RMID, nil)
			return err
		})
	}
	return nil
}

func (t *trap) clear() {
	for i := len(t.closers) - 1; i >= 0; i-- {
		_ = t.closers[i]()
	}
}

// look tells whether the bait was left alone.
func (t *trap) look() Result {
	r := Result{Name: "bait-untouched", Promise: "P11", Refused: true, Why: "files, sockets and listeners outside are as they were"}
	var now unix.Stat_t
	err := unix.Stat(t.File, &now)
	data, readErr := os.ReadFile(t.File)
	names, _ := os.ReadDir(t.Dir)
	switch {
	case err != nil || readErr != nil:
		r.Refused, r.Why = false, fmt.Sprintf("the file is gone: %v", errors.Join(err, readErr))
	case string(data) != canary, now.Mode != t.before.Mode, now.Nlink != t.before.Nlink, now.Mtim != t.before.Mtim, now.Uid != t.before.Uid:
		r.Refused, r.Why = false, "the file was changed"
	case len(names) != 2:
		r.Refused, r.Why = false, fmt.Sprintf("%d files where 2 were", len(names))
	case t.visits.Load() > 0:
		r.Refused, r.Why = false, fmt.Sprintf("%d connections and datagrams came in", t.visits.Load())
	}
	return r
}

// got returns an error if there is one, else one if data is not the canary:
// what was read then was something else.
func got(data []byte, err error) error {
	if err != nil {
		return err
	}
	if !strings.Contains(string(data), canary) {
		return errors.New("something else is there")
	}
	return nil
}

func dial(network, address string) (net.Conn, error) {
	return (&net.Dialer{Timeout: patience}).DialContext(context.Background(), network, address)
}

// reach connects, and succeeds when it is welcomed.
func reach(network, address string) error {
	if address == "" {
		return errors.New("nothing to reach")
	}
	c, err := dial(network, address)
	if err != nil {
		return err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(patience))
	if network == "udp" { // the others speak first
		if _, err := c.Write([]byte(canary)); err != nil {
			return err
		}
	}
	b := make([]byte, 64)
	n, err := c.Read(b)
	if n > 0 {
		err = nil
	}
	return got(b[:n], err)
}

// send succeeds when a datagram can be sent off this machine.
func send(address string) error {
	c, err := dial("udp", address)
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Write([]byte("x"))
	return err
}

// filtered turns the outcome of a call into that of a probe: only a refusal
// before the kernel has looked at its arguments counts.
func filtered(errno syscall.Errno) error {
	switch errno {
	case 0:
		return nil
	case unix.EPERM, unix.ENOSYS, unix.EAFNOSUPPORT:
		return errno
	}
	return nil
}

// call makes a system call that a filter must refuse.
func call(number uintptr, args ...uintptr) func(*bait) error {
	return func(*bait) error {
		var a [6]uintptr
		copy(a[:], args)
		_, _, errno := syscall.Syscall6(number, a[0], a[1], a[2], a[3], a[4], a[5])
		return filtered(errno)
	}
}
