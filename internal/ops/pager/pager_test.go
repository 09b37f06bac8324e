package pager_test

import (
	"bytes"
	"testing"

	"github.com/loomrun/loom/internal/ops/pager"
)

// The pager is what PAGER says; "cat" and nothing are none.
func TestCLI01_ThePagerIsTheReadersOwn(t *testing.T) {
	for said, want := range map[string]string{"more -d": "more -d", " cat ": "", "": ""} {
		t.Setenv("PAGER", said)
		if got := pager.Command(); got != want {
			t.Errorf("PAGER=%q: %q, want %q", said, got, want)
		}
	}
	var out bytes.Buffer
	if err := pager.Show(t.Context(), "sed 's/^/> /'", "one\ntwo\n", &out, &out); err != nil || out.String() != "> one\n> two\n" {
		t.Errorf("shown: %q, %v", out.String(), err)
	}
	if err := pager.Show(t.Context(), "no-such-pager-at-all", "x", &bytes.Buffer{}, &bytes.Buffer{}); err == nil {
		t.Error("a pager that is not there shows something")
	}
}
