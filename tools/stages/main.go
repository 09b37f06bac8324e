// Command stages prints what one execution of work W costs, stage by stage:
//
//	go -C tools/stages run .             # 100 at once
//	go -C tools/stages run . -c 1        # one at a time
//	go -C tools/stages run . -json       # to compare two of them
//
// It runs bench/work with each allocation noted and an execution trace of the
// measured part. From these come, without a sample: fsyncs and writes (the
// system calls of the trace), wake-ups (goroutines that somebody made ready),
// allocations, and encodings (a protobuf or JSON message for which a buffer
// was made; one that is appended to a buffer at hand is not seen). Each belongs
// to the stage of the innermost function that the table of stages names: who
// causes it, not whom it is for. Messages and bytes on the wire are the
// server's own figures by connection, bytes on the disk the growth of each part
// of the data directory. Noting everything takes time, so no times are printed:
// the table counts.
package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"golang.org/x/exp/trace"
)

// stages are judged in this order for each function of a stack, the innermost
// first; the first that matches is the stage.
var stages = []struct {
	name     string
	function *regexp.Regexp
}{
	{"snapshots", regexp.MustCompile(`loom/actors\.\(\*(snapshotter|recovery)|natsjournal\.\(\*Snapshots|journal\.\(?\*?Snapshot`)},
	{"journal: encode, hash, append", regexp.MustCompile(`loom/internal/store/(natsjournal|journal)\.|loom/actors\.\(\*keeper`)},
	{"tables", regexp.MustCompile(`loom/internal/store/projection|modernc\.org/sqlite|database/sql\.`)},
	{"head marks, blobs, other store", regexp.MustCompile(`loom/internal/store/`)},
	{"decide and apply", regexp.MustCompile(`loom/internal/core/|loom/graph\.|loom/internal/lang/condition`)},
	{"the bench's own client", regexp.MustCompile(`^main\.|loom/bench/|loom/internal/net/(client|ceokey)`)},
	{"services and wires", regexp.MustCompile(`loom/internal/net/`)},
	{"actors", regexp.MustCompile(`loom/actors|asynkron/protoactor-go`)},
	{"host", regexp.MustCompile(`loom/`)},
	{"NATS server: streams", regexp.MustCompile(`nats-server/v2/server\.\(\*(fileStore|msgBlock|memStore|stream|consumer|consumerFileStore|jsAccount|jetStream)\)`)},
	{"NATS server: routing", regexp.MustCompile(`nats-server/v2/`)},
	{"NATS client library", regexp.MustCompile(`nats-io/nats\.go`)},
}

const rest = "runtime and the rest"

func stageOf(stack []string) string {
	for _, function := range stack {
		for _, s := range stages {
			if s.function.MatchString(function) {
				return s.name
			}
		}
	}
	return rest
}

// cost is what a stage did, in all executions together.
type cost struct {
	Fsyncs         int64 `json:"fsyncs"`
	Writes         int64 `json:"writes"` // to files and sockets
	Wakeups        int64 `json:"wakeups"`
	Allocations    int64 `json:"allocations"`
	AllocatedBytes int64 `json:"allocated_bytes"`
	Encodings      int64 `json:"encodings"`
	EncodedBytes   int64 `json:"encoded_bytes"`
}

func (c *cost) add(d cost) {
	c.Fsyncs += d.Fsyncs
	c.Writes += d.Writes
	c.Wakeups += d.Wakeups
	c.Allocations += d.Allocations
	c.AllocatedBytes += d.AllocatedBytes
	c.Encodings += d.Encodings
	c.EncodedBytes += d.EncodedBytes
}

// counted is what bench/work writes beside the trace.
type counted struct {
	Executions  int `json:"executions"`
	Allocations []struct {
		Stack   []string `json:"stack"`
		Objects int64    `json:"objects"`
		Bytes   int64    `json:"bytes"`
	} `json:"allocations"`
	Connections  map[string]traffic `json:"connections"`
	Disk         map[string]int64   `json:"disk"`
	WrittenBytes int64              `json:"written_bytes"`
	Collections  uint32             `json:"garbage_collections"`
}

