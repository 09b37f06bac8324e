//go:build amd64 || arm64

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"

	"golang.org/x/sys/unix"
)

// serve has a command's first process open a listener in the network namespace of
// the command and hand it to this one, where a goroutine gives it to with. It
// returns the end of a socket pair that the first process needs for it. All but that
// is closed when ctx ends, and with it the namespace goes.
func serve(ctx context.Context, with func(net.Listener)) (*os.File, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	theirs, ours := os.NewFile(uintptr(pair[1]), "end of the command"), os.NewFile(uintptr(pair[0]), "end of the host")
	defer ours.Close()
	c, err := net.FileConn(ours)
	if err != nil {
		_ = theirs.Close()
		return nil, err
	}
	context.AfterFunc(ctx, func() { _ = c.Close() })
	go func() {
		defer c.Close()
		l, err := receiveListener(c.(*net.UnixConn))
		if err != nil {
			return // the command never began, or says itself why it cannot
		}
		defer l.Close()
		defer context.AfterFunc(ctx, func() { _ = l.Close() })()
		with(l)
	}()
	return theirs, nil
}

// receiveListener waits for the listener that the first process opens.
func receiveListener(c *net.UnixConn) (net.Listener, error) {
	control := make([]byte, unix.CmsgSpace(4))
	_, n, flags, _, err := c.ReadMsgUnix(make([]byte, 1), control)
	if err != nil {
		return nil, err
	}
	if flags&unix.MSG_CTRUNC != 0 {
		return nil, errors.New("more than a listener came")
	}
	messages, err := unix.ParseSocketControlMessage(control[:n])
	if err != nil || len(messages) != 1 {
		return nil, errors.Join(err, errors.New("no listener came"))
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return nil, errors.Join(err, errors.New("no listener came"))
	}
	f := os.NewFile(uintptr(fds[0]), "listener")
	defer f.Close()
	return net.FileListener(f)
}

// handListener opens the listener and hands it over through a socket. It is done
// before the command is there, so that nothing else can have the address.
func handListener(socket int) error {
	defer unix.Close(socket)
	at := netip.MustParseAddrPort(ServeAddress)
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("listener: %w", err)
	}
	defer unix.Close(fd)
	if err := unix.Bind(fd, &unix.SockaddrInet4{Port: int(at.Port()), Addr: at.Addr().As4()}); err != nil {
		return fmt.Errorf("listener at %s: %w", at, err)
	}
	if err := unix.Listen(fd, 128); err != nil {
		return fmt.Errorf("listener at %s: %w", at, err)
	}
	if err := unix.Sendmsg(socket, []byte{0}, unix.UnixRights(fd), nil, 0); err != nil {
		return fmt.Errorf("handing the listener over: %w", err)
	}
	return nil
}
