package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each row of the table of failures names a test that looks for what the row says, and
// no test of them is left out of the table.
func TestDOC02_TheTableOfFailuresIsTested(t *testing.T) {
	page := text(t, "../../docs/documents.md")
	_, page, _ = strings.Cut(page, "### When a stage fails\n")
	page, _, _ = strings.Cut(page, "\n### ")
	rows := regexp.MustCompile("(?m)^\\| ([A-Z]+) \\|[^|]+\\|[^|]+\\| `([^`]+)` \\| (\\w+) \\|$").FindAllStringSubmatch(page, -1)
	if n := strings.Count(page, "\n| ") - 1; len(rows) != n || n < 15 {
		t.Fatalf("%d rows of %d are read", len(rows), n)
	}
	const scripts, agents, office = "../../processes/document-pipeline/test/", "../../internal/agents/agent/document_test.go", "../../internal/craft/office/ladder_test.go"
	named, stages := map[string]bool{}, map[string]bool{}
	for _, row := range rows {
		stage, seen, test := row[1], row[2], row[3]
		named[test], stages[stage] = true, true
		var source string
		if strings.HasPrefix(test, "Test") {
			all := text(t, agents) + text(t, office)
			at := strings.Index(all, "\nfunc "+test+"(")
			if at < 0 {
				t.Errorf("there is no test %s", test)
				continue
			}
			source, _, _ = strings.Cut(all[at:], "\n}\n")
		} else {
			source = text(t, scripts+test+".yaml") + text(t, scripts+test+".script.yaml")
		}
		if !strings.Contains(source, seen) {
			t.Errorf("%s: the test %s looks for no %q", stage, test, seen)
		}
	}
	for _, stage := range []string{"PLAN", "RENDER", "REVIEW", "COMMIT", "POSTLOG"} {
		if !stages[stage] {
			t.Errorf("no failure of %s is told", stage)
		}
	}
	list, err := filepath.Glob(scripts + "*.script.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range list {
		if name := strings.TrimSuffix(filepath.Base(file), ".script.yaml"); !named[name] {
			t.Errorf("the table lacks the test %s", name)
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^func (TestDOC02_\w+)\(`).FindAllStringSubmatch(text(t, agents), -1) {
		if !named[m[1]] {
			t.Errorf("the table lacks %s", m[1])
		}
	}
}

func text(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