type traffic struct {
	In       int64 `json:"in"`
	Out      int64 `json:"out"`
	InBytes  int64 `json:"in_bytes"`
	OutBytes int64 `json:"out_bytes"`
}

// report is the whole answer; its figures are of all executions together.
type report struct {
	Executions   int                `json:"executions"`
	AtOnce       int                `json:"at_once"`
	Stages       map[string]*cost   `json:"stages"`
	Connections  map[string]traffic `json:"connections"`
	Disk         map[string]int64   `json:"disk"`
	WrittenBytes int64              `json:"written_bytes"`
	Collections  uint32             `json:"garbage_collections"`
}

func main() {
	root := flag.String("root", "../..", "directory of the module")
	atOnce := flag.Int("c", 100, "executions in flight")
	n := flag.Int("n", 300, "executions to run")
	read := flag.String("read", "", "read this recording instead of making one")
	asJSON := flag.Bool("json", false, "print JSON; figures are of all executions together")
	flag.Parse()
	if err := show(*root, *read, *atOnce, *n, *asJSON); err != nil {
		fmt.Fprintln(os.Stderr, "stages:", err)
		os.Exit(1)
	}
}

func show(root, recording string, atOnce, n int, asJSON bool) error {
	if recording == "" {
		dir, err := os.MkdirTemp("", "loom-stages-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		recording = filepath.Join(dir, "recording")
		if err := run(root, dir, recording, atOnce, n); err != nil {
			return err
		}
	}
	r, err := readRecording(recording)
	if err != nil {
		return err
	}
	r.AtOnce = atOnce
	if asJSON {
		out := json.NewEncoder(os.Stdout)
		out.SetIndent("", "  ")
		return out.Encode(r)
	}
	return r.print(os.Stdout)
}

// run has bench/work run n executions and record them.
func run(root, dir, recording string, atOnce, n int) error {
	worker := filepath.Join(dir, "work")
	build := exec.Command("go", "build", "-o", worker, "./bench/work")
	build.Dir, build.Stdout, build.Stderr = root, os.Stderr, os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("build bench/work: %w", err)
	}
	work := exec.Command(worker, "-data", filepath.Join(dir, "data"), "-c", strconv.Itoa(atOnce), "-n", strconv.Itoa(n), "-warm", "50", "-record", recording)
	work.Stdin, work.Stderr = strings.NewReader("GO\nQUIT\n"), os.Stderr
	said, err := work.Output()
	if err != nil {
		return fmt.Errorf("bench/work: %w", err)
	}
	_, text, found := strings.Cut(string(said), "RESULT ")
	var result struct{ Completed, Errors int }
	if err := json.NewDecoder(strings.NewReader(text)).Decode(&result); !found || err != nil {
		return fmt.Errorf("bench/work says %q and no result", said)
	}
	if result.Completed != n || result.Errors != 0 {
		return fmt.Errorf("bench/work completed %d of %d executions, with %d errors: the figures would be of something else", result.Completed, n, result.Errors)
	}
	return nil
}

func readRecording(dir string) (*report, error) {
	text, err := os.ReadFile(filepath.Join(dir, "counted.json"))
	if err != nil {
		return nil, err
	}
	var c counted
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, err
	}
	r := &report{
		Executions: c.Executions, Stages: map[string]*cost{}, Connections: c.Connections, Disk: c.Disk,
		WrittenBytes: c.WrittenBytes, Collections: c.Collections,
	}
	for _, a := range c.Allocations {
		d := cost{Allocations: a.Objects, AllocatedBytes: a.Bytes}
		if encodes(a.Stack) {
			d.Encodings, d.EncodedBytes = a.Objects, a.Bytes
		}
		r.at(a.Stack).add(d)
	}
	return r, r.readTrace(filepath.Join(dir, "trace.out"))
}

func (r *report) at(stack []string) *cost {
	name := stageOf(stack)
	if r.Stages[name] == nil {
		r.Stages[name] = &cost{}
	}
	return r.Stages[name]
}

