package bead

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// beadEdit is what the flags of "bead update" say.
type beadEdit struct {
	goal, description, priority, deadline, parent, assignee string
	addLabels, removeLabels, block, unblock, stakeholders   []string
	budget                                                  budgetFlags
	reason                                                  string
}

func (a *Commands) beadUpdate() *cobra.Command {
	var e beadEdit
	cmd := &cobra.Command{
		Use: "update BEAD [flags]", Short: "change a bead", Args: console.Takes("BEAD"), Annotations: map[string]string{console.TakesEmpty: "yes"},
		Long: `Update changes what the flags name, and nothing else; an empty value takes
away a parent, an assignee or a deadline. A bead that is blocked by others is
not worked on until they are closed; work under way is held.`,
		Example: "  loom bead update shop-1 --priority urgent --add-label web\n  loom bead update shop-1 --block-on shop-7 --reason \"needs the new schema\"\n  loom bead update shop-1 --unblock-from shop-7",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := e.check(args[0]); err != nil {
				return err
			}
			return a.With(cmd.Context(), func(c *client.Client) error {
				u, err := e.update(cmd, c, args[0])
				if err != nil {
					return err
				}
				return a.change(cmd.Context(), c, &loomv1.BeadRequest{Verb: &loomv1.BeadRequest_Update{Update: u}}, "updated")
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&e.goal, "goal", "", "`TEXT` of what is to be achieved")
	f.StringVar(&e.description, "description", "", "`TEXT` with everything else worth knowing")
	f.StringVar(&e.priority, "priority", "", "`PRIORITY`: urgent, normal or low; it counts for what is dispatched from now on")
	f.StringVar(&e.deadline, "deadline", "", "not later than this `TIME`: RFC 3339, or a duration from now such as 4h")
	f.StringVar(&e.parent, "parent", "", "`BEAD` that this one is a part of")
	f.StringVar(&e.assignee, "assignee", "", "`ROLE` that the work is meant for")
	f.StringArrayVar(&e.stakeholders, "stakeholder", nil, "`WHO` has a say or is touched, and how, in place of those named before")
	f.StringSliceVar(&e.addLabels, "add-label", nil, "add this `LABEL`; may be given again")
	f.StringSliceVar(&e.removeLabels, "remove-label", nil, "remove this `LABEL`; may be given again")
	f.StringSliceVar(&e.block, "block-on", nil, "wait for this `BEAD` to be closed; may be given again")
	f.StringSliceVar(&e.unblock, "unblock-from", nil, "wait no longer for this `BEAD`; may be given again")
	e.budget.add(cmd)
	f.StringVar(&e.reason, "reason", "", "`TEXT` that says why, for the record")
	completes(cmd, map[string][]string{"priority": priorities, "assignee": roleNames()})
	return cmd
}

var priorities = []string{"urgent", "normal", "low"}

// check refuses ids and words that cannot be.
func (e *beadEdit) check(bead string) error {
	if err := cmp.Or(console.CheckID("BEAD", bead), checkWord("--priority", e.priority, priorities), console.CheckName("--assignee", e.assignee)); err != nil {
		return err
	}
	for _, f := range []struct {
		flag string
		ids  []string
	}{{"--parent", []string{e.parent}}, {"--block-on", e.block}, {"--unblock-from", e.unblock}} {
		for _, id := range f.ids {
			if id == "" && f.flag == "--parent" {
				continue
			}
			if err := console.CheckID(f.flag, id); err != nil {
				return err
			}
		}
	}
	return nil
}

// update returns what the flags ask for. What they add to or take from is read
// first, and nothing is changed where somebody else changes that meanwhile.
func (e *beadEdit) update(cmd *cobra.Command, c *client.Client, id string) (*loomv1.UpdateBead, error) {
	v, err := c.Bead(cmd.Context(), &loomv1.Query{Project: project.Of(id), Id: id})
	if err != nil {
		return nil, err
	}
	was := v.Beads[0]
	b := &loomv1.Bead{Id: was.Id, Labels: was.Labels, BlockedBy: was.BlockedBy, Budget: was.Budget}
	u := &loomv1.UpdateBead{Bead: b, Reason: e.reason, Seen: proto.CloneOf(was)}
	for _, f := range []struct {
		flags []string
		field string
		set   func() error
	}{
		{[]string{"goal"}, "goal", func() error { b.Goal = e.goal; return nil }},
		{[]string{"description"}, "description", func() error { b.Description = e.description; return nil }},
		{[]string{"priority"}, "priority", func() error { b.Priority = priorityOf(e.priority); return nil }},
		{[]string{"deadline"}, "deadline", func() (err error) { b.Deadline, err = deadlineOf(e.deadline); return err }},
		{[]string{"parent"}, "parent", func() error { b.Parent = e.parent; return nil }},
		{[]string{"assignee"}, "assignee", func() error { b.Assignee = e.assignee; return nil }},
		{[]string{"stakeholder"}, "stakeholders", func() error { b.Stakeholders = named(e.stakeholders); return nil }},
		{[]string{"add-label", "remove-label"}, "labels", func() error { b.Labels = edited(b.Labels, e.addLabels, e.removeLabels); return nil }},
		{[]string{"block-on", "unblock-from"}, "blocked_by", func() error { b.BlockedBy = edited(b.BlockedBy, e.block, e.unblock); return nil }},
	} {
		if slices.ContainsFunc(f.flags, cmd.Flags().Changed) {
			u.Fields = append(u.Fields, f.field)
			if err := f.set(); err != nil {
				return nil, err
			}
		}
	}
	return e.spend(cmd, u)
}

// named is a list without empty texts, of which one alone takes all away.
func named(list []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return s == "" })
}

