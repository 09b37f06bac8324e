package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/agents/tool"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/turn"
	"github.com/loomrun/loom/internal/core/verify"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// verify runs the required checks on a clean checkout of the candidate, itself
// and before any model is asked. Where they pass, the role looks at the change and
// at another clean checkout of it; where one fails, that is the verdict.
func (j *job) verify(ctx context.Context) (*loomv1.Outcome, error) {
	c := j.brief.Execution.Candidate
	if c == nil {
		return j.failure(fault.New("verify/failed", "there is no candidate to verify"), ""), nil
	}
	dir, done, err := j.checkout(ctx, c.Commit)
	if err != nil {
		return nil, err
	}
	defer done()
	session, err := j.stepText(ctx)
	if err != nil {
		return nil, err
	}
	r, err := j.begin(ctx, Prompt(j.brief, j.role)+session+j.patchText(ctx), j.without(j.workspace(dir)))
	if err != nil {
		return nil, err
	}
	if out, err := r.setUp(ctx, j.workspace(dir), "setup"); out != nil || err != nil {
		return out, err
	}
	checks, err := r.checks(ctx, dir, c.Commit)
	if err != nil {
		return nil, err
	}
	if failed := firstFailed(checks); failed != nil { // no verdict of a model could mend that
		return r.failedCheck(ctx, failed, checks)
	}
	done() // one in which the checks have written nothing serves again
	// What the checks left behind must not be what the role looks at.
	look, cleanUp, err := j.checkout(ctx, c.Commit)
	if err != nil {
		return nil, err
	}
	defer cleanUp()
	if out, err := r.setUp(ctx, j.workspace(look), "setup-look"); out != nil || err != nil {
		return out, err
	}
	out, err := r.finish(ctx, j.workspace(look))
	if err != nil {
		return nil, err
	}
	out.Checks = checks
	return out, nil
}

// How much of a failed check's output its outcome quotes, from the end: whoever
// decides how to go on reads it without asking for the rest.
const (
	tailLines = 41 // the last says how it exited
	tailBytes = 8 << 10
)

// lastLines is the end of a text: whole lines of it, at most n, as far as they fit.
func lastLines(s string, n, bytes int) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	from := max(0, len(lines)-n)
	s = strings.Join(lines[from:], "\n") + "\n"
	if from > 0 && len(s) <= bytes {
		return fmt.Sprintf("[%d lines before are cut]\n", from) + s
	}
	return ending(s, bytes)
}

// failedCheck is the outcome of a verification whose check has failed: who mends the
// change is told the end of what the check printed, and whether it fails without the
// change, too.
func (r *run) failedCheck(ctx context.Context, failed *loomv1.CheckRun, all []*loomv1.CheckRun) (*loomv1.Outcome, error) {
	output, err := r.Blobs.Get(ctx, failed.Output)
	if err != nil {
		return nil, err
	}
	without, err := r.onBase(ctx, r.brief.Execution.Candidate.GetBase(), failed.Command)
	if err != nil {
		return nil, err
	}
	out := r.failure(fault.New("verify/failed", "%q exited with %d on the candidate%s", failed.Command, failed.ExitCode, without), "change")
	out.Notes, out.Checks = text(lastLines(printed(string(output)), tailLines, tailBytes)), all
	return out, nil
}

// printed is what a command printed, of what [checkText] made of it.
func printed(told string) string {
	if _, data, ok := strings.Cut(told, "<data>\n"); ok {
		told = strings.TrimSuffix(strings.TrimSpace(data), "</data>")
	}
	return told
}

func firstFailed(checks []*loomv1.CheckRun) *loomv1.CheckRun {
	for _, c := range checks {
		if !c.Passed {
			return c
		}
	}
	return nil
}

// checks runs every required command on a clean checkout of the candidate.
func (r *run) checks(ctx context.Context, dir, commit string) ([]*loomv1.CheckRun, error) {
	runs, err := r.runChecks(ctx, r.workspace(dir), r.brief.Execution.Checks, "check", "a clean checkout of the candidate commit")
	for _, run := range runs {
		run.Commit = commit
	}
	return runs, err
}

// runChecks runs commands in a workspace and records each as a call
// of the runtime's own, whose id begins with prefix and for which the model sees a
// section "Checks". They run in a place of their own, where no command that a
// model asked for has ever written a cache. A check that is recorded already is
// not run again; one that was cut off is, so that a check must bear to be repeated.
func (r *run) runChecks(ctx context.Context, ws tool.Workspace, commands []string, prefix, where string) ([]*loomv1.CheckRun, error) {
	p, err := r.newPlace()
	if err != nil {
		return nil, err
	}
	defer p.close()
	ws.Exec = p.policy
	set := tool.New(ws, nil)
	var runs []*loomv1.CheckRun
	for i, command := range commands {
		id := fmt.Sprintf("%s-%d", prefix, i+1)
		result := r.recorded(id)
		if result == nil {
			tell := func(res tool.Result) string { return checkText(command, where, res) }
			if result, err = r.check(ctx, set, ws.Root, id, command, tell); err != nil {
				return nil, err
			}
		}
		runs = append(runs, &loomv1.CheckRun{Command: command, ExitCode: result.ExitCode, Output: result.Output, Passed: turn.Passed(result)})
	}
	return runs, nil
}

