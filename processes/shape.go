package processes

import (
	"slices"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/core/verify"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// The shape of a process file.
type (
	processFile struct {
		Name        string            `yaml:"name" loom:"required"`
		Version     string            `yaml:"version" loom:"required"`
		Description string            `yaml:"description"`
		Metadata    map[string]string `yaml:"metadata"`
		Guide       *guideFile        `yaml:"guide"`
		Blueprint   *blueprintFile    `yaml:"blueprint"`
		Toolkit     string            `yaml:"toolkit"`
		Checkout    *checkoutFile     `yaml:"checkout"`
		Parameters  []parameterFile   `yaml:"parameters"`
		Nodes       []nodeFile        `yaml:"nodes" loom:"required"`
		Edges       []edgeFile        `yaml:"edges" loom:"required"`
	}
	checkoutFile struct {
		Sparse []string `yaml:"sparse" loom:"required"`
	}
	parameterFile struct {
		Name        string   `yaml:"name" loom:"required"`
		Description string   `yaml:"description"`
		Kind        string   `yaml:"kind"`
		Pattern     string   `yaml:"pattern"`
		OneOf       []string `yaml:"one_of"`
		Required    bool     `yaml:"required"`
	}
	guideFile struct {
		Persona        string           `yaml:"persona"`
		ToolGuidance   string           `yaml:"tool_guidance"`
		RequiredTools  []string         `yaml:"required_tools"`
		ExcludedTools  []string         `yaml:"excluded_tools"`
		AskTools       []string         `yaml:"ask_tools"`
		Rules          []ruleFile       `yaml:"rules"`
		MemoryTypes    []memoryTypeFile `yaml:"memory_types"`
		MemoryGuidance string           `yaml:"memory_guidance"`
		ScanFor        []string         `yaml:"scan_for"`
		Workspace      string           `yaml:"workspace_guidance"`
	}
	blueprintFile struct {
		Mode    string   `yaml:"mode" loom:"required"`
		Source  string   `yaml:"source" loom:"required"`
		Planned string   `yaml:"planned"`
		After   []string `yaml:"after"`
	}
	partFile struct {
		Part               string   `yaml:"part"`
		Of                 string   `yaml:"of"`
		Deliverables       []string `yaml:"deliverables"`
		AcceptanceCriteria string   `yaml:"acceptance_criteria"`
		Synthesis          bool     `yaml:"synthesis"`
		ModelTier          uint32   `yaml:"model_tier"`
		VerificationTier   uint32   `yaml:"verification_tier"`
		Check              string   `yaml:"check"`
		Document           string   `yaml:"document"`
	}
	nodeFile struct {
		ID          string            `yaml:"id" loom:"required"`
		Type        string            `yaml:"type" loom:"required"`
		Role        string            `yaml:"role"`
		RolesAny    []string          `yaml:"roles_any"`
		RoleFrom    string            `yaml:"role_from"`
		Process     string            `yaml:"process"`
		Persona     string            `yaml:"persona"`
		Phase       *partFile         `yaml:"phase"`
		Gate        *gateFile         `yaml:"gate"`
		MaxAttempts *uint32           `yaml:"max_attempts"`
		Timeout     *time.Duration    `yaml:"timeout"`
		Backoff     *backoffFile      `yaml:"backoff"`
		Memory      *accessFile       `yaml:"memory"`
		Outcome     map[string]string `yaml:"outcome"`
		Critical    *bool             `yaml:"critical"`
		Keys        *uint32           `yaml:"keys"`
		Detached    bool              `yaml:"detached"`
		OnFailure   *failureFile      `yaml:"on_failure"`
		FailureEdge string            `yaml:"failure_edge"`
		Description string            `yaml:"description"`
		Config      configFile        `yaml:"config"`
	}
	configFile struct {
		Kind          string `yaml:"kind"`
		MultiDispatch bool   `yaml:"multi_dispatch"`
	}
	gateFile struct {
		Condition string  `yaml:"condition" loom:"required"`
		OnFailure string  `yaml:"on_failure"`
		To        string  `yaml:"to"`
		Max       *uint32 `yaml:"max"`
		Passes    bool    `yaml:"passes"`
	}
	backoffFile struct {
		Initial *time.Duration `yaml:"initial"`
		Limit   *time.Duration `yaml:"limit"`
	}
	accessFile struct {
		Read  []string `yaml:"read"`
		Write []string `yaml:"write"`
	}
	failureFile struct {
		Max    uint32       `yaml:"max" loom:"required"`
		Rework []reworkFile `yaml:"rework" loom:"required"`
	}
	reworkFile struct {
		To   string `yaml:"to" loom:"required"`
		When string `yaml:"when"`
	}
	edgeFile struct {
		ID        string `yaml:"id" loom:"required"`
		From      string `yaml:"from" loom:"required"`
		To        string `yaml:"to" loom:"required"`
		Outcome   string `yaml:"outcome"`
		Condition string `yaml:"condition"`
	}
)

var (
	nodeTypes = words[loomv1.NodeType]{
		{"start", loomv1.NodeType_NODE_TYPE_START},
		{"end", loomv1.NodeType_NODE_TYPE_END},
		{"task", loomv1.NodeType_NODE_TYPE_TASK},
		{"approval", loomv1.NodeType_NODE_TYPE_APPROVAL},
		{"decision", loomv1.NodeType_NODE_TYPE_DECISION},
		{"merge", loomv1.NodeType_NODE_TYPE_MERGE},
	}
	nodeKinds = words[loomv1.NodeKind]{
		{"commit", loomv1.NodeKind_NODE_KIND_COMMIT},
		{"verify", loomv1.NodeKind_NODE_KIND_VERIFY},
		{"land", loomv1.NodeKind_NODE_KIND_LAND},
	}
	gateActions = words[loomv1.GateAction]{
		{"block", loomv1.GateAction_GATE_ACTION_BLOCK},
		{"skip", loomv1.GateAction_GATE_ACTION_SKIP},
		{"replan", loomv1.GateAction_GATE_ACTION_REPLAN},
		{"fail", loomv1.GateAction_GATE_ACTION_FAIL},
	}
	phaseParts = words[loomv1.PhasePart]{
		{"work", loomv1.PhasePart_PHASE_PART_WORK},
		{"check", loomv1.PhasePart_PHASE_PART_CHECK},
		{"review", loomv1.PhasePart_PHASE_PART_REVIEW},
		{"vote", loomv1.PhasePart_PHASE_PART_VOTE},
		{"gather", loomv1.PhasePart_PHASE_PART_GATHER},
		{"hook", loomv1.PhasePart_PHASE_PART_HOOK},
		{"plan", loomv1.PhasePart_PHASE_PART_PLAN},
		{"second", loomv1.PhasePart_PHASE_PART_SECOND},
		{"remember", loomv1.PhasePart_PHASE_PART_REMEMBER},
	}
	documentStages = words[loomv1.DocumentStage]{
		{"plan", loomv1.DocumentStage_DOCUMENT_STAGE_PLAN},
		{"render", loomv1.DocumentStage_DOCUMENT_STAGE_RENDER},
		{"review", loomv1.DocumentStage_DOCUMENT_STAGE_REVIEW},
		{"materialize", loomv1.DocumentStage_DOCUMENT_STAGE_MATERIALIZE},
		{"postlog", loomv1.DocumentStage_DOCUMENT_STAGE_POSTLOG},
	}
	ruleTypes  = typesOfRules()
	severities = words[loomv1.Severity]{
		{"warning", loomv1.Severity_SEVERITY_WARNING},
		{"error", loomv1.Severity_SEVERITY_ERROR},
	}
	edgeOutcomes = words[loomv1.EdgeOutcome]{
		{"success", loomv1.EdgeOutcome_EDGE_OUTCOME_SUCCESS},
		{"failure", loomv1.EdgeOutcome_EDGE_OUTCOME_FAILURE},
	}
)

type enum interface {
	comparable
	String() string
}

// words spells the values of an enum in a file.
type words[T enum] []struct {
	word  string
	value T
}

// typesOfRules are the words for types of rules, from the table of these.
func typesOfRules() (list words[loomv1.RuleType]) {
	for _, k := range verify.Kinds() {
		list = append(list, struct {
			word  string
			value loomv1.RuleType
		}{k.Name, k.Type})
	}
	return list
}

func (w words[T]) all() []string {
	var all []string
	for _, e := range w {
		all = append(all, e.word)
	}
	return all
}

// value returns what a word stands for; the zero value for any other.
func (w words[T]) value(word string) (value T) {
	for _, e := range w {
		if e.word == word {
			return e.value
		}
	}
	return value
}

// word spells a value, or says its name where it has no word.
func (w words[T]) word(value T) string {
	for _, e := range w {
		if e.value == value {
			return e.word
		}
	}
	return value.String()
}

// lookUp returns the value of a word; an absent one has the zero value.
func lookUp[T enum](c *compiler, known words[T], word, code string, path ...any) (value T) {
	all := known.all()
	if i := slices.Index(all, word); i >= 0 {
		return known[i].value
	}
	if c.doc.Has(path...) {
		c.add(fault.New(code, "unknown %v", path[len(path)-1]).Got(word).Want("%s", suggest.Among(word, all)), path...)
	}
	return value
}
