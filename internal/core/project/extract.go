package project

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/core/memory"
	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// untrustedFor is how long what was found in text of others waits for a person to vouch
// for it.
const untrustedFor = 30 * 24 * time.Hour

// phaseCameTo is what a phase came to, and what its attempts failed with before; nothing
// of one that was left out.
func phaseCameTo(st *loomv1.NodeState) string {
	if st.GetStatus() != loomv1.NodeStatus_NODE_STATUS_SUCCEEDED {
		return ""
	}
	var b strings.Builder
	for _, a := range st.History {
		if o := a.GetOutcome(); o.GetStatus() == loomv1.OutcomeStatus_OUTCOME_STATUS_FAILURE {
			fmt.Fprintf(&b, "attempt %d of visit %d failed with %s: %s\n", a.Number, a.Visit, o.Code, o.Summary)
		}
	}
	fmt.Fprintf(&b, "%s\n%s\n", st.Outcome.GetSummary(), st.Outcome.GetNotes())
	if fields := st.Outcome.GetFields(); len(fields.GetFields()) > 0 {
		if data, err := json.Marshal(fields.AsMap()); err == nil {
			fmt.Fprintf(&b, "fields: %s\n", data)
		}
	}
	return cut(b.String(), workflow.NotesBytes)
}

// rememberExtracted keeps what a model found worth remembering of a phase, with the fact
// that its attempt ends, and so once. What of it the memory refuses is left out. Text of
// others that the phase, or one before it, has read makes all of it untrusted.
func (d *decision) rememberExtracted(e *loomv1.Event) error {
	x, o := d.s.execution(e.Execution), e.GetAttemptEnded().GetOutcome()
	def := d.s.p.Definitions[x.GetDefinitionHash()]
	var n *loomv1.NodeDefinition
	for _, m := range def.GetNodes() {
		if m.Id == e.Node {
			n = m
		}
	}
	if o.GetStatus() != loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS || !workflow.Remembers(n) {
		return nil
	}
	entries, err := memory.Extracted(o.Fields, memory.TypesOf(def))
	if err != nil {
		return nil //nolint:nilerr // which its agent was told, and nobody keeps
	}
	before := d.s.listedExecution(x.After)
	outside := readOutsideBefore(d.s.p.Definitions[before.GetDefinitionHash()], before, n.Phase.Of)
	phase := before.GetNodes()[n.Phase.Of].GetHistory()
	for _, entry := range entries {
		t := d.ownTurn()
		t.Trust, t.Types, t.Access = loomv1.MemoryTrust_MEMORY_TRUST_AGENT, memory.TypesOf(def), n.Memory
		t.Outside = outside || d.s.readOutside(e.Attempt)
		if t.Outside || len(entry.Sources) > 0 {
			entry.Expires = timestamppb.New(d.now.Add(untrustedFor))
		}
		entry.Tags = append(tagged(x.GetDefinition(), n.Phase.Of), entry.Tags...)
		if len(phase) > 0 {
			entry.Sources = append(entry.Sources, &loomv1.MemorySource{Attempt: phase[len(phase)-1].Id})
		}
		if err := d.rememberAs(t, e, entry); err != nil {
			return err
		}
	}
	return nil
}

// readOutsideBefore says whether an attempt at a node, or at one from which work comes to
// it, has read text of others.
func readOutsideBefore(def *loomv1.Definition, x *loomv1.Execution, node string) bool {
	seen, queue := map[string]bool{node: true}, []string{node}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for _, a := range x.GetNodes()[at].GetHistory() {
			if a.ReadOutside {
				return true
			}
		}
		for _, edge := range def.GetEdges() {
			if edge.To == at && !seen[edge.From] {
				seen[edge.From] = true
				queue = append(queue, edge.From)
			}
		}
	}
	return false
}
