package processes_test

import (
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/workflow"
	"github.com/loomrun/loom/processes"
	"github.com/loomrun/loom/roles"
)

// example reads a process file of the test data.
func example(t *testing.T, name string) processes.Result {
	t.Helper()
	data, err := os.ReadFile("testdata/phases/" + name)
	if err != nil {
		t.Fatal(err)
	}
	rs := roles.Builtin()
	return processes.Read(processes.Builtin(rs), []processes.Source{{File: name, Data: data}}, rs)[0]
}

// The complete example of the format's author loads as it stands there, and
// becomes a workflow that the engine can run.
func TestPROC01_TheCompleteExampleLoadsUnchanged(t *testing.T) {
	r := example(t, "marketing-strategy.yaml")
	if len(r.Problems) > 0 || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0].Error(), `"read_file", and there is no such tool; did you mean "file_read"?`) {
		t.Fatal(r.Problems, r.Warnings)
	}
	if _, err := workflow.Compile(r.Definition); err != nil {
		t.Fatal(err)
	}
	p := r.Process
	if len(p.Phases) != 6 || p.Mode != processes.Guided || len(p.Examples) != 1 || len(p.Examples[0].Subtasks) != 6 || len(p.Scan) != 3 {
		t.Errorf("%+v", p)
	}
	if m := r.Definition.Metadata; len(m) != 2 || m["author"] != "Loom Team" || m["tags"] != "marketing, strategy, research, go-to-market" {
		t.Errorf("metadata %v", m)
	}
	g := r.Definition.Guide
	if len(g.Rules) != 3 || len(g.MemoryTypes) != 5 || !strings.HasPrefix(g.Persona, "You are a senior marketing strategist") {
		t.Errorf("%v", g)
	}
	again, err := processes.Parse("again.yaml", processes.Write(r.Definition), roles.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	if processes.Hash(again) != processes.Hash(r.Definition) {
		t.Error("written as a workflow file it is another one")
	}
}

// Each file in testdata/brokenphases is wrong in its own way; the .want beside
// it lists what must be said about it, and where.
func TestPROC03_BrokenProcesses(t *testing.T) {
	dir := os.DirFS("testdata/brokenphases")
	files, err := fs.Glob(dir, "*.yaml")
	if err != nil || len(files) < 30 {
		t.Fatalf("%d broken processes, %v; want at least 30", len(files), err)
	}
	rs := roles.Builtin()
	base := processes.Builtin(rs)
	for _, file := range files {
		t.Run("PROC03 "+strings.TrimSuffix(file, ".yaml"), func(t *testing.T) {
			data, err := fs.ReadFile(dir, file)
			if err != nil {
				t.Fatal(err)
			}
			r := processes.Read(base, []processes.Source{{File: file, Data: data, Dir: dir, Path: file}}, rs)[0]
			if len(r.Problems) == 0 || r.Definition != nil || r.Process != nil {
				t.Fatalf("it was accepted: %v", r.Definition)
			}
			want := "testdata/brokenphases/" + strings.TrimSuffix(file, ".yaml") + ".want"
			got := listing(fault.Join(r.Problems))
			if *update {
				if err := os.WriteFile(want, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			wanted, _ := os.ReadFile(want)
			if diff := cmp.Diff(string(wanted), got); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
}
