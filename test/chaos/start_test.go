package chaos

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/net/broker"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func TestP4_SecondHostIsRefusedByPid(t *testing.T) {
	c := newChaos(t)
	p, j := c.place, c.job("shop")
	first := p.start(t)
	began := time.Now()
	second := p.begin(t)
	status := second.wait()
	t.Logf("the second host was refused after %s", time.Since(began))
	if pid := fmt.Sprint(first.cmd.Process.Pid); status != fault.Conflict || !strings.Contains(second.text(), "process "+pid) {
		t.Errorf("the second host ended with status %d, want %d and the name of process %s:\n%s", status, fault.Conflict, pid, second.text())
	}
	if first.running().PID == 0 {
		t.Error("the second host has taken the first one's place in the data directory")
	}
	c.finish(first, j)
}

// A host that is told to stop gives back what it works on, and the next one
// goes on from there.
func TestWF10_SignalsStopCleanlyInTheMiddle(t *testing.T) {
	c := newChaos(t)
	p, j := c.place, c.job("shop")
	for _, tt := range []struct {
		sig    os.Signal
		middle func(*loomv1.Event) bool
	}{
		{syscall.SIGINT, func(e *loomv1.Event) bool { return e.GetToolIntended() != nil }},
		{syscall.SIGTERM, func(e *loomv1.Event) bool { return e.Node == "investigate" && e.GetTurnStarted() != nil }},
		{syscall.SIGINT, func(e *loomv1.Event) bool { return e.GetLockGranted() != nil }},
	} {
		h := p.begin(t)
		leave := c.attend(h, j)
		c.record.await(t, h, "shop", tt.middle)
		h.serves()
		h.stop(tt.sig)
		leave()
		left(t, p)
		if _, err := broker.Find(p.data); fault.Code(err) != "host/not-running" {
			t.Errorf("after %s the data directory says %v, want host/not-running", tt.sig, err)
		}
	}
	c.finish(p.start(t), j)
	list, _, _ := c.record.from(0, "shop")
	var events []*loomv1.Event
	for _, n := range list {
		events = append(events, n.Event)
	}
	for _, problem := range audit(events) {
		t.Error(problem)
	}
}

