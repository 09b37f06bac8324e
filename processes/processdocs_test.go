package processes_test

import (
	"os"
	"strings"
	"testing"

	"github.com/loomrun/loom/processes"
)

// The page of process files tells of every key there is.
func TestPROC01_TheDocsTellOfEveryKey(t *testing.T) {
	data, err := os.ReadFile("../docs/processes.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	for _, of := range processes.PhaseShape() {
		for i := range of.NumField() {
			key := of.Field(i).Tag.Get("yaml")
			if !strings.Contains(page, "`"+key+"`") && !strings.Contains(page, "."+key+"`") && !strings.Contains(page, "`"+key+".") {
				t.Errorf("docs/processes.md does not tell of the key %q", key)
			}
		}
	}
}
