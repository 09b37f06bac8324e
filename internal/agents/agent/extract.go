package agent

import (
	"context"
	"fmt"
	"io/fs"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	entry "github.com/loomrun/loom/internal/core/memory"
	"github.com/loomrun/loom/internal/core/turn"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// What saying what is worth remembering may take, whatever the role may.
const (
	rememberIterations = 3
	rememberTokens     = 65_536
)

// extract has a small model say what of a phase is worth remembering. It has no tool but
// the one that ends its turn, and reads what the phase came to and nothing else. Its
// entries are held against their form within the turn; the project keeps them with the
// fact that the attempt ends.
func (j *job) extract(ctx context.Context) (*loomv1.Outcome, error) {
	if j.brief.CameTo == "" {
		none := map[string]any{"memory": map[string]any{"entries": []any{}}}
		return j.outcome(loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS, "the phase was left out, so nothing of it is worth remembering", "", none), nil
	}
	return j.overProposed(ctx, "", func(dir string, _ fs.FS) (*loomv1.Outcome, error) {
		j.promised = j.memorable
		r, err := j.begin(ctx, extractText(j.brief), j.role.Tools.All())
		if err != nil {
			return nil, err
		}
		return r.finish(ctx, j.workspace(dir))
	})
}

// memorable says what is wrong with the entries of an outcome; nil for nothing.
func (j *job) memorable(_ context.Context, out *loomv1.Outcome) (*fault.Error, error) {
	if _, err := entry.Extracted(out.Fields, entry.TypesOf(j.brief.Definition)); err != nil {
		return fault.From(err), nil
	}
	return nil, nil
}

// remembers says whether the attempt says what is worth remembering.
func (j *job) remembers() bool {
	return j.brief.Node.GetPhase().GetPart() == loomv1.PhasePart_PHASE_PART_REMEMBER
}

// extractText asks what is worth remembering.
func extractText(b *loomv1.Brief) string {
	var p prompt
	p.assignment(b)
	p.section("Bead")
	p.WriteString(turn.Marked("goal", b.Bead.GetGoal()))
	p.WriteByte('\n')
	p.section("What phase " + b.Node.Phase.Of + " came to")
	p.data(b.CameTo)
	p.WriteByte('\n')
	p.remembered(b)
	p.section("What is worth remembering")
	p.WriteString("What later work on other goals would have to find out again, and that stands above: what was found, decided, ruled out, went wrong and how it was mended. Not what was done, nor what only this goal is about, nor what is remembered already in other words. Each entry is one sentence or a few that can be understood alone. None is better than a doubtful one.\n")
	fmt.Fprintf(&p, "Types: %s\n", strings.Join(entry.BuiltinTypes, ", "))
	for _, t := range b.Definition.GetGuide().GetMemoryTypes() {
		fmt.Fprintf(&p, "- %s: %s\n", t.Type, t.Description)
	}
	p.paragraph("", b.Definition.GetGuide().GetMemoryGuidance())
	p.WriteByte('\n')
	p.section("How to end")
	fmt.Fprintf(&p, "Call finish with status success, a summary in one line, and in fields:\n{\"memory\": %s}\nAt most %d entries of at most %d bytes; from is the file or address that the text says it comes from, and is left out where it says none. tags, confidence and from may be left out, and the list may be empty.\n", entry.ExtractedForm, entry.MaxExtracted, entry.MaxExtractedText)
	return p.String()
}
