package project_test

import (
	"slices"
	"strings"
	"testing"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// A step is not shown the inputs that its pattern withholds from it; later steps are, and
// whoever judges.
func TestPAT01_AStepIsNotShownWhatIsWithheld(t *testing.T) {
	d := newDesk(t)
	p := notes(t)
	p.Inputs = []*loomv1.PatternInput{{Name: "pile", Type: "text"}, {Name: "brief", Type: "text"}}
	p.Steps[0].Withholds = []string{"pile"}
	open := opensSession(p, "")
	for _, in := range p.Inputs {
		open.GetActInSession().Inputs = append(open.GetActInSession().Inputs, &loomv1.PreparedInput{Name: in.Name, Type: in.Type, Content: &loomv1.BlobRef{Sha256: strings.Repeat("b", 64), Size: 9, MediaType: "text/plain"}})
	}
	s := d.ok(open).GetSession()
	for i, text := range []string{"What the notes agree on", "At most seven findings", "The team", "All of June", "Every finding names two notes"} {
		s = d.ok(says(s.Id, uint32(i+1), text)).GetSession()
	}
	s = d.ok(seals(s.Id, s.Shown.Digest)).GetSession()
	shown := func(b *loomv1.Brief, want ...string) {
		t.Helper()
		var got []string
		for _, in := range b.Step.GetInputs() {
			got = append(got, in.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s is shown %v, want %v", b.Attempt.Node, got, want)
		}
	}
	shown(d.work("analyst", leaves("claims.md")), "brief")
	d.speak(s.Id, proceeds(0))
	shown(d.work("analyst", leaves("findings.md")), "pile", "brief")
	judge, _ := d.claim("qa-engineer")
	shown(judge, "pile", "brief")
}
