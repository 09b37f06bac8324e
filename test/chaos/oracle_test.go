package chaos

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	diff "github.com/google/go-cmp/cmp"

	"github.com/loomrun/loom/internal/core/notice"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// git asks a repository, and returns what it says.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("git %s in %s: %v\n%s", strings.Join(args, " "), dir, err, out)
	}
	return strings.TrimSpace(string(out))
}

// inspect looks at the repository of a job that has landed.
func (c *chaos) inspect(j *job) {
	c.t.Helper()
	if n := git(c.t, j.repository, "rev-list", "--count", j.base+"..main"); n != "1" {
		c.t.Errorf("%s: main has %s new commits, want exactly 1:\n%s", j.project, n, git(c.t, j.repository, "log", "--oneline", "main"))
	}
	sound(c.t, j.repository)
	if s := git(c.t, j.repository, "status", "--porcelain"); s != "" {
		c.t.Errorf("%s: the checkout did not follow its branch:\n%s", j.project, s)
	}
	tests := exec.Command("go", "test", "./...")
	tests.Dir = j.repository
	if out, err := tests.CombinedOutput(); err != nil {
		c.t.Errorf("%s: the tests fail at main: %v\n%s", j.project, err, out)
	}
}

// sound checks that a repository has no damage and nothing left over.
func sound(t *testing.T, dir string) {
	t.Helper()
	if out := git(t, dir, "fsck", "--full", "--strict", "--no-dangling"); out != "" {
		t.Errorf("git fsck of %s:\n%s", dir, out)
	}
	if refs := git(t, dir, "for-each-ref", "--format=%(refname)", "refs/loom/candidate"); refs != "" {
		t.Errorf("%s: candidates are left over: %s", dir, refs)
	}
	locks, err := filepath.Glob(filepath.Join(dir, ".git", "*.lock"))
	if err != nil || len(locks) > 0 {
		t.Errorf("%s: locks are left over: %v, %v", dir, locks, err)
	}
}

// trailer returns the value of a trailer of the newest commit of main.
func (j *job) trailer(t *testing.T, name string) string {
	t.Helper()
	return git(t, j.repository, "log", "-1", "--format=%(trailers:key="+name+",valueonly)", "main")
}

// judge looks at the whole deployment once all jobs have ended.
func (c *chaos) judge() {
	h := c.place.start(c.t)
	o := h.client()
	known := map[string]bool{}
	for _, n := range c.record.seen {
		known[notice.FormatPosition(n.Position)] = true
	}
	all := c.record.history(c.t, o)
	fresh := slices.DeleteFunc(slices.Clone(all), func(n *loomv1.Notice) bool { return known[notice.FormatPosition(n.Position)] })
	if started := startEvents(fresh); started != "" {
		c.t.Errorf("a start with nothing to do brought\n%s", started)
	}
	for _, j := range c.jobs {
		c.account(j, all)
	}
	c.settle(h)
	left(c.t, c.place)
	first := tables(c.t, c.place.data)
	c.compare(first, all)
	if err := os.Remove(filepath.Join(c.place.data, "projection.db")); err != nil {
		c.t.Fatal(err)
	}
	c.settle(c.place.start(c.t))
	sameTables(c.t, first, tables(c.t, c.place.data))
}

// startEvents shows the events of projects, but for those that tell which roles a host
// has. What the deployment's own project is told (lives of hosts and agents, what a host
// does less for safety) may come a moment after a start, when nobody looks any more.
func startEvents(list []*loomv1.Notice) (text string) {
	for _, n := range list {
		if n.Event.GetRolesReported() == nil && n.Event.Project != project.System {
			text += n.Kind + ": " + n.Summary + "\n"
		}
	}
	return text
}

// settle waits until the tables have everything, and stops the host.
func (c *chaos) settle(h *process) {
	c.t.Helper()
	o := h.client()
	for _, j := range c.jobs {
		if _, err := o.History(deadline(c.t), &loomv1.HistoryRequest{Execution: execution(j)}); err != nil {
			c.t.Errorf("history of %s: %v", j.project, err)
		}
	}
	idle(c.t, h, o)
	h.stop(syscall.SIGINT)
}

