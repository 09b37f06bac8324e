package document

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
	"pgregory.net/rapid"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func errorLines(err error) string {
	e, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return err.Error()
	}
	return e.Lines()
}

// patches reads lines of ACTION TARGET = VALUE.
func patches(t testing.TB, lines ...string) (list []*loomv1.Patch) {
	t.Helper()
	for i, line := range lines {
		action, rest, _ := strings.Cut(line, " ")
		target, value, has := strings.Cut(rest, " = ")
		p := &loomv1.Patch{Id: fmt.Sprintf("p%d", i+1), Action: action, Target: target}
		if has {
			tree, err := parse("", []byte(value))
			if err != nil {
				t.Fatal(err)
			}
			if p.Value, err = structpb.NewValue(tree); err != nil {
				t.Fatal(err)
			}
		}
		list = append(list, p)
	}
	return list
}

func TestDOC04_ActionsDoWhatTheySay(t *testing.T) {
	for _, tt := range []struct{ patch, path, want string }{
		{`replace sections[0].body = "New."`, "sections[0].body", `"New."`},
		{`replace /sections/0/body = "New."`, "sections[0].body", `"New."`},
		{`replace sections[1].body = "It was not there."`, "sections[1].body", `"It was not there."`},
		{`replace sections[1].table.rows[0][3] = 6`, "sections[1].table.rows[0][3]", `6`},
		{`replace sections[1].table.totals["Effort (days)"] = 18`, "/sections/1/table/totals/Effort (days)", `18`},
		{`replace sections[1].table.totals.Effort (days) = 19`, "/sections/1/table/totals/Effort (days)", `19`},
		{`append sections[0].bullets = "Third"`, "sections[0].bullets", `["The lease ends in April","The new site is ready","Third"]`},
		{`append sections[1].bullets = "First"`, "sections[1].bullets", `["First"]`},
		{`append sections[0].body = "And more."`, "sections[0].body", `"The depot moves in three weeks of March.\n\nAnd more."`},
		{`append sections[1].table.rows = ["Unpacking","2026-03-23","2026-03-25",3,"Planned"]`, "sections[1].table.rows[2][0]", `"Unpacking"`},
		{`append sections[1].table.headers = "Owner"`, "sections[1].table.rows[1]", `["Transport","2026-03-09","2026-03-20",12,"Planned",null]`},
		{`remove sections[0].bullets[0]`, "sections[0].bullets", `["The new site is ready"]`},
		{`remove sections[1].table.headers[3]`, "sections[1].table", `{"caption":"Phases of the move","headers":["Phase","Start Date","End Date","State"],"rows":[["Packing","2026-03-02","2026-03-06","Done"],["Transport","2026-03-09","2026-03-20","Planned"]]}`},
		{`rename sections[1].table.headers[3] = "Effort"`, "sections[1].table.totals", `{"Effort":17}`},
		{`rename sections[0].heading = "Summary"`, "sections[0].heading", `"Summary"`},
		{`rename sections[0].id = "intro"`, "sections[0].outlineId", `"sec-1"`},
		{`move sections[1] = 0`, "sections[0].id", `"sec-2"`},
		{`move sections[0].bullets[0] = 1`, "sections[0].bullets", `["The new site is ready","The lease ends in April"]`},
		{`move sections[0].callouts[0] = "sections[1].callouts[0]"`, "sections[1].callouts", `[{"kind":"risk","text":"Snow can close the pass for days."}]`},
		{`move sections[0].bullets = "sections[1].bullets"`, "sections[1].bullets", `["The lease ends in April","The new site is ready"]`},
		{`move sections[0].bullets[0] = "/sections/0/bullets/-"`, "sections[0].bullets[1]", `"The lease ends in April"`},
		{`move sections[1].table.headers[4] = 1`, "sections[1].table.rows[0]", `["Packing","Done","2026-03-02","2026-03-06",5]`},
		{`normalize sections[0].heading = "sentence-case"`, "sections[0].heading", `"Executive summary"`},
		{`normalize sections[0].body`, "sections[0].body", `"The depot moves in three weeks of March."`},
	} {
		p := patches(t, tt.patch)
		before := spec(t)
		was := Canonical(before)
		after, report := Apply(before, p)
		if report.Applied != 1 || report.Refused != 0 {
			t.Errorf("%s: %v", tt.patch, report.Results)
			continue
		}
		path, err := ParsePath(tt.path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := get(treeOf(after), path)
		if err != nil {
			t.Errorf("%s: %v", tt.patch, err)
			continue
		}
		if text, _ := encode(got); string(text) != tt.want {
			t.Errorf("%s: %s = %s, want %s", tt.patch, tt.path, text, tt.want)
		}
		if !bytes.Equal(Canonical(before), was) {
			t.Errorf("%s changed what it was given", tt.patch)
		}
		if report.SpecHash != Hash(after) {
			t.Errorf("%s: the report has another hash than the result", tt.patch)
		}
	}
}

// A patch that cannot be carried out is told, and leaves the bytes as they were.
func TestDOC04_ABadPatchChangesNothing(t *testing.T) {
	for _, tt := range []struct{ patch, code, message string }{
		{`replace sections[9].body = "x"`, "document/target", "sections[9]: sections is a list of 2, and has no such element"},
		{`replace sections[0].nobody.x = "x"`, "document/target", `sections[0].nobody: sections[0] has no such key; did you mean "body"?`},
		{`replace sections[0].nobody = "x"`, "document/patch", `the artifact would not be valid: sections[0].nobody: sections[0] has no such key (got "nobody"); did you mean "body"?`},
		{`replace sections[-1].body = "x"`, "document/target", `an index is no number from 0 at character 9 of the target (got "sections[-1].body"); write it as sections[2].table.rows[5][3] or /sections/2/table/rows/5/3`},
		{`replace sections[0].body = 5`, "document/patch", "the artifact would not be valid: sections[0].body: sections[0].body is a number, not a text"},
		{`replace sections[0].body`, "document/patch", "sections[0].body: the patch has no value"},
		{`remove sections[0].heading`, "document/patch", "the artifact would not be valid: sections[0].heading: heading is missing"},
		{`remove sections[1].body`, "document/target", "sections[1].body: there is nothing to remove"},
		{`append sections[1].table.rows = ["too short"]`, "document/patch", "the artifact would not be valid: sections[1].table.rows[2]: the row has 1 cells under 5 headers"},
		{`replace sections[1].table.headers[3] = "Effort"`, "document/patch", `the artifact would not be valid: sections[1].table.totals["Effort (days)"]: there is no column of this name (got "Effort (days)"); known are Phase, Start Date, End Date, Effort, State`},
		{`rename sections[1].table.headers[3] = "State"`, "document/patch", `sections[1].table.headers[3]: the table has a column of this name already (got "State")`},
		{`rename sections[0].bullets = "x"`, "document/patch", "sections[0].bullets: a list has no name to change"},
		{`move sections[0] = 2`, "document/patch", "sections[0]: the new index is no element of a list of 2"},
		{`move sections[0].bullets[0] = "sections[0].heading"`, "document/target", "sections[0].heading: there is something already"},
		{`normalize sections[0].heading = "loud"`, "document/patch", `sections[0].heading: there is no such form (got "loud"); known are number, sentence-case, title-case, whitespace`},
		{`normalize sections[0].heading = "number"`, "document/patch", `sections[0].heading: the text is no number (got "Executive Summary")`},
		{`shout sections[0].heading = "x"`, "document/patch", `there is no such action (got "shout"); known are replace, append, remove, rename, move, normalize`},
		{`replace /sections/0/~2 = "x"`, "document/target", `in a JSON pointer ~ is written ~0, and / is written ~1 (got "/sections/0/~2")`},
	} {
		before := spec(t)
		after, report := Apply(before, patches(t, tt.patch))
		want := &loomv1.PatchResult{Id: "p1", Code: tt.code, Message: tt.message}
		got := report.Results[0]
		if got.Applied || got.Code != want.Code || got.Message != want.Message {
			t.Errorf("%s:\n got %s: %s\nwant %s: %s", tt.patch, got.Code, got.Message, want.Code, want.Message)
		}
		if !bytes.Equal(Canonical(before), Canonical(after)) {
			t.Errorf("%s was refused, and changed the document", tt.patch)
		}
	}
}

func TestDOC04_PatchesGoInOrderAndABadOneStopsNone(t *testing.T) {
	list := patches(t,
		`append sections[0].bullets = "a"`, `remove sections[7]`, `replace sections[0].bullets[2] = "b"`, `append sections[0].bullets = "c"`)
	list[3].By = "person"
	after, report := Apply(spec(t), list)
	var applied []string
	for _, r := range report.Results {
		applied = append(applied, fmt.Sprint(r.Id, " ", r.Applied))
	}
	if diff := cmp.Diff([]string{"p4 true", "p1 true", "p2 false", "p3 true"}, applied); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	// The person's came first, so the third names what was added by it.
	if got := after.(*loomv1.DocumentSpec).Sections[0].Bullets; !cmp.Equal(got[2:], []string{"b", "a"}) {
		t.Errorf("bullets = %q, want b and a at the end", got)
	}
}

func TestDOC04_ARenameTakesFormulasAlong(t *testing.T) {
	after, report := Apply(read(t, "sheet"), patches(t,
		`rename sheets[0].table.headers[2] = "Price"`, `rename sheets[0].table.headers[1] = "How many"`, `rename sheets[0].id = "costs"`))
	if report.Refused > 0 {
		t.Fatal(report.Results)
	}
	s := after.(*loomv1.SheetSpec)
	if got := s.Sheets[0].Computed[0].Formula; got != "{How many} * Price" {
		t.Errorf("formula = %q, want {How many} * Price", got)
	}
	if s.Sheets[0].Table.Formats["Price"] != "usd" || s.Figures[0].Section != "costs" || s.Sheets[0].OutlineId != "sec-1" {
		t.Errorf("formats %v, figure in %q, outline id %q", s.Sheets[0].Table.Formats, s.Figures[0].Section, s.Sheets[0].OutlineId)
	}
}

func TestDOC04_PathsComeBack(t *testing.T) {
	for _, text := range []string{"title", "sections[2].table.rows[5][3]", `sections[1].table.totals["Duration (days)"]`, `x["a\"b\\c"]`, `x[""]`, `x["a]b"].y`, "a-b.c_d"} {
		p, err := ParsePath(text)
		if err != nil || p.String() != text {
			t.Errorf("ParsePath(%q) = %q, %v", text, p, err)
		}
	}
	for _, text := range []string{"", ".", "a.", "a..b", "a[", "a[x]", "a[1", "a[01]", `a["b`, `a["b"`, "a[0]b", "[]"} {
		if p, err := ParsePath(text); err == nil {
			t.Errorf("ParsePath(%q) = %q, want an error", text, p)
		}
	}
}

// drawSpec draws a document that Read takes.
func drawSpec(t *rapid.T) *loomv1.DocumentSpec {
	name := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f", "g"})
	short := rapid.SampledFrom([]string{"Alpha", "Beta two", "The third one", "Ends here.", "é ü", "1. x", "X", "In order to sell", "To sell"})
	d := &loomv1.DocumentSpec{Version: "0.2", Title: short.Draw(t, "title")}
	if rapid.Bool().Draw(t, "numbered") {
		d.Styles = &loomv1.DocumentStyles{NumberHeadings: true}
	}
	seen := map[string]bool{}
	for range rapid.IntRange(1, 6).Draw(t, "sections") {
		id := name.Draw(t, "id")
		if seen[id] {
			continue
		}
		seen[id] = true
		s := &loomv1.DocumentSection{Id: id, Heading: short.Draw(t, "heading"), Level: int32(rapid.IntRange(0, 3).Draw(t, "level"))}
		if rapid.Bool().Draw(t, "body") {
			s.Body = short.Draw(t, "text")
		}
		s.Bullets = rapid.SliceOfN(short, 0, 4).Draw(t, "bullets")
		if rapid.Bool().Draw(t, "table") {
			s.Table = drawTable(t)
		}
		for range rapid.IntRange(0, 2).Draw(t, "callouts") {
			s.Callouts = append(s.Callouts, &loomv1.Callout{Kind: rapid.SampledFrom([]string{"note", "risk"}).Draw(t, "kind"), Text: short.Draw(t, "callout")})
		}
		d.Sections = append(d.Sections, s)
	}
	for id := range seen {
		if rapid.Bool().Draw(t, "figure "+id) {
			d.Figures = append(d.Figures, &loomv1.Figure{Id: "f" + id, Section: id, Image: "x.png"})
		}
	}
	return d
}

func drawTable(t *rapid.T) *loomv1.SpecTable {
	table := &loomv1.SpecTable{Headers: rapid.SampledFrom([][]string{{"A"}, {"A", "B"}, {"B", "A"}, {"C (x)", "B"}}).Draw(t, "headers")}
	for range rapid.IntRange(0, 4).Draw(t, "rows") {
		row := &structpb.ListValue{}
		for range table.Headers {
			row.Values = append(row.Values, structpb.NewNumberValue(float64(rapid.IntRange(0, 9).Draw(t, "cell"))))
		}
		table.Rows = append(table.Rows, row)
	}
	if rapid.Bool().Draw(t, "totals") {
		table.Totals = map[string]*structpb.Value{table.Headers[0]: structpb.NewNumberValue(7)}
	}
	return table
}

// Patches that lead from one document to another lead there.
func TestDOC05_DiffLeadsFromOneToTheOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawSpec(t), drawSpec(t)
		list, err := Diff(a, b)
		if err != nil {
			t.Fatal(err)
		}
		got, report := Apply(a, list)
		if report.Refused > 0 || !bytes.Equal(Canonical(got), Canonical(b)) {
			t.Fatalf("patches %v lead to\n%s\nand not to\n%s", list, Canonical(got), Canonical(b))
		}
		if len(list) == 0 && Hash(a) != Hash(b) {
			t.Fatal("no patches between two documents")
		}
	})
}

