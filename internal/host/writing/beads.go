package writing

import (
	"context"
	"slices"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/host/service"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/proto/subject"
)

// update changes a bead, closes it or opens it again. Who may do so the project says.
func (w *Writer) update(ctx context.Context, q *loomv1.BeadRequest, c service.Call) (*loomv1.SubmitReply, error) {
	cmd, bead, err := w.beadCommand(q)
	if err != nil {
		return nil, err
	}
	if _, err := subject.Parse("bead", bead); err != nil {
		return nil, err
	}
	if cmd.Project = q.Project; cmd.Project == "" {
		cmd.Project = project.Of(bead)
	}
	if _, err := subject.Parse("project", cmd.Project); err != nil {
		return nil, err
	}
	cmd.Actor = c.From
	reply, err := w.carryOut(ctx, cmd)
	if err != nil {
		return nil, w.config.Known.Suggest(err)
	}
	return reply, nil
}

// carryOut has a project carry out a command about a bead or its work.
func (w *Writer) carryOut(ctx context.Context, cmd *loomv1.Command) (*loomv1.SubmitReply, error) {
	answer, err := w.config.Projects.Do(ctx, cmd)
	if err != nil {
		return nil, err
	}
	return answer.GetSubmit(), nil
}

// beadCommand returns what a request asks a project for, and about which bead.
func (w *Writer) beadCommand(q *loomv1.BeadRequest) (*loomv1.Command, string, error) {
	switch v := q.Verb.(type) {
	case *loomv1.BeadRequest_Update:
		if slices.Contains(v.Update.Fields, "assignee") {
			if err := w.meant(v.Update.GetBead().GetAssignee()); err != nil {
				return nil, "", err
			}
		}
		return &loomv1.Command{Body: &loomv1.Command_UpdateBead{UpdateBead: v.Update}}, v.Update.GetBead().GetId(), nil
	case *loomv1.BeadRequest_Close:
		return &loomv1.Command{Body: &loomv1.Command_CloseBead{CloseBead: v.Close}}, v.Close.Bead, nil
	case *loomv1.BeadRequest_Reopen:
		return &loomv1.Command{Body: &loomv1.Command_ReopenBead{ReopenBead: v.Reopen}}, v.Reopen.Bead, nil
	}
	return nil, "", fault.New("command/malformed", "the request asks for nothing that this release knows").At("verb").Want("update, close or reopen")
}

// meant refuses an assignee that is no role of this host, or a person.
func (w *Writer) meant(assignee string) error {
	if _, err := subject.Parse("assignee", assignee); assignee != "" && err != nil {
		return err
	}
	if e := project.CheckAssignee(assignee, w.config.Roles); e != nil {
		return e
	}
	return nil
}