// What cannot work is refused with the reason, and once it is put right the
// same host starts.
func TestOPS01_HostsThatCannotStart(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, tt := range []struct {
		name   string
		wreck  func(t *testing.T, p *place)
		args   []string
		status fault.Exit
		says   []string
	}{
		{
			"a port in use", nil,
			[]string{"--listen", taken.Addr().String()},
			fault.Conflict,
			[]string{taken.Addr().String(), fmt.Sprintf("process %d", os.Getpid()), "is free", "[host/port]"},
		},
		{
			"no git", func(t *testing.T, p *place) { p.env = append(p.env, "PATH="+t.TempDir()) }, nil, fault.Unavailable,
			[]string{"git", "[host/no-git]"},
		},
		{
			"no such repository", nil,
			[]string{"--project", "other=/nowhere/at/all"},
			fault.Invalid,
			[]string{"/nowhere/at/all", "[git/not-a-repository]"},
		},
		{
			"a directory that is no repository", nil,
			[]string{"--project", "other=" + t.TempDir()},
			fault.Invalid,
			[]string{"[git/not-a-repository]"},
		},
		{"a repository of another project", func(_ *testing.T, p *place) {
			p.projects = append(p.projects, "other="+strings.TrimPrefix(p.projects[0], "shop="))
		}, nil, fault.Conflict, []string{`"shop"`, "[project/conflict]"}},
		{
			"no such branch", func(_ *testing.T, p *place) { p.projects[0] += "@release" }, nil, fault.Invalid,
			[]string{"release", "[git/unknown-branch]"},
		},
		{"data that cannot be written", func(t *testing.T, p *place) {
			file := filepath.Join(p.dir, "file")
			write(t, file, "")
			p.data = filepath.Join(file, "data")
		}, nil, fault.Refused, []string{"file/data", "[data/permissions]"}},
		{
			"a truncated manifest", func(t *testing.T, p *place) { cutFile(t, p.path("manifest.json")) }, nil, fault.Integrity,
			[]string{"manifest.json", "[data/manifest]"},
		},
		{
			"a manifest of garbage", func(t *testing.T, p *place) { write(t, p.path("manifest.json"), "\x00\xff garbage") }, nil, fault.Integrity,
			[]string{"manifest.json", "[data/manifest]"},
		},
		{
			"a manifest that is gone", func(t *testing.T, p *place) { remove(t, p.path("manifest.json")) }, nil, fault.Integrity,
			[]string{"manifest.json", "[data/manifest]"},
		},
		{
			"a journal that is gone", func(t *testing.T, p *place) { remove(t, p.stream("CORE", "LOOM_J_02")) }, nil, fault.Integrity,
			[]string{"LOOM_J_02", "[data/stream-missing]"},
		},
		{
			"a journal without its description", func(t *testing.T, p *place) { remove(t, filepath.Join(p.stream("CORE", "LOOM_J_02"), "meta.inf")) }, nil, fault.Integrity,
			[]string{"LOOM_J_02", "[data/stream-missing]"},
		},
		{
			"submissions that are gone", func(t *testing.T, p *place) { remove(t, p.stream("TASKS", "TASKS")) }, nil, fault.Integrity,
			[]string{"TASKS", "[data/stream-missing]"},
		},
		{"messages of journals that are gone", func(t *testing.T, p *place) {
			for i := range 4 {
				remove(t, filepath.Join(p.stream("CORE", fmt.Sprintf("LOOM_J_%02d", i)), "msgs"))
			}
		}, nil, fault.Integrity, []string{"LOOM_J_0", "acknowledged events are gone", "[journal/behind]"}},
		{"a journal cut in half", func(t *testing.T, p *place) { cutFile(t, p.fullest(t)) }, nil, fault.Integrity, []string{"LOOM_J_0", "acknowledged events are gone", "[journal/behind]"}},
		{"a byte of a journal that has changed", func(t *testing.T, p *place) {
			for i := range 4 {
				flip(t, filepath.Join(p.stream("CORE", fmt.Sprintf("LOOM_J_%02d", i)), "msgs", "1.blk"))
			}
		}, nil, fault.Integrity, []string{"LOOM_J_0"}},
		{"a key of the CEO that others read", func(t *testing.T, p *place) {
			remove(t, p.data)
			if err := os.Chmod(p.key, 0o644); err != nil {
				t.Fatal(err)
			}
		}, nil, fault.Refused, []string{"ceo.nk", "0644", "[data/permissions]"}},
	} {
		t.Run("OPS01 "+tt.name, func(t *testing.T) {
			p := newPlace(t)
			p.repository(t, "shop")
			p.start(t).stop(syscall.SIGTERM)
			before := *p
			before.projects = append([]string(nil), p.projects...)
			if tt.wreck != nil {
				tt.wreck(t, p)
			}
			h := p.begin(t, tt.args...)
			status := h.wait()
			if status != tt.status {
				t.Errorf("status %d, want %d", status, tt.status)
			}
			for _, s := range tt.says {
				if !strings.Contains(h.text(), s) {
					t.Errorf("it does not say %q", s)
				}
			}
			most := 1
			if tt.status == fault.Integrity {
				most = 4 // each journal that is damaged has its line
			}
			if n := strings.Count(h.text(), "loom: "); n < 1 || n > most || strings.Contains(h.text(), "goroutine ") || t.Failed() {
				t.Errorf("it says:\n%s", h.text())
			}
			if tt.wreck == nil {
				before.start(t).stop(syscall.SIGTERM)
			}
		})
	}
}

// What can be made again from the journal is made again.
func TestOPS01_DerivedDataComesBack(t *testing.T) {
	c := newChaos(t)
	p, j := c.place, c.job("shop")
	c.finish(p.start(t), j)
	remove(t, p.stream("CORE", "OBJ_LOOM_SNAP"))
	cutFile(t, p.path("projection.db"))
	for _, dir := range []string{"git", "scratch"} {
		remove(t, p.path(dir))
	}
	h := p.start(t)
	list, err := h.client().History(deadline(t), &loomv1.HistoryRequest{Execution: execution(j)})
	if err != nil || len(list.Transitions) != len(smooth) {
		t.Errorf("history has %d transitions, %v; want %d", len(list.Transitions), err, len(smooth))
	}
	c.record.history(t, h.client())
	h.stop(syscall.SIGTERM)
}

// path is the path of a file of the data directory.
func (p *place) path(name string) string { return filepath.Join(p.data, name) }

// stream is the directory where the server keeps a stream.
func (p *place) stream(account, name string) string {
	return p.path(filepath.Join("jetstream", account, "streams", name))
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// fullest is the file of the journal that has most in it: half of it is some of
// its events, and not none.
func (p *place) fullest(t *testing.T) (path string) {
	t.Helper()
	var most int64
	for i := range 4 {
		name := filepath.Join(p.stream("CORE", fmt.Sprintf("LOOM_J_%02d", i)), "msgs", "1.blk")
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() > most {
			path, most = name, info.Size()
		}
	}
	return path
}

// cutFile takes the second half of a file away.
func cutFile(t *testing.T, path string) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, info.Size()/2); err != nil {
		t.Fatal(err)
	}
}

// flip changes a bit in the middle of a file.
func flip(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(data) > 0 {
		data[len(data)/2] ^= 1
	}
	write(t, path, string(data))
}

// remove removes what must be there.
func remove(t *testing.T, path string) {
	t.Helper()
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}
