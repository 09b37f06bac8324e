package errand_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/core/provenance"
)

// TestPROC05_AnIndexStandsBesideTheDeliverables runs a process that delivers a file, and
// one that delivers a file of the index's own name.
func TestPROC05_AnIndexStandsBesideTheDeliverables(t *testing.T) {
	longtest.Skip(t)
	for _, tt := range []struct{ delivers, readme string }{{"memo.md", "README.md"}, {"readme.md", "README-"}} {
		t.Run(tt.delivers, func(t *testing.T) {
			t.Parallel()
			def := quickly(t, "memo.yaml", `
name: memo
version: "1.0"
phase_mode: strict
phases:
  - {id: memo, description: Write it., deliverables: [`+tt.delivers+`], acceptance_criteria: It is well., verification_tier: 2}
`)
			r, _, work := outside(t, def, (&strategist{def: def}).answer, nil)
			if !strings.HasPrefix(filepath.Base(r.Index), tt.readme) || filepath.Dir(r.Index) != work {
				t.Fatalf("the index is %q", r.Index)
			}
			text, err := os.ReadFile(r.Index)
			if err != nil || !strings.Contains(string(text), "| "+tt.delivers+" |") || !strings.Contains(string(text), "a strategy for hand tools") {
				t.Errorf("%v\n%s", err, text)
			}
			name := strings.TrimSuffix(strings.Replace(filepath.Base(r.Index), "README", "run", 1), ".md") + ".json"
			data, err := os.ReadFile(filepath.Join(work, name))
			var i provenance.Index
			if err != nil || json.Unmarshal(data, &i) != nil {
				t.Fatalf("%s: %v\n%s", name, err, data)
			}
			if len(i.Files) != 1 || i.Files[0].Phase != "memo" || i.Files[0].Role != "analyst" || len(i.Rules) == 0 || i.Calls == 0 || i.Status != "completed" {
				t.Errorf("%+v", i)
			}
			if made, err := os.ReadFile(filepath.Join(work, tt.delivers)); err != nil || !strings.HasPrefix(string(made), "# memo\n") {
				t.Errorf("what was delivered is %q, %v", made, err)
			}
		})
	}
}
