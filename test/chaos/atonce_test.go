package chaos

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/internal/host"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

var atOnce = flag.Int("chaos.at-once", 8, "how many tasks one project is given at once")

// atOnceHost is the variable that makes a host one that lands changes of one project
// with the settings that hosts have where nothing is said.
const atOnceHost = "LOOM_CHAOS_AT_ONCE"

func beLander(c *host.Config) {
	c.Worker, c.Model, c.Unsandboxed = nil, scripted.New("at once", oneFile), true
	c.Projects[0].Checks = []string{"test -s go.mod"}
	c.Agents = map[string]int{"implementer": 4, "qa-engineer": 4, "engineering-manager": 2}
}

// TestREAL08_TasksAtOnceAllLand gives one project many tasks at once, each with a
// file of its own: every one lands once, nobody is asked anything, and no attempt is
// counted against the work because the target has moved.
func TestREAL08_TasksAtOnceAllLand(t *testing.T) {
	for name, kills := range map[string][]int{
		"with a host that stays":        nil,
		"with a host killed in between": {*atOnce / 5, *atOnce / 2},
	} {
		t.Run("REAL08 "+name, func(t *testing.T) {
			program, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			a := &landings{t: t, place: newPlace(t), record: newRecord()}
			a.repository = a.place.repository(t, crowd)
			a.place.crowded(program)
			a.place.env = append(a.place.env, atOnceHost+"=1")
			h := a.place.start(t)
			h.define("change")
			a.order(h)
			began := time.Now()
			for _, n := range kills {
				a.await(h, n)
				h.kill()
				h = a.place.begin(t)
			}
			a.await(h, *atOnce)
			took := time.Since(began)
			fresh := a.count(func(e *loomv1.Event) bool { return e.GetReworkStarted().GetMovedFrom() != "" })
			cars := a.count(func(e *loomv1.Event) bool { return e.GetTrainTested() != nil })
			t.Logf("%d of %d landed in %s, %d kills, %d fresh candidates for a target that moved, %d cars in trains", a.landed(), *atOnce, took.Round(100*time.Millisecond), len(kills), fresh, cars)
			h.serves()
			h.stop(syscall.SIGTERM)
			a.judge()
		})
	}
}

// landings is a project whose tasks all land.
type landings struct {
	t          *testing.T
	place      *place
	record     *record
	repository string
}

// order places all tasks.
func (a *landings) order(h *process) {
	a.t.Helper()
	ctx, c := deadline(a.t), h.client()
	for n := 1; n <= *atOnce; n++ {
		if _, err := c.Submit(ctx, &loomv1.Submission{Project: crowd, Goal: describe(n), Process: "change", IdempotencyKey: describe(n)}); err != nil {
			a.t.Fatal(err)
		}
	}
}

// await waits until so many tasks have ended, as this host tells it.
func (a *landings) await(h *process, n int) {
	a.t.Helper()
	ctx, leave := context.WithTimeout(a.t.Context(), within*time.Duration(1+*atOnce/10))
	var follower sync.WaitGroup
	follower.Go(func() {
		if o := h.dial(ctx); o != nil {
			defer o.Close()
			a.record.follow(ctx, o)
		}
	})
	defer func() { leave(); follower.Wait() }()
	for {
		_, _, more := a.record.from(0, crowd)
		if a.count(func(e *loomv1.Event) bool { return e.GetExecutionEnded() != nil }) >= n {
			return
		}
		select {
		case <-more:
		case <-h.ended:
			a.t.Fatalf("the host ended\n%s", h.text())
		case <-ctx.Done():
			a.t.Fatalf("%d of %d tasks have landed; the last events:\n%s\nthe host says:\n%s", a.landed(), *atOnce, a.record.tail(crowd, 40), h.text())
		}
	}
}

func (a *landings) count(ok func(*loomv1.Event) bool) (n int) {
	list, _, _ := a.record.from(0, crowd)
	for _, notice := range list {
		if ok(notice.Event) {
			n++
		}
	}
	return n
}

func (a *landings) landed() int {
	return a.count(func(e *loomv1.Event) bool { return e.GetLanded() != nil })
}

// judge holds what was told and the repository against what was ordered.
func (a *landings) judge() {
	a.t.Helper()
	done := loomv1.ExecutionStatus_EXECUTION_STATUS_COMPLETED
	completed := a.count(func(e *loomv1.Event) bool { return e.GetExecutionEnded().GetStatus() == done })
	if a.landed() != *atOnce || completed != *atOnce {
		a.t.Errorf("of %d tasks %d landed and %d are done", *atOnce, a.landed(), completed)
	}
	list, _, _ := a.record.from(0, crowd)
	for _, n := range list {
		if q := n.Event.GetApprovalRequested().GetApproval(); q != nil {
			a.t.Errorf("the CEO is asked about %s: %s %s", q.Bead, q.Question, q.Reason)
		}
		if r := n.Event.GetReworkStarted(); r.GetCount() > 0 {
			a.t.Errorf("%s: %s went back to %s: %s", n.Event.Bead, n.Event.Node, r.To, r.Reason)
		}
	}
	if commits := strings.Fields(git(a.t, a.repository, "rev-list", "main")); len(commits) != *atOnce+1 {
		a.t.Errorf("main has %d commits, want %d and the first", len(commits), *atOnce)
	}
	files, err := filepath.Glob(filepath.Join(a.repository, "orders", "*.txt"))
	if err != nil || len(files) != *atOnce {
		a.t.Errorf("the checkout has %d of %d files, %v", len(files), *atOnce, err)
	}
}
