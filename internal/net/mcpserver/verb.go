package mcpserver

import (
	"encoding/json"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"google.golang.org/protobuf/proto"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// verb is one thing that a client can ask of a host.
type verb struct {
	name, title, description string
	scope, service           string
	request, reply           proto.Message // samples: their types are what the service takes and gives
	within                   string        // the field of the request's oneof that the arguments belong in, beside project
	fields                   []string      // that can be given
	required                 []string
	changes, destroys        bool
	idempotent               bool
}

// Fields that several verbs take.
var (
	page  = []string{"project", "limit", "after"}
	again = "request is your own id for this call: the same again changes nothing."
)

// verbs are all there are, in the order in which clients see them.
var verbs = []verb{
	{
		name: "projects", title: "List projects", scope: Read, service: "project", request: &loomv1.Query{}, reply: &loomv1.View{}, fields: []string{"id", "limit"},
		description: "List the registered projects: repository, target branch, checks.",
	},
	{
		name: "beads", title: "List and search beads", scope: Read, service: "bead", request: &loomv1.Query{}, reply: &loomv1.View{},
		fields:      append(page[:3:3], "filter", "text", "labels", "type", "process", "parent", "assignee"),
		description: "List beads, the items of work, newest first; text searches goals, descriptions and labels, filter is a status (open, in-progress, waiting, blocked, closed, failed, aborted).",
	},
	{
		name: "bead", title: "Show a bead", scope: Read, service: "bead", request: &loomv1.Query{}, reply: &loomv1.View{}, fields: []string{"id", "project"}, required: []string{"id"},
		description: "Show one bead with what it was asked and what became of it.",
	},
	{
		name: "executions", title: "List executions", scope: Read, service: "execution", request: &loomv1.Query{}, reply: &loomv1.View{}, fields: append(page[:3:3], "filter", "process"),
		description: "List executions, the runs of workflows; filter is a status.",
	},
	{
		name: "execution", title: "Show an execution", scope: Read, service: "execution", request: &loomv1.Query{}, reply: &loomv1.View{}, fields: []string{"id", "project"}, required: []string{"id"},
		description: "Show one execution: its nodes, attempts, outcomes and why it stands where it stands.",
	},
	{
		name: "history", title: "Show an execution's history", scope: Read, service: "history", request: &loomv1.HistoryRequest{}, reply: &loomv1.HistoryReply{}, fields: []string{"execution"}, required: []string{"execution"},
		description: "Show the transitions of an execution, with their times.",
	},
	{
		name: "inbox", title: "Show what waits for a person", scope: Read, service: "inbox", request: &loomv1.Query{}, reply: &loomv1.View{}, fields: append(page[:3:3], "filter", "id"),
		description: "Show what waits for the person who owns this; with id, the change's diff too. Only that person can answer.",
	},
	{
		name: "events", title: "Read what happened", scope: Read, service: "notices", request: &loomv1.NoticesRequest{}, reply: &loomv1.NoticesReply{},
		fields:      []string{"after", "project", "bead", "execution", "limit", "kinds", "since"},
		description: "Read what happened, oldest first, after a cursor: give next of one answer as after of the next; end says that there is no more yet.",
	},
	{
		name: "metrics", title: "Show how workflows fare", scope: Read, service: "metrics", request: &loomv1.MetricsRequest{}, reply: &loomv1.MetricsReply{}, fields: []string{"project", "process", "from", "to"},
		description: "Show how workflows fare: times, rates, retries, beside their targets.",
	},
	{
		name: "decisions", title: "Ask the decision graph", scope: Read, service: "ask", request: &loomv1.GraphRequest{}, reply: &loomv1.GraphReply{},
		fields: []string{
			"project", "question", "id", "to", "text", "type", "status", "bead", "execution", "edge_types", "depth", "limit", "tokens", "at", "time",
		},
		description: "Ask the decision graph why things are as they are: question is list, search (text), recent, goals, ancestors, descendants (id), path (id, to), neighbourhood (id, depth), context (bead, execution, id or text, within tokens), narrative, pulse or ballots.",
	},
	{
		name: "submit", title: "File a bead", scope: Submit, service: "submit", request: &loomv1.Submission{}, reply: &loomv1.SubmitReply{}, changes: true, idempotent: true,
		fields:   []string{"project", "goal", "description", "type", "process", "context", "priority", "deadline", "labels", "budget", "idempotency_key", "parent", "blocked_by", "assignee"},
		required: []string{"goal", "idempotency_key"},
		description: "File a bead, a task or a bug, for the team of agents to work on. It costs money and time of others: search first. " +
			"idempotency_key is your own id for it: the same again files nothing.",
	},
	{
		name: "bead_update", title: "Change a bead", scope: Operate, service: "update", request: &loomv1.BeadRequest{}, reply: &loomv1.SubmitReply{}, within: "update", changes: true, destroys: true, idempotent: true,
		fields: []string{"bead", "fields", "reason"}, required: []string{"bead", "fields"},
		description: "Change fields of a bead: bead has its id and the new values, fields names those to change (goal, description, priority, deadline, labels, budget, parent, blocked_by, assignee).",
	},
	{
		name: "decision_add", title: "Add a decision", scope: Operate, service: "decide", request: &loomv1.DecisionRequest{}, reply: &loomv1.Answer{}, within: "add", changes: true, idempotent: true,
		fields: []string{"node", "links", "request"}, required: []string{"node", "request"},
		description: "Add a node to the decision graph (goal, decision, option, action, outcome, observation, revisit) and its links; of a link, leave the new node's end empty. " + again,
	},
	{
		name: "decision_link", title: "Link decisions", scope: Operate, service: "decide", request: &loomv1.DecisionRequest{}, reply: &loomv1.Answer{}, within: "link", changes: true,
		fields: []string{"edge"}, required: []string{"edge"},
		description: "Link two decisions: leads_to, chosen, rejected, requires, blocks, enables or supersedes.",
	},
	{
		name: "decision_supersede", title: "Supersede a decision", scope: Operate, service: "decide", request: &loomv1.DecisionRequest{}, reply: &loomv1.Answer{}, within: "supersede", changes: true, destroys: true,
		fields: []string{"old", "new", "rationale"}, required: []string{"old", "new", "rationale"},
		description: "Put one decision in the place of another. Work that depends on the old one is held.",
	},
	{
		name: "decision_abandon", title: "Give up a decision", scope: Operate, service: "decide", request: &loomv1.DecisionRequest{}, reply: &loomv1.Answer{}, within: "abandon", changes: true, destroys: true, idempotent: true,
		fields: []string{"id", "reason"}, required: []string{"id", "reason"},
		description: "Give up a decision that you recorded, with nothing in its place. Work that depends on it is held.",
	},
	{
		name: "decision_vote", title: "Vote on a decision", scope: Operate, service: "decide", request: &loomv1.DecisionRequest{}, reply: &loomv1.Answer{}, within: "vote", changes: true, idempotent: true,
		fields: []string{"decision", "vote"}, required: []string{"decision", "vote"},
		description: "Cast, or change, the vote of a role on a decision that has a ballot.",
	},
}

// described are the verbs as clients see them, made once: over HTTP each request
// has a server of its own.
var described = sync.OnceValue(func() (list []*mcp.Tool) {
	for _, v := range verbs {
		list = append(list, v.tool())
	}
	return list
})

func (v verb) tool() *mcp.Tool {
	schema, err := json.Marshal(v.schema())
	if err != nil {
		panic(err) // it is made of maps and strings
	}
	closed := false
	return &mcp.Tool{
		Name: v.name, Title: v.title, Description: v.description, InputSchema: json.RawMessage(schema),
		Annotations: &mcp.ToolAnnotations{
			Title: v.title, ReadOnlyHint: !v.changes, DestructiveHint: new(v.destroys), IdempotentHint: v.idempotent || !v.changes, OpenWorldHint: &closed,
		},
	}
}
