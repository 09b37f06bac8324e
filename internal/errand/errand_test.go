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

	"github.com/loomrun/loom/internal/errand"
	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/internal/model"
	"github.com/loomrun/loom/internal/model/scripted"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// silent shows nothing and answers nothing.
type silent struct{}

func (silent) Say(string)           {}
func (silent) Event(*loomv1.Notice) {}
func (silent) Decide(context.Context, *loomv1.Approval, string) (loomv1.ApprovalDecision, string, error) {
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
	switch {
	case node == "verify":
		return call("finish", `{"status": "success", "summary": "seen", "notes": "", "fields": {"fault": ""}}`)
	case !first:
		return call("finish", `{"status": "success", "summary": "done", "notes": ""}`)
	}
	m.arrive(node)
	select {
	case <-m.all:
	case <-time.After(2 * time.Minute):
		return nil, errors.New("not all phases were begun")
	}
	return call("file_write", fmt.Sprintf(`{"path": "%s.md", "content": "# %s\n"}`, node, node))
}

func (m *meeting) arrive(node string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.arrived[node] = true; len(m.arrived) == m.want {
		close(m.all)
	}
}

// Twenty phases that nothing holds back are worked on at once, and all that
// they deliver arrives.
func TestPROC05_TwentyPhasesAtOnce(t *testing.T) {
	const phases = 20
	var file strings.Builder
	file.WriteString("name: fan\nversion: \"1.0\"\nphase_mode: strict\nphases:\n")
	for i := range phases {
		fmt.Fprintf(&file, "  - {id: p%d, description: Do it., deliverables: [p%d.md], is_critical_path: true}\n", i, i)
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
	m := &meeting{arrived: map[string]bool{}, all: make(chan struct{}), want: phases}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	r, err := errand.Run(ctx, errand.Options{
		Data: filepath.Join(top, "data"), Workspace: work, CEOKey: filepath.Join(top, "ceo.nk"),
		Submission: &loomv1.Submission{Type: loomv1.BeadType_BEAD_TYPE_TASK, Goal: "all at once", Process: "fan"},
		Processes:  processes.NewLibrary(def), Model: scripted.New("meeting", m.answer), Agents: map[string]int{processes.Analyst: phases},
		Unsandboxed: !host.CanSandbox(), View: silent{},
	})
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != "completed" || len(r.Files) != phases || len(r.Gaps) > 0 {
		t.Fatalf("%s %s, %d files, gaps %v", r.Status, r.Reason, len(r.Files), r.Gaps)
	}
	for i := range phases {
		name := fmt.Sprintf("p%d", i)
		if data, err := os.ReadFile(filepath.Join(work, name+".md")); err != nil || string(data) != "# "+name+"\n" {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
}
