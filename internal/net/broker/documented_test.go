package broker_test

import (
	"flag"
	"testing"

	"github.com/loomrun/loom/internal/net/broker"
	"github.com/loomrun/loom/test/docs"
)

// update says whether to write instead of checking.
var update = flag.Bool("update", false, "write the generated parts of docs/security.md")

// documented checks that a part of docs/security.md is what was made from the code.
func documented(t *testing.T, part, want string) {
	t.Helper()
	docs.Part(t, "../../../docs/security.md", part, want, *update)
}

// TestSEC01_TheRightsAreWrittenDown in docs/security.md, as they are.
func TestSEC01_TheRightsAreWrittenDown(t *testing.T) { documented(t, "rights", broker.RightsText()) }
