package workflow_test

import (
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// define makes a definition of a drawing: a line a node, "ID TYPE" with flags,
// or an edge, "FROM -> TO" with "!" for a failure edge and "? CONDITION".
//
// Flags of a task: role=R, max=N, multi, late (failure edge after attempts),
// critical, optional, detached, process=P, kind=commit|verify|land. An edge's id is FROM-TO, with "!" after it on failure.
func define(drawing string, change ...func(map[string]*loomv1.NodeDefinition)) *loomv1.Definition {
	d := &loomv1.Definition{Name: "drawn", Version: "1.0"}
	nodes := map[string]*loomv1.NodeDefinition{}
	for line := range strings.Lines(drawing) {
		words := strings.Fields(line)
		switch {
		case len(words) < 2:
		case words[1] == "->":
			d.Edges = append(d.Edges, drawnEdge(words))
		default:
			n := drawnNode(words)
			nodes[n.Id] = n
			d.Nodes = append(d.Nodes, n)
		}
	}
	for _, f := range change {
		f(nodes)
	}
	return d
}

// gated puts a gate before a node.
func gated(node, condition string, action loomv1.GateAction, to string, most uint32) func(map[string]*loomv1.NodeDefinition) {
	return func(n map[string]*loomv1.NodeDefinition) {
		n[node].Gate = &loomv1.Gate{Condition: condition, OnFailure: action, To: to, Max: most}
	}
}

// The actions of gates.
const (
	blocks  = loomv1.GateAction_GATE_ACTION_BLOCK
	skips   = loomv1.GateAction_GATE_ACTION_SKIP
	replans = loomv1.GateAction_GATE_ACTION_REPLAN
	fails   = loomv1.GateAction_GATE_ACTION_FAIL
)

func drawnEdge(words []string) *loomv1.EdgeDefinition {
	e := &loomv1.EdgeDefinition{Id: words[0] + "-" + words[2], From: words[0], To: words[2]}
	rest := words[3:]
	if len(rest) > 0 && rest[0] == "!" {
		e.Id, e.Outcome, rest = e.Id+"!", loomv1.EdgeOutcome_EDGE_OUTCOME_FAILURE, rest[1:]
	}
	if len(rest) > 0 && rest[0] == "?" {
		e.Condition = strings.Join(rest[1:], " ")
	}
	return e
}

func drawnNode(words []string) *loomv1.NodeDefinition {
	n := &loomv1.NodeDefinition{Id: words[0], MaxAttempts: 3, Timeout: durationpb.New(10 * time.Minute)}
	n.Type = loomv1.NodeType(loomv1.NodeType_value["NODE_TYPE_"+strings.ToUpper(words[1])])
	if n.Type == loomv1.NodeType_NODE_TYPE_TASK {
		n.Role = "researcher"
	}
	for _, flag := range words[2:] {
		key, value, _ := strings.Cut(flag, "=")
		switch key {
		case "role":
			n.Role = value
		case "max":
			n.MaxAttempts = uint32(value[0] - '0')
		case "multi":
			n.MultiDispatch = true
		case "late":
			n.FailureEdgeAfterAttempts = true
		case "critical":
			n.Criticality = loomv1.Criticality_CRITICALITY_CRITICAL
		case "detached":
			n.Detached = true
		case "optional":
			n.Criticality = loomv1.Criticality_CRITICALITY_OPTIONAL
		case "process":
			n.Process, n.Role = value, ""
		case "kind":
			n.Kind = loomv1.NodeKind(loomv1.NodeKind_value["NODE_KIND_"+strings.ToUpper(value)])
			n.Role = map[string]string{"verify": "qa-engineer"}[value]
			if n.Role == "" {
				n.Role = "engineering-manager"
			}
		}
	}
	return n
}

// autoBug is the built-in auto-bug-workflow (WF13).
func autoBug() *loomv1.Definition {
	fault := map[string]string{"fault": "string"}
	return define(`
		start start
		triage task role=qa-engineer
		investigate task role= max=5 multi
		approve approval
		commit task kind=commit
		verify task kind=verify max=1
		land task kind=land max=1
		end end
		start -> triage
		triage -> investigate ? outcome.severity != "none"
		triage -> end ? outcome.severity == "none"
		investigate -> approve
		approve -> commit
		commit -> verify
		verify -> land
		land -> end`,
		func(n map[string]*loomv1.NodeDefinition) {
			n["triage"].Outcome = map[string]string{"severity": "string", "specialist": "string", "check": "string"}
			n["investigate"].RolesAny = []string{"backend-engineer", "web-designer", "project-manager"}
			n["investigate"].RoleFrom = "outcome.triage.specialist"
			n["verify"].Outcome, n["land"].Outcome = fault, fault
			n["verify"].OnFailure = &loomv1.FailurePolicy{Max: 3, Rework: []*loomv1.ReworkRule{
				{To: "investigate", When: `outcome.fault == "change"`}, {To: "commit"},
			}}
			n["land"].OnFailure = &loomv1.FailurePolicy{Max: 3, Rework: []*loomv1.ReworkRule{{To: "commit"}}}
		})
}

// What agents of the auto-bug workflow answer when all goes well.
func triaged(severity string) *loomv1.Outcome {
	return good(map[string]any{"severity": severity, "specialist": "web-designer", "check": "go test ./..."})
}

func changed(patch string) *loomv1.Outcome {
	o := good(nil)
	o.Change = &loomv1.Change{
		Base: "b0", Commit: "w-" + patch, Tree: "t-" + patch, PatchDigest: patch,
		Files: []*loomv1.ChangedFile{{Path: "a.go", Status: "modified", Added: 1}},
	}
	return o
}

func committed(commit, patch string) *loomv1.Outcome {
	o := good(nil)
	o.Candidate = &loomv1.Candidate{Commit: commit, Tree: "t", Base: "b0", PatchDigest: patch, Token: 7, Ref: "refs/loom/candidate/p-1"}
	return o
}

func verified(commit string, checks ...string) *loomv1.Outcome {
	o := good(map[string]any{"fault": ""})
	for _, c := range checks {
		o.Checks = append(o.Checks, &loomv1.CheckRun{Command: c, Passed: true, Commit: commit})
	}
	return o
}

func landed(commit string) *loomv1.Outcome {
	o := good(map[string]any{"fault": ""})
	o.Landing = &loomv1.Landing{Commit: commit, Ref: "refs/heads/main", Target: "main", Token: 9}
	return o
}

var allChecks = []string{"go vet ./...", "go test ./..."}
