package processes_test

import (
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/core/workflow"
	"github.com/loomrun/loom/processes"
	"github.com/loomrun/loom/roles"
)

// Whatever the bytes, there is an answer; what was accepted is valid as a
// message, the engine compiles it, and written out and read again it is the
// same, with the same hash.
func FuzzF36_Parse(f *testing.F) {
	files, _ := filepath.Glob("testdata/broken/*.yaml")
	for _, file := range append(files, "auto-bug-workflow/process.yaml", "testdata/every-key.yaml") {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	rs := roles.Builtin()
	f.Fuzz(func(t *testing.T, data []byte) {
		def, err := processes.Parse("p.yaml", data, rs)
		if err != nil {
			return
		}
		if errs := processes.Validate(def, rs); len(errs) > 0 {
			t.Fatalf("the file is accepted, but not the message: %v", errs)
		}
		if _, err := workflow.Compile(def); err != nil {
			t.Fatalf("accepted %q, which the engine refuses: %v", data, err)
		}
		again, err := processes.Parse("p.yaml", processes.Write(def), rs)
		if err != nil {
			t.Fatalf("accepted %q, but not\n%s\n%v", data, processes.Write(def), err)
		}
		if !proto.Equal(def, again) || processes.Hash(def) != processes.Hash(again) {
			t.Errorf("%v\nbecame\n%v", def, again)
		}
	})
}
