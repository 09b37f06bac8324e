package processes_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/workflow"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// A node says what it reads and writes of the memory, what is no part of it is refused
// at its place, and nothing is another word than not a word.
func TestMEM01_ANodeSaysWhatItReadsAndWrites(t *testing.T) {
	const file = "name: one\nversion: \"1.0\"\nnodes:\n  - {id: start, type: start}\n  - {id: work, type: task, role: lead, memory: MEMORY}\n  - {id: end, type: end}\n" +
		"edges:\n  - {id: a, from: start, to: work}\n  - {id: b, from: work, to: end}\n"
	for _, tt := range []struct {
		memory string
		want   *loomv1.MemoryAccess
		bad    string
	}{
		{"{read: [session, project, shared/carts], write: [session]}", &loomv1.MemoryAccess{Read: []string{"session", "project", "shared/carts"}, Write: []string{"session"}}, ""},
		{"{}", &loomv1.MemoryAccess{}, ""},
		{"{read: [carts]}", nil, "one.yaml:5:56: workflow/invalid"},
		{"{write: [session, session]}", nil, "one.yaml:5:66: workflow/invalid"},
		{"{erase: [session]}", nil, "yaml/unknown-key"},
	} {
		def, err := processes.Parse("one.yaml", []byte(strings.Replace(file, "MEMORY", tt.memory, 1)), roles.Builtin())
		if tt.bad != "" {
			if e := fault.From(err); err == nil || !strings.Contains(e.Where+": "+e.Code, tt.bad) {
				t.Errorf("%s: %v, want %s", tt.memory, err, tt.bad)
			}
			continue
		}
		if err != nil || !proto.Equal(def.Nodes[1].Memory, tt.want) {
			t.Errorf("%s: %v, %v, want %v", tt.memory, def.GetNodes(), err, tt.want)
			continue
		}
		again, err := processes.Parse("one.yaml", processes.Write(def), roles.Builtin())
		if err != nil || !proto.Equal(again, def) {
			t.Errorf("%s: written and read it is %v, %v", tt.memory, again, err)
		}
		def.Nodes[1].Memory.Write = []string{"elsewhere"}
		if _, err := workflow.Compile(def); fault.Code(err) != "workflow/invalid" {
			t.Errorf("the engine takes a part of the memory that there is not: %v", err)
		}
	}
}
