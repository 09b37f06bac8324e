package processes

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/core/intent"
	"github.com/loomrun/loom/internal/lang/strictyaml"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// maxWithin is how many uses a step may lie within.
const maxWithin = 3

// PatternText is the file of a pattern that others may use as a step.
type PatternText struct {
	// File is how it is called in problems; Scope the world_scope of patterns where it
	// lies, empty where that is not known.
	File, Scope string
	Data        []byte
}

// PatternTexts are the files of the patterns of layers, the nearest first.
func PatternTexts(layers []Layer) (texts []PatternText) {
	for _, l := range layers {
		for _, file := range patternFiles(l.Dir) {
			if data, err := readLimited(l.Dir, file); err == nil {
				texts = append(texts, PatternText{path.Join(l.Shown, file), PatternScope(l.Name), data})
			}
		}
	}
	return texts
}

// patternUses finds the patterns that are used in the reading of one.
type patternUses struct {
	texts []PatternText
	roles *roles.Set
	names []string // of the texts, once somebody asks
	open  []int    // texts that are being read, the outermost first; -1 for one that is none of them
	read  map[int]PatternResult
}

// patternNamed is what a pattern file calls itself, and its world_scope.
func patternNamed(data []byte) (name, scope string) {
	var f patternFile
	if doc, err := strictyaml.Parse("", data); err == nil {
		doc.Decode(&f)
	}
	return f.Name, f.WorldScope
}

// begin says that a text is being read, until the function that it returns is called.
func (u *patternUses) begin(data []byte) func() {
	u.open = append(u.open, slices.IndexFunc(u.texts, func(t PatternText) bool { return bytes.Equal(t.Data, data) }))
	return func() { u.open = u.open[:len(u.open)-1] }
}

// find returns the nearest sound pattern of a name; what a global pattern uses is global.
func (u *patternUses) find(name, scope string) (*loomv1.Pattern, *fault.Error) {
	if u.names == nil {
		for i, t := range u.texts {
			own, lies := patternNamed(t.Data)
			if u.names = append(u.names, own); t.Scope == "" {
				u.texts[i].Scope = lies
			}
		}
	}
	var known []string
	var broken *fault.Error
	for i, own := range u.names {
		if scope == GlobalScope && u.texts[i].Scope != GlobalScope {
			continue
		}
		known = append(known, own)
		if own != name {
			continue
		}
		r, err := u.readText(i)
		switch {
		case err != nil:
			return nil, err
		case r.Pattern != nil:
			return r.Pattern, nil
		case broken == nil:
			broken = fault.New("pattern/use", "pattern %q is not sound", name).Because(r.Problems[0])
		}
	}
	if broken != nil {
		return nil, broken
	}
	err := fault.New("pattern/use", "there is no such pattern").Got(name).Want("%s", suggest.Among(name, known))
	if scope == GlobalScope && slices.Contains(u.names, name) {
		err = fault.New("pattern/use", "a global pattern uses global ones, and this is of the project").Got(name)
	}
	return nil, err
}

// readText reads the text of a pattern that is used.
func (u *patternUses) readText(i int) (PatternResult, *fault.Error) {
	if at := slices.Index(u.open, i); at >= 0 {
		var way []string
		for _, k := range append(u.open[at:len(u.open):len(u.open)], i) {
			way = append(way, u.names[k])
		}
		return PatternResult{}, fault.New("pattern/use", "it would be a part of itself: %s", strings.Join(way, " > "))
	}
	if len(u.open) > maxWithin {
		return PatternResult{}, tooDeep()
	}
	r, there := u.read[i]
	if !there {
		r = readPattern(u.texts[i].File, u.texts[i].Data, u.texts[i].Scope, u)
		u.read[i] = r
	}
	return r, nil
}

func tooDeep() *fault.Error {
	return fault.New("pattern/use", "patterns lie more than %d deep within one another", maxWithin).Want("write its steps out")
}

// used are the texts that were read, in their order.
func (u *patternUses) used() (texts []PatternText) {
	for i, t := range u.texts {
		if r, there := u.read[i]; there && r.Pattern != nil {
			texts = append(texts, t)
		}
	}
	return texts
}

