package agent

import (
	"context"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/agents/tool"
	"github.com/loomrun/loom/internal/core/conversation"
	"github.com/loomrun/loom/internal/core/permission"
	"github.com/loomrun/loom/internal/core/turn"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// permitted returns the calls that may be made now, after those that may not are
// recorded as denied. If the CEO has to be asked about one, the attempt is parked
// and the error is [actors.ErrParked]: nothing of the answer has been done then
// that would not be found again.
func (r *run) permitted(ctx context.Context, calls []turn.Call) ([]turn.Call, error) {
	if r.silent {
		return calls, nil // the recording knows what was denied
	}
	var requests []*loomv1.PermissionRequest
	for _, c := range calls {
		if r.mustAsk(c) {
			requests = append(requests, &loomv1.PermissionRequest{Call: c.ToolCall, Ask: r.says(c) == permission.Ask})
		}
	}
	verdicts := map[string]*loomv1.Permit{}
	if len(requests) == 0 {
		return r.deny(ctx, calls, verdicts)
	}
	permits, err := r.seat.Permit(ctx, requests)
	if err != nil {
		return nil, err
	}
	for _, p := range permits {
		if p.Verdict == loomv1.PermissionVerdict_PERMISSION_VERDICT_ASK {
			r.Logger.Info("work waits for a permission", "attempt", r.brief.Attempt.Id, "call", p.Call)
			return nil, actors.ErrParked
		}
		verdicts[p.Call] = p
	}
	return r.deny(ctx, calls, verdicts)
}

// mustAsk reports whether a call has to be asked about: one that has begun was.
func (r *run) mustAsk(c turn.Call) bool {
	return r.looked(c) && r.has(c) && r.says(c) != permission.Deny && (r.narrowed() || r.says(c) == permission.Ask)
}

// says is what the role's own file says of a call. A process can have more asked about,
// and nothing less.
func (r *run) says(c turn.Call) loomv1.PermissionVerdict {
	verdict := r.role.Tools.Of(c.ToolCall, tool.Allows(r.role.Tools.Ask, c.Tool))
	if verdict == permission.Allow && tool.Allows(r.brief.Definition.GetGuide().GetAskTools(), c.Tool) {
		return permission.Ask
	}
	return verdict
}

// looked reports whether a call is one that permissions are about: what the turn
// has been told already is not.
func (r *run) looked(c turn.Call) bool { return !c.Intended && !c.Runtime && c.Tool != tool.OutputRead }

// has reports whether the role has a call's tool: one that it does not have is
// refused without a question.
func (r *run) has(c turn.Call) bool { return tool.Allows(r.allowed(), c.Tool) }

// narrowed reports whether there is a permission that may be about a call.
func (r *run) narrowed() bool { return r.asksFor || len(r.brief.Permissions) > 0 }

// deny records what may not be done, and returns the rest. A call without a
// verdict that it needed is denied.
func (r *run) deny(ctx context.Context, calls []turn.Call, verdicts map[string]*loomv1.Permit) ([]turn.Call, error) {
	var rest []turn.Call
	var records []*loomv1.Event
	for _, c := range calls {
		p, refusal := verdicts[c.Id], tool.Result{}
		switch {
		case r.looked(c) && r.denies(c.Tool):
			refusal = tool.Denied(conversation.Denied(r.brief.Execution.Conversation.GetMode(), c.Tool).Error())
		case r.looked(c) && !r.has(c) && r.narrowed(): // the project would not take it for one that is refused anyway
			refusal = r.schemaTold(c.ToolCall, r.tools.Call(ctx, r.allowed(), r.toolTimeout(), c.ToolCall))
			refusal.Status = loomv1.ToolStatus_TOOL_STATUS_DENIED
		case r.looked(c) && r.has(c) && r.says(c) == permission.Deny:
			refusal = tool.Denied("the file of your role denies it")
		case r.mustAsk(c) && p.GetVerdict() != loomv1.PermissionVerdict_PERMISSION_VERDICT_ALLOW:
			refusal = tool.Denied(p.GetReason())
		default:
			rest = append(rest, c)
			continue
		}
		result, err := r.result(ctx, refusal)
		if err != nil {
			return nil, err
		}
		records = append(records,
			turn.IntendedFact(&loomv1.ToolStep{Call: c.ToolCall, Class: r.tools.Class(c.Tool)}),
			turn.FinishedFact(c.Id, result))
	}
	if len(records) == 0 {
		return rest, nil
	}
	return rest, r.record(ctx, records...)
}
