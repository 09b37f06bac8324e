package project_test

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"
	"gopkg.in/yaml.v3"

	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

const offer = `name: offer
version: "1.0"
phases:
  - {id: facts, description: Gather facts., deliverables: [facts.md], outcome: {go: bool}}
  - {id: survey, description: Ask customers., depends_on: [facts], deliverables: [survey.csv]}
  - {id: bid, description: Write the bid., depends_on: [facts, survey], gate: {condition: outcome.facts.go, on_failure: replan, max: 1}, deliverables: [bid.md]}
`

// offers files a bead for a process that is planned.
func (d *desk) offers(context map[string]any) *loomv1.SubmitReply {
	d.t.Helper()
	d.offered(offer)
	values, err := structpb.NewStruct(context)
	if err != nil {
		d.t.Fatal(err)
	}
	return d.file(&loomv1.Submission{Goal: "an offer", Process: "offer", Context: values})
}

// offered stores a process of that name.
func (d *desk) offered(text string) {
	d.t.Helper()
	def, err := processes.Parse("offer.yaml", []byte(text), roles.Builtin())
	if err != nil {
		d.t.Fatal(err)
	}
	d.store(def)
}

// planned is the outcome of a planner that gives a plan in YAML; words alone are
// none.
func planned(text string) *loomv1.Outcome {
	value := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		value["words"] = text
	}
	return outcome(success, map[string]any{"plan": value})
}

// begun lists the nodes of an execution that have been reached.
func begun(x *loomv1.Execution) (list []string) {
	for id, st := range x.Nodes {
		if st.Status != loomv1.NodeStatus_NODE_STATUS_UNSPECIFIED && id != "start" {
			list = append(list, id)
		}
	}
	slices.Sort(list)
	return list
}

// A plan that cannot be carried out is a failed attempt that says why; one that
// can is what the execution goes by from then on, and a new one after a gate
// keeps what is done. Every step is replayed from nothing.
func TestPROC04_APlanIsAdoptedAndMadeAnew(t *testing.T) {
	d := newDesk(t)
	f := d.offers(nil)
	d.work("lead", planned("{phases: [{id: facts}, {id: bid}]}"))
	x := d.execution(f.Execution)
	if h := x.Nodes["planner"].History[0].Outcome; h.Status != failed || h.Code != "plan/unexplained" || !strings.Contains(h.Notes, "survey") {
		t.Errorf("%v, want it refused with all that is wrong in the notes", h)
	}
	before := x.DefinitionHash
	d.wait(2e9)
	d.work("lead", planned("{why: nobody to ask, phases: [{id: facts}, {id: legal, description: Law., depends_on: [facts]}, {id: bid}], left_out: [{phase: survey, reason: nobody to ask}]}"))
	x = d.execution(f.Execution)
	if x.DefinitionHash == before || x.Plan.GetNumber() != 1 || x.Plan.DefinitionHash != x.DefinitionHash || x.Plan.LeftOut[0].Phase != "survey" {
		t.Errorf("%v, want the plan adopted", x.Plan)
	}
	if again := d.file(&loomv1.Submission{Goal: "another", Process: "offer", Priority: loomv1.Priority_PRIORITY_LOW}); d.execution(again.Execution).DefinitionHash != before {
		t.Error("a plan has become the newest definition of its process")
	} else {
		d.give(closes(again.Execution, "enough was seen"))
	}
	d.work("analyst", outcome(success, map[string]any{"go": false}))
	x = d.execution(f.Execution)
	if got := strings.Join(begun(x), " "); got != "facts legal planner" || x.Nodes["planner"].Visit != 2 {
		t.Errorf("begun: %s, planner %v; want the planner asked anew and all else as it was", got, x.Nodes["planner"])
	}
	queued := d.s.Queued()
	if len(queued) != 2 {
		t.Fatalf("queued %v, want planner and legal", queued)
	}
	who := &loomv1.Claimant{Agent: "lead/1", Host: "h1", Epoch: 1}
	a := x.Nodes["planner"].Attempt
	again := planned("{phases: [{id: more, description: More facts., depends_on: [facts], deliverables: [more.md]}, {id: bid, depends_on: [more, legal]}], left_out: [{phase: survey, reason: still nobody}]}")
	d.ok(&loomv1.Command{Body: &loomv1.Command_AnswerAttempt{AnswerAttempt: &loomv1.AnswerAttempt{Attempt: a.Id, Claimant: who, Outcome: again}}})
	d.ok(&loomv1.Command{Body: &loomv1.Command_AnswerAttempt{AnswerAttempt: &loomv1.AnswerAttempt{Attempt: a.Id, Claimant: who, Outcome: again}}}) // once more is the same
	x = d.execution(f.Execution)
	if got := strings.Join(begun(x), " "); got != "facts legal more planner" || x.Plan.Number != 2 || x.Plan.Phases[0].Change != "begun" || len(x.Nodes["facts"].History) != 1 {
		t.Errorf("begun: %s by plan %v; want what was done kept, and more of it", got, x.Plan)
	}
}

