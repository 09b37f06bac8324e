//go:build unix

package main

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/proto/subject"
)

// watcher hears what happens and adds up what it takes.
type watcher struct {
	conn *nats.Conn

	mu      sync.Mutex
	claimed map[string]time.Time // attempts, by when they were claimed last
	granted map[uint64]time.Time // grants of the commit lock
	nodes   map[string][]time.Duration
	coupled int // changes in the train of the newest grant, but its own
	held    []time.Duration
	each    []time.Duration                   // of it, for each change that was tested under it
	ended   map[string]loomv1.ExecutionStatus // by bead
	asked   int
	notes   map[string]bool // what tools and the runtime said of the binary and the search
	news    chan struct{}
}

func follow(h *host.Host) (*watcher, error) {
	w := &watcher{
		claimed: map[string]time.Time{}, granted: map[uint64]time.Time{}, nodes: map[string][]time.Duration{},
		ended: map[string]loomv1.ExecutionStatus{}, notes: map[string]bool{}, news: make(chan struct{}, 1),
	}
	var err error
	if w.conn, err = nats.Connect(h.URL()); err != nil { // a client without credentials may read notices
		return nil, err
	}
	sub, err := w.conn.Subscribe(subject.Notices(subject.About{Project: subject.Must(projectID)}), w.hear)
	if err == nil {
		err = sub.SetPendingLimits(-1, -1)
	}
	if err == nil {
		err = w.conn.Flush()
	}
	return w, err
}

func (w *watcher) close() { w.conn.Close() }

func (w *watcher) hear(m *nats.Msg) {
	n := &loomv1.Notice{}
	if proto.Unmarshal(m.Data, n) != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	e, at := n.Event, n.Event.GetTime().AsTime()
	switch f := e.GetFact().(type) {
	case *loomv1.Event_AttemptClaimed:
		w.claimed[e.Attempt] = at
	case *loomv1.Event_AttemptEnded:
		w.nodes[e.Node] = append(w.nodes[e.Node], at.Sub(w.claimed[e.Attempt]))
	case *loomv1.Event_LockGranted:
		w.granted[f.LockGranted.Token], w.coupled = at, 0
	case *loomv1.Event_LockReleased:
		held := at.Sub(w.granted[f.LockReleased.Token])
		w.held = append(w.held, held)
		w.each = append(w.each, held/time.Duration(1+w.coupled))
	case *loomv1.Event_LockCoupled:
		w.coupled++
	case *loomv1.Event_ApprovalRequested:
		w.asked++
	case *loomv1.Event_ToolFinished:
		if t := f.ToolFinished.Tool; t == "content_search" || t == "file_read" {
			w.notes[t+": "+f.ToolFinished.GetResult().GetSummary()] = true
		}
	case *loomv1.Event_ChangeProposed:
		for _, warning := range f.ChangeProposed.GetChange().GetWarnings() {
			w.notes[fmt.Sprintf("the change: %s: %s", warning.Path, warning.Kind)] = true
		}
	case *loomv1.Event_ExecutionEnded:
		w.ended[e.Bead] = f.ExecutionEnded.Status
		select {
		case w.news <- struct{}{}:
		default:
		}
	}
}

// said prints what was said of the binary and of the search, each once.
func (w *watcher) said() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, note := range slices.Sorted(maps.Keys(w.notes)) {
		fmt.Println(note)
	}
}

// round is some beads at once.
type round struct {
	name string
	n    int
	adds string // a binary; empty for none
}

func (r round) run(ctx context.Context, dir string, ops *client.Client, w *watcher, calls *gitCalls) error {
	w.mu.Lock()
	w.nodes, w.held, w.each = map[string][]time.Duration{}, nil, nil
	before := w.asked
	w.mu.Unlock()
	calls.next()
	disk := sample(dir)
	began := time.Now()
	var beads []string
	for n := range r.n {
		text := fmt.Sprintf("Write new/%d-%d.txt", began.UnixNano(), n)
		if r.adds != "" {
			text += " and " + r.adds
		}
		reply, err := ops.Submit(ctx, &loomv1.Submission{Project: projectID, Goal: text, Process: "large", IdempotencyKey: text})
		if err != nil {
			return err
		}
		beads = append(beads, reply.Bead)
	}
	landed, err := w.await(ctx, beads)
	took := time.Since(began)
	peak := disk()
	if err != nil {
		return err
	}
	for ctx.Err() == nil { // worktrees go within seconds
		if left, _ := filepath.Glob(filepath.Join(dir, "data", "git", "worktrees", "*")); len(left) == 0 {
			break
		}
		if time.Since(began) > took+20*time.Second {
			fmt.Println("worktrees are still there after 20 s")
			break
		}
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
	whole, moved := calls.next()
	w.mu.Lock()
	defer w.mu.Unlock()
	fmt.Printf("| %s | %d of %d | %.1f |", r.name, landed, r.n, took.Seconds())
	for _, node := range []string{"look", "make", "commit", "verify", "land"} {
		fmt.Printf(" %s |", middle(w.nodes[node]))
	}
	fmt.Printf(" %s | %s | %d, %d | %d, %d | %d |\n", middle(w.held), middle(w.each), whole, moved, peak>>20, sizeOf(filepath.Join(dir, "data"))>>20, w.asked-before)
	return nil
}

func (w *watcher) await(ctx context.Context, beads []string) (landed int, err error) {
	for {
		w.mu.Lock()
		landed = 0
		done := 0
		for _, b := range beads {
			if s, is := w.ended[b]; is {
				done++
				if s == loomv1.ExecutionStatus_EXECUTION_STATUS_COMPLETED || s == loomv1.ExecutionStatus_EXECUTION_STATUS_COMPLETED_WITH_GAPS {
					landed++
				}
			}
		}
		stuck := done+w.asked >= len(beads) && w.asked > 0 // who asks the CEO waits for ever
		w.mu.Unlock()
		if done == len(beads) || stuck {
			return landed, nil
		}
		select {
		case <-w.news:
		case <-time.After(time.Second):
		case <-ctx.Done():
			return landed, ctx.Err()
		}
	}
}

// middle is the median and the most, in seconds.
func middle(list []time.Duration) string {
	if len(list) == 0 {
		return "-"
	}
	slices.SortFunc(list, cmp.Compare[time.Duration])
	if len(list) == 1 {
		return fmt.Sprintf("%.2f", list[0].Seconds())
	}
	return fmt.Sprintf("%.2f, %.2f", list[len(list)/2].Seconds(), list[len(list)-1].Seconds())
}

// sample looks at the file system of a directory from time to time; what it returns
// ends that and gives the most that was used beyond the beginning.
func sample(dir string) func() uint64 {
	used := func() uint64 {
		var s syscall.Statfs_t
		if syscall.Statfs(dir, &s) != nil {
			return 0
		}
		return (s.Blocks - s.Bfree) * uint64(s.Bsize) //nolint:gosec,unconvert // a size
	}
	first := used()
	stop, most := make(chan struct{}), make(chan uint64)
	go func() {
		peak := first
		for {
			select {
			case <-stop:
				most <- peak - first
				return
			case <-time.After(50 * time.Millisecond):
				peak = max(peak, used())
			}
		}
	}()
	return func() uint64 { close(stop); return <-most }
}

func sizeOf(root string) (n int64) {
	_ = filepath.WalkDir(root, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // what goes meanwhile does not count
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			n += info.Size()
		}
		return nil
	})
	return n
}