// Whatever a patch says: it is applied to a document that is then valid, or refused
// and the bytes are the same.
func TestDOC04_AnyPatchIsWholeOrNothing(t *testing.T) {
	target := rapid.SampledFrom([]string{
		"sections", "sections[0]", "sections[1]", "sections[0].id", "sections[0].heading", "sections[0].body", "sections[0].bullets", "sections[0].bullets[1]",
		"sections[0].table", "sections[0].table.headers", "sections[0].table.headers[0]", "sections[0].table.rows[0]", "sections[0].table.rows[0][0]",
		"sections[0].table.totals", `sections[0].table.totals["A"]`, "/sections/-", "/sections/0/callouts/0", "figures[0]", "figures[0].section", "title", "styles", "version", "x", "x.y",
	})
	value := rapid.SampledFrom([]*structpb.Value{
		nil, structpb.NewNullValue(), structpb.NewStringValue("B"), structpb.NewStringValue("sections[0]"), structpb.NewStringValue("sections[0].bullets[0]"), structpb.NewNumberValue(0), structpb.NewNumberValue(1),
		structpb.NewBoolValue(true), structpb.NewListValue(&structpb.ListValue{}), structpb.NewStructValue(&structpb.Struct{}),
	})
	rapid.Check(t, func(t *rapid.T) {
		d := drawSpec(t)
		p := &loomv1.Patch{Target: target.Draw(t, "target"), Action: rapid.SampledFrom(actions).Draw(t, "action"), Value: value.Draw(t, "value")}
		was := Canonical(d)
		after, report := Apply(d, []*loomv1.Patch{p})
		if !bytes.Equal(Canonical(d), was) {
			t.Fatal("the document given was changed")
		}
		if !report.Results[0].Applied {
			if !bytes.Equal(Canonical(after), was) {
				t.Fatalf("%v was refused and changed the document", p)
			}
			return
		}
		if _, err := Read("", JSON(after), "document"); err != nil {
			t.Fatalf("%v made a document that is none: %v", p, err)
		}
	})
}