// recorded returns the recorded outcome of a call, or nil.
func (r *run) recorded(id string) *loomv1.ToolResult {
	for _, s := range r.t.Steps {
		if s.GetTool().GetCall().GetId() == id {
			return s.GetTool().Result
		}
	}
	return nil
}

// runCheck runs a required command, or does what the runtime's own one asks for.
func (r *run) runCheck(ctx context.Context, set *tool.Set, dir string, call *loomv1.ToolCall, command string) tool.Result {
	if command != verify.Command {
		return set.Call(ctx, []string{"shell"}, checkTimeout, call)
	}
	found, err := r.audit(dir)
	if err != nil {
		return tool.Result{Status: loomv1.ToolStatus_TOOL_STATUS_ERROR, Summary: "the deliverables cannot be looked at", Output: err.Error()}
	}
	res := tool.Result{Status: loomv1.ToolStatus_TOOL_STATUS_OK, Summary: fmt.Sprintf("%d findings", len(found)), Output: verify.Text(found)}
	if len(verify.Errors(found)) > 0 {
		res.ExitCode = 1
	}
	return res
}

// check runs a required command and records it as a call of the runtime's own.
func (r *run) check(ctx context.Context, set *tool.Set, dir, id, command string, tell func(tool.Result) string) (*loomv1.ToolResult, error) {
	return r.runtimeCall(ctx, id, command, func(call *loomv1.ToolCall) tool.Result {
		res := r.runCheck(ctx, set, dir, call, command)
		res.Output = tell(res)
		return res
	})
}

// runtimeCall records a command line as a call of the runtime's own, and what came
// of it.
func (r *run) runtimeCall(ctx context.Context, id, command string, perform func(*loomv1.ToolCall) tool.Result) (*loomv1.ToolResult, error) {
	args, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		return nil, err
	}
	call := &loomv1.ToolCall{Id: id, Tool: "shell", Arguments: string(args)}
	intent := &loomv1.ToolStep{Call: call, Class: loomv1.ToolClass_TOOL_CLASS_EXEC, Runtime: true}
	if err := r.record(ctx, turn.IntendedFact(intent)); err != nil {
		return nil, err
	}
	res := r.call(ctx, call, func() tool.Result { return perform(call) })
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	result, err := r.result(ctx, res)
	if err != nil {
		return nil, err
	}
	return result, r.record(ctx, turn.FinishedFact(id, result))
}

// checkTimeout bounds one required command: a whole test suite, often.
const checkTimeout = 10 * time.Minute

// checkText is what the model sees of a check.
func checkText(command, where string, res tool.Result) string {
	var p prompt
	p.section("Checks")
	fmt.Fprintf(&p, "The runtime ran a required command on %s.\n", where)
	if res.Status == loomv1.ToolStatus_TOOL_STATUS_OK && res.ExitCode == 0 {
		fmt.Fprintf(&p, "passed: %s\n", command)
	} else {
		fmt.Fprintf(&p, "failed (exit %d): %s\n", res.ExitCode, command)
	}
	p.data(res.Output)
	return p.String()
}

// result keeps a tool's output as a blob and returns what is recorded.
func (j *job) result(ctx context.Context, r tool.Result) (*loomv1.ToolResult, error) {
	r.Output, r.Summary = j.Secrets.Text(r.Output), j.Secrets.Text(r.Summary)
	ref, err := j.Blobs.Put(ctx, []byte(r.Output), "text/plain; charset=utf-8")
	if err != nil {
		return nil, err
	}
	changed := make([]string, 0, min(len(r.Changed), turn.MaxChanged))
	for _, path := range r.Changed[:cap(changed)] {
		changed = append(changed, text(path))
	}
	todo := proto.CloneOf(r.Todo)
	for _, item := range todo.GetItems() {
		if item.Text = j.Secrets.Text(item.Text); len(item.Text) > turn.MaxItem {
			item.Text = cut(text(item.Text), turn.MaxItem/4)
		}
	}
	picture, err := j.picture(ctx, r.Picture)
	if err != nil {
		return nil, err
	}
	read, err := j.read(ctx, r.Read)
	if err != nil {
		return nil, err
	}
	return &loomv1.ToolResult{
		Status: r.Status, Summary: cut(text(r.Summary), turn.MaxSummary/4), Output: ref, Picture: picture, ExitCode: r.ExitCode, Changed: changed, Ran: cut(text(r.Ran), turn.MaxSummary), Todo: todo, Read: read,
	}, nil
}
