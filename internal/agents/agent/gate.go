package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/loomrun/loom/internal/agents/tool"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/team"
	"github.com/loomrun/loom/internal/core/turn"
	"github.com/loomrun/loom/internal/core/verify"
	"github.com/loomrun/loom/internal/core/workflow"
	"github.com/loomrun/loom/internal/place/git"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// gates looks at what a success depends on before it is taken, so that who claims
// it is told within its turn, and mends it, and does not begin anew. A gate that
// refuses is a recorded call of the runtime's own that failed; see
// [turn.Refusals]. With an outcome no gate can be carried out here, whoever is at
// work.
func (r *run) gates(ctx context.Context, ws tool.Workspace, out *loomv1.Outcome) (*loomv1.Outcome, error) {
	if r.silent {
		return nil, r.playRuntime(ctx, r.Played.Steps(r.brief.Attempt.Id), r.t.Iterations)
	}
	if err := r.inspects(ctx); err != nil || r.refused() {
		return nil, err
	}
	if err := r.holds(ctx, out); err != nil || r.refused() {
		return nil, err
	}
	if err := r.reproduces(ctx, ws, out); err != nil || r.refused() {
		return nil, err
	}
	return r.proves(ctx, ws, out)
}

// gate is the id of a call that the runtime makes before it takes an outcome.
func (r *run) gate(name string) string { return fmt.Sprintf("gate-%d-%s", r.t.Iterations, name) }

// refusedOutcome is what the record has of a refused outcome, as the arguments of the runtime's
// own call: whoever goes on with the turn knows what was said, and what to count.
type refusedOutcome struct {
	Code  string           `json:"code"`
	Found []verify.Finding `json:"found,omitempty"`
}

// maxRefused is how many findings the record has of a refused outcome.
const maxRefused = 64

// refuses records why an outcome is not taken, and what the model is told of it.
func (r *run) refuses(ctx context.Context, id, by string, why *fault.Error, found []verify.Finding, told string) error {
	arguments, err := json.Marshal(refusedOutcome{Code: why.Code, Found: found[:min(len(found), maxRefused)]})
	if err != nil {
		return err
	}
	r.noted(why.Code, found)
	call := &loomv1.ToolCall{Id: id, Tool: by, Arguments: string(arguments)}
	intent := &loomv1.ToolStep{Call: call, Class: loomv1.ToolClass_TOOL_CLASS_EXEC, Runtime: true}
	result, err := r.result(ctx, tool.Result{Status: loomv1.ToolStatus_TOOL_STATUS_ERROR, ExitCode: 1, Summary: why.Message, Output: told})
	if err != nil {
		return err
	}
	result.Code = why.Code
	return r.record(ctx, turn.IntendedFact(intent), turn.FinishedFact(id, result))
}

// inspects looks at the change of the worktree: what the project's policy refuses
// is mended by the agent that made it. What passes leaves no trace, and is looked
// at again when it is proposed.
func (r *run) inspects(ctx context.Context) error {
	id := r.gate("patch")
	if r.inspect == nil || r.recorded(id) != nil {
		return nil
	}
	why, err := r.inspect(ctx)
	if err != nil || why == nil {
		return err
	}
	return r.refuses(ctx, id, "examine_change", why, nil, examinationText(why))
}

// holds looks at the outcome itself, as the node's kind of work has it: the
// deliverables of a phase, a plan.
func (r *run) holds(ctx context.Context, out *loomv1.Outcome) error {
	id := r.gate("outcome")
	if r.recorded(id) != nil {
		return nil
	}
	r.found = nil
	why := r.withinTempo(out)
	if why == nil && r.promised != nil {
		var err error
		if why, err = r.promised(ctx, out); err != nil {
			return err
		}
	}
	if why == nil {
		return nil
	}
	var p prompt
	p.section("Your outcome is refused")
	p.WriteString("The runtime held it against what your assignment asks for. Mend what is wrong and call finish again; what you have done so far stays.\n")
	p.data(why.Lines())
	return r.refuses(ctx, id, "examine_outcome", why, r.found, p.String())
}

// noted keeps that an outcome was refused, and what was found of it.
func (j *job) noted(code string, found []verify.Finding) {
	j.refusals = append(j.refusals, code)
	j.wrong = unlike(j.wrong, found)
}

// notes keeps what the record of a turn has of refused outcomes.
func (j *job) notes(t *loomv1.Turn) {
	for _, s := range t.GetSteps() {
		var was refusedOutcome
		if c := s.GetTool(); c.GetRuntime() && c.Call.Tool == "examine_outcome" && c.Result != nil && json.Unmarshal([]byte(c.Call.Arguments), &was) == nil {
			j.noted(was.Code, was.Found)
		}
	}
}

