package broker_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/broker"
)

// update says whether to write instead of checking.
var update = flag.Bool("update", false, "write the generated parts of docs/security.md")

// documented checks that a part of docs/security.md is what was made from the
// code; with -update it writes it there.
func documented(t *testing.T, part, want string) {
	t.Helper()
	const path = "../../docs/security.md"
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- "+part+": made by a test, do not edit -->\n", "<!-- end of "+part+" -->\n"
	head, rest, ok := strings.Cut(string(data), begin)
	have, tail, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("docs/security.md has no part %q", part)
	}
	if have == want {
		return
	}
	if !*update {
		t.Errorf("docs/security.md, part %q, is not what the code says: go test ./internal/broker -run Written -update", part)
		return
	}
	if err := os.WriteFile(path, []byte(head+begin+want+end+tail), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestSEC01_TheRightsAreWrittenDown in docs/security.md, as they are.
func TestSEC01_TheRightsAreWrittenDown(t *testing.T) { documented(t, "rights", broker.RightsText()) }