func FuzzDOC04_ParsePath(f *testing.F) {
	for _, s := range []string{"a", "a[0].b", `a["x y"]`, "/a/0/~1", "a[", "[[[", "a.b["} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParsePath(text)
		if err != nil {
			return
		}
		if strings.HasPrefix(text, "/") {
			return // an index and a key are one there until they meet the document
		}
		again, err := ParsePath(p.String())
		if err != nil || again.String() != p.String() {
			t.Errorf("ParsePath(%q) = %q, which is read as %q, %v", text, p.String(), again.String(), err)
		}
	})
}

func FuzzDOC01_Read(f *testing.F) {
	for _, name := range Kinds() {
		f.Add(sample(f, name))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Read("x", data, "")
		if err != nil {
			return
		}
		again, err := Read("x", JSON(m), KindOf(m).Name)
		if err != nil || !bytes.Equal(Canonical(m), Canonical(again)) {
			t.Errorf("what was taken does not come back: %v", err)
		}
		if k := KindOf(m); k.Spec {
			(Review{}).Run(m)
			Nodes(m)
		}
	})
}

// A footnote that gets another name is named by it everywhere.
func TestDOC04_AFootnotesNameFollows(t *testing.T) {
	m, report := Apply(fullSpec(t), []*loomv1.Patch{{Target: "footnotes[0].id", Action: "rename", Value: structpb.NewStringValue("gates")}})
	d := m.(*loomv1.DocumentSpec)
	if report.Applied != 1 || d.Sections[0].Bullets[0] != "Passengers rose by a tenth[^gates]" || !strings.Contains(d.Sections[0].Body, "[^poll]") {
		t.Errorf("after the renaming: %v %q", report, d.Sections[0].Bullets)
	}
	if r := (Review{}).Run(m); slices.ContainsFunc(r.Findings, func(f *loomv1.ReviewFinding) bool { return f.Rule == "references/footnote" }) {
		t.Errorf("a review finds %v", summary(r))
	}
	if nodes := Nodes(m); !slices.ContainsFunc(nodes, func(n Node) bool {
		return n.ID == "footnote/gates" && n.Kind == "footnote" && n.Path == "footnotes[0]"
	}) {
		t.Errorf("no node for the footnote: %v", nodes)
	}
}
