package tool

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

var decisionQuery = &tool{
	Spec: Spec{
		Name:        "decision_query",
		Class:       reads,
		Description: "Look up the decision graph: by words, newest first without any; or what belongs to a node; or, as context, what matters for your bead.",
		Schema: schema(``, `
			"text": {"type": "string", "maxLength": 200, "description": "beginnings of words"},
			"type": `+nodeTypes+`,
			"status": {"enum": ["active", "superseded", "abandoned"]},
			"show": {"enum": ["around", "ancestors", "descendants", "votes", "context"], "description": "all but context: of node"},
			"node": `+nodeID("")+`,
			"depth": {"type": "integer", "minimum": 1, "maximum": 10, `+quiet+`},
			"limit": {"type": "integer", "minimum": 1, "maximum": 100, `+quiet+`}`),
	},
	needs: graphed,
	run:   with(queryDecisions),
}

// queryOutput bounds what a query shows, in bytes.
const queryOutput = 32 << 10

type queryArguments struct {
	Text   string `json:"text"`
	Type   string `json:"type"`
	Status string `json:"status"`
	Show   string `json:"show"`
	Node   string `json:"node"`
	Depth  uint32 `json:"depth"`
	Limit  uint32 `json:"limit"`
}

func queryDecisions(ctx context.Context, j job, a queryArguments) (Result, error) {
	q, err := a.question()
	if err != nil {
		return Result{}, err
	}
	r, err := j.decisions.Ask(ctx, q)
	if err != nil {
		return Result{}, err
	}
	switch q.Question {
	case loomv1.GraphQuestion_GRAPH_QUESTION_CONTEXT:
		return showContext(r.Context), nil
	case loomv1.GraphQuestion_GRAPH_QUESTION_BALLOTS:
		return showBallots(r.Ballots), nil
	case loomv1.GraphQuestion_GRAPH_QUESTION_LIST:
		slices.Reverse(r.Graph.GetNodes()) // newest first
	}
	return showGraph(r), nil
}

// questions are what show asks, by its value.
var questions = map[string]loomv1.GraphQuestion{
	"":            loomv1.GraphQuestion_GRAPH_QUESTION_LIST,
	"around":      loomv1.GraphQuestion_GRAPH_QUESTION_NEIGHBOURHOOD,
	"ancestors":   loomv1.GraphQuestion_GRAPH_QUESTION_ANCESTORS,
	"descendants": loomv1.GraphQuestion_GRAPH_QUESTION_DESCENDANTS,
	"votes":       loomv1.GraphQuestion_GRAPH_QUESTION_BALLOTS,
	"context":     loomv1.GraphQuestion_GRAPH_QUESTION_CONTEXT,
}

// question returns what the arguments ask, and refuses those of another question:
// an answer that passed over one would be taken for the answer to it.
func (a queryArguments) question() (*loomv1.GraphRequest, error) {
	ofNode := a.Show != "" && a.Show != "context"
	switch {
	case ofNode && a.Node == "":
		return nil, unfit("/node", "%s is of a node: name it", a.Show)
	case !ofNode && a.Node != "":
		return nil, unfit("/node", "say with show what of %s you ask for: around, ancestors, descendants or votes", a.Node)
	case a.Show != "" && (a.Type != "" || a.Status != ""), ofNode && a.Text != "":
		return nil, unfit("/show", "text, type and status are for a search, not for %s", a.Show)
	case a.Depth != 0 && a.Show != "around":
		return nil, unfit("/depth", "it is for around alone")
	}
	q := &loomv1.GraphRequest{
		Question: questions[a.Show], Id: a.Node, Text: a.Text, Type: decisionType(a.Type), Depth: a.Depth, Limit: cmp.Or(a.Limit, 20),
		Status: loomv1.DecisionStatus(loomv1.DecisionStatus_value["DECISION_STATUS_"+strings.ToUpper(a.Status)]),
	}
	if a.Show == "" && a.Text != "" {
		q.Question = loomv1.GraphQuestion_GRAPH_QUESTION_SEARCH
	}
	return q, nil
}

