package docs

import (
	"os"
	"strings"
	"testing"
)

// Part checks that a part of a page, between the two lines that name it, is what was
// made from the code; with update it writes it there.
func Part(t *testing.T, page, part, want string, update bool) {
	t.Helper()
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- "+part+": made by a test, do not edit -->\n", "<!-- end of "+part+" -->\n"
	head, rest, ok := strings.Cut(string(data), begin)
	have, tail, closed := strings.Cut(rest, end)
	switch {
	case !ok || !closed:
		t.Fatalf("%s has no part %q", page, part)
	case have == want:
	case !update:
		t.Errorf("%s, part %q, is not what the code says: run this test with -update", page, part)
	default:
		if err := os.WriteFile(page, []byte(head+begin+want+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
