package agent

import (
	"context"
	"strings"

	"github.com/loomrun/loom/internal/core/turn"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// memories is the project's memory as the tools of one attempt see it.
type memories struct{ *job }

// Keep implements tool.Memory.
func (m memories) Keep(ctx context.Context, request string, e *loomv1.MemoryEntry) (*loomv1.MemoryEntry, error) {
	return m.seat.KeepMemory(ctx, m.brief.Attempt.Id+"/"+request, e)
}

// Search implements tool.Memory.
func (m memories) Search(ctx context.Context, q *loomv1.OfferMemory) (*loomv1.MemoryContext, error) {
	q.Search = true
	return m.seat.OfferMemory(ctx, q)
}

// remember has the attempt offered what the project remembers about its work, as much
// as the role's zone holds. It asks where a model is going to read it: once an attempt,
// before its prompt is made.
func (j *job) remember(ctx context.Context) error {
	b := j.brief
	if b.Memories == 0 && len(b.Project.GetMemory()) == 0 || turn.Started(b.Turn) || !j.prompts() {
		return nil
	}
	offer := &loomv1.OfferMemory{Text: workWords(b), Tokens: uint32(j.role.Context.Memory)}
	found, err := j.seat.OfferMemory(ctx, offer)
	if err == nil {
		b.Memory = found
	}
	return err
}

// workWords are the words that a brief's work is about.
func workWords(b *loomv1.Brief) string {
	said := []string{b.Bead.GetGoal(), b.Node.GetDescription(), b.Attempt.GetNode(), b.Definition.GetName(), b.Bead.GetDescription()}
	if r := b.Bead.GetReport(); r != nil {
		said = append(said, r.Service, r.Kind, r.Message)
	}
	for _, rule := range b.Definition.GetGuide().GetRules() {
		said = append(said, rule.Name)
	}
	return strings.Join(said, "\n")
}

// prompts says whether a model reads a prompt at this node: the runtime's own duties
// have none.
func (j *job) prompts() bool {
	switch j.brief.Node.GetKind() {
	case loomv1.NodeKind_NODE_KIND_COMMIT, loomv1.NodeKind_NODE_KIND_LAND:
		return false
	}
	switch j.brief.Node.GetPhase().GetDocument() {
	case materializing, postlog:
		return false
	}
	switch j.brief.Node.GetPhase().GetPart() {
	case loomv1.PhasePart_PHASE_PART_VOTE, loomv1.PhasePart_PHASE_PART_GATHER, loomv1.PhasePart_PHASE_PART_HOOK, loomv1.PhasePart_PHASE_PART_INTERVIEW, loomv1.PhasePart_PHASE_PART_SECOND:
		return false
	}
	return true
}