// execution is the only one of a job: its bead is the project's first.
func execution(j *job) string { return j.project + "-1-x1" }

// account holds a job's events, its repository and the promises together.
func (c *chaos) account(j *job, all []*loomv1.Notice) {
	c.t.Helper()
	var events []*loomv1.Event
	for _, n := range all {
		if n.Event.Project == j.project {
			events = append(events, n.Event)
		}
	}
	problems := audit(events)
	b := newBooks(events)
	if fence := git(c.t, j.repository, "for-each-ref", "--format=%(objectname)", "refs/loom/fence"); fence != "" {
		token := git(c.t, j.repository, "cat-file", "blob", fence)
		if want := fmt.Sprintf("token %d", b.token); token != want {
			problems = append(problems, fmt.Sprintf("the fence says %q, the newest grant %q", token, want))
		}
	}
	for name, want := range map[string]string{
		"Loom-Bead": j.project + "-1", "Loom-Execution": execution(j), "Loom-Decision": b.approved, "Loom-Token": fmt.Sprint(b.candidate),
	} {
		if got := j.trailer(c.t, name); got != want {
			problems = append(problems, fmt.Sprintf("trailer %s is %q, want %q", name, got, want))
		}
	}
	slices.Sort(problems)
	for _, p := range problems {
		c.t.Errorf("%s: %s", j.project, p)
	}
}

// books are what a job's events add up to.
type books struct {
	transitions []string // "FROM TO OUTCOME"
	token       uint64   // of the newest grant
	candidate   uint64   // token of the newest candidate
	approved    string   // decision of the approval
}

func newBooks(events []*loomv1.Event) books {
	var b books
	for _, e := range events {
		if from, to, outcome, ok := workflow.Transition(e); ok {
			b.transitions = append(b.transitions, from+" "+to+" "+outcome)
		}
		switch f := e.Fact.(type) {
		case *loomv1.Event_LockGranted:
			b.token = f.LockGranted.Token
		case *loomv1.Event_CandidateMade:
			b.candidate = f.CandidateMade.Candidate.Token
		case *loomv1.Event_DecisionAdded:
			if strings.HasPrefix(f.DecisionAdded.Node.Title, "CEO approved") {
				b.approved = f.DecisionAdded.Node.Id
			}
		}
	}
	return b
}

// smooth are the transitions of a job in which no work failed.
var smooth = []string{
	"start triage success", "triage investigate success", "investigate investigate continue", "investigate approve success", "approve commit approved",
	"commit verify success", "verify land success", "land end success",
}

