package processes_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/workflow"
	"github.com/loomrun/loom/internal/core/workflow/workflowtest"
	"github.com/loomrun/loom/processes"
	"github.com/loomrun/loom/roles"
)

// shape are the codes of what makes a graph no workflow, whatever its nodes
// may do: the engine knows all of them as well.
var shape = []string{"workflow/cycle", "workflow/start", "workflow/end", "workflow/duplicate", "workflow/condition"}

// What the validator accepts, the engine compiles; and in what makes a graph
// no workflow the two agree both ways.
func TestWF02_ValidatorAgreesWithEngine(t *testing.T) {
	rs := roles.Builtin()
	agreed := map[bool]int{}
	rapid.Check(t, func(t *rapid.T) {
		def := drawDefinition(t)
		problems := processes.Validate(def, rs)
		_, err := workflow.Compile(processes.Complete(def, rs))
		if len(problems) == 0 && err != nil {
			t.Fatalf("valid, but the engine says %v\n%s", err, source(def))
		}
		i := slices.IndexFunc(problems, func(p *fault.Error) bool { return slices.Contains(shape, p.Code) })
		if i >= 0 && err == nil {
			t.Fatalf("the engine takes it, but %v\n%s", problems[i], source(def))
		}
		agreed[err == nil]++
	})
	if agreed[true] == 0 || agreed[false] == 0 {
		t.Errorf("compiled and refused: %v; want some of both", agreed)
	}
}

// What the engine's own tests run has the shape of a workflow; its edges may
// be such that nobody would write them.
func TestWF02_WhatRunsHasTheShape(t *testing.T) {
	rs := roles.Builtin()
	for seed := range uint64(300) {
		def := workflowtest.Random(rand.New(rand.NewPCG(seed, 7)))
		for _, p := range processes.Validate(def, rs) {
			if slices.Contains(shape, p.Code) {
				t.Fatalf("seed %d: %v\n%s", seed, p, source(def))
			}
		}
	}
}
