package processes_test

import (
	"strings"
	"testing"

	"github.com/loomrun/loom/processes"
	"github.com/loomrun/loom/roles"
)

// A source that is not built is said to be so where a process requires it.
func TestTOOL07_SourcesThatAreNotBuilt(t *testing.T) {
	for tool, source := range map[string]string{"google_trends": "Google Trends", "financial_modeling_prep": "Financial Modeling Prep", "news_api": "News API"} {
		_, err := processes.Parse("p.yaml", []byte("name: p\nversion: \"1.0\"\ntools: {required: ["+tool+"]}\nphases:\n  - {id: a, description: A., deliverables: [a.md]}\n"), roles.Builtin())
		if err == nil || !strings.Contains(err.Error(), source+" is not built in") {
			t.Errorf("%s: %v", tool, err)
		}
	}
}
