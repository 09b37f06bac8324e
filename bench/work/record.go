package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/trace"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/host"
)

// counted is what a recording notes beside the execution trace. Each figure is
// the difference between the end of the measured part and its beginning.
type counted struct {
	Executions       int                `json:"executions"`
	Allocations      []allocated        `json:"allocations"`
	Connections      map[string]traffic `json:"connections"`   // by account and name
	Disk             map[string]int64   `json:"disk"`          // growth in bytes, by part of the data directory
	WrittenBytes     int64              `json:"written_bytes"` // by the process, to disks; Linux alone
	GarbageCollected uint32             `json:"garbage_collections"`
}

// allocated is what was allocated with one stack, the innermost function first.
type allocated struct {
	Stack   []string `json:"stack"`
	Objects int64    `json:"objects"`
	Bytes   int64    `json:"bytes"`
}

type traffic struct {
	In       int64 `json:"in"`
	Out      int64 `json:"out"`
	InBytes  int64 `json:"in_bytes"`
	OutBytes int64 `json:"out_bytes"`
}

// record begins to record what follows, if that is wanted: an execution trace
// in trace.out and what is counted in counted.json. The returned function ends
// it and writes both.
func record(o options, h *host.Host) (end func() error, err error) {
	if o.record == "" {
		return func() error { return nil }, nil
	}
	if err := os.MkdirAll(o.record, 0o755); err != nil {
		return nil, err
	}
	f, err := os.Create(filepath.Join(o.record, "trace.out"))
	if err != nil {
		return nil, err
	}
	before, err := count(o, h)
	if err != nil {
		return nil, err
	}
	if err := trace.Start(f); err != nil {
		return nil, err
	}
	return func() error {
		trace.Stop()
		after, err := count(o, h)
		if err != nil {
			return err
		}
		text, err := json.Marshal(after.since(before))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(o.record, "counted.json"), text, 0o644); err != nil {
			return err
		}
		return f.Close()
	}, nil
}

func count(o options, h *host.Host) (*counted, error) {
	open, err := h.Traffic()
	if err != nil {
		return nil, err
	}
	c := &counted{Executions: o.n, Connections: map[string]traffic{}, Disk: map[string]int64{}, WrittenBytes: writtenBytes()}
	for _, t := range open {
		name := t.Account + " " + t.Connection
		if t.Connection == "" {
			name = t.Account + " observer"
		}
		was := c.Connections[name]
		c.Connections[name] = traffic{was.In + t.In, was.Out + t.Out, was.InBytes + t.InBytes, was.OutBytes + t.OutBytes}
	}
	err = filepath.WalkDir(data(o), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil //nolint:nilerr // files come and go under a running host
		}
		if info, err := d.Info(); err == nil {
			c.Disk[part(strings.TrimPrefix(path, data(o)+string(filepath.Separator)))] += info.Size()
		}
		return nil
	})
	c.Allocations = allocations()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	c.GarbageCollected = m.NumGC
	return c, err
}

var stream = regexp.MustCompile(`/streams/([^/]+)/`)

// part names what a file of the data directory belongs to: a stream, or the
// first step of its path.
func part(path string) string {
	path = filepath.ToSlash(path)
	if m := stream.FindStringSubmatch("/" + path); m != nil {
		return m[1]
	}
	first, _, _ := strings.Cut(path, "/")
	return first
}

// allocations returns what was allocated so far, by stack.
func allocations() []allocated {
	runtime.GC() // the profile is as of the last collection but one
	runtime.GC()
	n, _ := runtime.MemProfile(nil, true)
	records := make([]runtime.MemProfileRecord, n+1000)
	n, ok := runtime.MemProfile(records, true)
	for !ok {
		records = make([]runtime.MemProfileRecord, n+1000)
		n, ok = runtime.MemProfile(records, true)
	}
	by := map[string]*allocated{}
	for _, r := range records[:n] {
		var stack []string
		for frames := runtime.CallersFrames(r.Stack()); ; {
			f, more := frames.Next()
			stack = append(stack, f.Function)
			if !more {
				break
			}
		}
		key := strings.Join(stack, "\n")
		if by[key] == nil {
			by[key] = &allocated{Stack: stack}
		}
		by[key].Objects += r.AllocObjects
		by[key].Bytes += r.AllocBytes
	}
	list := make([]allocated, 0, len(by))
	for _, a := range by {
		list = append(list, *a)
	}
	return list
}

// since returns the difference of two counts.
func (c *counted) since(before *counted) *counted {
	was := map[string]allocated{}
	for _, a := range before.Allocations {
		was[strings.Join(a.Stack, "\n")] = a
	}
	d := &counted{
		Executions: c.Executions, Connections: map[string]traffic{}, Disk: map[string]int64{},
		WrittenBytes: c.WrittenBytes - before.WrittenBytes, GarbageCollected: c.GarbageCollected - before.GarbageCollected,
	}
	for _, a := range c.Allocations {
		w := was[strings.Join(a.Stack, "\n")]
		if a.Objects > w.Objects && !slices.Contains(a.Stack, "main.count") { // counting is not the load
			d.Allocations = append(d.Allocations, allocated{a.Stack, a.Objects - w.Objects, a.Bytes - w.Bytes})
		}
	}
	for name, t := range c.Connections {
		w := before.Connections[name]
		d.Connections[name] = traffic{t.In - w.In, t.Out - w.Out, t.InBytes - w.InBytes, t.OutBytes - w.OutBytes}
	}
	for name, n := range c.Disk {
		d.Disk[name] = n - before.Disk[name]
	}
	return d
}

// writtenBytes is what the process had the kernel write to disks so far, or 0
// where the system does not say.
func writtenBytes() (n int64) {
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if _, err := fmt.Sscanf(line, "write_bytes: %d", &n); err == nil {
			return n
		}
	}
	return 0
}
