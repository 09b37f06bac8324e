package document

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// shape is a document in few words: its sections by id, with paragraphs, bullets and cells.
func shape(d *loomv1.DocumentSpec) string {
	var list []string
	for _, s := range d.Sections {
		text := s.Id + ":" + strings.Join(paragraphs(s.Body), "|") + fmt.Sprint(s.Bullets)
		for _, r := range s.GetTable().GetRows() {
			for _, v := range r.Values {
				text += " " + CellText(v)
			}
		}
		for _, v := range s.GetTable().GetTotals() {
			text += " =" + CellText(v)
		}
		list = append(list, text)
	}
	return strings.Join(list, "; ")
}

// Granular changes are patches: each leads to what it says, and one whose target is not
// there is refused by its path and leaves the same bytes.
func TestDOC04_GranularEditsArePatches(t *testing.T) {
	m, err := Read("", []byte(`{"version": "0.2", "title": "T", "sections": [
		{"id": "a", "heading": "A", "body": "one\n\ntwo", "bullets": ["x", "y"]},
		{"id": "b", "heading": "B", "table": {"caption": "C", "headers": ["What", "Sum"], "rows": [["p", 1], ["q", 2]], "totals": {"Sum": 3}}},
		{"id": "c", "heading": "C", "body": "three"}]}`), "document")
	if err != nil {
		t.Fatal(err)
	}
	const a, b, c, n = "a:one|two[x y]", "b:[] p 1 q 2 =3", "c:three[]", "n:new[]"
	for _, tt := range []struct{ edit, arguments, want string }{
		{"insert_section", `{"content": {"id": "n", "heading": "N", "body": "new"}}`, a + "; " + b + "; " + c + "; " + n},
		{"insert_section", `{"content": {"id": "n", "heading": "N", "body": "new"}, "before": "a"}`, n + "; " + a + "; " + b + "; " + c},
		{"insert_section", `{"content": {"id": "n", "heading": "N", "body": "new"}, "after": "a"}`, a + "; " + n + "; " + b + "; " + c},
		{"insert_section", `{"content": {"id": "n", "heading": "N", "body": "new"}, "after": "c"}`, a + "; " + b + "; " + c + "; " + n},
		{"replace_paragraph", `{"section": "a", "paragraph": 2, "text": "2"}`, "a:one|2[x y]; " + b + "; " + c},
		{"replace_cell", `{"section": "b", "row": 2, "column": "Sum", "value": 5}`, a + "; b:[] p 1 q 5 =3; " + c},
		{"replace_cell", `{"section": "b", "column": "Sum", "value": 6}`, a + "; b:[] p 1 q 2 =6; " + c},
		{"replace_cell", `{"section": "b", "row": 1, "column": "What", "value": null}`, a + "; b:[]  1 q 2 =3; " + c},
		{"move", `{"section": "c", "before": "a"}`, c + "; " + a + "; " + b},
		{"move", `{"section": "a", "before": "c"}`, b + "; " + a + "; " + c},
		{"move", `{"section": "a", "after": "c"}`, b + "; " + c + "; " + a},
		{"move", `{"section": "a", "part": "bullets[1]", "to": 0}`, "a:one|two[y x]; " + b + "; " + c},
		{"remove", `{"section": "b"}`, a + "; " + c},
		{"remove", `{"section": "a", "part": "bullets[0]"}`, "a:one|two[y]; " + b + "; " + c},
		{"remove", `{"section": "b", "part": "table.headers[1]"}`, a + "; b:[] p q; " + c},

		{"insert_section", `{"content": {"id": "a", "heading": "N"}, "before": "b"}`, `document/patch sections[3].id`},
		{"insert_section", `{"content": {"id": "n", "heeding": "N"}}`, `document/patch sections[3].heeding`},
		{"insert_section", `{"content": {"id": "n", "heading": "N"}, "after": "z"}`, `document/target after: the spec has no section of this id (got "z"); known are a, b, c`},
		{"insert_section", `{"content": {"id": "n", "heading": "N"}, "after": "a", "before": "b"}`, `usage/argument before`},
		{"replace_paragraph", `{"section": "a", "paragraph": 3, "text": "2"}`, `document/target sections[0].body: there are 2 paragraphs, and none of the number 3`},
		{"replace_paragraph", `{"section": "b", "paragraph": 1, "text": "2"}`, `document/target sections[1].body: there are 0 paragraphs`},
		{"replace_paragraph", `{"section": "a", "paragraf": 1}`, `usage/argument they are no arguments of replace_paragraph`},
		{"replace_cell", `{"section": "b", "row": 3, "column": "Sum", "value": 5}`, `document/target sections[1].table.rows: there are 2 rows`},
		{"replace_cell", `{"section": "b", "row": 1, "column": "Sun", "value": 5}`, `document/target sections[1].table.headers: the table has no such column`},
		{"replace_cell", `{"section": "b", "column": "What", "value": 5}`, `document/target sections[1].table.totals.What: the column has no total`},
		{"replace_cell", `{"section": "a", "row": 1, "column": "Sum", "value": 5}`, `document/target sections[0].table: the section has no table`},
		{"move", `{"section": "a"}`, `usage/argument before`},
		{"move", `{"section": "a", "part": "bullets[1]", "after": "b"}`, `usage/argument to`},
		{"move", `{"section": "a", "part": "bullets[1]", "to": 2}`, `document/patch sections[0].bullets[1]`},
		{"move", `{"section": "a", "before": "q"}`, `document/target before`},
		{"remove", `{"section": "a", "part": "bullets[7]"}`, `document/target sections[0].bullets[7]`},
		{"remove", `{"section": "a", "part": "heading"}`, `document/patch sections[0].heading`},
		{"remove", `{"section": "a", "part": "b..c"}`, `document/target a key is missing`},
	} {
		e, ok := EditNamed(tt.edit)
		if !ok {
			t.Fatalf("there is no edit %s", tt.edit)
		}
		before := Canonical(m)
		changed := m
		patches, err := e.Patches(m, []byte(tt.arguments))
		if err == nil {
			changed, _, err = ApplyWhole(m, patches, nil)
		}
		got := shape(changed.(*loomv1.DocumentSpec))
		if err != nil {
			got = fault.Code(err) + " " + strings.TrimPrefix(err.Error(), fault.Code(err)+": ")
			if !bytes.Equal(before, Canonical(changed)) {
				t.Errorf("%s %s: it was refused, and the spec is another", tt.edit, tt.arguments)
			}
		}
		if got != tt.want && (err == nil || !strings.Contains(got, tt.want[strings.Index(tt.want, " ")+1:]) || !strings.HasPrefix(got, tt.want[:strings.Index(tt.want, " ")])) {
			t.Errorf("%s %s\n got %s\nwant %s", tt.edit, tt.arguments, got, tt.want)
		}
	}
}
