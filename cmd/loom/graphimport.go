package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/loomrun/loom/graph"
	"github.com/loomrun/loom/internal/client"
	"github.com/loomrun/loom/internal/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// graphImport adds an exported graph to a project's, one decision after the
// other; each has a request id of its own, so that it can be run again.
type graphImport struct {
	project string
	digest  string // of the file
	from    *loomv1.DecisionGraph
	ids     map[string]string // new ids by old ones
	added   []*loomv1.DecisionNode
}

// newImport reads a file and refuses one that no export has written.
func newImport(project string, data []byte) (*graphImport, error) {
	im := &graphImport{project: project, from: &loomv1.DecisionGraph{}, ids: map[string]string{}}
	if err := protojson.Unmarshal(data, im.from); err != nil {
		return nil, fault.New("graph/invalid", "not the JSON of a decision graph").At("FILE").Because(err)
	}
	sum := sha256.Sum256(data)
	im.digest = hex.EncodeToString(sum[:8])
	if err := whole(im.from); err != nil {
		return nil, err
	}
	return im, nil
}

// whole refuses a graph whose links lead nowhere. A part of a graph is fine.
func whole(g *loomv1.DecisionGraph) error {
	known := map[string]bool{}
	for _, n := range g.Nodes {
		if known[n.GetId()] || n.GetId() == "" {
			return fault.New("graph/invalid", "a decision without an id of its own").At("FILE").Got(n.GetId())
		}
		known[n.Id] = true
	}
	for _, e := range g.Edges {
		if !known[e.GetFrom()] || !known[e.GetTo()] {
			return fault.New("graph/unknown-node", "a link from %q to %q, which are not both in the file", e.GetFrom(), e.GetTo()).At("FILE")
		}
	}
	return nil
}

func (im *graphImport) run(ctx context.Context, c *client.Client) error {
	for _, n := range im.from.Nodes {
		answer, err := c.WriteGraph(ctx, &loomv1.DecisionRequest{Project: im.project, Verb: &loomv1.DecisionRequest_Add{Add: &loomv1.AddDecision{
			Node: imported(n), Request: fmt.Sprintf("import %s %s", im.digest, n.Id),
		}}})
		if err != nil {
			return fault.From(err).At(n.Id)
		}
		im.ids[n.Id] = answer.GetDecision().GetId()
		im.added = append(im.added, answer.GetDecision())
	}
	for _, e := range im.from.Edges {
		if err := im.link(ctx, c, e); err != nil {
			return fault.From(err).At(fmt.Sprintf("link %s to %s", e.From, e.To))
		}
	}
	return nil
}

// link adds a link between the new decisions; one that is there already, from
// an import before, is fine.
func (im *graphImport) link(ctx context.Context, c *client.Client, e *loomv1.DecisionEdge) error {
	r := &loomv1.DecisionRequest{Project: im.project}
	from, to := im.ids[e.From], im.ids[e.To]
	if e.Type == loomv1.DecisionEdgeType_DECISION_EDGE_TYPE_SUPERSEDES {
		r.Verb = &loomv1.DecisionRequest_Supersede{Supersede: &loomv1.SupersedeDecision{Old: to, New: from, Rationale: e.Rationale}}
	} else {
		r.Verb = &loomv1.DecisionRequest_Link{Link: &loomv1.LinkDecision{Edge: &loomv1.DecisionEdge{
			From: from, To: to, Type: e.Type, Weight: e.Weight, Rationale: e.Rationale,
		}}}
	}
	_, err := c.WriteGraph(ctx, r)
	return err
}

// imported is a decision as it is added: what it was is kept as metadata, since
// its author and time are now those of the import.
func imported(n *loomv1.DecisionNode) *loomv1.DecisionNode {
	was := map[string]*structpb.Value{"id": structpb.NewStringValue(n.Id)}
	note := func(name, value string) {
		if value != "" {
			was[name] = structpb.NewStringValue(value)
		}
	}
	note("author", n.Author.GetName())
	note("bead", n.Bead)
	note("execution", n.Execution)
	if n.Time != nil {
		note("time", n.Time.AsTime().Format(rfc3339))
	}
	add := &loomv1.DecisionNode{
		Type: n.Type, Title: n.Title, Description: n.Description, Confidence: n.Confidence, Change: n.Change,
		Metadata: &structpb.Struct{Fields: map[string]*structpb.Value{}},
	}
	for name, v := range n.Metadata.GetFields() {
		add.Metadata.Fields[name] = v
	}
	add.Metadata.Fields["imported"] = structpb.NewStructValue(&structpb.Struct{Fields: was})
	if proto.Size(add.Metadata) > graph.MaxMetadata {
		add.Metadata.Fields = map[string]*structpb.Value{"imported": add.Metadata.Fields["imported"]}
	}
	return add
}

const rfc3339 = "2006-01-02T15:04:05Z07:00"
