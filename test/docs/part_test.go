package docs_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/loomrun/loom/test/docs"
)

// A part is written where it is asked for, and nothing else of the page is touched.
func TestPart(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	const begin, end = "before\n<!-- p: made by a test, do not edit -->\n", "<!-- end of p -->\nafter\n"
	if err := os.WriteFile(page, []byte(begin+"old\n"+end), 0o600); err != nil {
		t.Fatal(err)
	}
	docs.Part(t, page, "p", "old\n", false)
	docs.Part(t, page, "p", "new\n", true)
	if data, err := os.ReadFile(page); err != nil || string(data) != begin+"new\n"+end {
		t.Errorf("%v:\n%s", err, data)
	}
}
