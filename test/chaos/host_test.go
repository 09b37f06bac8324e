package chaos

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/net/broker"
	"github.com/loomrun/loom/internal/net/client"
)

// loom is the command under test, built once.
var loom string

func TestMain(m *testing.M) {
	if dir := os.Getenv(crowdHost); dir != "" {
		os.Exit(runCrowdHost(dir))
	}
	flag.Parse()
	if testing.Short() { // every test of a host is left out
		os.Exit(m.Run())
	}
	dir, err := os.MkdirTemp("", "loom-chaos-")
	if err == nil {
		loom = filepath.Join(dir, "loom")
		var out []byte
		if out, err = exec.Command("go", "build", "-o", loom, "github.com/loomrun/loom/cmd/loom").CombinedOutput(); err != nil {
			err = fmt.Errorf("%w\n%s", err, out)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "the command under test:", err)
		os.Exit(1)
	}
	status := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(status)
}

// within bounds everything that a test waits for.
const within = 2 * time.Minute

func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	t.Cleanup(cancel)
	return ctx
}

// place is where a test's deployment lives: data, the CEO's key, temporary
// files and repositories, all under one directory.
type place struct {
	dir, data, key string
	env            []string
	flags          []string // of every start, beside the usual ones
	projects       []string // NAME=PATH
	program        string   // what a host is, if not the command under test; it takes no arguments
}

func newPlace(t *testing.T) *place {
	t.Helper()
	longtest.Skip(t)
	dir := t.TempDir()
	p := &place{dir: dir, data: filepath.Join(dir, "data"), key: filepath.Join(dir, "ceo.nk")}
	tmp := filepath.Join(dir, "tmp")
	if err := os.Mkdir(tmp, 0o700); err != nil {
		t.Fatal(err)
	}
	p.env = append(os.Environ(), "TMPDIR="+tmp, "XDG_CONFIG_HOME="+filepath.Join(dir, "config"))
	return p
}

// repository makes the demo's repository and registers it as a project from
// the next start on.
func (p *place) repository(t *testing.T, project string) string {
	t.Helper()
	dir := filepath.Join(p.dir, "repositories", project)
	if out, err := exec.Command(loom, "demo", "--make-repository", dir).CombinedOutput(); err != nil {
		t.Fatalf("demo repository: %v\n%s", err, out)
	}
	p.projects = append(p.projects, project+"="+dir)
	return dir
}

// arguments is the command line of a host on the place.
func (p *place) arguments() []string {
	args := []string{"up", "--data", p.data, "--key", p.key, "--model", "scripted:demo", "--unsandboxed", "--listen", "127.0.0.1:0"}
	for _, s := range p.projects {
		args = append(args, "--project", s)
	}
	return append(args, p.flags...)
}

// process is a running host.
type process struct {
	t     *testing.T
	place *place
	cmd   *exec.Cmd
	begun time.Time
	up    chan struct{} // closed when it says that it serves
	ready time.Duration // from begun to up
	ended chan struct{} // closed when it has ended
	mu    sync.Mutex
	said  bytes.Buffer
}

// begin starts a host and does not wait for it. It is killed with the test.
func (p *place) begin(t *testing.T, more ...string) *process {
	t.Helper()
	h := &process{t: t, place: p, begun: time.Now(), up: make(chan struct{}), ended: make(chan struct{})}
	h.cmd = exec.Command(loom, append(p.arguments(), more...)...)
	if p.program != "" {
		h.cmd = exec.Command(p.program)
	}
	h.cmd.Env = p.env
	h.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stderr, err := h.cmd.StderrPipe()
	if err == nil {
		err = h.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		h.listen(bufio.NewScanner(stderr))
		_ = h.cmd.Wait()
		close(h.ended)
	}()
	t.Cleanup(h.kill)
	return h
}

// start starts a host and returns when it serves.
func (p *place) start(t *testing.T, more ...string) *process {
	t.Helper()
	h := p.begin(t, more...)
	h.serves()
	return h
}

// serves waits until the host serves.
func (h *process) serves() {
	h.t.Helper()
	select {
	case <-h.up:
	case <-h.ended:
		h.t.Fatalf("the host ended instead of serving: status %d\n%s", h.status(), h.text())
	case <-time.After(within):
		h.t.Fatalf("the host does not come up\n%s", h.text())
	}
}

func (h *process) listen(lines *bufio.Scanner) {
	for lines.Scan() {
		h.mu.Lock()
		h.said.WriteString(lines.Text() + "\n")
		h.mu.Unlock()
		if strings.HasPrefix(lines.Text(), "Ctrl-C stops") {
			h.ready = time.Since(h.begun)
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

// kill ends the host as a power cut would, and nothing that it started.
func (h *process) kill() {
	_ = h.cmd.Process.Kill() // it may have ended
	<-h.ended
}

// status is the exit status of a host that has ended.
func (h *process) status() fault.Exit { return fault.Exit(h.cmd.ProcessState.ExitCode()) }

// wait waits until the host ends and returns its exit status.
func (h *process) wait() fault.Exit {
	h.t.Helper()
	select {
	case <-h.ended:
	case <-time.After(within):
		h.t.Fatalf("the host does not end\n%s", h.text())
	}
	return h.status()
}

// stopWithin is how long a clean stop may take; it gives up after 20 seconds.
const stopWithin = 8 * time.Second

// stop asks the host to stop, which must be clean.
func (h *process) stop(sig os.Signal) {
	h.t.Helper()
	if err := h.cmd.Process.Signal(sig); err != nil {
		h.t.Fatal(err)
	}
	select {
	case <-h.ended:
	case <-time.After(stopWithin):
		_ = h.cmd.Process.Signal(syscall.SIGQUIT) // it says what it waits for
		<-h.ended
		h.t.Fatalf("%s after %s the host has not stopped\n%s", stopWithin, sig, h.text())
	}
	if status := h.wait(); status != fault.Done {
		h.t.Errorf("stopped by %s with status %d, want 0\n%s", sig, status, h.text())
	}
	for line := range strings.Lines(h.text()) {
		if strings.Contains(line, "level=ERROR") {
			h.t.Errorf("a clean run logged an error: %s", line)
		}
	}
}

// running is what the host says in its data directory; it is another's until it
// has come far enough.
func (h *process) running() broker.Running {
	running, err := broker.Find(h.place.data)
	if err != nil || running.PID != h.cmd.Process.Pid {
		return broker.Running{}
	}
	return running
}

// dial connects to the host as its operator, as soon as it listens; nil if it
// ends before.
func (h *process) dial(ctx context.Context) *client.Client {
	var c *client.Client
	h.until(ctx, func() bool {
		if h.running().URL == "" {
			return false
		}
		var err error
		c, err = client.Dial(h.place.data)
		return err == nil
	})
	return c
}

// client is dial for a test that has no host without it.
func (h *process) client() *client.Client {
	h.t.Helper()
	c := h.dial(deadline(h.t))
	if c == nil {
		h.t.Fatalf("no connection to the host\n%s", h.text())
	}
	h.t.Cleanup(c.Close)
	return c
}

// until asks again and again until it is true, the host has ended, or ctx has;
// it returns whether it became true.
func (h *process) until(ctx context.Context, ok func() bool) bool {
	t := time.NewTicker(10 * time.Millisecond)
	defer t.Stop()
	for !ok() {
		select {
		case <-t.C:
		case <-h.ended:
			return false
		case <-ctx.Done():
			return false
		}
	}
	return true
}