// delivers says what a phase's worktree lacks of what was promised; nil for nothing.
func (j *job) delivers(tree *git.Worktree) func(context.Context, *loomv1.Outcome) (*fault.Error, error) {
	return func(ctx context.Context, out *loomv1.Outcome) (*fault.Error, error) {
		found, err := j.examine(tree.Path(), out)
		if err != nil {
			return nil, err
		}
		if errs := verify.Errors(found); len(errs) > 0 {
			j.found = errs
			return fault.New(brokenCode(errs), "%s", strings.TrimSpace(verify.Text(found))), nil
		}
		old, err := j.untouched(ctx, tree)
		if err != nil {
			return nil, err
		}
		if len(old) > 0 {
			return fault.New("verify/untouched", "%s: as the repository had it before this session, and nothing that it has done", strings.Join(old, ", ")).Want("write it"), nil
		}
		if same := j.asBefore(tree.Path()); len(same) > 0 && !slices.Contains(j.refusals, "verify/untouched") {
			return fault.New("verify/untouched", "%s: as this step has left it before, and now it is done again", strings.Join(same, ", ")).
				Want("mend it, or call finish once more if it is right as it is"), nil
		}
		if why, err := j.undeclared(ctx, tree); why != nil || err != nil {
			return why, err
		}
		return j.warned(found), nil
	}
}

// warned tells once of rules that are broken and need not hold; nil for none. It never uses
// up the last refusal that a turn has: that would be a failure for the sake of a warning.
func (j *job) warned(found []verify.Finding) *fault.Error {
	if len(found) == 0 || slices.Contains(j.refusals, ruleWarning) || len(j.refusals) >= turn.Refusals-1 {
		return nil
	}
	j.found = found
	return fault.New(ruleWarning, "%s", strings.TrimSpace(verify.Text(found))).
		Want("mend what is wrong, or call finish once more: this is no reason to refuse the work, and is noted")
}

const ruleWarning = "verify/warning"

// guarded is a gate that has the files to itself.
func (t *tree) guarded(gate func(context.Context, *loomv1.Outcome) (*fault.Error, error)) func(context.Context, *loomv1.Outcome) (*fault.Error, error) {
	return func(ctx context.Context, out *loomv1.Outcome) (*fault.Error, error) {
		t.git.Lock()
		defer t.git.Unlock()
		return gate(ctx, out)
	}
}