// Changes that the CEO asks for at a phase that failed lead to another plan, and to
// the phase again; an unsound plan that comes twice is known again.
func TestPROC04_APhaseThatFailsIsPlannedAnew(t *testing.T) {
	d := newDesk(t)
	d.offered(strings.Replace(offer, "Gather facts.", "Gather facts., is_critical_path: true", 1))
	f := d.file(&loomv1.Submission{Goal: "an offer", Process: "offer"})
	d.work("lead", planned(""))
	for _, q := range d.s.Queued() {
		d.ok(&loomv1.Command{Body: &loomv1.Command_ClaimAttempt{ClaimAttempt: &loomv1.ClaimAttempt{Attempt: q.Attempt, Generation: q.Generation, Claimant: agentOf(q.Role, 1)}}})
	}
	d.wait(2 * 3600e9)
	if err := d.present(ceo, d.sign(d.inbox(), loomv1.ApprovalDecision_APPROVAL_DECISION_REQUEST_CHANGES, nil)); err != nil {
		t.Fatal(err)
	}
	bad := d.work("lead", planned("well, first we"))
	d.ok(&loomv1.Command{Body: &loomv1.Command_AnswerAttempt{AnswerAttempt: &loomv1.AnswerAttempt{
		Attempt: bad.Attempt.Id, Claimant: &loomv1.Claimant{Agent: "lead/1", Host: "h1", Epoch: 1}, Outcome: planned("well, first we"),
	}}})
	d.wait(60e9)
	d.work("lead", planned("{phases: [{id: facts, description: Gather few facts.}, {id: survey}, {id: bid}]}"))
	d.work("analyst", outcome(success, map[string]any{"go": true}))
	if x := d.execution(f.Execution); x.Plan.GetNumber() != 1 || x.Nodes["facts"].Visit != 2 || strings.Join(begun(x), " ") != "facts planner survey" {
		t.Errorf("%v by plan %v; want facts gathered by the new plan", begun(x), x.Plan)
	}
}

// An empty plan, and a planner that the CEO passes over, leave the phases as
// they are.
func TestPROC04_WithoutAPlanThePhasesRunAsTheyAre(t *testing.T) {
	d := newDesk(t)
	f := d.offers(nil)
	d.work("lead", planned(""))
	if x := d.execution(f.Execution); x.Plan != nil || strings.Join(begun(x), " ") != "facts planner" {
		t.Errorf("%v, %v", x.Plan, begun(x))
	}
	d = newDesk(t)
	f = d.offers(nil)
	for range 3 {
		d.work("lead", planned("{phases: [{id: gone}]}"))
		d.wait(10e9)
	}
	if err := d.present(ceo, d.sign(d.inbox(), loomv1.ApprovalDecision_APPROVAL_DECISION_SKIP, nil)); err != nil {
		t.Fatal(err)
	}
	if x := d.execution(f.Execution); x.Plan != nil || x.Nodes["facts"].GetAttempt() == nil {
		t.Errorf("%v, want the phases begun as the process has them", begun(x))
	}
}

// Where the CEO wants to see the plan, nothing of it begins before; changes that
// are asked for go to the planner, and the new plan is asked about again.
func TestPROC04_APlanCanNeedApproval(t *testing.T) {
	d := newDesk(t)
	f := d.offers(map[string]any{"approve_plan": true})
	d.work("lead", planned(""))
	a := d.inbox()
	if !strings.Contains(a.Question, "Shall this plan be carried out? facts; survey after facts; bid after facts, survey") {
		t.Errorf("asked %q", a.Question)
	}
	if err := d.present(ceo, d.sign(a, loomv1.ApprovalDecision_APPROVAL_DECISION_REQUEST_CHANGES, func(c *loomv1.CeoCommand) { c.GetDecide().Comment = "no survey" })); err != nil {
		t.Fatal(err)
	}
	b := d.work("lead", planned("{phases: [{id: facts}, {id: bid}], left_out: [{phase: survey, reason: as asked}]}"))
	if b.Comment != "no survey" {
		t.Errorf("the planner is told %q", b.Comment)
	}
	d.approve()
	if x := d.execution(f.Execution); strings.Join(begun(x), " ") != "after-plan-1 facts planner" || x.Plan.Number != 2 {
		t.Errorf("%v by plan %v", begun(x), x.Plan)
	}
}
