package agent

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/verify"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// insists is how often a judge is told that evidence is not there. Then a session's
// criterion is not met, and the operator chooses what becomes of it; a verifier's answer
// does not count.
const insists = 2

// evidenced says which success criteria of a session are said to be met by words that no
// file of its steps has; nil for none. Where no file is a text, there are no words to look
// for, and the judge is believed.
func (j *job) evidenced(files fs.FS) func(context.Context, *loomv1.Outcome) (*fault.Error, error) {
	told := 0
	return func(_ context.Context, out *loomv1.Outcome) (*fault.Error, error) {
		left := verify.NewEvidence(files, j.leftNames(), "")
		if left.Empty() {
			return nil, nil
		}
		fields := out.GetFields().GetFields()
		var wrong []string
		for i := range j.brief.Step.GetEnvelope().GetSuccess() {
			met, words := processes.MetField(i+1), processes.EvidenceField(i+1)
			if !fields[met].GetBoolValue() || left.Quotes(fields[words].GetStringValue()) {
				continue
			}
			wrong = append(wrong, fmt.Sprintf("%s: no file that the steps have left has these words; copy words of one, %d characters or more, or say that the criterion is not met", words, verify.LeastQuotation))
			if told == insists {
				fields[met] = structpb.NewBoolValue(false)
				fields[words] = structpb.NewStringValue("no file that the steps have left has these words: " + fields[words].GetStringValue())
			}
		}
		if len(wrong) == 0 || told == insists {
			return nil, nil
		}
		told++
		return fault.New("verify/evidence", "%s", strings.Join(wrong, "\n")), nil
	}
}

// leftNames are the files that the steps of a session have left.
func (j *job) leftNames() (names []string) {
	for _, o := range j.brief.Step.GetEarlier() {
		names = append(names, o.Name)
	}
	return names
}

// proven says which answers of a verifier do not count, because their evidence is not in
// the files; nil for none. It says so as often as it insists.
func proven(questions []verify.Question, evidence *verify.Evidence) func(context.Context, *loomv1.Outcome) (*fault.Error, error) {
	told := 0
	return func(_ context.Context, out *loomv1.Outcome) (*fault.Error, error) {
		_, unproven := verify.Proven(questions, out.Fields.AsMap(), evidence)
		if len(unproven) == 0 || told == insists {
			return nil, nil
		}
		told++
		return fault.New("verify/evidence", "%s", strings.TrimSpace(verify.UnprovenText(unproven))), nil
	}
}

// evidenceOf is what a verdict on a phase is held against: what it delivered and changed,
// and what it said.
func (j *job) evidenceOf(phase *loomv1.NodeDefinition, files fs.FS) *verify.Evidence {
	o := j.brief.Execution.Nodes[phase.Id].GetOutcome()
	names := j.filesOf(phase)
	for _, f := range o.GetChange().GetFiles() {
		if !slices.Contains(names, f.Path) {
			names = append(names, f.Path)
		}
	}
	return verify.NewEvidence(files, names, o.GetSummary()+"\n"+o.GetNotes())
}

// report says what became of the rules of the phase that is worked on.
func (j *job) report(found []verify.Finding) []*loomv1.JudgedRule {
	id := j.brief.Attempt.Node
	verifier := slices.ContainsFunc(j.brief.Definition.GetNodes(), func(n *loomv1.NodeDefinition) bool {
		return n.GetPhase().GetPart() == loomv1.PhasePart_PHASE_PART_CHECK && n.Phase.Of == id
	})
	return verify.Report(id, j.brief.Node.Phase, j.rules(), found, verifier)
}

// page returns the words of an address as tools of the turn have read them, "" if they
// are not kept.
func (r *run) page(ctx context.Context) func(address string) string {
	return func(address string) string {
		for _, s := range slices.Backward(r.t.GetSteps()) {
			for _, read := range s.GetTool().GetResult().GetRead() {
				if !verify.SameAddress(read.Address, address) {
					continue
				}
				text, err := r.text(ctx, cmp.Or(read.Text, read.Content))
				if err != nil {
					return ""
				}
				return text
			}
		}
		return ""
	}
}

// known is what rules are told of the execution: when it began, and what was read in it,
// by this turn and by others, those that failed among them.
func (j *job) known(out *loomv1.Outcome) verify.Run {
	x := j.brief.Execution
	k := verify.Run{Sources: slices.Clone(out.GetSources()), Page: j.page}
	if x.GetStartedAt() != nil {
		k.Began = x.StartedAt.AsTime()
	}
	for _, st := range x.GetNodes() {
		k.Sources = append(k.Sources, st.GetOutcome().GetSources()...)
		for _, a := range st.GetHistory() {
			k.Sources = append(k.Sources, a.GetOutcome().GetSources()...)
		}
	}
	slices.Sort(k.Sources)
	k.Sources = slices.Compact(k.Sources)
	return k
}
