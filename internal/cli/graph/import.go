package graph

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strconv"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/loomrun/loom/graph"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// importPart is how many bytes are sent at once, well below what one message may
// have in any of its forms.
const importPart = 128 << 10

// graphImport adds an exported graph to a project's, part by part; each has a
// request id of its own, so that it can be run again.
type graphImport struct {
	project               string
	digest                string // of the file
	parts                 []*loomv1.DecisionGraph
	nodes, edges, ballots int
	ids                   []string // of the nodes that were added, in their order
	added                 []*loomv1.DecisionNode
	open                  []*loomv1.Ballot // that were open in the file: they go on, or are void
}

// newImport reads a file and refuses one that cannot be imported whole.
func newImport(project string, data []byte) (*graphImport, error) {
	from := &loomv1.DecisionGraph{}
	if err := protojson.Unmarshal(data, from); err != nil {
		return nil, fault.New("graph/invalid", "not the JSON of a decision graph").At("FILE").
			Want("what \"loom graph export\" of this release or an earlier one wrote").Because(err)
	}
	parts, err := graph.Parts(from, importPart)
	if err != nil {
		e := fault.From(err)
		return nil, e.At("FILE" + e.Where)
	}
	sum := sha256.Sum256(data)
	return &graphImport{
		open: wereOpen(from, parts), project: project, digest: hex.EncodeToString(sum[:16]), parts: parts,
		nodes: len(from.Nodes), edges: len(from.Edges), ballots: len(from.Ballots),
	}, nil
}

func (im *graphImport) run(ctx context.Context, c *client.Client) error {
	for i, part := range im.parts {
		im.renumber(part)
		answer, err := c.Decide(ctx, &loomv1.DecisionRequest{Project: im.project, Verb: &loomv1.DecisionRequest_Import{
			Import: &loomv1.ImportDecisions{Part: part, Request: fmt.Sprintf("%s %d", im.digest, i)},
		}})
		if err != nil {
			return err
		}
		if err := im.note(answer.GetDecision().GetId(), part.Nodes); err != nil {
			return err
		}
	}
	return nil
}

// wereOpen returns the votes that are open in a file, as they are imported.
func wereOpen(from *loomv1.DecisionGraph, parts []*loomv1.DecisionGraph) (open []*loomv1.Ballot) {
	i := 0
	for _, part := range parts {
		for _, b := range part.Ballots {
			if from.Ballots[i].Status != loomv1.BallotStatus_BALLOT_STATUS_CLOSED {
				open = append(open, b)
			}
			i++
		}
	}
	return open
}

// report says what was added, and what became of the votes that were open.
func (im *graphImport) report(w io.Writer) {
	fmt.Fprintf(w, "decisions %d, links %d, votes %d\n", im.nodes, im.edges, im.ballots)
	for _, b := range im.open {
		if b.Status == loomv1.BallotStatus_BALLOT_STATUS_CLOSED {
			fmt.Fprintf(w, "the vote on %s is void: %s\n", b.Decision, console.Line(b.Reason, 200))
		} else {
			fmt.Fprintf(w, "the vote on %s goes on\n", b.Decision)
		}
	}
}

// note takes down the ids of the nodes of a part, which follow the first.
func (im *graphImport) note(first string, nodes []*loomv1.DecisionNode) error {
	if len(nodes) == 0 {
		return nil
	}
	n, err := strconv.Atoi(first[min(1, len(first)):])
	if err != nil {
		return fault.New("graph/inconsistent", "the host gave no number to what was imported")
	}
	for i, node := range nodes {
		node.Id = fmt.Sprintf("d%d", n+i)
		im.ids, im.added = append(im.ids, node.Id), append(im.added, node)
	}
	return nil
}

// renumber puts the ids of the nodes that were added in the place of those that
// the parts have, which count from d1.
func (im *graphImport) renumber(part *loomv1.DecisionGraph) {
	for _, e := range part.Edges {
		im.id(&e.From)
		im.id(&e.To)
	}
	for _, b := range part.Ballots {
		im.id(&b.Decision)
		im.id(&b.Result)
		for i := range b.Options {
			im.id(&b.Options[i])
		}
		for _, v := range b.Votes {
			im.id(&v.Option)
		}
	}
}

func (im *graphImport) id(s *string) {
	if n, err := strconv.Atoi((*s)[min(1, len(*s)):]); err == nil && n >= 1 && n <= len(im.ids) {
		*s = im.ids[n-1]
	}
}
