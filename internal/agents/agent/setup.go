package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/loomrun/loom/internal/agents/tool"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/turn"
	"github.com/loomrun/loom/internal/place/git"
	"github.com/loomrun/loom/internal/place/setup"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// setupOf returns the steps that make a checkout ready for its own code, and its
// files.
func (j *job) setupOf(dir string) ([]setup.Step, *os.Root, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, err
	}
	p := j.brief.Project
	return setup.Plan(setup.Wants{
		Commands: p.GetSetup(), Reads: p.GetSetupReads(), Makes: p.GetSetupMakes(), Online: len(p.GetSetupRegistries()) > 0,
	}, root.FS()), root, nil
}

// setupSteps are those of the setup of a checkout; what cannot be read asks for none.
func (j *job) setupSteps(dir string) []setup.Step {
	steps, root, err := j.setupOf(dir)
	if err != nil {
		j.Logger.Warn("a checkout is not set up", "attempt", j.brief.Attempt.Id, "error", err)
		return nil
	}
	root.Close()
	return steps
}

// runsCode reports whether anything in the role's checkouts runs their code.
func (j *job) runsCode() bool {
	may := tool.Allows(j.role.Tools.All(), "shell") || tool.Allows(j.role.Tools.All(), "diagnostics")
	return may && j.canRun()
}

// canRun reports whether this host runs commands at all.
func (j *job) canRun() bool { return j.place.policy.Contain != nil || j.place.policy.Allow }

// setUp makes a checkout ready for its own code, in a place of its own, and
// records each command as a call of the runtime's own, whose id begins with
// prefix. A checkout that was left by a host that died is made ready again. An
// outcome says that it could not be done: then nothing may run in the checkout,
// and no agent is to blame.
func (r *run) setUp(ctx context.Context, ws tool.Workspace, prefix string) (*loomv1.Outcome, error) {
	if !r.runsCode() || r.silent {
		return nil, nil
	}
	return r.makeReadyAll(ctx, ws, prefix)
}

// makeReadyAll is setUp whatever the role may run.
func (r *run) makeReadyAll(ctx context.Context, ws tool.Workspace, prefix string) (*loomv1.Outcome, error) {
	steps := r.setupSteps(ws.Root)
	if len(steps) == 0 {
		return nil, nil
	}
	p, err := r.newPlace()
	if err != nil {
		return nil, err
	}
	defer p.close()
	ws.Exec = p.setup()
	set := tool.New(ws, nil)
	var shared *tree
	if !ws.ReadOnly { // phases beside this one may work in it
		entry, done := r.trees.use(r.brief.Execution.Id)
		defer done()
		entry.setup.Lock()
		defer entry.setup.Unlock()
		shared = entry
	}
	spared, err := r.spared(ctx, shared)
	if err != nil {
		return nil, err
	}
	for i, step := range steps {
		id, command := fmt.Sprintf("%s-%d", prefix, i+1), step.Command
		var last tool.Result
		perform := func(*loomv1.ToolCall) tool.Result {
			last = r.makeReady(ctx, set, ws.Root, id, step, shared)
			shown := last
			shown.Output = setupText(step, last)
			return shown
		}
		if result := r.recorded(id); turn.Passed(result) {
			last = r.makeReady(ctx, set, ws.Root, id, step, shared)
		} else if result, err = r.runtimeCall(ctx, id, command, perform); err != nil {
			return nil, err
		} else if turn.Passed(result) {
			continue
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if !ranWell(last) {
			out := r.failure(fault.New("setup/failed", "%s: %s", command, last.Summary).
				Want("mend what it needs on this host, or name other commands as the project's setup"), "")
			out.Notes = text(out.Notes + "\n" + ending(last.Output, setupTail))
			return out, nil
		}
	}
	return spared()
}

// spared returns a look at whether the setup has spared what a change would have: in
// a worktree that was not ready before, and in which nothing is changed yet, what
// differs afterwards is the setup's doing and no agent's. Shared is the worktree's
// entry, nil for a checkout that only is looked at.
func (r *run) spared(ctx context.Context, shared *tree) (look func() (*loomv1.Outcome, error), err error) {
	look = func() (*loomv1.Outcome, error) { return nil, nil }
	if shared == nil || r.tree == nil {
		return look, nil
	}
	defer func() { shared.ready = true }()
	if shared.ready {
		return look, nil
	}
	if before, err := r.tree.Differs(ctx); err != nil || len(before) > 0 {
		return look, ctx.Err() // a worktree that cannot be read is told of when its change is made
	}
	return func() (*loomv1.Outcome, error) {
		changed, err := r.tree.Differs(ctx)
		if err != nil || len(changed) == 0 {
			return nil, ctx.Err()
		}
		return r.failure(fault.New("setup/failed", "the setup changes %s, which would become part of every change", git.Named(changed)).
			Want("commit what it makes of them, or name what it makes in .gitignore"), ""), nil
	}, nil
}

// makeReady carries out a step of a setup in a checkout: by a copy of its result,
// where one is kept or can be, or else by running it. Shared is the worktree in which
// others may work, whose setup lock is held; nil for a checkout of its own.
func (j *job) makeReady(ctx context.Context, set *tool.Set, dir, id string, step setup.Step, shared *tree) tool.Result {
	kept := j.layKept(ctx, dir, step, shared)
	if kept == "" {
		if shared != nil {
			delete(shared.laid, step.Command)
		}
		return runScript(ctx, set, id, step.Script())
	}
	res := tool.Result{Status: loomv1.ToolStatus_TOOL_STATUS_OK, Summary: kept}
	if then := step.Onto(); then != "" {
		res = runScript(ctx, set, id, then)
	}
	if ranWell(res) {
		res.Summary = kept
	}
	res.Output = "[" + kept + "]\n" + res.Output
	return res
}

// setupTail is how much of the end of a failed setup's output an outcome has.
const setupTail = 4 << 10

func ending(s string, n int) string {
	if len(s) > n {
		s = "[the beginning is cut]\n" + s[len(s)-n:]
	}
	return s
}

// runScript runs a command line of a setup, which may fetch and build for long.
func runScript(ctx context.Context, set *tool.Set, id, script string) tool.Result {
	args, err := json.Marshal(map[string]string{"command": script})
	if err != nil {
		return tool.Result{Status: loomv1.ToolStatus_TOOL_STATUS_ERROR, Summary: err.Error()}
	}
	return set.Call(ctx, []string{"shell"}, checkTimeout, &loomv1.ToolCall{Id: id, Tool: "shell", Arguments: string(args)})
}

func ranWell(r tool.Result) bool {
	return r.Status == loomv1.ToolStatus_TOOL_STATUS_OK && r.ExitCode == 0
}

// setupText is what the model sees of a step of the setup.
func setupText(step setup.Step, res tool.Result) string {
	var p prompt
	p.section("Setup")
	p.WriteString("The runtime made the checkout ready for its own code before anything runs in it.\n")
	if ranWell(res) {
		fmt.Fprintf(&p, "done: %s\n", step.Command)
	} else {
		fmt.Fprintf(&p, "failed (exit %d): %s\n", res.ExitCode, step.Command)
	}
	p.data(strings.TrimSpace(res.Output))
	return p.String()
}
