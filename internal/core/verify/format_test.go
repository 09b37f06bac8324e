package verify_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/loomrun/loom/internal/core/verify"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// sample is an office file that another program made.
func sample(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../../craft/foreign/testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// workbook is an xlsx of sheets by their names; rows are XML.
func workbook(t testing.TB, sheets ...[2]string) []byte {
	t.Helper()
	var list, rels strings.Builder
	parts := map[string]string{
		"_rels/.rels": `<Relationships><Relationship Id="r" Type="x/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
	}
	for i, s := range sheets {
		fmt.Fprintf(&list, `<sheet name="%s" r:id="r%d"/>`, s[0], i)
		fmt.Fprintf(&rels, `<Relationship Id="r%d" Target="s%d.xml"/>`, i, i)
		parts[fmt.Sprintf("xl/s%d.xml", i)] = "<worksheet><sheetData>" + s[1] + "</sheetData></worksheet>"
	}
	parts["xl/workbook.xml"] = `<workbook xmlns:r="x/relationships"><sheets>` + list.String() + "</sheets></workbook>"
	parts["xl/_rels/workbook.xml.rels"] = "<Relationships>" + rels.String() + "</Relationships>"
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range parts {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// row is the XML of a row; what begins with # is a cell of type error.
func row(n int, cells ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<row r="%d">`, n)
	for i, c := range cells {
		kind := "str"
		if strings.HasPrefix(c, "#") {
			kind = "e"
		}
		fmt.Fprintf(&b, `<c r="%c%d" t="%s"><v>%s</v></c>`, 'A'+i, n, kind, c)
	}
	return b.String() + "</row>"
}

// check is what is found of one file.
func check(name string, data []byte, rules ...*loomv1.Rule) (list []string) {
	files := fstest.MapFS{name: &fstest.MapFile{Data: data}}
	for _, f := range verify.Phase(files, "p", &loomv1.Phase{Deliverables: []string{name}}, rules, "", verify.Run{}) {
		list = append(list, f.String())
	}
	return list
}

const soundPDF = "%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\nxref\n0 1\n0000000000 65535 f \ntrailer<</Root 1 0 R>>\nstartxref\n40\n%%EOF\n"

// A file is what its name says, or the phase has failed.
func TestPROC05_FormatsAreWhatTheySay(t *testing.T) {
	for _, tt := range []struct {
		name, file string
		data       []byte
		want       []string
	}{
		{"a docx", "deck.docx", sample(t, "pandoc.docx"), nil},
		{"an xlsx", "m.xlsx", sample(t, "libreoffice.xlsx"), nil},
		{"a pptx", "d.PPTX", sample(t, "pandoc.pptx"), nil},
		{"text in a docx", "deck.docx", []byte("this is not a docx at all"), []string{"error format deck.docx: it is no docx: it is a text"}},
		{"a docx called pptx", "deck.pptx", sample(t, "pandoc.docx"), []string{"error format deck.pptx: it is no pptx: it is a docx"}},
		{"a damaged docx", "deck.docx", sample(t, "pandoc.docx")[:3000], []string{"error format deck.docx: it is no docx: the file is a damaged package: zip: not a valid zip file"}},
		{"a formula without its reference", "m.xlsx", workbook(t, [2]string{"P&amp;L", row(1, "a", "b") + row(2, "1", "#REF!")}), []string{`error format m.xlsx: cell B2 of sheet "P&L": #REF!`}},
		{"json", "a.json", []byte(`{"a": [1, 2]}`), nil},
		{"no json", "a.json", []byte("{\"a\": 1,\n \"b\": }\n"), []string{"error format a.json:2: it is no JSON: invalid character '}' looking for beginning of value"}},
		{"json in Markdown", "a.json", []byte("```json\n{}\n```\n"), []string{"error format a.json:1: it is no JSON: invalid character '`' looking for beginning of value"}},
		{"yaml", "a.yml", []byte("a: [1, 2]\n"), nil},
		{"two documents of yaml", "a.yaml", []byte("a: 1\n---\nb: 2\n"), []string{"warning format a.yaml:2: not all of it was looked at: a second document begins here"}},
		{"no yaml", "a.yaml", []byte("a: 1\nb: [1, 2\n"), []string{"error format a.yaml:2: it is no YAML: "}},
		{"csv", "a.csv", []byte("a,b\n1,\"2,3\"\n"), nil},
		{"no csv", "a.csv", []byte("a,b\n1,x\"y\n"), []string{`error format a.csv:2: the table cannot be read: parse error on line 2, column 4: bare " in non-quoted-field`}},
		{"uneven csv", "a.csv", []byte("a,b\n1,2\n3\n"), []string{"warning format a.csv:3: the row has 1 cells, the header 2"}},
		{"html", "a.html", []byte("<!doctype html><p>x</p>"), nil},
		{"no html", "a.html", []byte("a < b and c > d\n"), []string{"error format a.html: it is no HTML: it has no element"}},
		{"md", "a.md", []byte("# A\n```\n# x\n```\n"), nil},
		{"md that is html", "a.md", []byte("<!DOCTYPE html><html></html>"), []string{"error format a.md:1: it is no Markdown: it is a page of HTML"}},
		{"md that was cut", "a.md", []byte("# A\n```go\nx\n"), []string{"warning format a.md:2: the block of code that begins here has no end"}},
		{"pdf", "a.pdf", []byte(soundPDF), nil},
		{"text in a pdf", "a.pdf", []byte("hello"), []string{"error format a.pdf: it is no PDF: it does not begin as one"}},
		{"a pdf that was cut", "a.pdf", []byte(soundPDF[:80]), []string{"error format a.pdf: it is no whole PDF: its end is missing"}},
		{"a pdf with a wrong place", "a.pdf", []byte(strings.Replace(soundPDF, "\n40\n", "\n12\n", 1)), []string{"error format a.pdf: it is no whole PDF: its table of objects is not where it says"}},
		{"a picture", "a.png", []byte("\x89PNG\r\n\x1a\nx"), nil},
		{"text in a picture", "a.jpeg", []byte("hello"), []string{"error format a.jpeg: it is not a JPEG picture"}},
		{"any other text", "a.txt", []byte("hello"), nil},
	} {
		t.Run("PROC05 "+tt.name, func(t *testing.T) {
			got := check(tt.file, tt.data)
			for i := range got {
				if i < len(tt.want) && strings.HasSuffix(tt.want[i], ": ") && strings.HasPrefix(got[i], tt.want[i]) {
					got[i] = tt.want[i] // the library's words
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
}

// Rules look into office files; what they cannot look into is said.
func TestPROC05_RulesLookIntoOfficeFiles(t *testing.T) {
	found := &loomv1.Rule{Name: "no-gulls", Type: regex, Check: "Gull", Severity: severe}
	wanted := &loomv1.Rule{Name: "terns", Type: regex, Check: "Tern", Wanted: true, Severity: severe}
	rows := &loomv1.Rule{Name: "balance", Type: table, Check: "row.assets == row.owned", Target: "*.xlsx", Severity: severe}
	book := workbook(t, [2]string{"Notes", row(1, "what", "why")}, [2]string{"Balance", row(1, "Assets", "Owned") + row(2, "1,000", "1000") + row(5, "7", "8")})
	for _, tt := range []struct {
		name, file string
		data       []byte
		rules      []*loomv1.Rule
		want       []string
	}{
		{"docx", "r.docx", sample(t, "pandoc.docx"), []*loomv1.Rule{found, wanted}, []string{`error no-gulls r.docx:9: no-gulls: found "Gull"`, `error no-gulls r.docx:15: no-gulls: found "Gull"`}},
		{"xlsx", "r.xlsx", sample(t, "libreoffice.xlsx"), []*loomv1.Rule{wanted}, nil},
		{"pptx", "r.pptx", sample(t, "pandoc.pptx"), []*loomv1.Rule{wanted}, []string{"error terns r.pptx: terns: nothing there matches Tern"}},
		{"the rows of the sheet that has the columns", "b.xlsx", book, []*loomv1.Rule{rows}, []string{`error balance b.xlsx: sheet "Balance", row 5: balance: row.assets == row.owned does not hold for assets = 7, owned = 8`}},
		{"no sheet has the columns", "b.xlsx", sample(t, "libreoffice.xlsx"), []*loomv1.Rule{rows}, []string{"error balance b.xlsx: balance: no sheet has all columns that the rule reads"}},
		{"a pdf", "r.pdf", []byte(soundPDF), []*loomv1.Rule{found}, []string{"warning no-gulls r.pdf: not looked at: the pdf is damaged: it has no page"}},
		{"a pdf with text", "r.pdf", sample(t, "libreoffice.pdf"), []*loomv1.Rule{found, wanted}, []string{`error no-gulls r.pdf:9: no-gulls: found "Gull"`, `error no-gulls r.pdf:15: no-gulls: found "Gull"`}},
		{"what is no docx is told once", "r.docx", []byte("Gull"), []*loomv1.Rule{found}, []string{"error format r.docx: it is no docx: it is a text"}},
		{"bytes", "r.bin", []byte("\x00\x01"), []*loomv1.Rule{found}, []string{"warning no-gulls r.bin: not looked at: a file of this kind is not read"}},
	} {
		t.Run("PROC05 "+tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, check(tt.file, tt.data, tt.rules...)); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
}

// A small file that unpacks to much is not read, and that is said.
func TestPROC05_SEC01_ABombIsNotRead(t *testing.T) {
	bomb := workbook(t, [2]string{"s", `<row><c t="str"><v>` + strings.Repeat("a", 40<<20) + "</v></c></row>"})
	rule := &loomv1.Rule{Name: "r", Type: regex, Check: "a", Severity: severe}
	got := check("b.xlsx", bomb, rule)
	if len(bomb) > 1<<20 || len(got) != 2 || !strings.HasPrefix(got[0], "warning format b.xlsx: not looked at: ") || !strings.HasPrefix(got[1], "warning r b.xlsx: not looked at: ") {
		t.Errorf("of %d bytes: %q", len(bomb), got)
	}
}

// Whatever the bytes and the name are, there is an answer, and the same one again.
func FuzzPROC05_Formats(f *testing.F) {
	f.Add("a.xlsx", workbook(f, [2]string{"s", row(1, "a", "b") + row(2, "1", "#REF!")}))
	f.Add("a.docx", []byte("text"))
	f.Add("a.json", []byte("{\n"))
	f.Add("a.yaml", []byte("a: [\n"))
	f.Add("a.csv", []byte("a,\"b\n"))
	f.Add("a.tsv", []byte("a\tb\n1\n"))
	f.Add("a.html", []byte("<p"))
	f.Add("a.md", []byte("~~~~\n~~~\n"))
	f.Add("a.pdf", []byte(soundPDF))
	rules := []*loomv1.Rule{{Name: "r", Type: regex, Check: "a", Severity: severe}, {Name: "t", Type: table, Check: "row.a == row.b", Target: "*.xlsx"}}
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		data = data[:min(len(data), 64<<10)]
		if diff := cmp.Diff(check(name, data, rules...), check(name, data, rules...)); diff != "" {
			t.Errorf("%q is not always the same:\n%s", name, diff)
		}
	})
}
