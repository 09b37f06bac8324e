package agent

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/loomrun/loom/internal/core/document"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// The review goes by the rules that the context names.
func TestDOC03_AReviewGoesByOwnRules(t *testing.T) {
	dir := t.TempDir()
	rules := "name: house\nversion: \"1.0\"\nlanguage: en\nrules:\n  - {id: house/roof, check: phrase, severity: error, phrases: {roof: covering}}\n"
	if err := os.WriteFile(filepath.Join(dir, "rules.yaml"), []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	own, err := readOwnRules(dir, "docx", &structpb.Struct{Fields: map[string]*structpb.Value{"rules": structpb.NewStringValue("rules.yaml")}})
	if err != nil {
		t.Fatal(err)
	}
	spec := &loomv1.DocumentSpec{Version: "0.2", Title: "It", Sections: []*loomv1.DocumentSection{{Id: "a", Heading: "What we ask for", Body: "We ask for a roof."}}}
	found := func(own ownRules) bool {
		p := &paper{dir: dir, files: document.FilesOf("roof", "docx"), own: own}
		return slices.ContainsFunc(p.byRules(spec).Findings, func(f *loomv1.ReviewFinding) bool { return f.Rule == "house/roof" })
	}
	if !found(own) || found(ownRules{}) {
		t.Errorf("by its own rules it finds the phrase: %t, by Loom's: %t", found(own), found(ownRules{}))
	}
}

// A document that becomes pages is held against the most that its outline allows.
func TestDOC07_AReviewCountsPages(t *testing.T) {
	outline := &loomv1.PlanningOutline{
		Version: "0.1", ArtifactType: "docx", Purpose: "A report", Constraints: &loomv1.OutlineConstraints{MaxPages: proto.Int32(1)},
		Sections: []*loomv1.OutlineSection{{Id: "a", Title: "What we found", Goal: "All of it"}},
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "roof.outline.json"), document.JSON(outline), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		format     string
		paragraphs int
		want       string
	}{
		{"docx", 1, ""},
		{"docx", 60, "it takes 2 pages, and the outline allows 1: shorten it"},
		{"html", 60, ""},
	} {
		spec := &loomv1.DocumentSpec{Version: "0.2", Title: "It", Sections: []*loomv1.DocumentSection{{Id: "a", Heading: "What we found", Body: strings.Repeat("We found it.\n\n", tt.paragraphs)}}}
		p := &paper{dir: dir, files: document.FilesOf("roof", tt.format), format: tt.format, job: &job{}}
		got := ""
		for _, f := range p.byRules(spec).Findings {
			if f.Rule == "outline/pages" {
				got = f.Message
			}
		}
		if got != tt.want {
			t.Errorf("%d paragraphs as %s: %q, want %q", tt.paragraphs, tt.format, got, tt.want)
		}
	}
}

// The record of one format vouches for what another has in common with it, and for nothing
// that was changed since.
func TestDOC01_ASecondFormatIsMadeOfTheSameSpec(t *testing.T) {
	spec := document.JSON(&loomv1.DocumentSpec{Version: "0.2", Title: "It", Sections: []*loomv1.DocumentSection{{Id: "a", Heading: "What we found", Body: "All of it."}}})
	m, err := document.Read("", spec, "")
	if err != nil {
		t.Fatal(err)
	}
	record := document.JSON(document.NewRecord(document.Making{
		Artifact: "roof.docx", Format: "docx", Spec: m, Data: []byte("x"), At: "2026-03-01T00:00:00Z", Written: document.Written(map[string][]byte{"spec": spec}),
	}))
	p := &paper{stage: loomv1.DocumentStage_DOCUMENT_STAGE_RENDER, artifact: "roof", format: "pdf", files: document.FilesOf("roof", "pdf"), job: &job{brief: &loomv1.Brief{}}}
	for name, tt := range map[string]struct {
		spec []byte
		want int
	}{
		"as it was written": {spec, 0},
		"changed since":     {[]byte(strings.Replace(string(spec), "All of it", "Nothing", 1)), 1},
	} {
		there := map[string][]byte{"roof.spec.json": tt.spec, "roof.docx.record.json": record}
		if problems := p.foreignArtifacts(there); len(problems) != tt.want {
			t.Errorf("%s: %v", name, problems)
		}
	}
}
