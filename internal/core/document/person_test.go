package document

import (
	"strings"
	"testing"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// What a person's patch has put there stays, whoever has patches after it: in one set, and
// in sets that come later.
func TestDOC04_NobodysPatchTakesAwayWhatAPersonSet(t *testing.T) {
	for name, tt := range map[string]struct {
		theirs, ours string
		applied      bool
	}{
		"the same value":          {`replace title = "Theirs"`, `replace title = "Ours"`, false},
		"an element":              {`append sections[0].bullets = "Theirs"`, `remove sections[0].bullets[2]`, false},
		"a text that grew":        {`append sections[0].body = "Theirs."`, `replace sections[0].body = "Ours."`, false},
		"what has it in it":       {`append sections[0].bullets = "Theirs"`, `remove sections[0]`, false},
		"beside it":               {`append sections[0].bullets = "Theirs"`, `replace title = "Ours"`, true},
		"before it in its list":   {`append sections[0].bullets = "Theirs"`, `remove sections[0].bullets[0]`, true},
		"more to what they wrote": {`replace sections[0].body = "Theirs."`, `append sections[0].body = "Ours."`, true},
		"more to the same text":   {`append sections[0].body = "Theirs."`, `append sections[0].body = "Ours."`, true},
		"what they removed":       {`remove sections[0].bullets[0]`, `append sections[0].bullets = "Ours"`, true},
	} {
		theirs, ours := patches(t, tt.theirs)[0], patches(t, tt.ours)[0]
		theirs.By, ours.Id = "person", "o"
		_, report := Apply(spec(t), []*loomv1.Patch{ours, theirs})
		mine, _ := Apply(spec(t), []*loomv1.Patch{theirs})
		after, later := ApplyAfter(mine, []*loomv1.Patch{ours}, []*loomv1.Patch{theirs})
		for _, r := range []*loomv1.PatchResult{report.Results[len(report.Results)-1], later.Results[0]} {
			if r.Applied != tt.applied || !tt.applied && !strings.Contains(r.Message, "a person's patch set") {
				t.Errorf("%s: %v, want it carried out: %t", name, r, tt.applied)
			}
		}
		if !tt.applied && Hash(after) != Hash(mine) {
			t.Errorf("%s: the refused patch changed something", name)
		}
	}
}
