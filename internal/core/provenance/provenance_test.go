package provenance_test

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/core/provenance"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// journal writes events of a bead, a minute apart.
type journal struct {
	r  *provenance.Record
	at time.Time
}

func newJournal() *journal {
	j := &journal{provenance.Of("p-1"), time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)}
	j.add("p-1", "", "", &loomv1.Event{Fact: &loomv1.Event_BeadFiled{BeadFiled: &loomv1.BeadFiled{Bead: &loomv1.Bead{Id: "p-1"}}}})
	return j
}

func (j *journal) add(bead, node, attempt string, e *loomv1.Event) {
	j.at = j.at.Add(time.Minute)
	e.Bead, e.Node, e.Attempt, e.Execution, e.Time = bead, node, attempt, bead+"-x1", timestamppb.New(j.at)
	j.r.Add(e)
}

// work is an attempt that reads addresses, asks a model once and ends.
func (j *journal) work(bead, node, attempt string, good bool, addresses ...string) {
	j.add(bead, node, attempt, &loomv1.Event{Fact: &loomv1.Event_AttemptDispatched{AttemptDispatched: &loomv1.AttemptDispatched{Role: "analyst"}}})
	j.add(bead, node, attempt, &loomv1.Event{Fact: &loomv1.Event_AttemptClaimed{AttemptClaimed: &loomv1.AttemptClaimed{Claimant: &loomv1.Claimant{Agent: "analyst/1", Host: "h1"}}}})
	for _, a := range addresses {
		j.add(bead, node, attempt, &loomv1.Event{Fact: &loomv1.Event_ToolFinished{ToolFinished: &loomv1.ToolFinished{
			Tool: "web_fetch", Result: &loomv1.ToolResult{Read: []*loomv1.SourceRead{{Address: a, Sha256: strings.Repeat("1", 64), Title: "A | [page](x)"}}},
		}}})
	}
	j.add(bead, node, attempt, &loomv1.Event{Fact: &loomv1.Event_ModelAnswered{ModelAnswered: &loomv1.ModelAnswered{
		Answer: &loomv1.ModelAnswer{Model: "m-" + node, Usage: &loomv1.Usage{InputTokens: 10, OutputTokens: 5, CostMicroUsd: 100}},
	}}})
	status := loomv1.OutcomeStatus_OUTCOME_STATUS_FAILURE
	if good {
		status = loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS
	}
	j.add(bead, node, attempt, &loomv1.Event{Fact: &loomv1.Event_AttemptEnded{AttemptEnded: &loomv1.AttemptEnded{Outcome: &loomv1.Outcome{Status: status}}}})
}

// report is a process of two phases side by side and one that follows the first.
func report() (*loomv1.Definition, *loomv1.Execution) {
	def := &loomv1.Definition{Name: "report"}
	x := &loomv1.Execution{Id: "p-1-x1", Bead: "p-1", Definition: "report", Nodes: map[string]*loomv1.NodeState{}}
	for _, id := range []string{"look", "aside", "write"} {
		def.Nodes = append(def.Nodes, &loomv1.NodeDefinition{Id: id, Role: "analyst", Phase: &loomv1.Phase{Deliverables: []string{id + ".md — what " + id + " makes"}}})
		x.Nodes[id] = &loomv1.NodeState{Status: loomv1.NodeStatus_NODE_STATUS_SUCCEEDED}
	}
	def.Edges = []*loomv1.EdgeDefinition{{From: "look", To: "write"}}
	x.Nodes["write"].Outcome = &loomv1.Outcome{Judged: []*loomv1.JudgedRule{
		{Phase: "write", Rule: "format", State: loomv1.RuleState_RULE_STATE_HELD, Tier: 1},
		{Phase: "write", Rule: "clear", State: loomv1.RuleState_RULE_STATE_NOT_JUDGED, Evidence: "the phase has no verifier"},
	}}
	return def, x
}

// The index says of each file which attempt made it, and what had been read before by what
// it can rest on: not by a phase beside it, and not afterwards.
func TestPROC05_AnIndexSaysWhoMadeWhatOfWhat(t *testing.T) {
	def, x := report()
	j := newJournal()
	j.work("p-1", "look", "a1", false, "https://a.test/")
	j.work("p-1", "look", "a2", true, "https://b.test/", "https://a.test/")
	j.work("p-1", "aside", "a3", true, "https://c.test/")
	j.work("p-1", "write", "a4", true)
	j.work("p-1", "look", "a5", false, "https://d.test/")
	j.work("p-2", "look", "b1", true, "https://other.test/")                                                    // somebody else's
	j.add("p-1", "write", "a4", &loomv1.Event{Fact: &loomv1.Event_CallSettled{CallSettled: &loomv1.CallSettled{ // a call that was lost
		Usage: &loomv1.Usage{InputTokens: 1000, CostMicroUsd: 7}, Assumed: true,
	}}})
	i := j.r.IndexOf(def, x, []string{"write.md", "look.md", "more.md"})
	if len(i.Files) != 3 || len(i.Sources) != 4 || len(i.Attempts) != 5 || i.Calls != 5 || i.Tokens != 1075 || i.MicroUSD != 507 || i.Partial {
		t.Fatalf("%+v", i)
	}
	for n, want := range []struct {
		phase, attempt, about string
		sources               int
	}{{"write", "a4", "what write makes", 2}, {"look", "a2", "what look makes", 2}, {"", "", "", 0}} {
		if f := i.Files[n]; f.Phase != want.phase || f.Attempt != want.attempt || f.About != want.about || len(f.Sources) != want.sources {
			t.Errorf("%+v, want %+v", f, want)
		}
	}
	i.Goal, i.Status, i.Gaps = `a | \| report`, "completed_with_gaps", []string{"aside: [nothing](x)"}
	got := i.Markdown()
	for _, want := range []string{
		`a \| \\\| report`, "| write.md | what write makes | write | analyst/1 with m-write | 1, 2 |", "| more.md |  | no phase of its own |", "- aside: \\[nothing\\](x)",
		"| write | clear | not judged | nobody | the phase has no verifier |", "<https://d.test/>", "5 model calls, 1075 tokens, 0.000507 USD", "| look | analyst | analyst/1 | m-look | 1 | 15 | 0.000100 | not well |",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the index has no %q:\n%s", want, got)
		}
	}
	if strings.Index(got, "not judged") > strings.Index(got, "| held |") {
		t.Error("what held comes first")
	}
}

// An index that is made of a journal which was cut says so.
func TestPROC05_AnIndexSaysWhatTheJournalNoLongerHas(t *testing.T) {
	def, x := report()
	late := &journal{r: provenance.Of("p-1"), at: newJournal().at}
	late.work("p-1", "write", "a1", true)
	if i := late.r.IndexOf(def, x, nil); !i.Partial || !strings.Contains(i.Markdown(), "The journal was cut") {
		t.Errorf("%+v\n%s", i, i.Markdown())
	}
	if i := newJournal().r.IndexOf(def, x, nil); strings.Contains(i.Markdown(), "The journal was cut") {
		t.Error("a whole journal is said to be cut")
	}
}

// An index takes no other file's name.
func TestPROC05_AnIndexTakesNoOtherName(t *testing.T) {
	for taken, want := range map[string]string{"": "README.md run.json", "README.md": "README-p-1-x1.md run-p-1-x1.json", "run.json": "README-p-1-x1.md run-p-1-x1.json"} {
		readme, data := provenance.Names("p-1-x1", func(name string) bool { return name == taken })
		if got := readme + " " + data; got != want {
			t.Errorf("with %q there: %s, want %s", taken, got, want)
		}
	}
}
