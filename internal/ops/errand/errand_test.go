package errand_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/internal/host/isolation"
	"github.com/loomrun/loom/internal/ops/errand"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// silent keeps what it is told, shows nothing and answers nothing.
type silent struct{ events []*loomv1.Event }

func (s *silent) Say(string)             {}
func (s *silent) Event(n *loomv1.Notice) { s.events = append(s.events, n.Event) }
func (s *silent) Decide(context.Context, *loomv1.Approval, string) (loomv1.ApprovalDecision, string, error) {
	return 0, "", errand.ErrLater
}

var nodeLine = regexp.MustCompile(`(?m)^node: (\S+)$`)

// meeting answers for phases that all wait for each other: a phase goes on only
// when every other one has been begun, too.
type meeting struct {
	mu      sync.Mutex
	arrived map[string]bool
	all     chan struct{}
	want    int
}

func (m *meeting) answer(r *model.Request) (*model.Response, error) {
	node := nodeLine.FindStringSubmatch(r.Messages[0].Text)[1]
	first := len(r.Messages) == 1
	call := func(tool, arguments string) (*model.Response, error) {
		return &model.Response{Calls: []*loomv1.ToolCall{{Id: "c", Tool: tool, Arguments: arguments}}, Stop: model.StopEnd}, nil
	}
	write := fmt.Sprintf(`{"path": "%s.md", "content": "# %[1]s\n"}`, node)
	switch {
	case node == "verify":
		return call("finish", `{"status": "success", "summary": "seen", "notes": "", "fields": {"fault": ""}}`)
	case !first:
		return call("finish", `{"status": "success", "summary": "done", "notes": ""}`)
	case node == "seed":
		return call("file_write", write)
	}
	m.arrive(node)
	select {
	case <-m.all:
	case <-time.After(2 * time.Minute):
		return nil, errors.New("not all phases were begun")
	}
	return call("file_write", write)
}

func (m *meeting) arrive(node string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.arrived[node] = true; len(m.arrived) == m.want {
		close(m.all)
	}
}

// span is when a phase was worked on: from the claim of its attempt to the
// answer of its model.
type span struct{ from, to time.Time }

// spans reads off stored events when each phase was worked on.
func spans(events []*loomv1.Event) map[string]span {
	all := map[string]span{}
	for _, e := range events {
		s, known := all[e.Node]
		switch {
		case e.GetAttemptClaimed() != nil && !known:
			s.from = e.Time.AsTime()
		case e.GetModelAnswered() != nil && s.to.IsZero():
			s.to = e.Time.AsTime()
		default:
			continue
		}
		all[e.Node] = s
	}
	return all
}

// atOnce is how many spans have some moment in common with one of them, at most.
func atOnce(all map[string]span) (most int) {
	for _, at := range all {
		n := 0
		for _, s := range all {
			if !s.from.After(at.from) && s.to.After(at.from) {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

// Twenty phases that wait for one and for nothing else are worked on at once, as
// the times of the stored events show, and all that they deliver arrives.
func TestPROC05_TwentyPhasesAtOnce(t *testing.T) {
	longtest.Skip(t)
	const phases = 20
	var file strings.Builder
	file.WriteString("name: fan\nversion: \"1.0\"\nphase_mode: strict\nphases:\n  - {id: seed, description: Begin., deliverables: [seed.md], is_critical_path: true}\n")
	for i := range phases {
		fmt.Fprintf(&file, "  - {id: p%d, description: Do it., depends_on: [seed], deliverables: [p%[1]d.md], is_critical_path: true}\n", i)
	}
	def, err := processes.Parse("fan.yaml", []byte(file.String()), roles.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	top := t.TempDir()
	work := filepath.Join(top, "work")
	if err := os.Mkdir(work, 0o755); err != nil {
		t.Fatal(err)
	}
	m, told := &meeting{arrived: map[string]bool{}, all: make(chan struct{}), want: phases}, &silent{}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	r, err := errand.Run(ctx, errand.Options{
		Workspace: work, View: told,
		Submission: &loomv1.Submission{Type: loomv1.BeadType_BEAD_TYPE_TASK, Goal: "all at once", Process: "fan"},
		Config: host.Config{
			Data: filepath.Join(top, "data"), CEOKey: filepath.Join(top, "ceo.nk"), Processes: processes.NewLibrary(def), Unsandboxed: !isolation.CanSandbox(),
			Model: scripted.New("meeting", m.answer), Agents: map[string]int{processes.Analyst: phases},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != "completed" || len(r.Files) != phases+1 || len(r.Gaps) > 0 {
		t.Fatalf("%s %s, %d files, gaps %v", r.Status, r.Reason, len(r.Files), r.Gaps)
	}
	all := spans(told.events)
	seed := all["seed"]
	for i := range phases {
		name := fmt.Sprintf("p%d", i)
		if data, err := os.ReadFile(filepath.Join(work, name+".md")); err != nil || string(data) != "# "+name+"\n" {
			t.Errorf("%s: %q, %v", name, data, err)
		}
		if s := all[name]; s.from.Before(seed.to) || !s.to.After(s.from) {
			t.Errorf("%s was worked on from %s to %s, seed until %s", name, s.from, s.to, seed.to)
		}
	}
	if n := atOnce(all); n != phases {
		t.Errorf("%d phases were worked on at once, want %d: %v", n, phases, all)
	}
	inHistory(t, r.History, phases)
}

// inHistory wants all phases to have begun before the first of them ended.
func inHistory(t *testing.T, list []*loomv1.Transition, phases int) {
	t.Helper()
	var begun []string
	ended := 0
	for _, tr := range list {
		if tr.From == "seed" {
			begun = append(begun, tr.To)
			if ended > 0 {
				t.Errorf("%s begins after another phase has ended", tr.To)
			}
		}
		if strings.HasPrefix(tr.From, "p") && tr.From != "planner" {
			ended++
		}
	}
	if len(begun) != phases || ended != phases {
		t.Errorf("%d phases begin and %d end in the history, want %d: %v", len(begun), ended, phases, begun)
	}
}
