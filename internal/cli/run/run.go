package run

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/cli/bead"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/cli/execution"
	"github.com/loomrun/loom/internal/cli/means"
	"github.com/loomrun/loom/internal/cli/models"
	"github.com/loomrun/loom/internal/cli/process"
	"github.com/loomrun/loom/internal/net/client"
	"github.com/loomrun/loom/internal/ops/config"
	"github.com/loomrun/loom/internal/ops/errand"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// errandFlags are what run takes beside a submission.
type errandFlags struct {
	workspace, out, approve string
	with                    *means.Means
	flags                   *pflag.FlagSet
	project                 means.Project
	planner                 string
	plan, allowGaps         bool
}

// Run returns the command of that name.
func (a *Commands) Run() *cobra.Command {
	s := &loomv1.Submission{Type: loomv1.BeadType_BEAD_TYPE_TASK}
	f := errandFlags{with: means.New(a.Console, false)}
	var values []string
	cmd := &cobra.Command{
		Use: "run GOAL... [flags]", Short: "reach a goal in this directory, by a process", Args: cobra.ArbitraryArgs,
		Long: `Run works on a goal in a directory and leaves what was delivered there, or in
--out. It runs a host of its own, or files the goal with the one that there is.

A directory that is no git repository is copied into one that Loom makes for
itself, and only delivered files are written back: none over what you changed.
Without --process it is loom.toml's, [process] default, or the workspace's only.

Exit status: 0 delivered, 11 with gaps, 10 it waits for an answer, 1 failed.`,
		Example: "  loom run \"Who else sells this, and for how much?\" --process competitive-intel\n  loom run \"Shall we buy it?\" --process ./ours.yaml --out result",
		RunE: func(cmd *cobra.Command, args []string) error {
			f.flags = cmd.Flags()
			if s.Goal = strings.TrimSpace(strings.Join(args, " ")); s.Goal == "" {
				return fault.New("submit/empty-goal", "no goal is given").At("GOAL").Want("say in a few words what is to be achieved")
			}
			if err := bead.FillContext(s, values); err != nil {
				return err
			}
			if err := process.PlanContext(s, f.planner, f.plan); err != nil {
				return err
			}
			return a.runErrand(cmd.Context(), s, &f)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&s.Process, "process", "", "`NAME` of a process, or a file or directory of one")
	fl.StringVarP(&f.workspace, "workspace", "w", ".", "work in this `DIR`, also -w")
	fl.StringVar(&f.out, "out", "", "write what is delivered to `DIR`, not the workspace")
	fl.StringVar(&f.approve, "approve", "", "`HOW` to answer: ask (if at a terminal), auto, later")
	fl.BoolVar(&f.plan, "plan", false, "ask about the plan before anything of it is done")
	fl.StringVar(&f.planner, "planner", "", "`WHO` plans what is free: model (default) or rules")
	fl.StringVar(&s.Description, "description", "", "`TEXT` with everything else worth knowing")
	fl.StringArrayVar(&s.Stakeholders, "stakeholder", nil, "`WHO` has a say or is touched, and how")
	fl.StringArrayVar(&values, "set", nil, "context value `KEY=VALUE` (VALUE is JSON, else text)")
	fl.BoolVar(&f.allowGaps, "allow-gaps", false, bead.AllowGapsUsage)
	fl.StringVar(&s.IdempotencyKey, "idempotency-key", "", "`KEY`: the same goes on with work that was cut off")
	f.project.Flags(fl)
	f.with.Flags(fl)
	means.Hide(fl, "grace", "push", "train")
	return cmd
}

func (a *Commands) runErrand(ctx context.Context, s *loomv1.Submission, f *errandFlags) error {
	c, err := process.New(a.Console).Catalog(f.workspace)
	if err != nil {
		return err
	}
	which := process.Preferred{Name: s.Process, From: config.Origin{From: config.FromFlag, Name: "--process"}}
	if which.Name == "" {
		which, err = process.New(a.Console).StandardProcess(f.workspace, c)
	}
	if err != nil {
		return err
	}
	if own := c.Of(console.WorkspaceLayer); which.Name == "" && len(own) > 0 {
		return fault.New("usage/argument", "no process is named, and the workspace has %d", len(own)).At("--process").
			Want("one of %s; or a loom.toml with [process] default = \"NAME\"", strings.Join(own, ", "))
	}
	if which.Name == "" {
		return fault.New("usage/argument", "no process is named, and the workspace has none").At("--process").
			Want("one of %s; or a loom.toml with [process] default = \"NAME\"", strings.Join(c.Library().Names(), ", "))
	}
	e, err := which.Take(process.New(a.Console), c)
	if err != nil {
		return err
	}
	s.Process = e.Name
	o := errand.Options{Workspace: f.workspace, Out: f.out, Submission: s}
	o.Left = func(here *errand.Result, beads []*loomv1.Bead) { a.leftovers(o.View, f, here, beads) }
	o.Config.Processes = c.Library().With(processes.NewLibrary(e.Definition))
	if err := f.project.Fill(&o.Project); err != nil {
		return err
	}
	f.with.Ready()
	if err := f.with.Fill(&o.Config); err != nil {
		if a.served(ctx) { // by a host that has models of its own
			return a.hand(ctx, s, f)
		}
		return err
	}
	if o.View, err = a.errandView(f.approve); err != nil {
		return err
	}
	var r *errand.Result
	err = f.with.Recorded("run", &o.Config, func() (err error) {
		r, err = a.carryOut(ctx, o)
		return err
	})
	if fault.Code(err) == "data/locked" {
		return a.hand(ctx, s, f)
	}
	if err != nil {
		a.toGoOn(r, f, s.IdempotencyKey)
		return err
	}
	return a.errandResult(r, f)
}

// toGoOn says how work goes on that was filed and has not ended.
func (a *Commands) toGoOn(r *errand.Result, f *errandFlags, key string) {
	switch {
	case r == nil:
	case key != "":
		fmt.Fprintf(a.Err, "%s has not ended; the same command, with the same --idempotency-key, goes on with it\n", r.Bead)
	default:
		fmt.Fprintf(a.Err, "%s has not ended; it goes on when a host starts: %s\n", r.Bead, f.up(r))
	}
}

// leftovers says which work of the data directory a run for another goal leaves alone, and
// how it goes on or ends.
func (a *Commands) leftovers(v errand.View, f *errandFlags, here *errand.Result, beads []*loomv1.Bead) {
	const most = 10
	for i, b := range beads {
		if i == most {
			v.Say(fmt.Sprintf("and %d more that have not ended: loom bead list", len(beads)-most))
			break
		}
		v.Say(fmt.Sprintf("%s has not ended, and waits while this runs: %s", b.Id, console.Line(b.Goal, 80)))
	}
	fmt.Fprintf(a.Err, "  to go on with what waits, afterwards: %s\n  to close some of it, when that host runs: loom execution close BEAD --reason WHY\n", f.up(here))
}

// up is the command that starts a host which goes on with work that was filed here, with
// all that this one was given for it.
func (f *errandFlags) up(r *errand.Result) string {
	args, left := f.with.Given(f.flags, r.Project)
	command := strings.Join(append(append([]string{"loom up"}, args...), "--project "+suggest.Arg(r.Project+"="+r.Repository)), " ")
	if len(left) > 0 {
		command += " (and " + strings.Join(left, ", ") + " as it was given here: it holds a secret)"
	}
	return command
}

func (a *Commands) carryOut(ctx context.Context, o errand.Options) (*errand.Result, error) {
	if by := models.StandIn(o.Config.Model); by != "" {
		o.View.Say("model " + o.Config.Model.Name() + ": " + by + " stands in for the language model, and for nothing else")
	}
	if limits := means.LimitsText(&o.Config); limits != "" {
		o.View.Say(limits)
	}
	for _, said := range means.SourcesText(o.Config.Sources) {
		o.View.Say(said)
	}
	r, err := errand.Run(ctx, o)
	o.View.(*errandView).spin.Stop()
	return r, err
}

// served reports whether a host runs on the data directory.
func (a *Commands) served(ctx context.Context) bool {
	return a.With(ctx, func(c *client.Client) error {
		_, err := c.Host(ctx, &loomv1.HostRequest{})
		return err
	}) == nil
}

// hand files the goal with the host that has the data directory, in the project whose
// repository the workspace is, or is in. It never files it in another one.
func (a *Commands) hand(ctx context.Context, s *loomv1.Submission, f *errandFlags) error {
	if f.out != "" {
		return fault.New("usage/argument", "a host runs on the data directory already, and lands work in its projects' repositories").At("--out").
			Want("leave it out, or use another data directory with --data")
	}
	return a.With(ctx, func(c *client.Client) error {
		v, err := c.Project(ctx, &loomv1.Query{})
		if err != nil {
			return err
		}
		if s.Project = projectAt(f.workspace, v.Projects); s.Project == "" {
			return fault.New("project/unknown", "a host runs on the data directory already, and none of its projects has this directory").At("--workspace").Got(f.workspace).
				Want("another data directory: loom run --data DIR; or, for a git repository: loom project add NAME=%s", suggest.Arg(f.workspace))
		}
		fmt.Fprintf(a.Err, "a host runs on the data directory already; it does the work, in project %s\n", s.Project)
		reply, err := c.Submit(ctx, s)
		if err != nil {
			return err
		}
		return bead.New(a.Console).Submitted(ctx, c, reply, bead.Waiting{Wait: true, AllowGaps: f.allowGaps})
	})
}

// projectAt returns the project whose repository a directory is, or is in: the innermost
// of several, "" for none.
func projectAt(dir string, projects []*loomv1.ProjectConfig) string {
	for at := located(dir); ; at = filepath.Dir(at) {
		for _, p := range projects {
			if p.Repository != "" && located(p.Repository) == at {
				return p.Id
			}
		}
		if at == filepath.Dir(at) {
			return ""
		}
	}
}

// located is the absolute path of a file, without symbolic links as far as it is there.
func located(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return path
}

// errandView shows an errand as the demo is shown, on standard error, and can
// leave questions open.
type errandView struct {
	*demoView
	later bool
}

func (a *Commands) errandView(approve string) (*errandView, error) {
	v := &errandView{demoView: &demoView{Commands: a, in: bufio.NewReader(a.In), spin: console.NewSpinner(a.Console)}}
	switch {
	case approve == "auto":
		v.auto = true
	case approve == "later", approve == "" && !console.Terminal(a.In):
		v.later = true
	case approve != "ask" && approve != "":
		return nil, fault.New("usage/argument", "unknown way to approve").At("--approve").Got(approve).Want("ask, auto or later")
	}
	return v, nil
}

func (v *errandView) Say(text string) {
	v.spin.Stop()
	fmt.Fprintln(v.Err, "· "+console.Line(text, 300))
}

func (v *errandView) Event(n *loomv1.Notice) {
	bead.Progress{Commands: bead.New(v.Commands.Console), Spin: v.spin, Alone: true}.Show(n)
}

func (v *errandView) Decide(ctx context.Context, ap *loomv1.Approval, diff string) (loomv1.ApprovalDecision, string, error) {
	if v.later || v.auto && ap.Kind == loomv1.ApprovalKind_APPROVAL_KIND_ESCALATION {
		v.Say(fmt.Sprintf("%s waits for you: %s", ap.Id, ap.Question))
		return 0, "", errand.ErrLater
	}
	return v.demoView.Decide(ctx, ap, diff)
}

func (a *Commands) errandResult(r *errand.Result, f *errandFlags) error {
	if err := a.PrintAny(r, func(w io.Writer) { errandText(w, r) }); err != nil {
		return err
	}
	if r.Waits {
		fmt.Fprintf(a.Err, "start the host on this data directory to answer: %s, then loom inbox\n", f.up(r))
	}
	if status := r.Exit(f.allowGaps); status != fault.Done {
		return console.ExitError{Status: status}
	}
	return nil
}

func errandText(w io.Writer, r *errand.Result) {
	fmt.Fprintf(w, "%s %s", r.Bead, r.Status)
	if r.Reason != "" {
		fmt.Fprintf(w, ": %s", console.Line(r.Reason, 300))
	}
	fmt.Fprintln(w)
	for _, f := range r.Files {
		if f.Why != "" {
			fmt.Fprintf(w, "  %s was not written: %s; it is in %s\n", f.Path, f.Why, r.Repository)
		} else {
			fmt.Fprintf(w, "  %s%s\n", f.Written, map[bool]string{true: " (not verified)"}[f.Unverified])
		}
	}
	if r.Index != "" {
		fmt.Fprintf(w, "  %s lists who made them, from what, judged by whom, at which cost\n", r.Index)
	}
	for _, g := range r.Gaps {
		fmt.Fprintf(w, "gap: %s\n", console.Line(g, 300))
	}
	for _, after := range r.After {
		switch nodes := strings.Join(after.Nodes, ", "); {
		case after.Status == "open":
			fmt.Fprintf(w, "afterwards: %s is left, and done when a host next runs here (%s)\n", nodes, after.Bead)
		case after.Status != "completed":
			fmt.Fprintf(w, "afterwards: %s %s: %s (%s)\n", nodes, after.Status, console.Line(after.Reason, 300), after.Bead)
		}
	}
	for _, s := range r.Sources {
		fmt.Fprintf(w, "source %d: %s\n", s.Number, console.Line(s.Address, 200))
	}
	if text := execution.RuleCounts(r.View, r.Definition); text != "" {
		fmt.Fprintln(w, text)
	}
	if r.Commit != "" && len(r.Files) == 0 {
		fmt.Fprintf(w, "commit %s in %s\n", r.Commit, r.Repository)
	}
	fmt.Fprintf(w, "%d model calls, %d tokens%s\n", r.ModelCalls, r.Tokens, map[bool]string{true: ", scripted"}[r.Scripted])
}
