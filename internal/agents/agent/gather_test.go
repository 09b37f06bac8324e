package agent_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/agents/model/scripted"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// delegate has a role do a task in an execution of its own, which writes a file,
// and returns it as its giver is told of it.
func (b *bench) delegate(bead, role, path, content string, after ...*loomv1.TeamTask) *loomv1.TeamTask {
	b.t.Helper()
	task := &loomv1.TeamTask{Call: "c1-" + bead, Bead: bead, Execution: bead + "-x1", Role: role}
	br := brief(role, loomv1.NodeKind_NODE_KIND_UNSPECIFIED)
	br.Attempt.Id = bead + "-x1-a1"
	br.Bead = &loomv1.Bead{Id: bead, Goal: "write " + path, Delegation: &loomv1.Delegation{Role: role}}
	br.Execution = &loomv1.Execution{Id: task.Execution, Bead: bead, Nodes: map[string]*loomv1.NodeState{"work": {}}}
	for _, t := range after {
		br.Bead.Delegation.Changes, task.Contains = append(br.Bead.Delegation.Changes, t.Outcome.Change), append(task.Contains, t.Bead)
	}
	b.seat = &seat{}
	b.worker.Model = scripted.New("test", script(says(call("file_write", map[string]any{"path": path, "content": content})), finish("success")))
	if task.Outcome = b.must(br); task.Outcome.Change == nil {
		b.t.Fatalf("%s made nothing: %v", bead, task.Outcome)
	}
	return task
}

// led is a brief of a lead that gave tasks, and what its model says.
func (b *bench) led(policy scripted.Policy, tasks ...*loomv1.TeamTask) *loomv1.Brief {
	br := brief("lead", loomv1.NodeKind_NODE_KIND_UNSPECIFIED)
	br.Attempt.Tasks = tasks
	b.seat = &seat{replies: map[string]*loomv1.TeamReply{"gather": {Call: "gather", Tasks: tasks}}}
	b.worker.Model = scripted.New("test", policy)
	return br
}

// TestACT03_ALeadProposesWhatItsTeamHasMade gathers two changes, a third that began
// with one of them, and does so twice.
func TestACT03_ALeadProposesWhatItsTeamHasMade(t *testing.T) {
	longtest.Skip(t)
	b := newBench(t, nil)
	x, y := b.delegate("shop-2", "implementer", "a.txt", "one\ntwo\n"), b.delegate("shop-3", "backend-engineer", "b.txt", "blue\n")
	z := b.delegate("shop-4", "implementer", "a.txt", "one\ntwo\nthree\n", x, y)
	failed := &loomv1.TeamTask{Bead: "shop-5", Role: "qa-engineer", Outcome: &loomv1.Outcome{Status: loomv1.OutcomeStatus_OUTCOME_STATUS_FAILURE}}
	var seen string
	br := b.led(script(says(call("file_read", map[string]any{"path": "a.txt"})), finish("success")), x, y, z, failed)
	out := b.must(br)
	if c := out.Change; c == nil || len(c.Files) != 2 || !slices.Equal(c.Makers, []string{"implementer", "backend-engineer"}) {
		t.Fatalf("it proposes %v", out)
	}
	for _, s := range b.seat.turn.Steps {
		if ref := s.GetTool().GetResult().GetOutput(); ref != nil {
			data, err := b.worker.Blobs.Get(t.Context(), ref)
			if err != nil {
				t.Fatal(err)
			}
			seen += string(data)
		}
	}
	if !strings.Contains(seen, "three") {
		t.Errorf("the lead looks at %q, want what its team has made", seen)
	}
	br.Turn = proto.CloneOf(b.seat.turn) // cut off after it was gathered
	if again := b.must(br); again.Change.GetCommit() != out.Change.Commit {
		t.Errorf("gathered again: %v, want %v", again.Change, out.Change)
	}

	b.seat = &seat{token: 7}
	commit := brief("engineering-manager", loomv1.NodeKind_NODE_KIND_COMMIT)
	commit.Execution.Change, commit.Execution.Approved = out.Change, &loomv1.ApprovedChange{Decision: "d9", PatchDigest: out.Change.PatchDigest}
	commit.Execution.Nodes["work"].History = []*loomv1.Attempt{{Id: "shop-1-x1-a1", Role: "lead", Outcome: out}}
	made := b.must(commit)
	text, err := exec.CommandContext(t.Context(), "git", "-C", b.top, "show", "-s", "--format=%an%n%B", made.Candidate.GetCommit()).Output()
	if err != nil {
		t.Fatal(err)
	}
	if text := string(text); !strings.HasPrefix(text, "Loom implementer\n") || !strings.Contains(text, "made by implementer, backend-engineer.") {
		t.Errorf("the commit says\n%s", text)
	}
}

