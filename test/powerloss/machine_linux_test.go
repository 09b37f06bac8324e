package powerloss

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/loomrun/loom/internal/net/broker"
	"github.com/loomrun/loom/internal/net/client"
)

// within bounds everything that a test waits for.
const within = 4 * time.Minute

// machine is a computer whose power can fail. Everything that a host has is on
// its disk: data, the CEO's key, temporary files and repositories.
type machine struct {
	t        *testing.T
	loom     string // the command under test
	dir      string // where the disk is mounted
	rand     *rand.Rand
	disk     *disk
	server   *fuse.Server
	projects []string // NAME=PATH
	host     *process // of the present life
}

// newMachine returns nil where a file system of our own cannot be mounted.
func newMachine(t *testing.T, loom string, p promise, r *rand.Rand) *machine {
	t.Helper()
	m := &machine{t: t, loom: loom, dir: t.TempDir(), rand: r, disk: newDisk(p)}
	if err := m.mount(); err != nil {
		t.Logf("power loss: NOT RUN, no FUSE: %v", err)
		return nil
	}
	t.Cleanup(func() {
		m.dark()
		m.unmount()
	})
	for _, name := range []string{"tmp", "config"} {
		if err := os.Mkdir(m.path(name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

func (m *machine) path(name string) string { return filepath.Join(m.dir, name) }

func (m *machine) data() string { return m.path("data") }

func (m *machine) mount() (err error) {
	m.server, err = mount(m.disk, m.dir)
	return err
}

// unmount takes the disk away from whoever still has it.
func (m *machine) unmount() {
	if err := unix.Unmount(m.dir, unix.MNT_DETACH); err != nil {
		m.t.Errorf("unmount: %v", err)
	}
}

// dark ends the power, and with it the host: first nothing happens any more,
// then it is killed, then all that still wait for the disk are told to end.
func (m *machine) dark() {
	m.disk.mu.Lock()
	m.disk.fail()
	m.disk.mu.Unlock()
	if m.host != nil {
		_ = m.host.cmd.Process.Kill() // it may have ended
	}
	select {
	case <-m.disk.gone:
	default:
		close(m.disk.gone)
	}
	if m.host != nil {
		<-m.host.ended
		m.host = nil
	}
}

// restart brings the power back, on what is left of the disk.
func (m *machine) restart() {
	m.t.Helper()
	m.dark()
	m.unmount()
	next, l := m.disk.restart(m.rand)
	m.t.Logf("the power failed before step %d: %s", m.disk.steps, l)
	next.slow = m.disk.slow
	m.disk = next
	if err := m.mount(); err != nil {
		m.t.Fatal(err)
	}
}

// env is the environment of everything on the machine.
func (m *machine) env() []string {
	return append(os.Environ(), "TMPDIR="+m.path("tmp"), "XDG_CONFIG_HOME="+m.path("config"))
}

// run runs a command to its end and returns what it says.
func (m *machine) run(name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Env = m.env()
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// must is run for a command that must go well.
func (m *machine) must(name string, args ...string) string {
	m.t.Helper()
	out, err := m.run(name, args...)
	if err != nil {
		m.t.Errorf("%s %s: %v\n%s", filepath.Base(name), strings.Join(args, " "), err, out)
	}
	return out
}

// process is a running host.
type process struct {
	m     *machine
	cmd   *exec.Cmd
	up    chan struct{} // closed when it says that it serves
	ended chan struct{} // closed when it has ended
	mu    sync.Mutex
	said  bytes.Buffer
}

// start begins a host and does not wait for it. The power fails some steps
// later; never, if steps is 0.
func (m *machine) start(steps int) *process {
	m.t.Helper()
	args := []string{"up", "--data", m.data(), "--key", m.path("ceo.nk"), "--model", "scripted:demo", "--unsandboxed", "--listen", "127.0.0.1:0", "--http", "off"}
	for _, s := range m.projects {
		args = append(args, "--project", s)
	}
	m.disk.mu.Lock()
	if steps > 0 {
		m.disk.until = m.disk.steps + steps
	}
	m.disk.mu.Unlock()
	h := &process{m: m, cmd: exec.Command(m.loom, args...), up: make(chan struct{}), ended: make(chan struct{})}
	h.cmd.Env = m.env()
	h.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stderr, err := h.cmd.StderrPipe()
	if err == nil {
		err = h.cmd.Start()
	}
	if err != nil {
		m.t.Fatal(err)
	}
	go func() {
		h.listen(bufio.NewScanner(stderr))
		_ = h.cmd.Wait()
		close(h.ended)
	}()
	m.host = h
	return h
}

func (h *process) listen(lines *bufio.Scanner) {
	for lines.Scan() {
		h.mu.Lock()
		h.said.WriteString(lines.Text() + "\n")
		h.mu.Unlock()
		if strings.HasPrefix(lines.Text(), "Ctrl-C stops") {
			close(h.up)
		}
	}
}

// text is what the host has said.
func (h *process) text() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.said.String()
}

// stop asks the host to stop, which must be clean.
func (h *process) stop() {
	h.m.t.Helper()
	_ = h.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case <-h.ended:
	case <-time.After(within):
		h.m.t.Fatalf("the host does not stop\n%s", h.text())
	}
	if code := h.cmd.ProcessState.ExitCode(); code != 0 {
		h.m.t.Errorf("the host stopped with status %d\n%s", code, h.text())
	}
	h.m.host = nil
}

// dial connects to the host as its operator, as soon as it listens; it returns
// an error if ctx ends before.
func (h *process) dial(ctx context.Context) (*client.Client, error) {
	for {
		running, err := broker.Find(h.m.data())
		if err == nil && running.PID == h.cmd.Process.Pid {
			if c, err := client.Dial(h.m.data()); err == nil {
				return c, nil
			}
		}
		if err := pause(ctx); err != nil {
			return nil, fmt.Errorf("no connection to the host: %w", err)
		}
	}
}

// pause lets a little time pass.
func pause(ctx context.Context) error {
	select {
	case <-time.After(20 * time.Millisecond):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
