package data

import (
	"bytes"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/ops/vault"
)

// What people wrote is shown with what steers a terminal spelt out: an auditor sees that it
// was there, and the terminal does not obey it.
func TestSEC02_AnAuditSpellsOutWhatSteersATerminal(t *testing.T) {
	var w bytes.Buffer
	auditText(&w, &vault.Audit{Acts: []vault.Act{{Kind: "approval-decided", What: "ok \x1b[31m", Why: "a\u202eb\x00", Signature: "valid"}}})
	for _, want := range []string{"    what:      ok \\x1b[31m\n", "    why:       a\\u202eb\\x00\n"} {
		if !strings.Contains(w.String(), want) {
			t.Errorf("%q has no %q", w.String(), want)
		}
	}
}