func showContext(c *loomv1.DecisionContext) Result {
	text := c.GetText()
	if text == "" {
		text = "nothing recorded matters here\n"
	}
	if c.GetLeftOut() > 0 {
		text += fmt.Sprintf("[%d more did not fit; look for them with text or around]\n", c.LeftOut)
	}
	return done(text, "%d nodes", len(c.GetItems()))
}

// showGraph shows nodes in a line or two each, then the links among them, as
// far as they fit, and says what does not.
func showGraph(r *loomv1.GraphReply) Result {
	var out strings.Builder
	nodes, links := r.Graph.GetNodes(), r.Graph.GetEdges()
	shown, drawn := 0, 0
	for _, n := range nodes {
		line := describe(n, r.Stale[n.Id])
		if out.Len()+len(line) > queryOutput*3/4 {
			break
		}
		out.WriteString(line)
		shown++
	}
	for _, e := range links {
		line := describeLink(e)
		if out.Len()+len(line) > queryOutput {
			break
		}
		out.WriteString(line)
		drawn++
	}
	switch {
	case len(nodes) == 0:
		out.WriteString("nothing recorded matches\n")
	case r.Cut || shown < len(nodes):
		fmt.Fprintf(&out, "[only %d nodes are shown, and there are more; ask for less at a time]\n", shown)
	}
	if drawn < len(links) {
		fmt.Fprintf(&out, "[%d links are not shown]\n", len(links)-drawn)
	}
	return done(out.String(), "%d nodes", shown)
}

// word is an enum's value as people write it.
func word(s, prefix string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(s, prefix)), "_", " ")
}

// describe shows a node in a line or two, with what it rests on that counts
// no more, if there is such a thing.
func describe(n *loomv1.DecisionNode, because string) string {
	status := word(n.GetStatus().String(), "DECISION_STATUS_")
	if because != "" {
		status += fmt.Sprintf(" but rests on %s, which counts no more", because)
	}
	line := fmt.Sprintf("%s %s, %s, %d%%: %s\n", n.GetId(), word(n.GetType().String(), "DECISION_TYPE_"), status, n.GetConfidence(), oneLine(n.GetTitle()))
	if d := oneLine(n.GetDescription()); d != "" {
		line += "    " + cutEnd(d, 400) + "\n"
	}
	return line
}

func describeLink(e *loomv1.DecisionEdge) string {
	line := fmt.Sprintf("%s %s %s", e.From, word(e.Type.String(), "DECISION_EDGE_TYPE_"), e.To)
	if e.Rationale != "" {
		line += ": " + cutEnd(oneLine(e.Rationale), 200)
	}
	return line + "\n"
}

func showBallots(list []*loomv1.Ballot) Result {
	var out strings.Builder
	for _, b := range list {
		fmt.Fprintf(&out, "%s: %s, %s of %s, quorum %d\n", b.Decision, word(b.Status.String(), "BALLOT_STATUS_"),
			word(b.Rule.String(), "VOTE_RULE_"), strings.Join(b.Voters, ", "), b.Quorum)
		for _, v := range b.Votes {
			fmt.Fprintf(&out, "  %s: %s (%d%%) %s\n", v.Role, v.Option, v.Confidence, cutEnd(oneLine(v.Rationale), 200))
		}
		if b.Result != "" {
			fmt.Fprintf(&out, "  chosen: %s\n", b.Result)
		}
		if b.Reason != "" {
			fmt.Fprintf(&out, "  because: %s\n", cutEnd(oneLine(b.Reason), 400))
		}
	}
	if len(list) == 0 {
		out.WriteString("there is no vote on this decision\n")
	}
	return done(out.String(), "%d votes", len(list))
}

func oneLine(s string) string { return strings.Join(strings.Fields(plain(s)), " ") }