// use checks a step that is another pattern, and returns that; nil where it is none or
// something is wrong.
func (c *patternCheck) use(p *loomv1.Pattern, i int, s *loomv1.PatternStep) *loomv1.Pattern {
	f := &c.file.Steps[i]
	if f.Pattern == "" {
		if c.notEmpty(true, "steps", i, "pattern"); len(f.Inputs) > 0 {
			c.wrong("pattern/use", "only a step that is a pattern has inputs", "steps", i, "inputs").Want("pattern: NAME")
		}
		return nil
	}
	for _, key := range []string{"role", "persona", "constraints", "questions", "timeout", "deliverables", "withholds"} {
		if c.doc.Has("steps", i, key) {
			c.wrong("pattern/use", "a step that is a pattern has that from its steps", "steps", i, key).Want("leave it out")
		}
	}
	child, err := c.uses.find(f.Pattern, p.WorldScope)
	if err != nil {
		c.add(err, "steps", i, "pattern")
		return nil
	}
	for _, inner := range child.Steps {
		for _, layer := range inner.Writes {
			if !slices.Contains(s.Writes, layer) {
				c.wrong("pattern/use", "its step \""+inner.Name+"\" writes to a layer that this one does not declare", "steps", i, "pattern").
					Got(intent.LayerName(layer)).Want("writes: [%s]", intent.LayerName(layer))
				return nil
			}
		}
		if long := s.Name + "-" + inner.Name; !phasePattern.MatchString(long) {
			c.add(fault.New("pattern/use", "with step %q of the pattern it makes %q, which has more than 24 characters", inner.Name, long).Want("a shorter name"), "steps", i, "name")
			return nil
		}
		if len(inner.Within) >= maxWithin {
			c.add(tooDeep(), "steps", i, "pattern")
			return nil
		}
	}
	return child
}

// bind says what the inputs of a used pattern are: inputs of the pattern that uses it, and
// outputs that steps before it leave.
func (c *patternCheck) bind(p, child *loomv1.Pattern, i int, left []*loomv1.PatternOutput) (bound []*loomv1.PatternBinding) {
	given := c.file.Steps[i].Inputs
	for name := range given {
		if !slices.ContainsFunc(child.Inputs, func(in *loomv1.PatternInput) bool { return in.Name == name }) {
			var names []string
			for _, in := range child.Inputs {
				names = append(names, in.Name)
			}
			c.wrong("pattern/use", "pattern \""+child.Name+"\" has no such input", "steps", i, "inputs", name).Got(name).Want("%s", suggest.Among(name, names))
		}
	}
	for _, in := range child.Inputs {
		from, there := given[in.Name]
		if !there {
			if in.Required {
				c.add(fault.New("pattern/use", "input %q of pattern %q is required, and nothing is bound to it", in.Name, child.Name).Want("inputs: {%s: an input, or an output of an earlier step}", in.Name), "steps", i, "pattern")
			}
			continue
		}
		b := &loomv1.PatternBinding{Name: in.Name, Type: in.Type, Description: in.Description}
		at := []any{"steps", i, "inputs", in.Name}
		own := slices.IndexFunc(p.Inputs, func(o *loomv1.PatternInput) bool { return o.Name == from })
		out := slices.IndexFunc(left, func(o *loomv1.PatternOutput) bool { return o.Name == from })
		switch {
		case own >= 0 && in.Required && !p.Inputs[own].Required:
			c.wrong("pattern/use", "input \""+in.Name+"\" is required there, and this one is not here", at...).Got(from).Want("required: true")
		case own >= 0 && !fits(in.Type, p.Inputs[own].Type):
			c.wrong("pattern/use", "input \""+in.Name+"\" is a "+in.Type+", and this is a "+p.Inputs[own].Type, at...).Got(from)
		case own >= 0:
			b.Input = from
		case out >= 0 && !fits(in.Type, left[out].Type):
			c.wrong("pattern/use", "input \""+in.Name+"\" is a "+in.Type+", and this is a "+left[out].Type, at...).Got(from)
		case out >= 0:
			b.Output = from
		default:
			var names []string
			for _, o := range p.Inputs {
				names = append(names, o.Name)
			}
			for _, o := range left {
				names = append(names, o.Name)
			}
			c.wrong("pattern/use", "it is no input of this pattern, and no output that a step before it leaves", at...).Got(from).Want("%s", suggest.Among(from, names))
		}
		bound = append(bound, b)
	}
	return bound
}

// fits says whether something of a type can be an input of another: each is a file, and
// what steps leave is text but for tables.
func fits(input, is string) bool {
	return input == is || input == "file" || input == "text" && slices.Contains([]string{"list", "decision", "number"}, is)
}

