package processes

import "time"

// The shape of a process file with phases. Of an included file no key is
// required.
type (
	phasesFile struct {
		Name              string            `yaml:"name"`
		Version           string            `yaml:"version"`
		Description       string            `yaml:"description"`
		Author            string            `yaml:"author"`
		Tags              []string          `yaml:"tags"`
		Metadata          map[string]string `yaml:"metadata"`
		Includes          []string          `yaml:"includes"`
		Persona           string            `yaml:"persona"`
		ToolGuidance      string            `yaml:"tool_guidance"`
		Tools             toolsFile         `yaml:"tools"`
		Checkout          *checkoutFile     `yaml:"checkout"`
		Parameters        []parameterFile   `yaml:"parameters"`
		PhaseMode         string            `yaml:"phase_mode"`
		Phases            []phaseFile       `yaml:"phases"`
		Verification      verificationFile  `yaml:"verification"`
		Memory            memoryFile        `yaml:"memory"`
		WorkspaceAnalysis analysisFile      `yaml:"workspace_analysis"`
		PlannerExamples   []exampleFile     `yaml:"planner_examples"`
		Replanning        replanningFile    `yaml:"replanning"`
		Hooks             hooksFile         `yaml:"hooks"`
	}
	toolsFile struct {
		Guidance string   `yaml:"guidance"`
		Required []string `yaml:"required"`
		Excluded []string `yaml:"excluded"`
		Ask      []string `yaml:"ask"`
	}
	phaseFile struct {
		ID                 string            `yaml:"id" loom:"required"`
		Description        string            `yaml:"description"`
		DependsOn          []string          `yaml:"depends_on"`
		ModelTier          *uint32           `yaml:"model_tier"`
		VerificationTier   *uint32           `yaml:"verification_tier"`
		IsCriticalPath     *bool             `yaml:"is_critical_path"`
		IsSynthesis        bool              `yaml:"is_synthesis"`
		AcceptanceCriteria string            `yaml:"acceptance_criteria"`
		Deliverables       []string          `yaml:"deliverables"`
		Gate               *gateFile         `yaml:"gate"`
		Process            string            `yaml:"process"`
		Document           string            `yaml:"document"`
		Role               string            `yaml:"role"`
		Persona            string            `yaml:"persona"`
		Outcome            map[string]string `yaml:"outcome"`
		MayReplan          bool              `yaml:"may_replan"`
		Detached           bool              `yaml:"detached"`
		Memory             *phaseMemoryFile  `yaml:"memory"`
		MaxAttempts        *uint32           `yaml:"max_attempts"`
		Timeout            *time.Duration    `yaml:"timeout"`
	}
	verificationFile struct {
		Rules []ruleFile `yaml:"rules"`
	}
	ruleFile struct {
		Name        string         `yaml:"name" loom:"required"`
		Description string         `yaml:"description"`
		Type        string         `yaml:"type"`
		Check       string         `yaml:"check"`
		With        map[string]any `yaml:"with"`
		Target      string         `yaml:"target"`
		Severity    string         `yaml:"severity"`
		Expect      string         `yaml:"expect"`
		Phases      []string       `yaml:"phases"`
		Replan      bool           `yaml:"replan"`
	}
	phaseMemoryFile struct {
		Extract *bool `yaml:"extract"`
	}
	memoryFile struct {
		Extract            bool             `yaml:"extract"`
		ExtractTypes       []memoryTypeFile `yaml:"extract_types"`
		ExtractionGuidance string           `yaml:"extraction_guidance"`
	}
	memoryTypeFile struct {
		Type        string `yaml:"type" loom:"required"`
		Description string `yaml:"description"`
	}
	analysisFile struct {
		ScanFor  []string `yaml:"scan_for"`
		Guidance string   `yaml:"guidance"`
	}
	exampleFile struct {
		Goal     string        `yaml:"goal" loom:"required"`
		Subtasks []subtaskFile `yaml:"subtasks" loom:"required"`
	}
	subtaskFile struct {
		ID                 string   `yaml:"id" loom:"required"`
		Description        string   `yaml:"description" loom:"required"`
		DependsOn          []string `yaml:"depends_on"`
		ModelTier          *uint32  `yaml:"model_tier"`
		VerificationTier   *uint32  `yaml:"verification_tier"`
		IsCriticalPath     bool     `yaml:"is_critical_path"`
		IsSynthesis        bool     `yaml:"is_synthesis"`
		AcceptanceCriteria string   `yaml:"acceptance_criteria"`
		Deliverables       []string `yaml:"deliverables"`
	}
	replanningFile struct {
		Triggers string `yaml:"triggers"`
		Guidance string `yaml:"guidance"`
	}
	hooksFile struct {
		BeforePlan    []hookFile `yaml:"before_plan"`
		AfterPlan     []hookFile `yaml:"after_plan"`
		BetweenPhases []hookFile `yaml:"between_phases"`
		AfterComplete []hookFile `yaml:"after_complete"`
	}
	hookFile struct {
		Check        string   `yaml:"check"`
		Action       string   `yaml:"action"`
		Approve      string   `yaml:"approve"`
		ModelTier    *uint32  `yaml:"model_tier"`
		Role         string   `yaml:"role"`
		Deliverables []string `yaml:"deliverables"`
		After        []string `yaml:"after"`
	}
)
