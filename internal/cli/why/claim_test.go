package why

import (
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/core/provenance"
	"github.com/loomrun/loom/internal/core/sourcelist"
)

// A path that a person types means the file that was delivered under its last parts.
func TestTOOL07_APathMeansWhatWasDelivered(t *testing.T) {
	names := []string{"report.md", "deep/report.md", "data/a.csv"}
	for file, want := range map[string]string{
		"report.md": "report.md", "./report.md": "report.md", "/srv/out/report.md": "report.md", "../out/deep/report.md": "deep/report.md",
		"out/data/a.csv": "data/a.csv", "a.csv": "a.csv", "my-report.md": "my-report.md",
	} {
		if got := deliveredAs(file, names); got != want {
			t.Errorf("%s was delivered as %s, want %s", file, got, want)
		}
	}
}

// Of a file that nobody is known to have made all sources are listed, and that is said.
func TestTOOL07_AFileOfNobodyHasAllSources(t *testing.T) {
	rests := []provenance.Rest{{Entry: sourcelist.Entry{Number: 1, Address: "https://a.test/"}}}
	for attempt, want := range map[string]string{"": "these are all sources of the work\n  read  source 1", "a1": "no model\n  read before  source 1"} {
		var b strings.Builder
		claimsText(&b, []*provenance.Claim{{Made: provenance.File{Path: "x.md", Attempt: attempt, Agent: attempt}, Rests: rests}})
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q has no %q", b.String(), want)
		}
	}
}
