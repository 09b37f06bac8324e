package document

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Each template makes, with its examples, a spec that only lacks what is marked as to
// be written.
func TestDOC07_TemplatesMakeSpecs(t *testing.T) {
	list := Templates()
	var names []string
	for _, x := range list {
		names = append(names, x.ID+" "+x.Type)
	}
	want := []string{"budget xlsx", "business-model xlsx", "contract docx", "memo docx", "minutes docx", "pitch pptx", "proposal docx", "report docx", "specification docx", "status pptx"}
	if !slices.Equal(names, want) {
		t.Fatalf("templates %v, want %v", names, want)
	}
	for _, x := range list {
		m, err := x.Example()
		if err != nil {
			t.Errorf("%s: %v", x.ID, err)
			continue
		}
		if want := map[string]string{"docx": "document", "xlsx": "sheet", "pptx": "presentation"}[x.Type]; KindOf(m).Name != want {
			t.Errorf("%s is a %s, for %s", x.ID, KindOf(m).Name, x.Type)
		}
		for _, f := range (Review{}).Run(m).Findings {
			if f.Severity == "error" || f.Severity == "warn" && !strings.Contains(f.Message, "PLACEHOLDER") {
				t.Errorf("%s: %s %s: %s", x.ID, f.Rule, f.Path, f.Message)
			}
		}
		if _, err := x.Fill(nil); fault.Code(err) != "document/invalid" || !strings.Contains(errorLines(err), "needs a value for") {
			t.Errorf("%s without values: %v", x.ID, err)
		}
	}
	_, err := FindTemplate("memmo", list)
	if fault.Code(err) != "usage/argument" || !strings.Contains(err.Error(), `did you mean "memo"?`) {
		t.Errorf("FindTemplate(memmo): %v", err)
	}
}

func TestDOC07_TemplatesAreChecked(t *testing.T) {
	_, err := ParseTemplate("t", []byte("id: t\ntitle: T\ncategory: c\npurpose: p\ntype: docx\nparameters:\n  - {name: a, about: x, example: y}\n"),
		[]byte(`{"version": "0.2", "title": "{b}", "sections": [{"id": "s", "heading": "H"}]}`))
	want := "t/manifest.yaml:7:3: the spec has {b}, which is no parameter\nt/manifest.yaml:7:12: the spec has no {a} (got \"a\")"
	if got := errorLines(err); got != want {
		t.Errorf("problems:\n%s\nwant:\n%s", got, want)
	}
	for _, x := range [][3]string{
		{"../t", "docx", `a template's name has lower-case letters`},
		{"t", "xlsx", `the spec is a document, of which no such file is made (got "xlsx")`},
	} {
		_, err := ParseTemplate("t", fmt.Appendf(nil, "id: %q\ntitle: T\ncategory: c\npurpose: p\ntype: %s\nparameters:\n  - {name: a, about: x, example: y}\n", x[0], x[1]),
			[]byte(`{"version": "0.2", "title": "{a}", "sections": [{"id": "s", "heading": "H"}]}`))
		if fault.Code(err) != "document/rule" || !strings.Contains(err.Error(), x[2]) {
			t.Errorf("%s of %s: %v, want %q", x[0], x[1], err, x[2])
		}
	}
}

// Legal text of a template is the library's, word for word: none is made up for it.
func TestDOC07_TemplatesHaveNoLegalTextOfTheirOwn(t *testing.T) {
	contract, err := FindTemplate("contract", Templates())
	if err != nil {
		t.Fatal(err)
	}
	m, err := contract.Example()
	if err != nil {
		t.Fatal(err)
	}
	d := m.(*loomv1.DocumentSpec)
	if len(d.Clauses) < 2 {
		t.Errorf("the contract has %d clauses", len(d.Clauses))
	}
	for _, c := range d.Clauses {
		if _, right, why := DefaultClauses().approved(c); !right {
			t.Errorf("%s: %s", c.Name, why)
		}
	}
	i := slices.IndexFunc(d.Sections, func(s *loomv1.DocumentSection) bool { return s.Id == "law" })
	if i < 0 || !strings.HasPrefix(d.Sections[i].Body, "[PLACEHOLDER]") {
		t.Errorf("what the library has no clauses for is not left open")
	}
}

// A skeleton carries out its outline, whole, and a review finds what is to be written.
func TestDOC07_SkeletonsCarryOutTheirOutline(t *testing.T) {
	for _, kind := range []string{"docx", "xlsx", "pptx", "md"} {
		o := read(t, "outline").(*loomv1.PlanningOutline)
		o.ArtifactType = kind
		m := Skeleton(o)
		if _, err := Read("", JSON(m), ""); err != nil {
			t.Errorf("%s: the skeleton is no spec: %v", kind, err)
			continue
		}
		links, missing := Trace(o, m)
		if len(missing) > 0 || len(links) != len(o.Sections) {
			t.Errorf("%s: links %v, missing %v", kind, links, missing)
		}
		if h := metadataOf(m).OutlineHash; h != Hash(o) {
			t.Errorf("%s: the outline's hash is %s, want %s", kind, h, Hash(o))
		}
		r := Review{Outline: o}.Run(m)
		if r.GetBlockCommit() || !slices.ContainsFunc(r.Findings, func(f *loomv1.ReviewFinding) bool { return f.Rule == "style/banned-phrase" }) {
			t.Errorf("%s: %v", kind, summary(r))
		}
	}
}
