package actors_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// told starts a rig that tells a channel of its troubles.
func told(t *testing.T) (*rig, chan actors.Trouble) {
	troubles := make(chan actors.Trouble, 100)
	r := newRig(t)
	r.config.Trouble = func(tr actors.Trouble) { troubles <- tr }
	r.start().register("shop", "researcher")
	def := &loomv1.Definition{Name: project.AutoBug, Version: "1.0", Nodes: []*loomv1.NodeDefinition{
		{Id: "start", Type: loomv1.NodeType_NODE_TYPE_START}, {Id: "mend", Type: loomv1.NodeType_NODE_TYPE_TASK, Role: "researcher", MaxAttempts: 1}, {Id: "end", Type: loomv1.NodeType_NODE_TYPE_END},
	}, Edges: []*loomv1.EdgeDefinition{{Id: "e1", From: "start", To: "mend"}, {Id: "e2", From: "mend", To: "end"}}}
	r.must(&loomv1.Command{Body: &loomv1.Command_StoreDefinition{StoreDefinition: &loomv1.StoreDefinition{Definition: def}}})
	return r, troubles
}

func fileTrouble(t actors.Trouble) *loomv1.Command {
	return &loomv1.Command{Project: t.Project, Body: &loomv1.Command_FileError{FileError: &loomv1.FileError{Report: t.Report()}}}
}

// A project that breaks down on a command is told of, and the report of that
// becomes a bead of the same project.
func TestSUB05_APanicInAProjectBecomesABugOfIt(t *testing.T) {
	r, troubles := told(t)
	r.settled("shop")
	r.clock.boom(1)
	_, err := r.do(file("shop", "bad"))
	wantCode(t, "poison", err, "internal/error")
	tr := <-troubles
	if tr.Project != "shop" || tr.Kind != "poison" || !strings.Contains(tr.Message, "FileBead") {
		t.Errorf("told of %+v, want poison of shop", tr)
	}
	filed := r.must(fileTrouble(tr)).GetSubmit()
	v, err := r.projects.Look(r.ctx, project.Beads, &loomv1.Query{Project: "shop", Id: filed.Bead})
	if err != nil || v.Beads[0].Report.GetService() != project.Self || v.Beads[0].Assignee != "backend-engineer" {
		t.Fatalf("filed: %v, %v, want a bug of Loom's own", v, err)
	}
	if again := r.must(fileTrouble(tr)).GetSubmit(); again.Bead != filed.Bead || !again.Duplicate {
		t.Errorf("the same again: %v, want an occurrence of %s", again, filed.Bead)
	}
}

// What goes wrong while an error of Loom's own is filed is not filed in turn.
func TestBYD10_AnErrorOfAnErrorReportEndsThere(t *testing.T) {
	r, troubles := told(t)
	r.settled("shop")
	r.clock.boom(1)
	_, err := r.do(fileTrouble(actors.Trouble{Project: "shop", Kind: "poison", Message: "m"}))
	wantCode(t, "a report that breaks the project", err, "internal/error")
	r.settled("shop")
	select {
	case tr := <-troubles:
		t.Errorf("told of %+v", tr)
	default:
	}
}

func TestSUB05_AQuarantinedProjectIsToldOfOnce(t *testing.T) {
	r, troubles := told(t)
	r.register("farm", "researcher")
	r.damage("farm")
	r.start()
	tr := <-troubles
	if tr.Kind != "quarantined" || tr.Project != "" || !strings.Contains(tr.Message, `"farm"`) {
		t.Errorf("told of %+v, want that farm is set aside", tr)
	}
	r.settled("shop")
	r.clock.boom(1)
	_, _ = r.do(file("shop", "bad")) // makes the partition recover
	if tr := <-troubles; tr.Kind != "poison" {
		t.Errorf("after a second recovery told of %+v, want no word of farm again", tr)
	}
}

func FuzzTrouble(f *testing.F) {
	f.Add("plain")
	f.Add("\xff" + strings.Repeat("é", 5000))
	f.Fuzz(func(t *testing.T, text string) {
		r := actors.Trouble{Kind: "k", Message: text}.Report()
		if !utf8.ValidString(r.Message) || len(r.Message) > 16<<10 {
			t.Errorf("a report of %d bytes, valid: %t", len(r.Message), utf8.ValidString(r.Message))
		}
	})
}
