package provenance_test

import (
	"slices"
	"testing"

	"github.com/loomrun/loom/internal/core/provenance"
	"github.com/loomrun/loom/internal/core/sourcelist"
)

// A claim names who made it, what it cites, which of what was read before has its words or
// numbers, and what it cites that nobody has read; all of it is untrusted.
func TestTOOL07_AClaimNamesWhatItMayRestOn(t *testing.T) {
	def, x := report()
	j := newJournal()
	j.work("p-1", "look", "a1", true, "https://www.a.test/figures/", "https://b.test/", "https://c.test/")
	j.work("p-1", "aside", "a2", true, "https://aside.test/")
	j.work("p-1", "write", "a3", true)
	pages := map[string]string{
		"https://www.a.test/figures/": "Sales were 1,234 in March.", "https://b.test/": "Sales were 1,234 in\nMay, and “fell” since.", "https://aside.test/": "1,234",
	}
	text := "# Report\n\nIn short: sales were\n1,234 in May [1], [2].\n\n## Sources\n\n1. http://a.test/figures\n2. https://never.test/x\n"
	read := func(e sourcelist.Entry) string { return pages[e.Address] }
	c := j.r.Claim("Sales were 1,234 in May", "write.md", text, def, x, read)
	if c == nil || c.First != 3 || c.Last != 4 || c.Made.Phase != "write" || c.Made.Attempt != "a3" || !slices.Equal(c.Unread, []string{"https://never.test/x"}) {
		t.Fatalf("%+v", c)
	}
	want := []provenance.Rest{
		{Cited: true, Numbers: true, Untrusted: true}, {Words: true, Numbers: true, Untrusted: true}, {Untrusted: true},
	}
	for i, of := range []string{"https://www.a.test/figures/", "https://b.test/", "https://c.test/"} {
		if i >= len(c.Rests) {
			t.Fatalf("%+v", c.Rests)
		}
		got := c.Rests[i]
		address := got.Address
		got.Entry = sourcelist.Entry{}
		if address != of || got != want[i] {
			t.Errorf("%d: %s %+v, want %s %+v", i, address, got, of, want[i])
		}
	}
	if c := j.r.Claim("Sales were 1,234 in May", "other.md", text, def, x, read); c == nil || c.Made.Phase != "" || len(c.Rests) != 4 || !c.Rests[0].Cited {
		t.Errorf("of a file that no phase has made: %+v", c)
	}
	if c := j.r.Claim("Sales were 1,235 in May", "write.md", text, def, x, read); c != nil {
		t.Errorf("words that are not there: %+v", c)
	}
}
