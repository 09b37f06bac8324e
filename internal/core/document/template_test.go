package document

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

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
			if f.Severity == "error" || f.Severity == "warn" && f.Rule != "style/unwritten" {
				t.Errorf("%s: %s %s: %s", x.ID, f.Rule, f.Path, f.Message)
			}
		}
		if _, err := x.Fill(nil); fault.Code(err) != "document/invalid" || !strings.Contains(errorLines(err), "needs a value for") {
			t.Errorf("%s without values: %v", x.ID, err)
		}
	}
	_, err := TemplateOf(fstest.MapFS{}, "memmo")
	if fault.Code(err) != "usage/argument" || !strings.Contains(err.Error(), `did you mean "memo"?`) {
		t.Errorf("TemplateOf(memmo): %v", err)
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
	contract, err := TemplateOf(fstest.MapFS{}, "contract")
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
		if r.GetBlockCommit() || !slices.ContainsFunc(r.Findings, func(f *loomv1.ReviewFinding) bool { return f.Rule == "style/unwritten" }) {
			t.Errorf("%s: %v", kind, summary(r))
		}
	}
}

// A template of the workspace is found before one of Loom; what is not there is told with
// what is. It plans its sections, begins with its spec, and finds what is left open.
func TestDOC07_ATemplateOfTheWorkspacePlansAndBegins(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	manifest := "id: offer\ntitle: Offer\ncategory: sales\npurpose: What we offer\ntype: docx\nparameters:\n  - {name: client, about: for whom, example: Council}\n"
	spec := `{"version": "0.2", "title": "For {client}", "styles": {"primaryColor": "#123456"}, "sections": [
		{"id": "ask", "heading": "What {client} asks", "body": "[PLACEHOLDER]"}, {"id": "cost", "heading": "Cost", "level": 2, "table": {"caption": "Cost", "headers": ["What", "EUR"]}}]}`
	files := fstest.MapFS{
		TemplatesDir + "/offer/" + TemplateManifest: file(manifest), TemplatesDir + "/offer/" + TemplateSpec: file(spec),
		TemplatesDir + "/.new-1/" + TemplateManifest: file("half of it"),
	}
	x, err := TemplateOf(files, "offer")
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Becomes("xlsx"); fault.Code(err) != "document/format" || x.Becomes("pdf") != nil {
		t.Errorf("as a workbook: %v, as a pdf: %v", err, x.Becomes("pdf"))
	}
	o := x.Outline("docx", "An offer for the roof")
	if got := fmt.Sprint(o.Sections[0].Id, o.Sections[1].Id, o.Sections[1].Level, o.DataNeeds[0].Columns); got != "askcost2 [What EUR]" {
		t.Errorf("it plans %s", got)
	}
	if _, err := Read("", JSON(o), "outline"); err != nil || len(x.Lacks(o)) > 0 {
		t.Errorf("its own outline: %v, lacks %v", err, x.Lacks(o))
	}
	o.Sections = o.Sections[:1]
	if list := x.Lacks(o); len(list) != 1 || !strings.Contains(list[0].Error(), `the template's section "cost" (Cost) is missing`) {
		t.Errorf("an outline without its cost lacks %v", list)
	}
	for given, want := range map[string]int{"": 2, "Harbour": 0} {
		m, err := Read("", x.Begin(map[string]string{"client": given}), "document")
		if err != nil {
			t.Fatal(err)
		}
		if list := x.Open(m); len(list) != want {
			t.Errorf("with client=%q is open: %v", given, list)
		}
		last := Review{Final: true}.Run(m)
		if n := count(last, "error"); n != 1 || !last.GetBlockCommit() || count(Review{}.Run(m), "error") > 0 {
			t.Errorf("what is to be written is %d errors at the end: %v", n, summary(last))
		}
	}
	if _, err := TemplateOf(files, "bid"); fault.Code(err) != "usage/argument" || !strings.Contains(err.Error(), "there are budget, business-model, contract, memo, minutes, offer, pitch,") {
		t.Errorf("one that is not there: %v", err)
	}
}

// What data is needed goes to the section of its name.
func TestDOC02_TheSkeletonGivesColumnsByName(t *testing.T) {
	o := &loomv1.PlanningOutline{
		Version: "0.1", ArtifactType: "docx", Purpose: "p",
		Sections: []*loomv1.OutlineSection{
			{Id: "s1", Title: "Register of risks", SectionType: "table"}, {Id: "s2", Title: "Other", SectionType: "table"}, {Id: "costs", Title: "What it takes", SectionType: "table"}, {Id: "s4", Title: "Prose"},
		},
		DataNeeds: []*loomv1.DataNeed{
			{Name: "Costs", Kind: "table", Columns: []string{"Cost"}}, {Name: "Forms", Kind: "table", Columns: []string{"Form"}}, {Name: "Risks", Kind: "table", Columns: []string{"Risk"}}, {Name: "x", Kind: "fact"},
		},
	}
	columns := func() (list []string) {
		for _, s := range Skeleton(o).(*loomv1.DocumentSpec).Sections {
			list = append(list, strings.Join(s.GetTable().GetHeaders(), "+"))
		}
		return list
	}
	if got := strings.Join(columns(), " "); got != "Risk Form Cost " {
		t.Errorf("columns %q", got)
	}
	o.DataNeeds = append(o.DataNeeds, &loomv1.DataNeed{Name: "More", Kind: "table", Columns: []string{"More"}})
	if got := strings.Join(columns(), " "); got != "Risk Item+Value Cost " {
		t.Errorf("with one that is nobody's: columns %q", got)
	}
}
