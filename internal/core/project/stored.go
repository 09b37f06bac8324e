package project

import (
	"cmp"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Definitions is the view of the definitions that a project has.
const Definitions View = "workflow"

// lookDefinitions lists the newest definition of each name, or all with the
// filter "all", by name and the newest first; or it gives one: NAME is the
// newest of that name, NAME@HASH the one whose hash begins so.
func (s *State) lookDefinitions(out *loomv1.View, q *loomv1.Query, limit int) error {
	if q.Filter != "" && q.Filter != "all" {
		return fault.New("usage/argument", "no such filter").At("filter").Got(q.Filter).Want(`leave it out, or write "all"`)
	}
	name, prefix, exact := strings.Cut(q.Id, "@")
	var found []*loomv1.StoredDefinition
	for hash, def := range s.p.Definitions {
		newest := s.p.Latest[def.Name] == hash
		switch {
		case q.Id == "" && (newest || q.Filter == "all"), q.Id != "" && def.Name == name && (exact && strings.HasPrefix(hash, prefix) || !exact && newest):
			found = append(found, &loomv1.StoredDefinition{
				Project: s.cfg.ID, Name: def.Name, Version: def.Version, Hash: hash, Latest: newest,
				Changed: newest && s.p.Changed[def.Name], StoredAt: s.p.StoredAt[hash],
			})
		}
	}
	slices.SortFunc(found, func(a, b *loomv1.StoredDefinition) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), asTime(b.StoredAt).Compare(asTime(a.StoredAt)), strings.Compare(a.Hash, b.Hash))
	})
	if q.Id != "" && len(found) != 1 {
		return s.notOne(name, prefix, found)
	}
	out.Definitions = found[:min(limit, len(found))]
	s.countExecutions(out.Definitions)
	if q.Id != "" {
		found[0].Definition = proto.CloneOf(s.p.Definitions[found[0].Hash])
	}
	return nil
}

// notOne says why a definition that was asked for is not to be had.
func (s *State) notOne(name, prefix string, found []*loomv1.StoredDefinition) error {
	if len(found) > 1 {
		return fault.New("definition/unknown", "%d definitions of workflow %q have a hash that begins so", len(found), name).At("id").Got(prefix).
			Want("give more of it")
	}
	if s.p.Latest[name] != "" {
		return fault.New("definition/unknown", "no definition of workflow %q has a hash that begins so", name).At("id").Got(prefix)
	}
	var names []string
	for known := range s.p.Latest {
		names = append(names, known)
	}
	slices.Sort(names)
	return fault.New("definition/unknown", "project %q has no workflow %q", s.cfg.ID, name).At("id").Want("%s", suggest.Among(name, names))
}

// countExecutions counts those that are pinned to each definition. It looks at
// those that run and those that ended last: each submission asks for one.
func (s *State) countExecutions(list []*loomv1.StoredDefinition) {
	by := make(map[string]*loomv1.StoredDefinition, len(list))
	for _, d := range list {
		by[d.Hash] = d
	}
	for _, x := range s.p.Executions {
		if d := by[x.DefinitionHash]; d != nil {
			d.Executions++
			if running(x) {
				d.Running++
			}
		}
	}
	for hash, d := range by {
		d.Executions += s.shelf.pinned[hash]
	}
}
