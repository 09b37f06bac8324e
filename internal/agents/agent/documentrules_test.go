package agent

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

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
	own, err := readOwnRules(dir, &structpb.Struct{Fields: map[string]*structpb.Value{"rules": structpb.NewStringValue("rules.yaml")}})
	if err != nil {
		t.Fatal(err)
	}
	spec := &loomv1.DocumentSpec{Version: "0.2", Title: "It", Sections: []*loomv1.DocumentSection{{Id: "a", Heading: "What we ask for", Body: "We ask for a roof."}}}
	found := func(own ownRules) bool {
		p := &paper{dir: dir, files: document.FilesOf("roof", "docx"), own: own}
		return slices.ContainsFunc(p.byRules().Run(spec).Findings, func(f *loomv1.ReviewFinding) bool { return f.Rule == "house/roof" })
	}
	if !found(own) || found(ownRules{}) {
		t.Errorf("by its own rules it finds the phrase: %t, by Loom's: %t", found(own), found(ownRules{}))
	}
}
