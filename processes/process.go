package processes

import (
	_ "embed"
	"strings"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Process is what a file with phases says beside the definition that it is
// compiled to. It never changes.
type Process struct {
	Name, Version, Description string
	// Mode is strict, guided or suggestive.
	Mode string
	// Phases in the order of the file.
	Phases []PhaseSummary
	// Examples show a planner how goals were taken apart.
	Examples []Example
	// Scan is what to look for in a workspace, as "GLOB, ... — why"; Analysis
	// says what to make of it.
	Scan     []string
	Analysis string
	// When to plan anew, and how.
	Triggers, Replanning string
	// Hooks are what runs before, between and after the phases, each as "WHEN: WHAT".
	Hooks []string
	// Tools are the files of the package's own tools, below tools/.
	Tools      []string
	Definition *loomv1.Definition
}

//go:embed beginning.yaml
var beginning string

//go:embed beginning-test.yaml
var beginningTest string

//go:embed beginning-script.yaml
var beginningScript string

// Beginning returns a process file to begin with, under a name.
func Beginning(name string) string { return strings.ReplaceAll(beginning, "NAME", name) }

// BeginningTest returns a test of such a process, and what the model answers in it.
func BeginningTest() (test, script string) { return beginningTest, beginningScript }

// PhaseSummary is a phase as lists show it.
type PhaseSummary struct {
	ID, Description     string
	DependsOn           []string
	Process, Role       string
	Critical, Synthesis bool
	// Why it is critical: "declared", or what it is critical by; empty if it is not.
	Why string
	// Kept says that a plan has to keep it: it is declared critical, or a synthesis.
	Kept                bool
	ModelTier, Verified uint32
	Deliverables        []string
	Acceptance          string
	Gate                string
}

// Example is a goal and the subtasks that it was taken apart into.
type Example struct {
	Goal     string
	Subtasks []PhaseSummary
}

// process tells what a draft says.
func (d *draft) process(def *loomv1.Definition) *Process {
	p := &Process{
		Name: d.Name, Version: d.Version, Description: strings.TrimSpace(d.Description),
		Mode: orElse(d.PhaseMode, Guided), Scan: d.WorkspaceAnalysis.ScanFor, Analysis: strings.TrimSpace(d.WorkspaceAnalysis.Guidance),
		Triggers: strings.TrimSpace(d.Replanning.Triggers), Replanning: strings.TrimSpace(d.Replanning.Guidance),
		Tools: d.toolFiles, Hooks: d.hookTexts(), Definition: def,
	}
	for i := range d.Phases {
		s := d.Phases[i].summary()
		s.Critical, s.Why = d.critical(i)
		s.Kept = d.Phases[i].keeps()
		p.Phases = append(p.Phases, s)
	}
	for _, e := range d.PlannerExamples {
		x := Example{Goal: e.Goal}
		for _, s := range e.Subtasks {
			x.Subtasks = append(x.Subtasks, s.summary())
		}
		p.Examples = append(p.Examples, x)
	}
	return p
}

func (p *phaseFile) summary() PhaseSummary {
	s := PhaseSummary{
		ID: p.ID, Description: strings.TrimSpace(p.Description), DependsOn: p.DependsOn, Process: p.Process, Role: p.Role,
		Synthesis: p.IsSynthesis, Deliverables: p.Deliverables, Acceptance: strings.TrimSpace(p.AcceptanceCriteria),
	}
	if p.Process == "" {
		s.ModelTier, s.Verified, s.Role = tierOf(p.ModelTier, 2), tierOf(p.VerificationTier, 1), orElse(p.Role, Analyst)
	}
	if p.Gate != nil {
		s.Gate = p.Gate.Condition
	}
	return s
}

func (s *subtaskFile) summary() PhaseSummary {
	return PhaseSummary{
		ID: s.ID, Description: strings.TrimSpace(s.Description), DependsOn: s.DependsOn, Critical: s.IsCriticalPath, Synthesis: s.IsSynthesis,
		ModelTier: tierOf(s.ModelTier, 2), Verified: tierOf(s.VerificationTier, 1), Deliverables: s.Deliverables, Acceptance: s.AcceptanceCriteria,
	}
}
