package project

import (
	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// importDecisions adds a part of a decision graph of elsewhere, for operators.
func (d *decision) importDecisions(c *loomv1.ImportDecisions) (*loomv1.Answer, error) {
	if d.actor.GetKind() != loomv1.IdentityKind_IDENTITY_KIND_OPERATOR {
		return nil, fault.New("request/denied", "only operators import decisions")
	}
	if c.Request == "" || len(c.Request) > MaxKey {
		return nil, fault.New("graph/invalid", "an import needs an id of at most %d bytes", MaxKey).At("/request")
	}
	key := hexHash("import", c.Request)
	if r, ok := d.s.p.Requests[key]; ok {
		return d.importedFrom(r.Id), nil
	}
	events, err := d.s.graph.Import(d.now, c)
	if err != nil {
		return nil, err
	}
	f := events[0].GetDecisionsImported()
	f.Request = key
	if err := d.all(events, nil); err != nil {
		return nil, err
	}
	return d.importedFrom(importedFirst(f)), nil
}

// importedFrom answers with the first node of a part; of one without nodes, with
// nothing but that it is done.
func (d *decision) importedFrom(id string) *loomv1.Answer {
	n, ok := d.s.graph.Node(id)
	if !ok {
		return nil
	}
	return decided(n)
}

// importedFirst returns the first node of a part, or "".
func importedFirst(f *loomv1.DecisionsImported) string {
	if nodes := f.GetPart().GetNodes(); len(nodes) > 0 {
		return nodes[0].GetId()
	}
	return ""
}
