package project

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// define stores a version of a definition that the CEO gives, with what it
// leaves open filled in. Executions under way keep theirs.
func (d *decision) define(c *loomv1.ChangeDefinition) error {
	def := c.GetDefinition()
	if def == nil {
		return fault.New("definition/invalid", "there is no definition").At("definition")
	}
	if err := d.s.ofPattern(def.Name); err != nil {
		return err
	}
	if processes.OfSession(def) {
		return fault.New("intent/unsealed", "%q is the workflow of a session of a pattern, which begins with a sealed intent", def.Name).
			At("definition").Want("write it as a process of its own, without node %s, or as a pattern: loom pattern new", processes.CompletionNode)
	}
	rs := d.s.cfg.Roles
	if errs := append(processes.Validate(def, rs), processes.Compose(def, d.s.library())...); len(errs) > 0 {
		return notSound(def, fault.Join(errs))
	}
	return d.store(processes.Complete(def, rs), true)
}

// library returns the newest definitions of all names.
func (s *State) library() *processes.Library {
	var defs []*loomv1.Definition
	for _, hash := range s.p.Latest {
		defs = append(defs, s.p.Definitions[hash])
	}
	return processes.NewLibrary(defs...)
}

// store keeps a definition under its hash, and makes it the newest of its name
// unless the CEO has given one and this one comes with a host: that is kept, so
// that it can be looked at and taken back, and nothing is worked by it.
func (d *decision) store(def *loomv1.Definition, changed bool) error {
	if _, err := d.s.cfg.Compile(def); err != nil { // again when it is applied, so that replay takes the same path
		return notSound(def, err)
	}
	hash := processes.Hash(def)
	if d.s.stored(def.Name, hash, changed) {
		return nil
	}
	return d.emit(&loomv1.Event{Fact: &loomv1.Event_DefinitionStored{DefinitionStored: &loomv1.DefinitionStored{Definition: def, Hash: hash, Changed: changed}}})
}

// stored says whether storing a definition would change nothing.
func (s *State) stored(name, hash string, changed bool) bool {
	if s.p.Changed[name] && !changed {
		return s.p.Definitions[hash] != nil
	}
	return s.p.Latest[name] == hash && s.p.Changed[name] == changed
}

// notSound is the refusal of a definition, with all that is wrong with it.
func notSound(def *loomv1.Definition, err error) error {
	bad := fault.New("definition/invalid", "definition %q does not compile", def.GetName()).At("definition").Because(err)
	first := *fault.From(err)
	more := first.More
	first.More = nil
	bad.More = append([]*fault.Error{&first}, more...)
	return bad
}

func (s *State) applyDefinition(e *loomv1.Event, f *loomv1.DefinitionStored) error {
	c, err := s.cfg.Compile(f.Definition)
	if err != nil {
		return fmt.Errorf("definition %q: %w", f.Definition.GetName(), err)
	}
	name := f.Definition.Name
	if s.defs[f.Hash] == nil {
		s.p.Definitions[f.Hash] = proto.CloneOf(f.Definition)
		s.p.StoredAt[f.Hash] = e.Time
		s.defs[f.Hash] = c
	}
	if f.Changed {
		s.p.Changed[name] = true
	}
	if f.Part {
		return nil
	}
	if f.Changed || !s.p.Changed[name] {
		s.p.Latest[name] = f.Hash
	}
	return nil
}
