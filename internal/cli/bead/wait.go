package bead

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/core/notice"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/core/workflow"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// What the flags of [Waiting] do.
const (
	WaitUsage      = "stay until the bead is closed; exit 1 if it failed, 10 if it waits for a human, 11 if it has gaps"
	AllowGapsUsage = "exit 0, not 11, if it is delivered with gaps"
)

// Waiting is whether to wait for work that was begun, and what of its end is well.
type Waiting struct{ Wait, AllowGaps bool }

// Flags adds the flags that say so.
func (w *Waiting) Flags(f *pflag.FlagSet) {
	f.BoolVar(&w.Wait, "wait", false, WaitUsage)
	f.BoolVar(&w.AllowGaps, "allow-gaps", false, "with --wait: "+AllowGapsUsage)
}

// errStop ends a Follow that has seen enough.
var errStop = errors.New("stop")

// Wait follows a bead until it ends or a human must decide. It begins after the
// answer to an approval, if one is named, else at the bead's beginning. An end with
// gaps is an exit status of its own, unless they are allowed.
func (a *Commands) Wait(ctx context.Context, c *client.Client, bead, approval string, allowGaps bool) error {
	p := Progress{Commands: a, Spin: console.NewSpinner(a.Console), Alone: a.Alone(ctx, c)}
	defer p.Spin.Stop()
	begun := approval == ""
	var status loomv1.BeadStatus
	var asked *loomv1.Approval
	var block *loomv1.ModelBlock
	var landed *loomv1.Landing
	err := c.Follow(ctx, &loomv1.NoticesRequest{Bead: bead, Project: project.Of(bead)}, true, func(n *loomv1.Notice) error {
		begun = begun || n.Event.GetApprovalDecided().GetApproval() == approval
		if !begun {
			return nil
		}
		p.Show(n)
		if q := n.Event.GetApprovalRequested().GetApproval(); q != nil {
			asked = q
		}
		landed = cmp.Or(n.Event.GetLanded().GetLanding(), n.Event.GetLandingSettled().GetLanding(), landed)
		if b := n.Event.GetAttemptParked().GetBlock(); b != nil {
			if stands, err := blocked(ctx, c, bead, b); err != nil || stands {
				block = b
				return cmp.Or(err, errStop)
			}
		}
		if n.Event.GetBeadStatusChanged() == nil {
			return nil
		}
		var err error
		if status, err = standing(ctx, c, bead); err == nil && rests(status) {
			err = errStop
		}
		return err
	})
	if errors.Is(err, context.Canceled) {
		p.Spin.Stop()
		fmt.Fprintf(a.Err, "no longer waiting; work on %s goes on\n", bead)
		return console.ExitError{Status: fault.Interrupted}
	}
	if !errors.Is(err, errStop) {
		return err
	}
	if block != nil {
		p.Spin.Stop()
		fmt.Fprint(console.Prose(a.Err, 0), console.BlockText(block))
		return console.ExitError{Status: fault.Waits}
	}
	switch status {
	case loomv1.BeadStatus_BEAD_STATUS_CLOSED:
		p.Spin.Stop()
		if notice.Beside(landed) {
			fmt.Fprintf(a.Err, "%s is not on %s yet: %s\n", bead, landed.Target, landed.Checkout)
		}
		return a.gaps(ctx, c, bead, allowGaps)
	case loomv1.BeadStatus_BEAD_STATUS_WAITING:
		p.Spin.Stop()
		said := stopped(bead, asked)
		if said == "" && !a.JSON {
			said = waits(bead, asked)
		}
		fmt.Fprint(console.Prose(a.Err, 0), said)
		return console.ExitError{Status: fault.Waits}
	}
	return console.ExitError{Status: fault.WorkFailed}
}

// gaps tells what work that is closed went on without, and why.
func (a *Commands) gaps(ctx context.Context, c *client.Client, bead string, allowed bool) error {
	v, err := c.Bead(ctx, &loomv1.Query{Project: project.Of(bead), Id: bead})
	if err != nil || len(v.Beads) == 0 || v.Beads[0].Gaps == 0 {
		return err
	}
	if !a.JSON {
		x, err := c.Execution(ctx, &loomv1.Query{Project: project.Of(bead), Id: v.Beads[0].Execution})
		if err != nil {
			return err
		}
		for _, g := range x.Executions[0].GetGaps() {
			fmt.Fprintf(a.Err, "gap: %s: %s\n", g.Node, console.Line(g.Reason, 300))
		}
	}
	if allowed {
		return nil
	}
	return console.ExitError{Status: fault.Gaps}
}