// untouched lists the files that a step of a session has to leave, and that the branch had
// before, byte for byte, though no step of it has left them.
func (j *job) untouched(ctx context.Context, tree *git.Worktree) (old []string, err error) {
	var names []string
	for _, name := range j.brief.Step.GetDeliverables() {
		if !j.leftEarlier(name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	touched, err := tree.Differs(ctx)
	for _, name := range names {
		if !slices.Contains(touched, name) {
			old = append(old, name)
		}
	}
	return old, err
}

// unlike returns findings, and then those of more that they do not have.
func unlike(list, more []verify.Finding) []verify.Finding {
	for _, f := range more {
		if !slices.Contains(list, f) {
			list = append(list, f)
		}
	}
	return list
}

// examine holds what a directory has of a phase against what was promised.
func (j *job) examine(dir string, out *loomv1.Outcome) ([]verify.Finding, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("worktree: %w", err)
	}
	defer root.Close()
	found := verify.Phase(root.FS(), j.brief.Attempt.Node, j.brief.Node.Phase, j.rules(), out.Summary+"\n"+out.Notes, j.known(out))
	for _, name := range j.brief.Step.GetDeliverables() { // also those that a later step takes up
		one := &loomv1.Phase{Deliverables: []string{name}}
		found = unlike(found, verify.Phase(root.FS(), j.brief.Attempt.Node, one, nil, "", verify.Run{}))
	}
	return found, nil
}

// planned says what is wrong with the plan of an outcome; nil for nothing.
func (j *job) planned(_ context.Context, out *loomv1.Outcome) (*fault.Error, error) {
	if err := j.planSound(out); err != nil {
		return fault.From(err), nil
	}
	return nil, nil
}

// reproduces runs the check that the triage of a bug names: before anything is
// mended it must fail, or it can never show that the bug is gone. One that failed
// when the model ran it is not run again.
func (r *run) reproduces(ctx context.Context, ws tool.Workspace, out *loomv1.Outcome) error {
	command := strings.TrimSpace(out.Fields.GetFields()["check"].GetStringValue())
	first := r.brief.Bead.Type == loomv1.BeadType_BEAD_TYPE_BUG && r.brief.Execution.Change == nil && r.tree == nil && !r.gave && len(r.brief.Attempt.Tasks) == 0
	if !first || command == "" || r.sawFail(command) || !r.canRun() {
		return nil
	}
	id := r.gate("check")
	if r.recorded(id) != nil {
		return nil
	}
	p, err := r.newPlace()
	if err != nil {
		return err
	}
	defer p.close()
	ws.Exec = p.policy
	set := tool.New(ws, nil)
	_, err = r.runtimeCall(ctx, id, command, func(call *loomv1.ToolCall) tool.Result {
		return mustFail(command, set.Call(ctx, []string{"shell"}, checkTimeout, call))
	})
	return err
}

// The exit codes with which a shell says that it could not run a command.
const (
	notExecutable = 126
	notFound      = 127
)

// mustFail is the result of a gate whose command must fail.
func mustFail(command string, res tool.Result) tool.Result {
	why := ""
	switch {
	case res.Status != loomv1.ToolStatus_TOOL_STATUS_OK:
	case res.ExitCode == 0:
		why = "It passes now, so it would pass whether the bug is mended or not. A pipe or a list of commands has the exit code of its last command. Give one that fails because of the bug."
	case res.ExitCode == notExecutable || res.ExitCode == notFound:
		why = "It fails because something in it cannot be run, and not because of the bug. Give one that can be run here."
	}
	if why == "" {
		return tool.Result{Status: loomv1.ToolStatus_TOOL_STATUS_OK, Summary: "the check fails, as it must before the bug is mended", Ran: res.Ran}
	}
	var p prompt
	p.section("Your check is refused")
	fmt.Fprintf(&p, "The runtime ran the check that you name: exit %d. %s\n", res.ExitCode, why)
	p.data(command + "\n" + ending(res.Output, tailBytes))
	return tool.Result{Status: loomv1.ToolStatus_TOOL_STATUS_ERROR, ExitCode: 1, Summary: "the check does not show the bug", Output: p.String(), Ran: res.Ran}
}

// sawFail reports whether the model ran a command in this turn and saw it fail, the
// last time that it did.
func (r *run) sawFail(command string) bool {
	failed := false
	for _, s := range r.t.Steps {
		var args struct{ Command string }
		if c := s.GetTool(); c.GetCall().GetTool() == "shell" && !c.Runtime && json.Unmarshal([]byte(c.Call.Arguments), &args) == nil && strings.TrimSpace(args.Command) == command {
			code := c.Result.GetExitCode()
			failed = c.Result.GetStatus() == loomv1.ToolStatus_TOOL_STATUS_OK && code != 0 && code != notExecutable && code != notFound
		}
	}
	return failed
}

// proves runs the required commands on what a success proposes before it is taken,
// so that their failure is met by the agent that made it, and before anybody has
// signed. That is no evidence: verification runs them again, on a clean checkout.
func (r *run) proves(ctx context.Context, ws tool.Workspace, out *loomv1.Outcome) (*loomv1.Outcome, error) {
	if r.brief.Node.Phase != nil || r.brief.Bead.Delegation != nil || r.brief.Node.Kind != loomv1.NodeKind_NODE_KIND_UNSPECIFIED { // a part cannot pass what the whole must
		return nil, nil
	}
	commands := workflow.RequiredWith(r.brief.Execution, r.brief.Attempt.Node, out)
	if r.tree == nil {
		return r.provesTogether(ctx, commands)
	}
	putBack, err := r.tree.Keep(ctx)
	if err != nil && fault.Code(err) != "git/unsupported" { // of which the proposal tells
		return nil, err
	}
	if _, err := r.runChecks(ctx, ws, commands, fmt.Sprintf("gate-%d", r.t.Iterations), "your worktree"); err != nil || putBack == nil {
		return nil, err
	}
	return nil, putBack(ctx)
}

// proved are the checks that were run on what the turn proposes, of its record: who
// approves the change is shown them.
func (r *run) proved() (runs []*loomv1.CheckRun) {
	for i := 1; i <= workflow.MaxTried; i++ {
		id := r.gate(strconv.Itoa(i))
		at := slices.IndexFunc(r.t.Steps, func(s *loomv1.TurnStep) bool { return s.GetTool().GetCall().GetId() == id })
		if at < 0 {
			return runs
		}
		var args struct{ Command string }
		step := r.t.Steps[at].GetTool()
		if json.Unmarshal([]byte(step.Call.Arguments), &args) != nil {
			return runs
		}
		runs = append(runs, &loomv1.CheckRun{Command: args.Command, ExitCode: step.Result.GetExitCode(), Output: step.Result.GetOutput(), Passed: turn.Passed(step.Result)})
	}
	return runs
}

// provesTogether does so for what a team has made, in a checkout of all of it.
func (r *run) provesTogether(ctx context.Context, commands []string) (*loomv1.Outcome, error) {
	if len(commands) == 0 || !r.canRun() {
		return nil, nil
	}
	tasks, err := r.tasks(ctx)
	if err != nil || len(team.Made(tasks)) == 0 {
		return nil, err
	}
	joined, _, err := r.joined(ctx, tasks)
	if err != nil || len(joined.Conflicts) > 0 {
		return nil, err
	}
	dir, done, err := r.checkout(ctx, joined.Commit)
	if err != nil {
		return nil, err
	}
	defer done()
	if out, err := r.makeReadyAll(ctx, r.workspace(dir), r.gate("setup")); out != nil || err != nil {
		return out, err
	}
	_, err = r.runChecks(ctx, r.workspace(dir), commands, fmt.Sprintf("gate-%d", r.t.Iterations), "what your team has made, brought together")
	return nil, err
}
