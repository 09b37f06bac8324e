package processes

import (
	_ "embed"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/lang/strictyaml"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// PatternKind is the kind of a file that is a pattern.
const PatternKind = "pattern"

// The shape of a pattern file.
type (
	patternFile struct {
		Kind          string         `yaml:"kind" loom:"required"`
		Name          string         `yaml:"name" loom:"required"`
		Version       string         `yaml:"version" loom:"required"`
		Family        string         `yaml:"family" loom:"required"`
		Purpose       string         `yaml:"purpose" loom:"required"`
		WorldScope    string         `yaml:"world_scope" loom:"required"`
		DefaultTempo  string         `yaml:"default_tempo"`
		RequiredTools []string       `yaml:"required_tools"`
		Inputs        []slotFile     `yaml:"inputs"`
		Outputs       []slotFile     `yaml:"outputs" loom:"required"`
		Questions     []questionFile `yaml:"primacy_questions"`
		Constraints   []string       `yaml:"constraints"`
		Steps         []stepFile     `yaml:"steps" loom:"required"`
		Rubric        []rubricFile   `yaml:"rubric" loom:"required"`
	}
	slotFile struct {
		Name        string `yaml:"name" loom:"required"`
		Type        string `yaml:"type" loom:"required"`
		Description string `yaml:"description"`
		Required    bool   `yaml:"required"`
	}
	questionFile struct {
		Ask   string `yaml:"ask" loom:"required"`
		About string `yaml:"about" loom:"required"`
	}
	rubricFile struct {
		Name     string `yaml:"name" loom:"required"`
		Question string `yaml:"question" loom:"required"`
	}
	stepFile struct {
		Order        uint32         `yaml:"order" loom:"required"`
		Name         string         `yaml:"name" loom:"required"`
		Description  string         `yaml:"description" loom:"required"`
		Role         string         `yaml:"role"`
		Persona      string         `yaml:"persona"`
		Writes       []string       `yaml:"writes"`
		Tempo        string         `yaml:"tempo"`
		Stop         bool           `yaml:"stop"`
		Timeout      *time.Duration `yaml:"timeout"`
		Constraints  []string       `yaml:"constraints"`
		Questions    []string       `yaml:"questions"`
		Deliverables []string       `yaml:"deliverables"`
		HandoffTo    string         `yaml:"handoff_to"`
		Withholds    []string       `yaml:"withholds"`

		Pattern string            `yaml:"pattern"`
		Inputs  map[string]string `yaml:"inputs"`
	}
)

// The words of a pattern file.
var (
	patternFamilies = []string{"ideation", "structuring", "decision", "production", "refinement", "analysis"}
	worldScopes     = []string{GlobalScope, ProjectScope}
	inputTypes      = []string{"text", "list", "number", "file", "table"}
	outputTypes     = []string{"text", "list", "table", "decision"}

	tempos = words[loomv1.Tempo]{
		{"allegro", loomv1.Tempo_TEMPO_ALLEGRO}, {"andante", loomv1.Tempo_TEMPO_ANDANTE}, {"adagio", loomv1.Tempo_TEMPO_ADAGIO},
	}
	intentFields = words[loomv1.IntentField]{
		{"goal", loomv1.IntentField_INTENT_FIELD_GOAL},
		{"constraints", loomv1.IntentField_INTENT_FIELD_CONSTRAINTS},
		{"audience", loomv1.IntentField_INTENT_FIELD_AUDIENCE},
		{"scope", loomv1.IntentField_INTENT_FIELD_SCOPE},
		{"success", loomv1.IntentField_INTENT_FIELD_SUCCESS},
	}
	memoryLayers = words[loomv1.SessionLayer]{
		{"active", loomv1.SessionLayer_SESSION_LAYER_ACTIVE},
		{"durable", loomv1.SessionLayer_SESSION_LAYER_DURABLE},
		{"files", loomv1.SessionLayer_SESSION_LAYER_FILES},
		{"decisions", loomv1.SessionLayer_SESSION_LAYER_DECISIONS},
	}
)

// Where a pattern may lie: with Loom, a user or the machine, or in a project.
const (
	GlobalScope  = "global"
	ProjectScope = "project"
)

// defaultQuestions are asked by a pattern that has none of its own.
var defaultQuestions = []*loomv1.PatternQuestion{
	{Text: "What do you want to hold in your hands when this session is over?", About: loomv1.IntentField_INTENT_FIELD_GOAL},
	{Text: "What must the result keep to, and where does it end?", About: loomv1.IntentField_INTENT_FIELD_CONSTRAINTS},
	{Text: "Who will use the result?", About: loomv1.IntentField_INTENT_FIELD_AUDIENCE},
	{Text: "By what will you know that it has worked?", About: loomv1.IntentField_INTENT_FIELD_SUCCESS},
}

// IsPattern says whether a file is a pattern, sound or not.
func IsPattern(data []byte) bool {
	doc, err := strictyaml.Parse("", data)
	if err != nil {
		return false
	}
	return doc.Has("kind")
}

// PatternResult is what became of a pattern file: the pattern and the workflow
// that it is compiled to, or all that is wrong with it.
type PatternResult struct {
	File     string
	Pattern  *loomv1.Pattern
	Workflow *loomv1.Definition
	Problems []*fault.Error
	// Used are the texts of the patterns that it uses as steps, and of those that these use.
	Used []PatternText
}

// ReadPattern reads a pattern file. All that is wrong is reported at once as
// FILE:LINE:COL, with codes yaml/... and pattern/...; at most 50 problems. Scope
// is the world_scope that patterns have where the file lies, empty where that is
// not known. Others are those that it may use as steps, the nearest first: their
// steps stand in the place of such a step.
func ReadPattern(file string, data []byte, scope string, rs *roles.Set, others []PatternText) PatternResult {
	u := &patternUses{texts: slices.Clone(others), roles: rs, read: map[int]PatternResult{}}
	r := readPattern(file, data, scope, u)
	r.Used = u.used()
	return r
}

func readPattern(file string, data []byte, scope string, u *patternUses) PatternResult {
	defer u.begin(data)()
	r := PatternResult{File: file}
	doc, err := strictyaml.Parse(file, data)
	if err != nil {
		r.Problems = []*fault.Error{fault.From(err)}
		return r
	}
	var f patternFile
	doc.Decode(&f)
	c := &patternCheck{compiler: compiler{doc}, file: &f, roles: u.roles, uses: u}
	p := c.pattern()
	c.check(p, scope)
	if r.Problems = doc.Problems(); len(r.Problems) == 0 {
		var problems []*fault.Error
		if r.Workflow, problems = compilePattern(p, u.roles); len(problems) > 0 {
			// What the rules of patterns let through and those of workflows do not.
			r.Problems = []*fault.Error{fault.New("pattern/invalid", "it makes no sound workflow").Because(problems[0]).At(doc.Place("steps"))}
		} else {
			r.Pattern = p
		}
	}
	r.Problems = r.Problems[:min(len(r.Problems), maxProblems)]
	return r
}

// patternCheck makes a pattern of a file, and reports what is wrong.
type patternCheck struct {
	compiler
	file  *patternFile
	roles *roles.Set
	uses  *patternUses
}

func (c *patternCheck) pattern() *loomv1.Pattern {
	f := c.file
	p := &loomv1.Pattern{
		Name: f.Name, Version: f.Version, Family: f.Family, Purpose: strings.TrimSpace(f.Purpose), WorldScope: f.WorldScope,
		RequiredTools: f.RequiredTools, Constraints: trimmed(f.Constraints), DefaultTempo: lookUp(&c.compiler, tempos, f.DefaultTempo, "pattern/invalid", "default_tempo"),
	}
	if p.DefaultTempo == loomv1.Tempo_TEMPO_UNSPECIFIED {
		p.DefaultTempo = loomv1.Tempo_TEMPO_ANDANTE
	}
	for _, in := range f.Inputs {
		p.Inputs = append(p.Inputs, &loomv1.PatternInput{Name: in.Name, Type: in.Type, Description: strings.TrimSpace(in.Description), Required: in.Required})
	}
	for _, out := range f.Outputs {
		p.Outputs = append(p.Outputs, &loomv1.PatternOutput{Name: out.Name, Type: out.Type, Description: strings.TrimSpace(out.Description)})
	}
	for i, q := range f.Questions {
		p.Questions = append(p.Questions, &loomv1.PatternQuestion{
			Text: strings.TrimSpace(q.Ask), About: lookUp(&c.compiler, intentFields, q.About, "pattern/question", "primacy_questions", i, "about"),
		})
	}
	if len(p.Questions) == 0 {
		p.Questions = defaultQuestions
	}
	for _, r := range f.Rubric {
		p.Rubric = append(p.Rubric, &loomv1.RubricItem{Name: r.Name, Question: strings.TrimSpace(r.Question)})
	}
	for i := range f.Steps {
		p.Steps = append(p.Steps, c.step(&f.Steps[i], i))
	}
	return p
}

func (c *patternCheck) step(f *stepFile, i int) *loomv1.PatternStep {
	s := &loomv1.PatternStep{
		Order: f.Order, Name: f.Name, Description: strings.TrimSpace(f.Description), Role: orElse(f.Role, Analyst), Persona: strings.TrimSpace(f.Persona),
		Tempo: lookUp(&c.compiler, tempos, f.Tempo, "pattern/invalid", "steps", i, "tempo"), Constraints: trimmed(f.Constraints), HandoffTo: f.HandoffTo,
		Deliverables: f.Deliverables, Questions: trimmed(f.Questions), Stop: f.Stop, Withholds: f.Withholds,
	}
	if canonicalName := canonical(s.Role, c.roles); canonicalName != "" {
		s.Role = canonicalName
	}
	if f.Timeout != nil {
		s.Timeout = durationpb.New(*f.Timeout)
	}
	for k, w := range f.Writes {
		layer := memoryLayers.value(w)
		if layer == 0 {
			c.wrong("pattern/step", "unknown layer", "steps", i, "writes", k).Got(w).Want("%s", suggest.Among(w, memoryLayers.all()))
		}
		s.Writes = append(s.Writes, layer)
	}
	return s
}

func trimmed(list []string) []string {
	var all []string
	for _, s := range list {
		all = append(all, strings.TrimSpace(s))
	}
	return all
}

//go:embed beginning-pattern.yaml
var beginningPattern string

// BeginningPattern returns a pattern file to begin with, under a name, for where
// patterns have that scope.
func BeginningPattern(name, scope string) string {
	return strings.NewReplacer("NAME", name, "SCOPE", scope).Replace(beginningPattern)
}

// TempoNamed returns the tempo of a name; unset for any other.
func TempoNamed(name string) loomv1.Tempo { return tempos.value(name) }

// TempoName spells a tempo, as files do.
func TempoName(t loomv1.Tempo) string { return tempos.word(t) }

//go:embed beginning-session.yaml
var beginningSession string

// BeginningSession returns an example session of [BeginningPattern].
func BeginningSession() string { return beginningSession }
