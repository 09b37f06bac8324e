package processes

import (
	"cmp"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/verify"
	"github.com/loomrun/loom/internal/lang/strictyaml"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Test is a test of a process: what is given, and what is expected.
type Test struct {
	Goal string `yaml:"goal" loom:"required"`
	// About says what the test shows.
	About string `yaml:"about"`
	// Set are context values, Files what the workspace holds at the beginning,
	// Checks commands that verification must see pass.
	Set    map[string]string `yaml:"set"`
	Files  map[string]string `yaml:"files"`
	Checks []string          `yaml:"checks"`
	Expect TestExpect        `yaml:"expect"`
}

// TestExpect is how a test should end.
type TestExpect struct {
	// Status of the execution, as a word; "completed" where it is left out, or
	// "completed_with_gaps" where gaps are expected.
	Status string `yaml:"status"`
	// Files that must be delivered; all that phases promise, where it is left
	// out, but for those with gaps.
	Files  []string `yaml:"files"`
	Absent []string `yaml:"absent"`
	// Contains has texts that files must contain.
	Contains map[string]string `yaml:"contains"`
	// Gaps are the nodes that were passed over.
	Gaps []string `yaml:"gaps"`
	// Attempts is how many attempts a node had in all.
	Attempts map[string]int `yaml:"attempts"`
}

// ParseTest reads a test; all that is wrong is reported as FILE:LINE:COL.
func ParseTest(file string, data []byte) (*Test, error) {
	doc, err := strictyaml.Parse(file, data)
	if err != nil {
		return nil, err
	}
	t := &Test{}
	doc.Decode(t)
	if doc.Has("goal") && t.Goal == "" {
		doc.Add(fault.New("process/test", "the goal is empty"), "goal")
	}
	if err := doc.Err(); err != nil {
		return nil, err
	}
	return t, nil
}

// Status returns how the execution should end.
func (t *Test) Status() string {
	if len(t.Expect.Gaps) > 0 {
		return cmp.Or(t.Expect.Status, "completed_with_gaps")
	}
	return cmp.Or(t.Expect.Status, "completed")
}

// inContext is a phase with the names that a test gives its files, if they are such.
func inContext(p *loomv1.Phase, context *structpb.Struct) *loomv1.Phase {
	named, _ := verify.InContext(p, context) //nolint:errcheck // whoever works is told
	return named
}

// Promised returns the files that must be there in the end: those that the test
// names, or those of all nodes of a definition that have no gap.
func (t *Test) Promised(def *loomv1.Definition, gaps []string) []string {
	if len(t.Expect.Files) > 0 || !strings.HasPrefix(t.Status(), "completed") {
		return t.Expect.Files
	}
	var names []string
	context := &structpb.Struct{Fields: map[string]*structpb.Value{}}
	for key, value := range t.Set {
		context.Fields[key] = structpb.NewStringValue(value)
	}
	for _, n := range def.GetNodes() {
		if slices.Contains(gaps, n.Id) {
			continue
		}
		for _, d := range verify.Deliverables(inContext(n.Phase, context)) {
			names = append(names, d.Name)
		}
	}
	for name := range t.Expect.Contains {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
