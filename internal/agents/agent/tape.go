package agent

import (
	"context"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/recording"
	"github.com/loomrun/loom/internal/agents/tool"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/turn"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// tapeTurn records that a turn begins. One that was begun before the recording
// was is no part of it.
func (j *job) tapeTurn(start *loomv1.TurnStarted, prompt string) {
	if j.Tape == nil {
		return
	}
	node, err := protojson.Marshal(j.brief.Node)
	if err != nil {
		j.Logger.Warn("a turn is not recorded", "attempt", j.brief.Attempt.Id, "error", err)
		return
	}
	j.Tape.Turn(&recording.Turn{
		Attempt: j.brief.Attempt.Id, Bead: j.brief.Bead.Id, Role: j.brief.Attempt.Role, Node: node, Prompt: prompt, Architect: start.Architect, Without: start.Without,
	})
}

// tapeAsk records an answer: one that is of no use, too, but not that there was
// none, because then the same is asked again.
func (r *run) tapeAsk(m model.Provider, q *model.Request, answer *model.Response, err error) {
	if r.Tape == nil || err != nil && fault.Code(err) != "model/invalid-output" {
		return
	}
	var problem *fault.Error
	if err != nil {
		problem = fault.From(err)
	}
	r.Tape.Ask(r.brief.Attempt.Id, m, q, answer, problem)
}

// tapeSteps records what came of tool calls, and what people said.
func (r *run) tapeSteps(ctx context.Context, records []*loomv1.Event) error {
	if r.Tape == nil {
		return nil
	}
	for _, rec := range records {
		s := &recording.Step{Attempt: r.brief.Attempt.Id, Answers: r.t.Iterations}
		var err error
		switch {
		case rec.GetMessageHeard() != nil:
			s.Said, err = protojson.Marshal(rec.GetMessageHeard().GetSaid())
		case rec.GetToolFinished() != nil:
			err = r.tapeResult(ctx, s, rec.GetToolFinished())
		default:
			continue
		}
		if err != nil {
			return err
		}
		r.Tape.Step(s)
	}
	return nil
}

// tapePast records again what came of the calls of a turn that goes on: what was
// durable may not have been recorded yet. Of two the newer counts.
func (r *run) tapePast(ctx context.Context) error {
	var records []*loomv1.Event
	for _, s := range r.t.Steps {
		if t := s.GetTool(); t.GetResult() != nil {
			records = append(records, turn.FinishedFact(t.Call.Id, t.Result))
		}
	}
	return r.tapeSteps(ctx, records)
}

func (r *run) tapeResult(ctx context.Context, s *recording.Step, f *loomv1.ToolFinished) (err error) {
	for _, step := range r.t.Steps {
		if t := step.GetTool(); t.GetCall().GetId() == f.Call {
			s.Call, s.Runtime = &recording.Call{ID: t.Call.Id, Tool: t.Call.Tool, Arguments: t.Call.Arguments}, t.Runtime
		}
	}
	if s.Output, err = r.text(ctx, f.Result.Output); err != nil {
		return err
	}
	if p := f.Result.Picture; p != nil {
		if s.Picture, err = r.Blobs.Get(ctx, p.Data); err != nil {
			return err
		}
	}
	bare := proto.CloneOf(f.Result)
	bare.Output = nil
	s.Result, err = protojson.Marshal(bare)
	return err
}

// call runs a tool, or has the recording that is played say what came of it.
//
// Beside a host, tools run for real while a recording is played. What a command
// printed is taken from the recording where it ended in the same way: times and
// paths differ from run to run.
func (r *run) call(ctx context.Context, c *loomv1.ToolCall, do func() tool.Result) tool.Result {
	if r.Played == nil {
		return do()
	}
	s := r.Played.Result(r.brief.Attempt.Id, c.Id)
	if r.silent {
		if s == nil {
			return tool.Result{Status: loomv1.ToolStatus_TOOL_STATUS_UNKNOWN, Summary: "the recording does not say what came of it"}
		}
		return taped(s)
	}
	now := do()
	if s == nil || !tool.Prints(c.Tool) || ctx.Err() != nil {
		return now
	}
	if then := taped(s); then.Status == now.Status && then.ExitCode == now.ExitCode {
		now.Output, now.Summary = then.Output, then.Summary
	}
	return now
}

// taped is a recorded result.
func taped(s *recording.Step) tool.Result {
	var r loomv1.ToolResult
	if err := protojson.Unmarshal(s.Result, &r); err != nil {
		return tool.Result{Status: loomv1.ToolStatus_TOOL_STATUS_UNKNOWN, Summary: "the recording is not sound here: " + err.Error()}
	}
	var picture *tool.Picture
	if p := r.Picture; p != nil {
		picture = &tool.Picture{MediaType: p.Data.GetMediaType(), Width: int(p.Width), Height: int(p.Height), Data: s.Picture}
	}
	return tool.Result{Status: r.Status, Summary: r.Summary, Output: s.Output, Picture: picture, ExitCode: r.ExitCode, Changed: r.Changed, Ran: r.Ran, Todo: r.Todo}
}