// blocked reports whether work of a bead's project still waits for what the operator
// has to mend: an event may be an old one.
func blocked(ctx context.Context, c *client.Client, bead string, b *loomv1.ModelBlock) (bool, error) {
	v, err := c.Inbox(ctx, &loomv1.Query{Project: project.Of(bead), Limit: 1, Newest: true})
	return slices.ContainsFunc(v.GetBlocks(), func(known *loomv1.ModelBlock) bool { return known.Model == b.Model && known.Code == b.Code }), err
}

// waits says of a bead that it waits for a person's answer, and how to give it.
func waits(bead string, asked *loomv1.Approval) string {
	if asked.GetId() == "" {
		return ""
	}
	answer := "loom approve " + asked.Id
	if asked.Kind == loomv1.ApprovalKind_APPROVAL_KIND_QUESTION {
		answer = "loom answer " + asked.Id + " --comment TEXT"
	}
	return fmt.Sprintf("%s waits for you: \"loom inbox -i\" shows it and asks, or \"loom inbox %s\" and \"%s\"\n", bead, asked.Id, answer)
}

// stopped says of a bead that its budget has stopped it, what is used of it, and
// how to go on; nothing where it waits for something else.
func stopped(bead string, asked *loomv1.Approval) string {
	why, is := strings.CutPrefix(asked.GetReason(), "budget/exhausted: ")
	if !is {
		return ""
	}
	whose := "the budget of " + bead
	if asked.OfProject {
		whose = "a budget of the project"
	}
	said := fmt.Sprintf("%s is used up: %s\ngo on with \"loom approve %s\", end it with \"loom reject %s\"\n", whose, console.Line(why, 200), asked.Id, asked.Id)
	if asked.DayEnds != nil {
		said += "without an answer it goes on at " + console.Stamp(asked.DayEnds) + ", when the day is over\n"
	}
	return said
}

// standing returns a bead's status as it is now: what an event says may have
// been overtaken.
func standing(ctx context.Context, c *client.Client, bead string) (loomv1.BeadStatus, error) {
	v, err := c.Bead(ctx, &loomv1.Query{Project: project.Of(bead), Id: bead})
	if err != nil {
		return 0, err
	}
	return v.Beads[0].Status, nil
}

// rests says whether a bead with that status goes on only if a person does
// something. One that is blocked goes on when others are closed.
func rests(s loomv1.BeadStatus) bool {
	switch s {
	case loomv1.BeadStatus_BEAD_STATUS_OPEN, loomv1.BeadStatus_BEAD_STATUS_IN_PROGRESS, loomv1.BeadStatus_BEAD_STATUS_BLOCKED:
		return false
	}
	return true
}

// Progress shows on standard error what happens: a line a step, and what is
// between two steps at the spinner.
type Progress struct {
	*Commands
	Spin  *console.Spinner
	Alone bool // there is one host, which is not named
}

// Show writes a notice as a step of the work, in one line.
func (p Progress) Show(n *loomv1.Notice) {
	if p.JSON {
		_ = json.NewEncoder(p.Err).Encode(console.JSONOf(n))
		return
	}
	summary := n.Summary
	if p.Alone {
		summary = console.WithoutHost(summary)
	}
	p.Spin.Say(console.Line(summary, 100))
	if IsStep(n.Event) {
		p.Spin.Stop()
		fmt.Fprintf(console.Prose(p.Err, 14), "%s  %s\n", console.Clock(n.Event.Time), console.Line(summary, 160))
	}
}

// IsStep says whether an event is one that people want to read of: a transition,
// or what comes of one.
func IsStep(e *loomv1.Event) bool {
	switch f := e.Fact.(type) {
	case *loomv1.Event_BeadFiled:
		return f.BeadFiled.GetBead().GetAbout() == ""
	case *loomv1.Event_PlanAdopted, *loomv1.Event_ApprovalRequested, *loomv1.Event_ApprovalDecided, *loomv1.Event_LockGranted,
		*loomv1.Event_CandidateMade, *loomv1.Event_Landed, *loomv1.Event_LandingSettled, *loomv1.Event_ExecutionEnded:
		return true
	}
	_, _, _, moved := workflow.Transition(e)
	return moved
}
