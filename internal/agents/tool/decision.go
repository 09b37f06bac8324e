package tool

import (
	"context"
	"fmt"
	"strings"

	"github.com/loomrun/loom/graph"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// nodeTypes is the schema of a type of node.
const nodeTypes = `{"enum": ["goal", "option", "decision", "action", "outcome", "observation", "revisit"]}`

// nodeID is the schema of a node's id.
func nodeID(what string) string {
	if what != "" {
		what = `, "description": "` + what + `"`
	}
	return `{"type": "string", "pattern": "^d[1-9][0-9]{0,8}$"` + what + `}`
}

var decisionLog = &tool{
	Spec: Spec{
		Name: "decision_log",
		// It writes to no file; it is one by one because links name nodes
		// that were logged before.
		Class: writes,
		Description: "Record what you considered, decided, did or saw. " +
			"Log each option, then the decision with links to what it chose and rejected, and why.",
		Schema: schema(`"type","title"`, `
			"type": `+nodeTypes+`,
			"title": {"type": "string", "minLength": 1, "maxLength": 300, "description": "one line"},
			"description": {"type": "string", "maxLength": 16384},
			"confidence": {"type": "integer", "minimum": 0, "maximum": 100, "description": "default 50"},
			"scope": {"type": "string", "maxLength": 200, "description": "for an option: what it answers, in the word or two others would use"},
			"links": {"type": "array", "maxItems": 50, "items": {
				"type": "object", "additionalProperties": false, "required": ["kind", "id"], "properties": {
					"kind": {"enum": ["follows", "chosen", "rejected", "requires", "blocks", "enables", "supersedes", "abandons"],
						"description": "follows: that node led to this one. abandons: it is given up"},
					"id": `+nodeID("of an earlier node")+`,
					"why": {"type": "string", "maxLength": 2000}}}}`),
	},
	needs: graphed,
	run:   with(logDecision),
	// To log a node again adds nothing.
	reconcile: func(context.Context, *Set, *loomv1.ToolCall) (Result, bool) { return Result{}, false },
}

type logArguments struct {
	Type        string         `json:"type"`
	Title       string         `json:"title"`
	Description string         `json:"description"`
	Confidence  *uint32        `json:"confidence"`
	Scope       string         `json:"scope"`
	Links       []linkArgument `json:"links"`
}

type linkArgument struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
	Why  string `json:"why"`
}

func logDecision(ctx context.Context, j job, a logArguments) (Result, error) {
	n, err := j.decisions.Log(ctx, a.command(j.id))
	if err != nil {
		return Result{}, err
	}
	return done(fmt.Sprintf("logged as %s\n", n.GetId()), "%s: %s %q", n.GetId(), a.Type, a.Title), nil
}

func (a logArguments) command(request string) *loomv1.AddDecision {
	confidence := uint32(50)
	if a.Confidence != nil {
		confidence = *a.Confidence
	}
	d := &loomv1.AddDecision{Request: request, Node: &loomv1.DecisionNode{
		Type: decisionType(a.Type), Title: plain(a.Title), Description: plain(a.Description), Confidence: confidence,
	}}
	graph.SetScope(d.Node, plain(a.Scope))
	for _, l := range a.Links {
		if l.Kind == "abandons" {
			d.Abandons = append(d.Abandons, &loomv1.AbandonDecision{Id: l.ID, Reason: plain(l.Why)})
			continue
		}
		d.Links = append(d.Links, l.edge())
	}
	return d
}

// edge is a link of the new node, whose own end stays empty.
func (l linkArgument) edge() *loomv1.DecisionEdge {
	if l.Kind == "follows" {
		return &loomv1.DecisionEdge{From: l.ID, Type: loomv1.DecisionEdgeType_DECISION_EDGE_TYPE_LEADS_TO, Rationale: plain(l.Why)}
	}
	kind := loomv1.DecisionEdgeType_value["DECISION_EDGE_TYPE_"+strings.ToUpper(l.Kind)]
	return &loomv1.DecisionEdge{To: l.ID, Type: loomv1.DecisionEdgeType(kind), Rationale: plain(l.Why)}
}

func decisionType(s string) loomv1.DecisionType {
	return loomv1.DecisionType(loomv1.DecisionType_value["DECISION_TYPE_"+strings.ToUpper(s)])
}
