package approval

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// listText is what waits for people, without what is asleep.
func listText(w io.Writer, width int, v *loomv1.View, asleep snoozes) {
	console.BlocksText(console.Folded(w, width, 2), v.Blocks)
	if len(v.Waits) == 0 {
		pageText(w, width, v)
		return
	}
	whole, shown, several := wholes(v), 0, severalProjects(v)
	for _, one := range v.Waits {
		if asleep.has(one) {
			continue
		}
		shown++
		if p := whole[one.Id]; p != nil && len(v.Waits) == 1 && p.Change == nil { // there is room for all of it
			ApprovalText(w, width, p, "", nil)
			continue
		}
		waitText(w, width, one, whole[one.Id], several)
	}
	if n := len(v.Waits) - shown; n > 0 {
		fmt.Fprintf(w, "%d snoozed until %s or later: loom inbox --snoozed\n", n, console.Stamp(timestamppb.New(asleep.first(v.Waits))))
	}
	if int(v.WaitsTotal) > len(v.Waits) {
		fmt.Fprintf(w, "%d of %d that wait are shown; --limit shows more, --oldest lists all approvals in pages\n", len(v.Waits), v.WaitsTotal)
	}
}

// pageText is a page of approvals, or that nothing waits.
func pageText(w io.Writer, width int, v *loomv1.View) {
	list := console.Folded(w, width, 2)
	if len(v.Approvals) == 0 {
		fmt.Fprintln(w, "nothing waits for you")
	}
	last, several := "", slices.ContainsFunc(v.Approvals, func(p *loomv1.Approval) bool { return project.Of(p.Id) != project.Of(v.Approvals[0].Id) })
	for _, p := range v.Approvals {
		if of := project.Of(p.Id); several && of != last {
			last = of
			fmt.Fprintf(w, "project %s\n", of)
		}
		approvalShort(list, p)
	}
	if n := int(v.Waiting); n > len(v.Approvals) && len(v.Approvals) > 0 {
		fmt.Fprintf(w, "%d of %d that wait are shown\n", len(v.Approvals), n)
	}
	if v.Next != "" {
		fmt.Fprintf(w, "there is more: --after %s\n", v.Next)
	}
}

// wholes are the approvals of a view by their ids.
func wholes(v *loomv1.View) map[string]*loomv1.Approval {
	m := map[string]*loomv1.Approval{}
	for _, p := range v.Approvals {
		m[p.Id] = p
	}
	return m
}

// severalProjects reports whether what waits is of more than one project.
func severalProjects(v *loomv1.View) bool {
	return slices.ContainsFunc(v.Waits, func(one *loomv1.Waiting) bool { return one.Project != v.Waits[0].Project })
}

// waitText is one of what waits, with the command that answers it.
func waitText(screen io.Writer, width int, one *loomv1.Waiting, p *loomv1.Approval, several bool) {
	w := console.Folded(screen, width, 2)
	switch {
	case p != nil:
		approvalHead(w, p)
		heldText(w, one)
		fmt.Fprintf(w, "  to see the diff and what may be answered: loom inbox %s\n", p.Id)
	case one.Kind == project.WaitsSession:
		in := ""
		if several {
			in = " --project " + one.Project
		}
		fmt.Fprintf(w, "%s: loom pattern resume %s%s\n", whole(one.Question), one.Id, in)
		heldText(w, one)
	case one.Kind == project.WaitsConversation:
		fmt.Fprintf(w, "%s  conversation, your turn since %s\n  %s\n", one.Id, console.Stamp(one.Since), whole(one.Question))
		fmt.Fprintf(w, "  to go on: loom cowork --resume %s\n", one.Id)
	default: // its whole is beside what was asked for
		fmt.Fprintf(w, "%s  %s, asked %s\n  %s\n", one.Id, one.Kind, console.Stamp(one.Since), whole(one.Question))
		heldText(w, one)
	}
}

// heldText says how many beads wait, where that is more than the one that it is about.
func heldText(w io.Writer, one *loomv1.Waiting) {
	if one.Holds > 1 {
		fmt.Fprintf(w, "  holds up %s\n", console.Count(int(one.Holds), "bead"))
	}
}

// changing are the kinds of events after which something else may wait.
var changing = []string{
	"approval-requested", "approval-signed", "approval-decided", "approval-lapsed", "session-advanced",
	"attempt-parked", "execution-told", "message-heard", "bead-updated", "execution-ended",
}

// watch lists what waits, and then what comes and what waits no more, until ctx ends. With
// --json each of these is the whole list.
func (a *Commands) watch(ctx context.Context, q *loomv1.Query) error {
	return a.With(ctx, func(c *client.Client) error {
		from := timestamppb.New(time.Now())
		asleep, err := a.asleep(ctx, c)
		if err != nil {
			return err
		}
		v, err := c.Inbox(ctx, q)
		if err == nil {
			err = a.Print(v, func(w io.Writer) { listText(w, a.Width(), v, asleep) })
		}
		if err != nil {
			return err
		}
		err = c.Follow(ctx, &loomv1.NoticesRequest{Project: q.Project, Kinds: changing, Since: from}, true, func(*loomv1.Notice) error {
			now, err := c.Inbox(ctx, q)
			if err != nil || sameWaits(v, now) {
				return err
			}
			old := v
			v = now
			return a.Print(v, func(w io.Writer) { changeText(w, a.Width(), old, v) })
		})
		if errors.Is(err, context.Canceled) && ctx.Err() != nil {
			err = nil // that is how it ends
		}
		return err
	})
}

// key names what waits among all projects.
func key(one *loomv1.Waiting) string {
	return one.Project + "/" + one.Id + " " + one.Since.AsTime().Format(time.RFC3339Nano)
}

// keys are the names of all that waits.
func keys(v *loomv1.View) map[string]bool {
	m := map[string]bool{}
	for _, one := range v.Waits {
		m[key(one)] = true
	}
	return m
}

func sameWaits(a, b *loomv1.View) bool {
	was := keys(a)
	return len(a.Waits) == len(b.Waits) && !slices.ContainsFunc(b.Waits, func(one *loomv1.Waiting) bool { return !was[key(one)] })
}

// changeText says what has come, and what waits no more.
func changeText(w io.Writer, width int, old, v *loomv1.View) {
	was, is, whole, several := keys(old), keys(v), wholes(v), severalProjects(v)
	for _, one := range old.Waits {
		if !is[key(one)] {
			fmt.Fprintf(w, "%s waits no more\n", one.Id)
		}
	}
	for _, one := range v.Waits {
		if !was[key(one)] {
			waitText(w, width, one, whole[one.Id], several)
		}
	}
}
