package agent

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/loomrun/loom/internal/agents/tool"
	"github.com/loomrun/loom/internal/core/verify"
	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// second has another judge read the quotations by which the verifier found that rules
// hold. It is told the rule, the quotation and its file, and neither what the verifier
// concluded nor what anybody else has said. Where both differ about what must hold, the
// phase is not verified: a third opinion of the same kind would settle nothing.
func (j *job) second(ctx context.Context) (*loomv1.Outcome, error) {
	return j.overPhase(ctx, func(phase *loomv1.NodeDefinition, dir string, files fs.FS) (*loomv1.Outcome, error) {
		questions := verify.Questions(j.brief.Node.Phase, j.rules())
		asked := verify.Quoted(questions, j.verdictOn(phase.Id), j.evidenceOf(phase, files))
		if len(asked) == 0 {
			return j.unasked("the verifier has quoted nothing"), nil
		}
		out, err := j.secondTurn(ctx, j.workspace(dir), secondText(j.brief, asked))
		if err != nil || out.Status != loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS {
			return out, err
		}
		judged, disputed := verify.Seconded(asked, out.Fields.AsMap())
		out.Judged = judged
		if verify.Severe(disputed) {
			why := verify.UnprovenText(disputed)
			first, _, _ := strings.Cut(why, "\n")
			j.fail(out, workflow.Unverified, "a second judge does not see what the verifier saw: "+first, why)
		}
		return out, nil
	})
}

// verdictOn is what the verifier answered about a phase; nothing without a verdict.
func (j *job) verdictOn(phase string) map[string]any {
	for _, n := range j.brief.Definition.GetNodes() {
		if n.GetPhase().GetPart() == loomv1.PhasePart_PHASE_PART_CHECK && n.Phase.Of == phase && j.succeeded(n.Id) {
			return j.brief.Execution.Nodes[n.Id].GetOutcome().GetFields().AsMap()
		}
	}
	return nil
}

// unasked is the outcome of a second judge whom nothing is asked.
func (j *job) unasked(why string) *loomv1.Outcome {
	out := j.success(why, "")
	fields := map[string]*structpb.Value{}
	for name := range j.brief.Node.Outcome {
		fields[name] = structpb.NewStringValue("")
	}
	out.Fields = &structpb.Struct{Fields: fields}
	return out
}

// reading are the tools of a second judge: what others have noted is not among them.
var reading = []string{"file_read", "file_search", "content_search", "directory_list"}

// secondTurn is a turn in which nothing can be done but to read files.
func (j *job) secondTurn(ctx context.Context, ws tool.Workspace, prompt string) (*loomv1.Outcome, error) {
	without := j.without(ws)
	for _, name := range j.role.Tools.All() {
		if !slices.Contains(reading, name) && !slices.Contains(without, name) {
			without = append(without, name)
		}
	}
	r, err := j.begin(ctx, prompt, without)
	if err != nil {
		return nil, err
	}
	return r.finish(ctx, ws)
}

// secondText asks a second judge. It has the claim, the quotation and where it stands, and
// nothing of what else is known of the work.
func secondText(b *loomv1.Brief, asked []verify.Cited) string {
	var p prompt
	p.assignment(b)
	p.section("Claims")
	p.WriteString("Of each claim say what the quotation beside it, read in its file with what stands around it, says of the claim: shows (it is so), contradicts (the opposite is so), or neither. Words that sound like the claim and say another thing do not show it: look for negations, other subjects, other times, other numbers. Give the word, and in the second field why, in a sentence.\n")
	for _, c := range asked {
		fmt.Fprintf(&p, "- %s, %s: %s\n", c.Field, c.Evidence, c.Text)
		for _, q := range c.Quotations {
			where := "what was said of the work"
			if len(q.Files) > 0 {
				where = strings.Join(q.Files, " or ")
			}
			fmt.Fprintf(&p, "quotation, from %s:\n", where)
			p.data(q.Text)
		}
	}
	p.WriteString("Fields of claims that do not stand here are \"\".\n\n")
	p.section("How to end")
	p.WriteString("Call finish with status success, whatever you have found, a summary in one line, and the fields:\n")
	for _, k := range sortedKeys(b.Node.Outcome) {
		fmt.Fprintf(&p, "  %s: %s\n", k, b.Node.Outcome[k])
	}
	return p.String()
}