// spend adds the budget that the flags name.
func (e *beadEdit) spend(cmd *cobra.Command, u *loomv1.UpdateBead) (*loomv1.UpdateBead, error) {
	if err := e.budget.none(cmd); err != nil {
		return nil, err
	}
	budget := cmp.Or(u.Bead.Budget, &loomv1.Budget{})
	changed, err := e.budget.fill(cmd, budget)
	if err != nil {
		return nil, err
	}
	if changed {
		u.Bead.Budget, u.Fields = budget, append(u.Fields, "budget")
	}
	if len(u.Fields) == 0 {
		return nil, fault.New("usage/argument", "nothing is named that is to be changed").Want("%s", console.SeeHelp(cmd))
	}
	return u, nil
}

func priorityOf(word string) loomv1.Priority {
	return loomv1.Priority(loomv1.Priority_value["PRIORITY_"+strings.ToUpper(word)])
}

func deadlineOf(s string) (*timestamppb.Timestamp, error) {
	if s == "" {
		return nil, nil
	}
	at, err := parseDeadline(s)
	return timestamppb.New(at), err
}

// edited returns a list with some more and without others.
func edited(list, more, less []string) []string {
	for _, s := range more {
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return slices.DeleteFunc(list, func(s string) bool { return slices.Contains(less, s) })
}

// change asks for a change of a bead and says what came of it.
func (a *Commands) change(ctx context.Context, c *client.Client, q *loomv1.BeadRequest, done string) error {
	reply, err := c.Update(ctx, q)
	if err != nil {
		return err
	}
	return a.Print(reply, func(w io.Writer) {
		if reply.Duplicate {
			done = "is so already"
		}
		fmt.Fprintf(w, "%s: %s\n", reply.Bead, done)
	})
}

func (a *Commands) beadClose() *cobra.Command {
	q := &loomv1.CloseBead{}
	cmd := a.beadVerb("close BEAD [flags]", "close a bead that nothing works on", &q.Bead, func() (*loomv1.BeadRequest, string) {
		return &loomv1.BeadRequest{Verb: &loomv1.BeadRequest_Close{Close: q}}, "closed"
	})
	cmd.Long = `Close closes a bead that nothing works on, also one that failed: what waits for
it goes on then. Work under way is the CEO's to close: loom execution close.`
	cmd.Example = "  loom bead close shop-7 --reason \"no longer needed\""
	cmd.Flags().StringVar(&q.Reason, "reason", "", "`TEXT` that says why, for the record")
	return cmd
}

func (a *Commands) beadReopen() *cobra.Command {
	q := &loomv1.ReopenBead{}
	cmd := a.beadVerb("reopen BEAD [flags]", "begin the work on a bead anew", &q.Bead, func() (*loomv1.BeadRequest, string) {
		q.Request = cmp.Or(q.Request, rand.Text())
		return &loomv1.BeadRequest{Verb: &loomv1.BeadRequest_Reopen{Reopen: q}}, "open again"
	})
	cmd.Long = `Reopen begins a new execution for a bead that has ended, on the newest version
of its process. The same --idempotency-key within a day opens it once. With
--resume the work begins with what had been changed when it was closed.`
	cmd.Example = "  loom bead reopen shop-1 --reason \"it is back since this morning\"\n  loom bead reopen shop-1 --resume"
	cmd.Flags().BoolVar(&q.Resume, "resume", false, "go on with the draft of the work that was closed")
	cmd.Flags().StringVar(&q.Reason, "reason", "", "`TEXT` that says why, for the record")
	cmd.Flags().StringVar(&q.Request, "idempotency-key", "", "`KEY` by which the same request is known again")
	return cmd
}

// beadVerb is a verb that asks for one change of one bead.
func (a *Commands) beadVerb(use, short string, bead *string, request func() (*loomv1.BeadRequest, string)) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: console.Takes("BEAD"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := console.CheckID("BEAD", args[0]); err != nil {
				return err
			}
			*bead = args[0]
			return a.With(cmd.Context(), func(c *client.Client) error {
				q, done := request()
				return a.change(cmd.Context(), c, q, done)
			})
		},
	}
}
