package broker

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/loomrun/loom/internal/base/fault"
)

// listen sets where the server listens.
func (c Config) listen(options *server.Options) error {
	if c.Listen == "" {
		options.DontListen = true
		return nil
	}
	host, port, err := c.address()
	options.Host, options.Port = host, port
	if port == 0 {
		options.Port = c.kept(host)
	}
	if c.TLS != nil {
		options.TLS, options.TLSConfig, options.TLSTimeout = true, c.TLS.Config(), tlsWithin
	}
	return err
}

// portFile has the port that the last start chose, for those who know it.
const portFile = "port"

// kept is the port that an earlier start chose, if it is free, or one that the
// server shall choose.
func (c Config) kept(host string) int {
	port, ok := c.keptPort()
	if !ok {
		return server.RANDOM_PORT
	}
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return server.RANDOM_PORT
	}
	_ = l.Close()
	return port
}

// keptPort reads the port that an earlier start chose; a file that is missing or
// says something else is as good as a first start.
func (c Config) keptPort() (port int, ok bool) {
	data, err := os.ReadFile(c.Dir.Path(portFile))
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(data)), 10, 16)
	return int(n), err == nil && n > 0
}

// keepPort notes the port that the server chose, for the next start.
func (b *Broker) keepPort(context.Context) error {
	if b.config.External != nil || b.config.Listen == "" {
		return nil
	}
	if _, port, err := b.config.address(); err != nil || port != 0 {
		return err
	}
	at, ok := b.server.Addr().(*net.TCPAddr)
	if !ok { // it listens nowhere
		return nil
	}
	return b.config.Dir.WriteFile(strconv.AppendInt(nil, int64(at.Port), 10), portFile)
}

// tlsWithin bounds the beginning of a connection with TLS, in seconds.
const tlsWithin = 10

// address splits Listen.
func (c Config) address() (string, int, error) { return Address(c.Listen) }

// Address splits an address to listen on. It returns usage/argument for one that is not
// HOST:PORT.
func Address(listen string) (string, int, error) {
	host, text, err := net.SplitHostPort(listen)
	port, numErr := strconv.ParseUint(text, 10, 16)
	if err != nil || numErr != nil {
		return "", 0, fault.New("usage/argument", "the address to listen on is not HOST:PORT").Got(listen).Want("for example %s, with a port up to 65535", DefaultListen)
	}
	return host, int(port), nil
}

// checkListen returns host/port when the address is taken, with the process
// that has it, if that can be seen, and an address that is free.
func (c Config) checkListen(ctx context.Context) error {
	if c.Listen == "" {
		return nil
	}
	host, port, err := c.address()
	if err != nil {
		return err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", c.Listen)
	if err == nil {
		return l.Close()
	}
	who := ""
	if pid, ok := listener(port); ok {
		who = fmt.Sprintf(" by process %d", pid)
	}
	e := fault.New("host/port", "the address is taken%s", who).At(c.Listen).Because(err)
	if free, ok := freePort(ctx, host); ok {
		return e.Want("%s is free", free)
	}
	return e
}

// freePort returns an address of host that can be listened on.
func freePort(ctx context.Context, host string) (string, bool) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return "", false
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String(), true
}

// listener returns the process that listens on a TCP port, as far as /proc
// tells: on Linux, and for processes whose descriptors we may see.
func listener(port int) (pid int, ok bool) {
	inodes := map[string]bool{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		data, _ := os.ReadFile(table)
		listening(string(data), port, inodes)
	}
	links, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, link := range links {
		target, err := os.Readlink(link)
		inode, socket := strings.CutPrefix(target, "socket:[")
		if err == nil && socket && inodes[strings.TrimSuffix(inode, "]")] {
			pid, err := strconv.Atoi(strings.Split(link, "/")[2])
			return pid, err == nil
		}
	}
	return 0, false
}

// listening collects the inodes of a table's sockets that listen on port.
func listening(table string, port int, inodes map[string]bool) {
	const listen = "0A"
	suffix := fmt.Sprintf(":%04X", port)
	for line := range strings.Lines(table) {
		if f := strings.Fields(line); len(f) > 9 && f[3] == listen && strings.HasSuffix(f[1], suffix) {
			inodes[f[9]] = true
		}
	}
}
