package agent_test

import (
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/loomrun/loom/internal/core/document"
	"github.com/loomrun/loom/internal/place/git"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// stage is an attempt at a stage of a document.
func stage(t *testing.T, of loomv1.DocumentStage, kind string) *loomv1.Brief {
	t.Helper()
	br := brief("analyst", 0)
	br.Node.Phase = &loomv1.Phase{Document: of}
	br.Node.Outcome = nil
	context, err := structpb.NewStruct(map[string]any{"artifact": "roof", "type": kind})
	if err != nil {
		t.Fatal(err)
	}
	br.Execution.Context = context
	return br
}

// roofSpec is a spec as a file of the workspace.
func roofSpec() (*loomv1.DocumentSpec, git.File) {
	spec := &loomv1.DocumentSpec{Version: "0.2", Title: "A new roof", Sections: []*loomv1.DocumentSection{{Id: "ask", Heading: "What we ask for", Body: "We ask for offer B."}}}
	return spec, git.File{Path: "roof.spec.json", Data: document.JSON(spec)}
}

func TestDOC02_CommitFallsBackToMarkdown(t *testing.T) {
	_, file := roofSpec()
	b := newBench(t, script(), file)
	out := b.must(stage(t, loomv1.DocumentStage_DOCUMENT_STAGE_MATERIALIZE, "xlsx"))
	if out.Status != loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS || !strings.HasPrefix(out.Summary, "roof.md: ") || !strings.Contains(out.Notes, "no xlsx could be made, so it is Markdown") {
		t.Errorf("it says %v", out)
	}
	var names []string
	for _, f := range out.Change.Files {
		names = append(names, f.Path)
	}
	if got := strings.Join(names, " "); got != "roof.md roof.xlsx.record.json" {
		t.Errorf("made %s", got)
	}
}

// postlogBench is a document that was made, and a memory that takes no entry that is full.
func postlogBench(t *testing.T, full func(*loomv1.MemoryEntry) bool) *bench {
	t.Helper()
	spec, file := roofSpec()
	record := document.NewRecord(document.Making{Artifact: "roof.docx", Format: "docx", Spec: spec, Data: []byte("x"), At: "2026-03-01T00:00:00Z"})
	b := newBench(t, script(), file, git.File{Path: "roof.docx.record.json", Data: document.JSON(record)})
	b.seat.full = full
	return b
}

func TestDOC02_PostlogKeepsTheSubset(t *testing.T) {
	b := postlogBench(t, func(e *loomv1.MemoryEntry) bool { return len(e.Tags) > 0 })
	out := b.must(stage(t, loomv1.DocumentStage_DOCUMENT_STAGE_POSTLOG, "docx"))
	if out.Status != loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS || !strings.Contains(out.Summary, "by its name and hash alone") || !strings.Contains(out.Notes, "remembers 5 entries") {
		t.Errorf("it says %v", out)
	}
	if len(b.seat.kept) != 1 || !strings.HasPrefix(b.seat.kept[0].Text, "Document roof.docx was made, of the spec sha256:") {
		t.Errorf("kept %v", b.seat.kept)
	}
}

// Where nothing can be kept the stage fails. It is detached, so that the document has
// landed by then (TestPROC18_WorkAfterTheEndFailsAlone).
func TestDOC02_PostlogFailsWhereNothingIsKept(t *testing.T) {
	b := postlogBench(t, func(*loomv1.MemoryEntry) bool { return true })
	out := b.must(stage(t, loomv1.DocumentStage_DOCUMENT_STAGE_POSTLOG, "docx"))
	if out.Status != loomv1.OutcomeStatus_OUTCOME_STATUS_FAILURE || !strings.Contains(out.Summary, "remembers 5 entries") {
		t.Errorf("it says %v", out)
	}
}

// A workspace's own rules, clauses and styles take the place of Loom's; what is wrong with
// them is told with its place, and nothing is made.
func TestDOC03_TheProcessGoesByOwnRulesAndStyles(t *testing.T) {
	_, file := roofSpec()
	rules := git.File{Path: "house/rules.yaml", Data: []byte("name: house\nversion: \"1.0\"\nlanguage: en\nrules:\n  - {id: house/roof, check: phrase, severity: error, phrases: {roof: say covering}}\n")}
	style := git.File{Path: "house/style.json", Data: []byte(`{"primaryColor": "#123456"}`)}
	made := func(context map[string]any, files ...git.File) *loomv1.Outcome {
		b := newBench(t, script(), append(files, file)...)
		br := stage(t, loomv1.DocumentStage_DOCUMENT_STAGE_MATERIALIZE, "html")
		for key, value := range context {
			br.Execution.Context.Fields[key] = structpb.NewStringValue(value.(string))
		}
		return b.must(br)
	}
	plain := made(nil)
	own := made(map[string]any{"rules": "house/rules.yaml", "style": "house/style.json"}, rules, style)
	if plain.Document.GetFileHash() == own.Document.GetFileHash() || own.Status != loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS {
		t.Errorf("the style changes nothing: %v", own)
	}
	for want, tt := range map[string]struct {
		context map[string]any
		files   []git.File
	}{
		"context.rules: there is no such file":    {map[string]any{"rules": "none.yaml"}, nil},
		"house/rules.yaml:1:1":                    {map[string]any{"rules": "house/rules.yaml"}, []git.File{{Path: "house/rules.yaml", Data: []byte("rule: []\n")}}},
		"house/style.json: primaryColour":         {map[string]any{"style": "house/style.json"}, []git.File{{Path: "house/style.json", Data: []byte(`{"primaryColour": "#123456"}`)}}},
		"context.clauses: there is no such file ": {map[string]any{"clauses": "none.yaml"}, nil},
		"there are budget, business-model, contract, memo, minutes, pitch, proposal, report, specification, status": {map[string]any{"template": "bid"}, nil},
	} {
		out := made(tt.context, tt.files...)
		if all := out.Summary + "\n" + out.Notes; out.Status != loomv1.OutcomeStatus_OUTCOME_STATUS_FAILURE || !strings.Contains(all, want) || out.Change != nil {
			t.Errorf("%s: %v", want, out)
		}
	}
}

// A spec that is broken is refused by its path at each stage that goes by it, and nothing
// is half done: no file, no record, no review is there.
func TestDOC01_ABrokenSpecLeavesNothingHalfDone(t *testing.T) {
	longtest.Skip(t)
	for _, tt := range []struct{ was, is, want string }{
		{`"title": "A new roof"`, `"title": 7`, "title"},
		{`"title"`, `"tittle"`, "tittle"},
		{`"body": "We`, `"level": 9, "body": "We`, "sections[0].level"},
		{`"id": "ask"`, `"id": "a b"`, "sections[0].id"},
		{`"sections"`, `"figures": [{"id": "f"}], "sections"`, "figures[0]"},
		{`"0.2"`, `"0.2`, "roof.spec.json:"},
	} {
		_, file := roofSpec()
		file.Data = []byte(strings.Replace(string(file.Data), tt.was, tt.is, 1))
		b := newBench(t, script(), file)
		out := b.must(stage(t, loomv1.DocumentStage_DOCUMENT_STAGE_MATERIALIZE, "docx"))
		if out.Status != loomv1.OutcomeStatus_OUTCOME_STATUS_FAILURE || !strings.Contains(out.Notes, tt.want) || out.Change != nil {
			t.Errorf("%s: %v", tt.is, out)
		}
	}
}

// What a person made is refused at each stage before a model is asked; see also the
// story process_document_owner.
func TestDOC07_EachStageLooksForWhatAPersonMade(t *testing.T) {
	longtest.Skip(t)
	spec, file := roofSpec()
	outline := git.File{Path: "roof.outline.json", Data: document.JSON(document.Minimal("docx", "A roof"))}
	review := git.File{Path: "roof.review.json", Data: document.JSON(document.Review{}.Run(spec))}
	made := git.File{Path: "roof.docx", Data: []byte("theirs")}
	fallback := git.File{Path: "roof.md", Data: []byte("theirs")}
	record := git.File{Path: "roof.docx.record.json", Data: []byte("{}")}
	patches := git.File{Path: "roof.patches.json", Data: []byte("{}")}
	for _, tt := range []struct {
		name  string
		stage loomv1.DocumentStage
		files []git.File
		want  string // where it is refused
	}{
		{"an outline where one is planned", loomv1.DocumentStage_DOCUMENT_STAGE_PLAN, []git.File{outline}, "roof.outline.json"},
		{"a spec where one is written", loomv1.DocumentStage_DOCUMENT_STAGE_RENDER, []git.File{outline, file}, "roof.spec.json"},
		{"a review where one is written", loomv1.DocumentStage_DOCUMENT_STAGE_REVIEW, []git.File{review}, "roof.review.json"},
		{"patches that are none", loomv1.DocumentStage_DOCUMENT_STAGE_REVIEW, []git.File{patches}, "roof.patches.json"},
		{"a file", loomv1.DocumentStage_DOCUMENT_STAGE_MATERIALIZE, []git.File{file, made}, "roof.docx"},
		{"a file that may take its place", loomv1.DocumentStage_DOCUMENT_STAGE_MATERIALIZE, []git.File{file, fallback}, "roof.md"},
		{"what is no record", loomv1.DocumentStage_DOCUMENT_STAGE_MATERIALIZE, []git.File{file, record}, "roof.docx.record.json"},
	} {
		b := newBench(t, script(), tt.files...)
		out := b.must(stage(t, tt.stage, "docx"))
		if out.Status != loomv1.OutcomeStatus_OUTCOME_STATUS_FAILURE || !strings.HasPrefix(out.Summary, tt.want+": ") || !strings.Contains(out.Notes, "move it away") {
			t.Errorf("%s: %v", tt.name, out)
		}
		if len(b.asks.by) > 0 {
			t.Errorf("%s: a model was asked", tt.name)
		}
	}
	// A person's spec is what a process begins with that only makes the file.
	b := newBench(t, script(), file)
	if out := b.must(stage(t, loomv1.DocumentStage_DOCUMENT_STAGE_MATERIALIZE, "docx")); out.Status != loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS {
		t.Errorf("a person's spec: %v", out)
	}
}