var encoder = regexp.MustCompile(`^google\.golang\.org/protobuf/(proto|encoding/protojson)\.\(?\*?(MarshalOptions\)?\.(m|M)arshal|Marshal)|^encoding/json\.Marshal|^encoding/json/v2\.Marshal`)

// encodes says that the allocation is the buffer of a message that is encoded:
// the innermost function outside of the runtime is an encoder's.
func encodes(stack []string) bool {
	for _, function := range stack {
		if strings.HasPrefix(function, "runtime.") || strings.HasPrefix(function, "bytes.") || strings.HasPrefix(function, "slices.") {
			continue
		}
		return encoder.MatchString(function)
	}
	return false
}

var (
	syncs  = regexp.MustCompile(`(?i)\.X?f(data)?sync(64)?$|\.syncfilerange$`)
	writes = regexp.MustCompile(`(?i)\.X?p?writev?(64)?$`)
)

// readTrace counts system calls and wake-ups.
func (r *report) readTrace(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	events, err := trace.NewReader(f)
	if err != nil {
		return err
	}
	for {
		e, err := events.ReadEvent()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if e.Kind() != trace.EventStateTransition {
			continue
		}
		t := e.StateTransition()
		if t.Resource.Kind != trace.ResourceGoroutine {
			continue
		}
		switch from, to := t.Goroutine(); {
		case from == trace.GoRunning && to == trace.GoSyscall:
			stack := functions(e.Stack())
			near := stack[:min(len(stack), 6)]
			if slices.ContainsFunc(near, syncs.MatchString) {
				r.at(stack).Fsyncs++
			} else if slices.ContainsFunc(near, writes.MatchString) {
				r.at(stack).Writes++
			}
		case from == trace.GoWaiting && to == trace.GoRunnable:
			r.at(functions(e.Stack())).Wakeups++
		}
	}
}

func functions(s trace.Stack) (list []string) {
	for f := range s.Frames() {
		list = append(list, f.Func)
	}
	return list
}

// print writes the tables, each figure for one execution.
func (r *report) print(w io.Writer) error {
	each := func(n int64) string {
		v := float64(n) / float64(r.Executions)
		if v < 10 {
			return strconv.FormatFloat(v, 'f', 2, 64)
		}
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	fmt.Fprintf(w, "One execution of work W, of %d with %d at once. %d collections of garbage.\n\n", r.Executions, r.AtOnce, r.Collections)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(cells ...string) { fmt.Fprintln(table, strings.Join(cells, "\t")) }
	row("stage", "fsyncs", "writes", "wake-ups", "allocations", "bytes", "encodings", "bytes")
	var sum cost
	costs := func(name string, c *cost) {
		row(name, each(c.Fsyncs), each(c.Writes), each(c.Wakeups), each(c.Allocations), each(c.AllocatedBytes), each(c.Encodings), each(c.EncodedBytes))
	}
	for _, s := range stages {
		if c := r.Stages[s.name]; c != nil {
			costs(s.name, c)
			sum.add(*c)
		}
	}
	if c := r.Stages[rest]; c != nil {
		costs(rest, c)
		sum.add(*c)
	}
	costs("all", &sum)
	row()
	row("connection", "messages in", "out", "bytes in", "out")
	var all traffic
	for _, name := range slices.Sorted(maps.Keys(r.Connections)) {
		t := r.Connections[name]
		row(name, each(t.In), each(t.Out), each(t.InBytes), each(t.OutBytes))
		all = traffic{all.In + t.In, all.Out + t.Out, all.InBytes + t.InBytes, all.OutBytes + t.OutBytes}
	}
	row("all", each(all.In), each(all.Out), each(all.InBytes), each(all.OutBytes))
	row()
	row("on the disk", "bytes")
	var disk int64
	for _, name := range slices.SortedFunc(maps.Keys(r.Disk), func(a, b string) int { return cmp.Compare(r.Disk[b], r.Disk[a]) }) {
		if r.Disk[name] != 0 {
			row(name, each(r.Disk[name]))
		}
		disk += r.Disk[name]
	}
	row("all", each(disk))
	row("written by the process", each(r.WrittenBytes))
	return table.Flush()
}
