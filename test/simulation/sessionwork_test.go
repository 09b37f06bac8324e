package simulation

import (
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/loomrun/loom/internal/core/intent"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// unspoken stands in all that a model says and nobody may read before the seal.
const unspoken = "qzxv"

// ask is a turn of whoever asks for a session; it is said again until there is an answer.
func (a *agent) ask() {
	if a.said == nil {
		if a.brief.Interview.Over {
			a.phase = answering
			return
		}
		a.said = a.interviewTurn()
	}
	a.do(&loomv1.Command{Body: &loomv1.Command_InterviewTurn{InterviewTurn: a.said}}, func(code string, ans *loomv1.Answer) {
		a.said = nil
		if code != "" {
			a.gone("interview", code)
			return
		}
		a.brief.Interview = ans.GetInterview()
		switch b := ans.GetInterview(); {
		case b.Refusal != "":
			a.w.see("question held back")
		case b.Waits:
			a.w.see("a model asks")
			a.rest()
		case b.Over:
			a.w.see("a model has asked all")
			a.phase = answering
		}
	})
}

// interviewTurn draws what a model says: a question about what nobody has said anything
// about, a proposal, words beside the tool, or that it has no question left.
func (a *agent) interviewTurn() *loomv1.InterviewTurn {
	b := a.brief.Interview
	t := &loomv1.InterviewTurn{Attempt: a.brief.Attempt.Id, Claimant: a.who(), Heard: b.Heard}
	if a.w.one(3) {
		t.Request = fmt.Sprintf("%s-i%d", a.brief.Attempt.Id, b.Heard)
		t.Usage = &loomv1.Usage{InputTokens: 300, OutputTokens: 50, CostMicroUsd: 70, CostKnown: true}
	}
	if a.w.one(5) {
		t.Beside = "I would suggest " + unspoken
	}
	if a.w.chance(agentLies) {
		t.Said = &loomv1.InterviewTurn_Ask{Ask: &loomv1.ProposeQuestion{Text: "How about " + unspoken + "?", About: intent.Goal}}
		return t
	}
	if a.w.chance(agentFails) {
		t.Said = &loomv1.InterviewTurn_Unanswered{Unanswered: "model/unavailable"}
		return t
	}
	for _, q := range append(slices.Clone(b.Pattern.Questions), otherQuestions...) {
		said := slices.ContainsFunc(b.Answers, func(s *loomv1.IntentAnswer) bool { return s.About == q.About })
		if !said || b.Revision != "" && a.w.one(4) {
			t.Said = &loomv1.InterviewTurn_Ask{Ask: &loomv1.ProposeQuestion{Text: q.Text, About: q.About}}
			return t
		}
	}
	finish := &loomv1.DraftIntent{}
	if a.w.chance(agentLies) {
		finish.Goal = []*loomv1.Quotation{{Answer: 1, Text: unspoken}}
	}
	t.Said = &loomv1.InterviewTurn_Finish{Finish: finish}
	return t
}

// otherQuestions are about what a pattern asks nothing about, and a model has to.
var otherQuestions = []*loomv1.PatternQuestion{{Text: "Which notes count?", About: intent.Scope}}

// sessionOutcome is what an agent says of work for a session, nil for any other.
func (a *agent) sessionOutcome() *loomv1.Outcome {
	st := a.brief.Step
	switch {
	case a.brief.Interview == nil && st == nil:
		return nil
	case a.w.chance(agentFails):
		return failed(a, "tool/failed")
	case a.brief.Interview != nil:
		return succeeded(a)
	case st.Run != nil:
		return a.leaves(st)
	case a.brief.Node.Id == processes.CompletionNode:
		out := succeeded(a)
		out.Fields.Fields[processes.EvidenceField(1)] = structpb.NewStringValue("notes 1 and 3 say so")
		broken := ""
		if !a.w.calm && a.w.one(6) {
			broken = "1: there are eight"
		}
		out.Fields.Fields[processes.BrokenField] = structpb.NewStringValue(broken)
		return out
	case a.brief.Node.Kind == loomv1.NodeKind_NODE_KIND_VERIFY:
		return nil
	}
	out, files := succeeded(a), a.brief.Execution.GetChange().GetFiles() // what was left is gathered
	if files == nil {
		if out.Change = a.changeOf(earlier(st)); out.Change != nil {
			files = out.Change.Files
		}
	}
	out.Fields.Fields["files"] = structpb.NewNumberValue(float64(len(files)))
	return out
}

// leaves is a step that has left its files: now and then others than it has to.
func (a *agent) leaves(st *loomv1.StepBrief) *loomv1.Outcome {
	out, has := succeeded(a), earlier(st)
	for _, name := range st.Deliverables {
		if a.w.chance(agentLies) {
			a.w.see("a step leaves less than it has to")
			continue
		}
		content := blob(fmt.Sprintf("%s of run %d", name, st.Run.Run/2)) // every second run leaves the same again
		out.Left, has[name] = append(out.Left, &loomv1.NamedBlob{Name: name, Content: content}), content.Sha256
	}
	if len(out.Left) > 0 {
		out.Change = a.changeOf(has)
	}
	return out
}

// earlier are the files that steps have left before.
func earlier(st *loomv1.StepBrief) blobs {
	has := blobs{}
	for _, o := range st.Earlier {
		has[o.Name] = o.Content.Sha256
	}
	return has
}

// changeOf is a change that consists of files, nil for none.
func (a *agent) changeOf(has blobs) *loomv1.Change {
	if len(has) == 0 {
		return nil
	}
	patch := has.patchOf(a.brief.Execution.Id)
	a.w.talks.files[patch] = has
	c := &loomv1.Change{Base: "b0", Commit: "w-" + patch, Tree: "t-" + patch, PatchDigest: patch}
	for _, name := range slices.Sorted(maps.Keys(has)) {
		c.Files = append(c.Files, &loomv1.ChangedFile{Path: name, Status: "modified"})
	}
	return c
}

// targetFiles are the files of sessions that the target branch has.
func (w *world) targetFiles() blobs {
	all := blobs{}
	for _, m := range w.git.landed {
		maps.Copy(all, w.sessionFiles(m.candidate.PatchDigest))
	}
	return all
}

// keep has the agent of a step keep something in memory: in a layer that the step writes
// to or not.
func (a *agent) keep() {
	st := a.brief.Step
	a.kept++
	may := slices.Contains(st.Writes, intent.LayerActive) || slices.Contains(st.Writes, intent.LayerDurable)
	a.do(&loomv1.Command{Body: &loomv1.Command_KeepMemory{KeepMemory: &loomv1.KeepMemory{
		Attempt: a.brief.Attempt.Id, Claimant: a.who(), Request: fmt.Sprintf("%s/m%d", a.brief.Attempt.Id, a.kept),
		Entry: &loomv1.MemoryEntry{Type: "discovery", Text: fmt.Sprintf("Note %d contradicts note %d.", a.w.rng.IntN(9), 10+a.w.rng.IntN(90)), Confidence: 95},
	}}}, func(code string, _ *loomv1.Answer) {
		switch {
		case code == "" && !may:
			a.w.broken(54, "%s keeps something in memory, and its step writes to %v", a.brief.Attempt.Id, st.Writes)
		case code == "":
			a.w.see("a step keeps something")
		default:
			a.w.see("keeping refused: " + code)
		}
	})
}

// asJudged says whether the change that is to be committed has what steps have left.
func (a *agent) asJudged() bool {
	has := a.w.sessionFiles(a.brief.Execution.GetChange().GetPatchDigest())
	for _, o := range a.brief.Step.GetEarlier() {
		if has[o.Name] != o.Content.Sha256 {
			return false
		}
	}
	return true
}

func (w *world) sessionFiles(patch string) blobs {
	if w.talks == nil {
		return nil
	}
	return w.talks.files[patch]
}
