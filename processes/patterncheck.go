package processes

import (
	"slices"
	"strings"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/core/intent"
	"github.com/loomrun/loom/internal/core/verify"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// The limits of a pattern.
const (
	maxSteps       = 16
	maxPurpose     = 300 // bytes
	maxSentence    = 500 // bytes of a constraint, question or description of a slot
	maxSentences   = 16
	maxStepText    = 4 << 10
	longestStep    = 24 * time.Hour
	shortestStep   = time.Second
	maxOwnQuestion = 12
)

// check reports what is wrong with a pattern: its words, questions, steps, what
// they leave and hand on, and whether it may lie where it lies.
func (c *patternCheck) check(p *loomv1.Pattern, scope string) {
	f := c.file
	if f.Kind != PatternKind {
		c.wrong("pattern/invalid", "unknown kind", "kind").Got(f.Kind).Want("pattern")
	}
	if !namePattern.MatchString(f.Name) {
		c.wrong("pattern/invalid", "name "+nameForm, "name").Got(f.Name)
	}
	if m := versionPattern.FindStringSubmatch(f.Version); m == nil || m[1] != "1" {
		c.wrong("pattern/invalid", "version is not 1.MINOR", "version").Got(f.Version).Want(`write it as "1.0", with quotes`)
	}
	c.oneOf(f.Family, patternFamilies, "family")
	c.sentence(p.Purpose, maxPurpose, "purpose")
	c.oneOf(f.WorldScope, worldScopes, "world_scope")
	if scope != "" && f.WorldScope != scope && slices.Contains(worldScopes, f.WorldScope) {
		c.wrong("pattern/scope", "a pattern that lies here has the world_scope "+scope, "world_scope").Got(f.WorldScope).
			Want("patterns of a workspace are of the project; those of users, machines and Loom are global")
	}
	for i, t := range f.RequiredTools {
		if !slices.Contains(roles.KnownTools(), t) {
			c.wrong("pattern/invalid", "there is no such tool", "required_tools", i).Got(t).Want("%s", suggest.Among(t, roles.KnownTools()))
		}
	}
	c.slots(f.Inputs, inputTypes, "inputs")
	c.slots(f.Outputs, outputTypes, "outputs")
	for i, o := range f.Outputs {
		if d, err := verify.ParseDeliverable(o.Name); err != nil || d.Name != o.Name {
			c.wrong("pattern/invalid", "an output is a file of the workspace", "outputs", i, "name").Got(o.Name).Want("letters, digits, '.', '-', '_' and '/'")
		}
	}
	c.sentences(f.Constraints, "constraints")
	c.questions(p)
	c.rubric()
	c.steps(p)
}

// wrong reports a problem of the value at a path.
func (c *patternCheck) wrong(code, message string, at ...any) *fault.Error {
	err := fault.New(code, "%s", message)
	c.add(err, at...)
	return err
}

func (c *patternCheck) oneOf(word string, known []string, at ...any) {
	if !slices.Contains(known, word) && c.doc.Has(at...) {
		key, _ := at[len(at)-1].(string)
		c.wrong("pattern/invalid", "unknown "+key, at...).Got(word).Want("%s", suggest.Among(word, known))
	}
}

func (c *patternCheck) sentence(text string, most int, at ...any) {
	if c.doc.Has(at...) && (strings.TrimSpace(text) == "" || len(text) > most) {
		err := fault.New("pattern/invalid", "it has 1 to %d bytes, and this has %d", most, len(text))
		c.add(err, at...)
	}
}

func (c *patternCheck) sentences(list []string, at ...any) {
	if len(list) > maxSentences {
		c.add(fault.New("pattern/invalid", "%d entries, more than %d", len(list), maxSentences), at...)
	}
	for i, s := range list {
		c.sentence(s, maxSentence, join(at, i)...)
	}
}

func (c *patternCheck) slots(list []slotFile, types []string, key string) {
	for i, s := range list {
		if s.Name == "" || len(s.Name) > 64 {
			c.wrong("pattern/invalid", "a name has 1 to 64 bytes", key, i, "name").Got(s.Name)
		}
		if slices.ContainsFunc(list[:i], func(o slotFile) bool { return o.Name == s.Name }) {
			c.wrong("pattern/invalid", "the name is there already", key, i, "name").Got(s.Name)
		}
		c.oneOf(s.Type, types, key, i, "type")
		c.sentence(s.Description, maxSentence, key, i, "description")
		if key == "outputs" && s.Required {
			c.wrong("pattern/invalid", "an output is always required", key, i, "required").Want("leave it out")
		}
	}
}

// questions holds the questions of primacy to what holds for those of a model,
// and wants one for each field without which work does not begin.
func (c *patternCheck) questions(p *loomv1.Pattern) {
	if len(c.file.Questions) == 0 {
		return
	}
	if len(c.file.Questions) > maxOwnQuestion {
		c.add(fault.New("pattern/question", "%d questions, more than %d: nobody answers so many", len(c.file.Questions), maxOwnQuestion), "primacy_questions")
	}
	governor := intent.NewGovernor(nil, p)
	for i, q := range p.Questions {
		if v := governor.Judge(q.Text); v.Rule != "" {
			c.wrong("pattern/question", "by rule \""+v.Rule+"\": "+v.Reason(), "primacy_questions", i, "ask").Got(q.Text)
		}
		if slices.ContainsFunc(p.Questions[:i], func(o *loomv1.PatternQuestion) bool { return o.Text == q.Text }) {
			c.wrong("pattern/question", "it is asked already", "primacy_questions", i, "ask").Got(q.Text)
		}
	}
	if slices.ContainsFunc(p.Questions, func(q *loomv1.PatternQuestion) bool { return q.About == 0 }) {
		return // who knows what it was meant to be about
	}
	for _, f := range []loomv1.IntentField{intent.Goal, intent.Constraints, intent.Audience, intent.Success} {
		if !slices.ContainsFunc(p.Questions, func(q *loomv1.PatternQuestion) bool { return q.About == f }) {
			c.doc.Add(fault.New("pattern/question", "no question is about %s", intent.FieldName(f)).Want("goal, constraints, audience and success have one each"), "primacy_questions")
		}
	}
}

func (c *patternCheck) rubric() {
	if len(c.file.Rubric) == 0 || len(c.file.Rubric) > maxSentences {
		c.add(fault.New("pattern/invalid", "a rubric has 1 to %d questions", maxSentences), "rubric")
	}
	for i, r := range c.file.Rubric {
		if !ruleName.MatchString(r.Name) || slices.ContainsFunc(c.file.Rubric[:i], func(o rubricFile) bool { return o.Name == r.Name }) {
			c.wrong("pattern/invalid", "a name of the rubric is 1 to 32 of a-z, 0-9, _ and -, each once", "rubric", i, "name").Got(r.Name)
		}
		c.sentence(r.Question, maxSentence, "rubric", i, "question")
	}
}

func (c *patternCheck) steps(p *loomv1.Pattern) {
	if len(p.Steps) == 0 || len(p.Steps) > maxSteps {
		c.add(fault.New("pattern/step", "a pattern has 1 to %d steps, and this has %d", maxSteps, len(p.Steps)), "steps")
	}
	children := map[int]*loomv1.Pattern{}
	for i, s := range p.Steps {
		c.stepText(i, s)
		c.stepWrites(i, s)
		c.stepWithholds(i, s)
		c.handoff(p, i, s)
		if child := c.use(p, i, s); child != nil {
			children[i] = child
		}
	}
	declared := len(p.Outputs)
	if len(c.doc.Problems()) == 0 {
		c.expand(p, children)
	}
	for i, o := range p.Outputs[:declared] {
		ofUse := slices.ContainsFunc(c.file.Steps, func(s stepFile) bool { return s.Pattern != "" && strings.HasPrefix(o.Name, s.Name+"/") })
		if !ofUse && !slices.ContainsFunc(p.Steps, func(s *loomv1.PatternStep) bool { return slices.Contains(s.Deliverables, o.Name) }) {
			c.wrong("pattern/step", "no step leaves this output", "outputs", i, "name").Got(o.Name)
		}
	}
}

func (c *patternCheck) stepText(i int, s *loomv1.PatternStep) {
	if int(s.Order) != i+1 {
		c.add(fault.New("pattern/step", "the order of steps[%d] is %d", i, s.Order).Want("it is %d: steps are numbered from 1 in their order", i+1), "steps", i, "order")
	}
	if !phasePattern.MatchString(s.Name) || s.Name == handoffComplete || slices.ContainsFunc(c.file.Steps[:i], func(o stepFile) bool { return o.Name == s.Name }) {
		c.wrong("pattern/step", "a name is 1 to 24 of a-z, 0-9, _ and -, each once, and not complete", "steps", i, "name").Got(s.Name)
	}
	if ownName(s.Name) {
		c.wrong("pattern/step", "it is what Loom calls a step of its own", "steps", i, "name").Got(s.Name).Want("choose another")
	}
	c.sentence(s.Description, maxStepText, "steps", i, "description")
	c.sentence(s.Persona, maxPersona, "steps", i, "persona")
	c.sentences(s.Constraints, "steps", i, "constraints")
	c.sentences(s.Questions, "steps", i, "questions")
	if t := s.Timeout; t != nil && (t.AsDuration() < shortestStep || t.AsDuration() > longestStep) {
		c.wrong("pattern/step", "a timeout is within 1s and 24h", "steps", i, "timeout").Got(t.AsDuration().String())
	}
	r, ok := c.roles.Get(s.Role)
	switch {
	case !ok:
		c.wrong("pattern/step", "there is no such role", "steps", i, "role").Got(s.Role).Want("%s", suggest.Among(s.Role, c.roles.Names()))
	case r.Human:
		c.wrong("pattern/step", "the role is played by people, who get no steps", "steps", i, "role").Got(s.Role)
	}
}

// layerTools are the tools of which a role needs one to write to a layer.
var layerTools = map[loomv1.SessionLayer][]string{
	loomv1.SessionLayer_SESSION_LAYER_FILES:     {"file_write", "file_edit", "document_write"},
	loomv1.SessionLayer_SESSION_LAYER_DECISIONS: {"decision_log"},
}

// stepWrites holds what a step writes to within what its role can.
func (c *patternCheck) stepWrites(i int, s *loomv1.PatternStep) {
	r, known := c.roles.Get(s.Role)
	known = known && c.file.Steps[i].Pattern == "" // else its own steps were held to that
	for k, layer := range s.Writes {
		tools := layerTools[layer]
		if known && len(tools) > 0 && !slices.ContainsFunc(tools, func(t string) bool { return slices.Contains(r.Tools.All(), t) }) {
			c.wrong("pattern/step", "role "+r.Name+" has no tool that writes there", "steps", i, "writes", k).Got(intent.LayerName(layer))
		}
		if slices.Contains(s.Writes[:k], layer) && layer != 0 {
			c.wrong("pattern/step", "the layer is there already", "steps", i, "writes", k).Got(intent.LayerName(layer))
		}
	}
	if len(s.Deliverables) > 0 && !slices.Contains(s.Writes, loomv1.SessionLayer_SESSION_LAYER_FILES) {
		c.wrong("pattern/step", "a step that leaves outputs writes to files", "steps", i, "deliverables").Want("writes: [files]")
	}
	for k, name := range s.Deliverables {
		if !slices.ContainsFunc(c.file.Outputs, func(o slotFile) bool { return o.Name == name }) {
			c.wrong("pattern/step", "the pattern has no such output", "steps", i, "deliverables", k).Got(name).Want("%s", suggest.Among(name, c.outputNames()))
		}
		if slices.Contains(s.Deliverables[:k], name) {
			c.wrong("pattern/step", "the output is there already", "steps", i, "deliverables", k).Got(name)
		}
	}
}

// stepWithholds holds what a step is not shown to what there is.
func (c *patternCheck) stepWithholds(i int, s *loomv1.PatternStep) {
	var names []string
	for _, in := range c.file.Inputs {
		names = append(names, in.Name)
	}
	for k, name := range s.Withholds {
		if !slices.Contains(names, name) {
			c.wrong("pattern/step", "the pattern has no such input", "steps", i, "withholds", k).Got(name).Want("%s", suggest.Among(name, names))
		}
		if slices.Contains(s.Withholds[:k], name) {
			c.wrong("pattern/step", "the input is there already", "steps", i, "withholds", k).Got(name)
		}
	}
}

func (c *patternCheck) outputNames() (names []string) {
	for _, o := range c.file.Outputs {
		names = append(names, o.Name)
	}
	return names
}

// handoffComplete goes to the completion check.
const handoffComplete = "complete"

// handoff checks where a step hands on to: a later one, and so that every step
// is come to.
func (c *patternCheck) handoff(p *loomv1.Pattern, i int, s *loomv1.PatternStep) {
	later := []string{handoffComplete}
	for _, o := range p.Steps[i+1:] {
		later = append(later, o.Name)
	}
	switch {
	case s.HandoffTo == "":
		c.notEmptyHandoff(i)
	case !slices.Contains(later, s.HandoffTo):
		c.wrong("pattern/handoff", "it is no later step", "steps", i, "handoff_to").Got(s.HandoffTo).Want("%s", suggest.Among(s.HandoffTo, later))
	case i+1 < len(p.Steps) && s.HandoffTo != p.Steps[i+1].Name:
		c.add(fault.New("pattern/handoff", "then nothing leads to step %d, %q", i+2, p.Steps[i+1].Name).Want("hand over to it"), "steps", i, "handoff_to")
	}
}

func (c *patternCheck) notEmptyHandoff(i int) { c.notEmpty(true, "steps", i, "handoff_to") }