// audit lists what a job's events say that must never be: a gap, something done
// twice, something done that a kill is no reason for.
func audit(events []*loomv1.Event) (problems []string) {
	say := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	once := map[string]int{}
	var token uint64
	var verified []*loomv1.CheckRun
	for i, e := range events {
		if e.Number != uint64(i+1) {
			say("event %d has number %d", i+1, e.Number)
		}
		if i > 0 && e.Time.AsTime().Before(events[i-1].Time.AsTime()) {
			say("event %d is earlier than the one before", e.Number)
		}
		if a := workflow.AnswerOf(e); a != nil {
			once["model asked twice for "+e.Attempt+" "+a.Request]++
		}
		switch f := e.Fact.(type) {
		case *loomv1.Event_ToolIntended:
			once["tool call intended twice: "+e.Attempt+" "+f.ToolIntended.Tool.Call.Id]++
		case *loomv1.Event_ToolFinished:
			once["tool call finished twice: "+e.Attempt+" "+f.ToolFinished.Call]++
		case *loomv1.Event_TurnStarted:
			once["turn begun twice: "+e.Attempt]++
		case *loomv1.Event_AttemptEnded:
			once["attempt ended twice: "+e.Attempt]++
			verified = append(verified, f.AttemptEnded.Outcome.GetChecks()...)
			if s := f.AttemptEnded.Outcome.GetStatus(); s == loomv1.OutcomeStatus_OUTCOME_STATUS_FAILURE || f.AttemptEnded.TimedOut {
				say("attempt %s failed: %s %s", e.Attempt, f.AttemptEnded.Outcome.GetCode(), f.AttemptEnded.Outcome.GetSummary())
			}
		case *loomv1.Event_LockGranted:
			if f.LockGranted.Token <= token {
				say("token %d was granted after %d", f.LockGranted.Token, token)
			}
			token = f.LockGranted.Token
		case *loomv1.Event_Landed:
			once["landed twice"]++
			if n := len(verified); n == 0 || !verified[n-1].Passed || verified[n-1].Commit != f.Landed.Landing.Commit {
				say("%s landed, and the checks were %v", f.Landed.Landing.Commit, verified)
			}
		case *loomv1.Event_ApprovalRequested, *loomv1.Event_ApprovalDecided, *loomv1.Event_CandidateMade,
			*loomv1.Event_ExecutionStarted, *loomv1.Event_ExecutionEnded, *loomv1.Event_ChangeProposed:
			once[fmt.Sprintf("twice: %T", f)]++
		case *loomv1.Event_ApprovalRefused, *loomv1.Event_BeadOccurred, *loomv1.Event_SubmissionRejected, *loomv1.Event_ReworkStarted:
			say("event %d must not be: %T", e.Number, f)
		}
	}
	for what, n := range once {
		if n > 1 {
			say("%s (%d times)", what, n)
		}
	}
	if d := diff.Diff(smooth, newBooks(events).transitions); d != "" {
		say("transitions (-want +got):\n%s", d)
	}
	return problems
}

// compare holds the tables against a fold of the journal.
func (c *chaos) compare(tables map[string][]string, all []*loomv1.Notice) {
	c.t.Helper()
	sameTransitions(c.t, tables, all)
	taken, beads, executions := map[string]int{}, 0, 0
	for _, n := range all {
		if _, _, _, ok := workflow.Transition(n.Event); ok {
			taken[n.Event.Execution]++
		}
		switch n.Event.Fact.(type) {
		case *loomv1.Event_BeadFiled:
			beads++
		case *loomv1.Event_ExecutionStarted:
			executions++
		}
	}
	if len(tables["beads"]) != beads || len(tables["workflow_executions"]) != executions || executions != len(c.jobs) {
		c.t.Errorf("%d beads and %d executions in the tables, %d and %d in the journal, %d jobs",
			len(tables["beads"]), len(tables["workflow_executions"]), beads, executions, len(c.jobs))
	}
	for _, j := range c.jobs {
		if n := taken[execution(j)]; n != len(smooth) {
			c.t.Errorf("%s has %d transitions, want %d", execution(j), n, len(smooth))
		}
	}
}

// left checks that nothing of a stopped host is left: no process that lives
// under its directory, no checkout, no file of a tool.
func left(t *testing.T, p *place) {
	t.Helper()
	for _, dir := range []string{filepath.Join(p.data, "scratch"), filepath.Join(p.dir, "tmp")} {
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) > 0 {
			t.Errorf("%s holds %v, %v", dir, entries, err)
		}
	}
	list, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, proc := range list {
		cwd, _ := os.Readlink(filepath.Join(proc, "cwd")) // it may have ended
		env, _ := os.ReadFile(filepath.Join(proc, "environ"))
		if strings.HasPrefix(cwd, p.dir) || bytes.Contains(env, []byte(p.dir)) {
			line, _ := os.ReadFile(filepath.Join(proc, "cmdline"))
			t.Errorf("process %s is left, in %s: %s", cmp.Or(filepath.Base(proc), proc), cwd, bytes.ReplaceAll(line, []byte{0}, []byte{' '}))
		}
	}
}
