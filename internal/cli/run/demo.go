package run

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/graph"
	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/provider"
	"github.com/loomrun/loom/internal/agents/model/recording"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/cli/approval"
	"github.com/loomrun/loom/internal/cli/bead"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/cli/execution"
	"github.com/loomrun/loom/internal/cli/means"
	"github.com/loomrun/loom/internal/cli/models"
	"github.com/loomrun/loom/internal/core/workflow"
	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/internal/host/isolation"
	"github.com/loomrun/loom/internal/ops/demo"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Demo returns the command of that name.
func (a *Commands) Demo() *cobra.Command {
	o := demo.Options{}
	var approve, spec, only, record string
	cmd := &cobra.Command{
		Use: "demo [flags]", Short: "the main job, with nothing installed and no key",
		Long: `Demo makes a git repository with a bug, starts a host, and publishes an error
report on a NATS subject as a service would. Agents triage it, find the cause,
change the code in a worktree of their own; you approve the diff; the change is
committed under the commit lock, verified on a clean checkout, and lands on the
branch. A script stands in for the language model and for nothing else.

It opens no port and writes to a temporary directory, unless you say otherwise.`,
		Example: "  loom demo\n  loom demo --approve auto --json\n  loom demo --keep ./play\n  loom demo --model anthropic:claude-sonnet-4-5",
		Args:    console.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if only != "" {
				return a.prepareOnly(cmd.Context(), only)
			}
			auto, err := a.approval(approve)
			if err != nil {
				return err
			}
			if o.Model, err = openModel(spec, o.Unsandboxed); err != nil {
				return err
			}
			o.View = &demoView{Commands: a, auto: auto, in: bufio.NewReader(a.In), spin: console.NewSpinner(a.Console)}
			return models.New(a.Console).Recorded(record, "demo", o.Model, func(w *recording.Writer) error {
				o.Tape, o.Secrets = w, models.New(a.Console).Confidential()
				return a.runDemo(cmd.Context(), o)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&approve, "approve", "", "`HOW`: ask or auto (default: ask at a terminal; without one it must be given)")
	f.StringVar(&spec, "model", "scripted:demo", "`MODEL` that answers: scripted:demo, anthropic:MODEL, google:MODEL or openai:MODEL")
	models.RecordFlag(f, &record)
	f.BoolVar(&o.Unsandboxed, "unsandboxed", false, "let tools run on this machine as it is")
	f.StringVar(&o.Keep, "keep", "", "work in `DIR`; repository and data stay there, and a demo that was cut off goes on")
	f.StringVar(&o.Listen, "listen", "", "let other clients connect, at `HOST:PORT` (default: no port is opened)")
	f.StringVar(&only, "make-repository", "", "only make the demo's repository in `DIR`")
	return cmd
}

func (a *Commands) prepareOnly(ctx context.Context, dir string) error {
	if err := demo.MakeRepository(ctx, dir); err != nil {
		return err
	}
	fmt.Fprintf(a.Out, "%s\n", dir)
	return nil
}

func (a *Commands) approval(approve string) (auto bool, err error) {
	switch {
	case approve == "auto":
		return true, nil
	case approve == "ask", approve == "" && console.Terminal(a.In):
		return false, nil
	case approve == "":
		return false, fault.New("usage/argument", "standard input is not a terminal, so nobody can be asked").At("--approve").Want("--approve auto, or --approve ask to read answers from standard input")
	}
	return false, fault.New("usage/argument", "unknown way to approve").At("--approve").Got(approve).Want("ask or auto")
}

// openModel opens a model; where there is no sandbox, a real one needs leave to
// run tools without.
func openModel(spec string, unsandboxed bool) (model.Provider, error) {
	m, err := provider.Open(spec, os.Getenv)
	if err != nil {
		return nil, err
	}
	if models.StandIn(m) != "a script" && !unsandboxed && !isolation.CanSandbox() {
		return nil, fault.New("tool/no-sandbox", "%s would run commands of its own choice on this machine, which has no sandbox", m.Name()).At("--model").
			Want("add --unsandboxed if this machine may be used so")
	}
	return m, nil
}

func (a *Commands) runDemo(ctx context.Context, o demo.Options) error {
	v := o.View.(*demoView)
	if by := models.StandIn(o.Model); by != "" {
		v.Say("model " + o.Model.Name() + ": " + by + " stands in for the language model, and for nothing else; it costs nothing")
	} else {
		v.Say("model " + o.Model.Name())
	}
	limits := host.Config{Model: o.Model}
	means.Limit(&limits)
	o.BeadBudget, o.DayBudget = limits.BeadBudget, limits.DayBudget
	if said := means.LimitsText(&limits); said != "" {
		v.Say(said)
	}
	switch {
	case o.Unsandboxed:
		v.Say("tools run on this machine as it is, as --unsandboxed says")
	case isolation.CanSandbox():
		v.Say("tools, checks and hooks run in a sandbox, without the network")
	default:
		v.Say("this system has no sandbox: the tools of the demo's own repository run on this machine as it is")
	}
	if v.auto {
		v.Say("approvals are given automatically, without anybody looking (--approve auto)")
	}
	r, err := demo.Run(ctx, o)
	v.spin.Stop()
	if errors.Is(err, context.Canceled) {
		return a.interrupted(o)
	}
	if err != nil {
		return err
	}
	return a.demoResult(r, o)
}

func (a *Commands) interrupted(o demo.Options) error {
	if o.Keep != "" {
		fmt.Fprintf(a.Err, "stopped cleanly; \"loom demo --keep %s\" goes on from here\n", suggest.Arg(o.Keep))
	} else {
		fmt.Fprintln(a.Err, "stopped cleanly; the temporary directory is gone")
	}
	return console.ExitError{Status: fault.WorkFailed}
}

func (a *Commands) demoResult(r *demo.Result, o demo.Options) error {
	if a.JSON {
		if err := json.NewEncoder(a.Out).Encode(r); err != nil {
			return err
		}
	} else {
		a.demoText(r, o)
	}
	if !r.Landed || !r.Verified {
		return console.ExitError{Status: fault.WorkFailed}
	}
	return nil
}

func (a *Commands) demoText(r *demo.Result, o demo.Options) {
	w := a.Out
	head := func(s string) { fmt.Fprintf(w, "\n%s\n%s\n", s, strings.Repeat("─", len([]rune(s)))) }
	head("History of " + r.Execution)
	execution.HistoryTable(w, r.History, nil)
	head("Decisions")
	fmt.Fprint(w, graph.Text(r.Graph, nil))
	if r.Patch != "" {
		head("The commit on " + demo.Branch)
		fmt.Fprintln(w, strings.TrimSpace(console.Printable(r.Patch)))
	}
	head("In numbers")
	fmt.Fprintf(w, "%s: %s, verified %t, landed %t, %d transitions\n", r.Bead, r.Status, r.Verified, r.Landed, r.Transitions)
	fmt.Fprintf(w, "%d model calls, %d tokens, %s\n", r.View.ModelCalls, r.Tokens, execution.Cost(r.View))
	if r.Resumed {
		fmt.Fprintln(w, "it went on from an earlier run, so how long it took says nothing")
	} else {
		timesText(w, r.Times)
	}
	head("What to try next")
	nextSteps(w, r, o)
}

func timesText(w io.Writer, t demo.Times) {
	fmt.Fprintf(w, "start of the host to the first notice %.0f ms\n", t.FirstNotice)
	fmt.Fprintf(w, "report to landing %.0f ms: tools %.0f ms, git and hooks %.0f ms, approval %.0f ms, Loom itself %.0f ms\n", t.Whole, t.Tools, t.Git, t.CEO, t.Own)
}

func nextSteps(w io.Writer, r *demo.Result, o demo.Options) {
	if o.Keep == "" {
		fmt.Fprintln(w, "  loom demo --keep ./play            the same, and everything stays to look at")
		if models.StandIn(o.Model) != "" {
			fmt.Fprintln(w, "  loom demo --model anthropic:claude-sonnet-4-5    with a real model (ANTHROPIC_API_KEY)")
		}
		return
	}
	if r.Landed {
		fmt.Fprintf(w, "  git -C %s log -1             the commit and its trailers\n", suggest.Arg(r.Repository))
	}
	fmt.Fprintf(w, "  loom up --data %s --model scripted:demo    the same host again\n", suggest.Arg(r.Data))
	fmt.Fprintf(w, "  loom events --data %s --bead %s    every event, while the host is up\n", suggest.Arg(r.Data), r.Bead)
}

// demoView shows the demo and asks.
type demoView struct {
	*Commands
	auto bool
	in   *bufio.Reader
	spin *console.Spinner
}

func (v *demoView) Say(text string) {
	if v.JSON {
		_ = json.NewEncoder(v.Out).Encode(map[string]string{"say": text})
		return
	}
	v.spin.Stop()
	fmt.Fprintln(v.Out, "· "+console.Line(text, 300))
}

// Event shows a line for each transition; what happens between two of them
// shows at the spinner.
func (v *demoView) Event(n *loomv1.Notice) {
	from, to, outcome, moved := workflow.Transition(n.Event)
	if v.JSON {
		if moved {
			_ = json.NewEncoder(v.Out).Encode(map[string]any{"transition": map[string]any{
				"execution": n.Event.Execution, "from": from, "to": to, "outcome": outcome, "time": n.Event.Time.AsTime(), "summary": n.Summary,
			}})
		}
		return
	}
	summary := console.WithoutHost(n.Summary) // there is no other
	v.spin.Say(console.Line(summary, 100))
	if bead.IsStep(n.Event) && n.Event.GetApprovalRequested() == nil { // which Decide shows in full
		v.spin.Stop()
		fmt.Fprintf(console.Prose(v.Out, 14), "%s  %s\n", console.Clock(n.Event.Time), console.Line(summary, 160))
	}
}

// Decide asks at the terminal, or approves what is proposed. An escalation is
// never approved automatically.
func (v *demoView) Decide(ctx context.Context, a *loomv1.Approval, diff string) (loomv1.ApprovalDecision, string, error) {
	v.spin.Stop()
	if v.auto && a.Kind == loomv1.ApprovalKind_APPROVAL_KIND_ESCALATION {
		return loomv1.ApprovalDecision_APPROVAL_DECISION_REJECT, "an escalation is never approved automatically", nil
	}
	if !v.JSON {
		fmt.Fprintln(v.Out)
		approval.ApprovalText(v.Out, v.Width(), a, diff, v.PaintDiff)
	}
	if v.auto {
		v.Say("approved automatically (--approve auto)")
		return loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE, "approved automatically, without anybody looking", nil
	}
	return v.ask(ctx)
}

func (v *demoView) ask(ctx context.Context) (loomv1.ApprovalDecision, string, error) {
	for {
		fmt.Fprint(v.Err, "Approve? [y]es, [n]o, or say what should be different: ")
		answer, err := v.answer(ctx)
		if err != nil {
			return 0, "", err
		}
		switch strings.ToLower(answer) {
		case "y", "yes":
			return loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE, "", nil
		case "n", "no":
			return loomv1.ApprovalDecision_APPROVAL_DECISION_REJECT, "", nil
		case "":
		default:
			return loomv1.ApprovalDecision_APPROVAL_DECISION_REQUEST_CHANGES, answer, nil
		}
	}
}

// answer reads one line, or gives up when the command is interrupted.
func (v *demoView) answer(ctx context.Context) (string, error) {
	type read struct {
		text string
		err  error
	}
	got := make(chan read, 1)
	go func() {
		s, err := v.in.ReadString('\n')
		got <- read{s, err}
	}()
	select {
	case r := <-got:
		if r.err != nil {
			return "", fault.New("usage/argument", "no answer: standard input ended").Want("--approve auto")
		}
		return strings.TrimSpace(r.text), nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
