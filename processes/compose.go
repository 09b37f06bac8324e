package processes

import (
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// MaxNesting is how deep processes may contain each other.
const MaxNesting = 8

// Compose returns what is wrong with the processes that a definition's nodes
// name: one that the library lacks, one that contains the definition itself
// (named process by process), one that contains too many others in a row. The
// definition counts as the library's own under its name.
func Compose(def *loomv1.Definition, l *Library) []*fault.Error {
	var errs []*fault.Error
	for _, p := range compose(def, l, true) {
		errs = append(errs, p.err.At(spell(p.path)))
	}
	return errs
}

// compose does so; unless the library is complete, no process counts as unknown.
func compose(def *loomv1.Definition, l *Library, complete bool) (found []problem) {
	c := composition{def: def, lib: l, complete: complete, chains: map[string][]string{}}
	for i, n := range def.Nodes {
		if n.Process == "" {
			continue
		}
		if err := c.check(n.Process); err != nil {
			found = append(found, problem{err: err, path: at("nodes", i, "process")})
		}
	}
	return found
}

// composition is a definition among the others that it may use.
type composition struct {
	def      *loomv1.Definition
	lib      *Library
	complete bool                // whether the library has all there are
	chains   map[string][]string // longest chain of processes that begins with one
}

func (c composition) check(name string) *fault.Error {
	if c.get(name) == nil {
		if !c.complete {
			return nil
		}
		others := slices.DeleteFunc(c.lib.Names(), func(n string) bool { return n == c.def.Name })
		return fault.New("workflow/process", "there is no process %q", name).Want("%s", suggest.Among(name, others))
	}
	if loop := c.loop(name); loop != nil {
		return fault.New("workflow/process", "processes contain each other: %s", strings.Join(loop, " -> "))
	}
	if chain := c.chain(name); len(chain) > MaxNesting {
		return fault.New("workflow/process", "processes are nested more than %d deep: %s -> %s", MaxNesting, c.def.Name, strings.Join(chain, " -> "))
	}
	return nil
}

func (c composition) get(name string) *loomv1.Definition {
	if name == c.def.Name {
		return c.def
	}
	return c.lib.byName[name]
}

// parts returns the processes that one names, in its order.
func (c composition) parts(name string) []string {
	var parts []string
	for _, n := range c.get(name).GetNodes() {
		if n.Process != "" && !slices.Contains(parts, n.Process) {
			parts = append(parts, n.Process)
		}
	}
	return parts
}

// loop returns a shortest way from the definition over the named process back
// to it, or nil.
func (c composition) loop(name string) []string {
	before := map[string]string{name: c.def.Name}
	for queue := []string{name}; len(queue) > 0; queue = queue[1:] {
		if queue[0] == c.def.Name {
			return c.wayTo(before)
		}
		for _, part := range c.parts(queue[0]) {
			if _, seen := before[part]; !seen {
				before[part] = queue[0]
				queue = append(queue, part)
			}
		}
	}
	return nil
}

func (c composition) wayTo(before map[string]string) []string {
	way := []string{c.def.Name}
	for at := before[c.def.Name]; ; at = before[at] {
		way = append(way, at)
		if at == c.def.Name {
			slices.Reverse(way)
			return way
		}
	}
}

// chain returns the longest chain of processes, each a part of the one before,
// that begins with the named one. Where others contain each other, which is
// their authors' business, it ends.
func (c composition) chain(name string) []string {
	if chain, ok := c.chains[name]; ok {
		return chain
	}
	c.chains[name] = nil // under way
	var longest []string
	for _, part := range c.parts(name) {
		if chain := c.chain(part); len(chain) > len(longest) {
			longest = chain
		}
	}
	c.chains[name] = append([]string{name}, longest...)
	return c.chains[name]
}