// expand puts the steps of used patterns in the place of the steps that they are. Children
// are those of [patternCheck.use], by the place of their step.
func (c *patternCheck) expand(p *loomv1.Pattern, children map[int]*loomv1.Pattern) {
	if len(children) == 0 {
		return
	}
	var steps []*loomv1.PatternStep
	var left, brought []*loomv1.PatternOutput
	for i, s := range p.Steps {
		child := children[i]
		if child == nil {
			if children[i+1] != nil {
				s.HandoffTo = "" // the next step has another name
			}
			steps = append(steps, s)
			for _, o := range p.Outputs {
				if slices.Contains(s.Deliverables, o.Name) {
					left = append(left, o)
				}
			}
			continue
		}
		use := &loomv1.PatternUse{
			Step: s.Name, Description: s.Description, Pattern: child.Name, Version: child.Version, Digest: intent.PatternDigest(child),
			Purpose: child.Purpose, Constraints: child.Constraints, Inputs: c.bind(p, child, i, left),
		}
		steps = append(steps, innerSteps(s, use, child)...)
		for _, o := range innerOutputs(s.Name, child) {
			left, brought = append(left, o), append(brought, o)
		}
		for _, t := range child.RequiredTools {
			if !slices.Contains(p.RequiredTools, t) {
				p.RequiredTools = append(p.RequiredTools, t)
			}
		}
	}
	p.Steps = steps
	c.joinOutputs(p, children, brought)
	if len(steps) > maxSteps {
		c.add(fault.New("pattern/use", "with the steps of the patterns that it uses it has %d steps, more than %d", len(steps), maxSteps), "steps")
	}
	for k, s := range steps {
		s.Order = uint32(k + 1) //nolint:gosec // bounded
		if slices.ContainsFunc(steps[:k], func(o *loomv1.PatternStep) bool { return o.Name == s.Name }) {
			c.wrong("pattern/use", "two steps would have one name", "steps").Got(s.Name)
		}
	}
}

// joinOutputs adds what used patterns leave to the outputs of a pattern, where it does not
// declare them itself.
func (c *patternCheck) joinOutputs(p *loomv1.Pattern, children map[int]*loomv1.Pattern, brought []*loomv1.PatternOutput) {
	for i, o := range p.Outputs {
		top, _, _ := strings.Cut(o.Name, "/")
		for k := range children {
			if c.file.Steps[k].Name == top && !slices.ContainsFunc(brought, func(b *loomv1.PatternOutput) bool { return b.Name == o.Name && b.Type == o.Type }) {
				c.wrong("pattern/use", "the folder of step \""+top+"\" has what its pattern leaves, of its types, and nothing else", "outputs", i, "name").Got(o.Name)
			}
		}
	}
	for _, o := range brought {
		if !slices.ContainsFunc(p.Outputs, func(own *loomv1.PatternOutput) bool { return own.Name == o.Name }) {
			p.Outputs = append(p.Outputs, o)
		}
	}
}

func innerOutputs(folder string, child *loomv1.Pattern) (list []*loomv1.PatternOutput) {
	for _, o := range child.Outputs {
		inner := proto.CloneOf(o)
		inner.Name = path.Join(folder, o.Name)
		list = append(list, inner)
	}
	return list
}

// innerSteps are the steps of a pattern where it is used as one: under names that begin with
// that one's, with files in its folder, and at the tempo of the step, else of the use, else
// of the pattern.
func innerSteps(s *loomv1.PatternStep, use *loomv1.PatternUse, child *loomv1.Pattern) []*loomv1.PatternStep {
	var steps []*loomv1.PatternStep
	for k, own := range child.Steps {
		inner := proto.CloneOf(own)
		inner.Name, inner.HandoffTo = s.Name+"-"+own.Name, ""
		for d, name := range inner.Deliverables {
			inner.Deliverables[d] = path.Join(s.Name, name)
		}
		for _, t := range []loomv1.Tempo{s.Tempo, child.DefaultTempo} {
			if inner.Tempo == loomv1.Tempo_TEMPO_UNSPECIFIED {
				inner.Tempo = t
			}
		}
		inner.Stop = own.Stop && k+1 < len(child.Steps) || k+1 == len(child.Steps) && (own.Stop || s.Stop)
		inner.Withholds = withheld(own.Withholds, use)
		for _, deeper := range inner.Within {
			rebind(deeper, use)
		}
		inner.Within = append([]*loomv1.PatternUse{proto.CloneOf(use)}, inner.Within...)
		steps = append(steps, inner)
	}
	return steps
}

// withheld are inputs that a step of a used pattern is not shown, as the pattern around it
// names them. What is a file of an earlier step there lies in the workspace, and is seen.
func withheld(names []string, use *loomv1.PatternUse) (list []string) {
	for _, b := range use.Inputs {
		if slices.Contains(names, b.Name) && b.Input != "" {
			list = append(list, b.Input)
		}
	}
	return list
}

// rebind tells a use within a used pattern what its inputs are in the pattern around both.
func rebind(deeper, use *loomv1.PatternUse) {
	var kept []*loomv1.PatternBinding
	for _, b := range deeper.Inputs {
		if b.Output != "" {
			b.Output = path.Join(use.Step, b.Output)
			kept = append(kept, b)
			continue
		}
		for _, outer := range use.Inputs {
			if outer.Name == b.Input {
				b.Input, b.Output = outer.Input, outer.Output
				kept = append(kept, b)
				break
			}
		}
	}
	deeper.Inputs = kept
}
