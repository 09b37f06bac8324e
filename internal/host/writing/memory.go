package writing

import (
	"context"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/host/reading"
	"github.com/loomrun/loom/internal/host/service"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// writeMemory writes to a memory, for operators.
func (w *Writer) writeMemory(ctx context.Context, r *loomv1.MemoryRequest, c service.Call) (*loomv1.Answer, error) {
	if c.From.GetKind() != loomv1.IdentityKind_IDENTITY_KIND_OPERATOR {
		return nil, fault.New("request/denied", "only operators write to the memory here")
	}
	if r.Project == "" {
		r.Project = w.config.Known.Only()
	}
	if err := reading.CheckQuery(project.Memories, &loomv1.Query{Project: r.Project}); err != nil {
		return nil, err
	}
	cmd := &loomv1.Command{Project: r.Project, Actor: c.From}
	ctx, cancel := context.WithTimeout(ctx, writeWithin)
	defer cancel()
	switch v := r.Verb.(type) {
	case *loomv1.MemoryRequest_Keep:
		cmd.Body = &loomv1.Command_KeepMemory{KeepMemory: &loomv1.KeepMemory{Request: v.Keep.GetRequest(), Entry: v.Keep.GetEntry()}}
	case *loomv1.MemoryRequest_Change:
		cmd.Body = &loomv1.Command_ChangeMemory{ChangeMemory: v.Change}
	case *loomv1.MemoryRequest_Forget:
		cmd.Body = &loomv1.Command_ForgetMemory{ForgetMemory: v.Forget}
	default:
		return nil, fault.New("command/malformed", "the request asks for nothing that this release knows").At("verb")
	}
	answer, err := w.config.Way.Do(ctx, cmd)
	if err != nil {
		return nil, w.config.Known.Suggest(err)
	}
	return answer, nil
}
