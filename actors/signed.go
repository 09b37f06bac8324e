package actors

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/proto/subject"
)

// Decide takes a signed command of the CEO to the project that it is signed for, and
// answers once that is durable. The project checks signature, digest and nonce, and
// records what it refuses; a command that can be of no project is refused by Loom's
// own, which records that. Sending the same command again is answered as done and
// changes nothing.
func (p *Projects) Decide(ctx context.Context, from *loomv1.Identity, signed *loomv1.SignedCommand) *loomv1.Answer {
	to := func(id string) (*loomv1.Answer, error) {
		return p.Do(ctx, &loomv1.Command{Project: id, Actor: from, Body: &loomv1.Command_Signed{Signed: signed}})
	}
	cmd := &loomv1.CeoCommand{}
	if err := proto.Unmarshal(signed.GetPayload(), cmd); err != nil {
		cmd.Project = project.System
	}
	answer, err := to(cmd.Project)
	switch fault.Code(err) {
	case "":
		return answer
	case "project/unknown":
		_, _ = to(project.System) // it is refused there, too; the caller hears why here
	case "command/secret": // the project has not seen it
		body := &loomv1.RecordRejection{Error: fault.From(err).Proto(), Subject: subject.CEOs()}
		_, _ = p.Do(ctx, &loomv1.Command{Project: cmd.Project, Actor: from, Body: &loomv1.Command_RecordRejection{RecordRejection: body}})
	}
	return &loomv1.Answer{Error: fault.From(err).Proto()}
}