// TestACT03_ALeadIsToldOfChangesThatConflict has its success refused until a task has brought
// rivals together.
func TestACT03_ALeadIsToldOfChangesThatConflict(t *testing.T) {
	longtest.Skip(t)
	b := newBench(t, nil)
	x, y := b.delegate("shop-2", "implementer", "a.txt", "red\n"), b.delegate("shop-3", "implementer", "a.txt", "blue\n")
	out := b.must(b.led(script(finish("success"), finish("failure")), x, y))
	if out.Status != loomv1.OutcomeStatus_OUTCOME_STATUS_FAILURE || out.Change != nil {
		t.Fatalf("it ends with %v", out)
	}
	problem := b.seat.turn.Steps[0].GetAnswer().GetProblem() + b.seat.turn.Steps[1].GetAnswer().GetProblem()
	if !strings.Contains(problem, `"shop-2" "shop-3"`) || !strings.Contains(problem, `"a.txt"`) {
		t.Errorf("the model is told %q", problem)
	}
	z := b.delegate("shop-4", "implementer", "a.txt", "purple\n", x, y)
	prompt, err := b.worker.Blobs.Get(t.Context(), b.seat.turn.Prompt)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(prompt), "git's conflict marks") {
		t.Errorf("who brings them together is told\n%s", prompt)
	}
	out = b.must(b.led(script(finish("success")), x, y, z))
	if out.Change == nil || b.repo.Workspaces.Checkout(t.Context(), out.Change.Commit, b.worker.Scratch+"/made") != nil {
		t.Fatalf("it proposes %v", out)
	}
	if got := read(t, b.worker.Scratch, "made", "a.txt"); got != "purple\n" {
		t.Errorf("it proposes %q", got)
	}
}

// TestACT03_AGiverWithFilesOfItsOwn gathers its own work too.
func TestACT03_AGiverWithFilesOfItsOwn(t *testing.T) {
	longtest.Skip(t)
	b := newBench(t, nil)
	x := b.delegate("shop-2", "implementer", "b.txt", "blue\n")
	br := b.led(writes(), x)
	br.Attempt.Role, br.Node.Role = "backend-engineer", "backend-engineer"
	if out := b.must(br); out.Change == nil || len(out.Change.Files) != 2 || !slices.Equal(out.Change.Makers, []string{"backend-engineer", "implementer"}) {
		t.Errorf("it proposes %v", out)
	}
}

// TestACT03_WhoOnlyLooksSeesWhatOthersMade has a question asked about what a team has
// made so far, also to a role that may change files.
func TestACT03_WhoOnlyLooksSeesWhatOthersMade(t *testing.T) {
	b := newBench(t, nil)
	x := b.delegate("shop-2", "implementer", "b.txt", "blue\n")
	for _, role := range []string{"researcher", "implementer"} {
		br := b.led(script(says(call("file_read", map[string]any{"path": "b.txt"})), finish("success")))
		br.Attempt.Role, br.Node.Role = role, role
		br.Bead.Delegation = &loomv1.Delegation{Role: role, Question: true, Changes: []*loomv1.Change{x.Outcome.Change}}
		if out := b.must(br); out.Change != nil {
			t.Errorf("an answer proposes %v", out.Change)
		}
		for _, s := range b.seat.turn.Steps {
			if r := s.GetTool().GetResult(); r != nil && r.Status != loomv1.ToolStatus_TOOL_STATUS_OK {
				t.Errorf("%s: %v", role, r)
			}
		}
	}
}
