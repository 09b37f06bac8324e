package foreign

import (
	"archive/zip"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"

	"github.com/google/go-cmp/cmp"

	"github.com/loomrun/loom/internal/base/fault"
)

// on lets reading go on.
func on() error { return nil }

// What other programs made is read: headings, lists, tables, footnotes, notes.
func TestDOC06_FilesOfOthersAreRead(t *testing.T) {
	report := []Block{
		{Kind: "heading", Level: 1, Text: "Ferry report"},
		{Kind: "heading", Level: 1, Text: "Summary"},
		{Kind: "paragraph", Text: "The line carried more people than ever.[^%]"},
		{Kind: "heading", Level: 2, Text: "By ship"},
		{Kind: "item", Text: "Gull"},
		{Kind: "item", Level: 1, Text: "large"},
		{Kind: "item", Text: "Tern"},
		{Kind: "table", Rows: [][]string{{"Ship", "Passengers"}, {"Gull", "9000"}, {"Tern", "3000"}}},
		{Kind: "note", Text: "[^%] Counted at the gates."},
	}
	for name, want := range map[string][]Block{
		"pandoc.docx": report, "libreoffice.docx": report,
		"libreoffice.xlsx": {{Kind: "heading", Level: 1, Text: "t"}, {Kind: "table", Rows: [][]string{{"Ship", "Passengers", "Note"}, {"Gull", "9000", "large, old"}, {"Tern", "3000"}}}},
		"pandoc.pptx": {
			{Kind: "heading", Level: 1, Text: "First slide"},
			{Kind: "item", Text: "A point"},
			{Kind: "item", Text: "Another"},
			{Kind: "note", Text: "Say hello."},
			{Kind: "heading", Level: 1, Text: "Table"},
			{Kind: "table", Rows: [][]string{{"A", "B"}, {"1", "x"}}},
		},
	} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		d, err := Read(data, on)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for i, b := range d.Blocks { // programs number footnotes as they like
			for _, n := range []string{"1", "2", "9", "20", "21"} {
				d.Blocks[i].Text = strings.ReplaceAll(b.Text, "[^"+n+"]", "[^%]")
				if d.Blocks[i].Text != b.Text {
					break
				}
			}
		}
		if diff := cmp.Diff(want, d.Blocks); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if md := d.Markdown(); !strings.Contains(md, "# ") || !strings.Contains(md, "| --- |") {
			t.Errorf("%s as Markdown:\n%s", name, md)
		}
	}
}

// packed is a package of parts.
func packed(t testing.TB, parts map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range parts {
		f, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

const rootRels = `<Relationships><Relationship Id="r" Type="x/officeDocument" Target="/word/document.xml"/></Relationships>`

func docx(t testing.TB, document string) []byte {
	return packed(t, map[string]string{"_rels/.rels": rootRels, "word/document.xml": document})
}

// Hostile files end at a bound, and never read what is not in them.
func TestDOC06_SEC01_HostileFilesAreBounded(t *testing.T) {
	longtest.Skip(t)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("hunter2"), 0o600); err != nil {
		t.Fatal(err)
	}
	deep := strings.Repeat("<a>", MaxDepth+5) + strings.Repeat("</a>", MaxDepth+5)
	lol := `<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]><document><body><p><r><t>&b;</t></r></p></body></document>`
	xxe := `<!DOCTYPE x [<!ENTITY a SYSTEM "file://` + secret + `">]><document><body><p><r><t>&a;</t></r></p></body></document>`
	for name, tt := range map[string]struct {
		data []byte
		code string
	}{
		"nothing":         {nil, "document/foreign"},
		"text":            {[]byte("hello"), "document/foreign"},
		"no package":      {[]byte("PK\x03\x04 nothing"), "document/foreign"},
		"empty package":   {packed(t, nil), "document/foreign"},
		"no main part":    {packed(t, map[string]string{"a": "b"}), "document/foreign"},
		"another kind":    {packed(t, map[string]string{"_rels/.rels": strings.ReplaceAll(rootRels, "word/", "visio/")}), "document/foreign"},
		"a bomb":          {docx(t, "<document>"+strings.Repeat(" ", maxPart+10)+"</document>"), "document/limit"},
		"deep":            {docx(t, deep), "document/limit"},
		"many elements":   {docx(t, "<document>"+strings.Repeat("<a/>", maxNodes+5)+"</document>"), "document/limit"},
		"a long tag":      {docx(t, "<document "+strings.Repeat("a='' ", maxRun/5+1<<14)+"/>"), "document/limit"},
		"many attributes": {docx(t, "<document>"+strings.Repeat("<a"+strings.Repeat(" a=''", 1000)+"/>", 6200)+"</document>"), "document/limit"},
		"entities":        {docx(t, lol), "document/foreign"},
		"outside entity":  {docx(t, xxe), "document/foreign"},
		"not well-formed": {docx(t, "<document><body>"), "document/foreign"},
		"too large":       {make([]byte, MaxFile+1), "document/limit"},
	} {
		d, err := Read(tt.data, on)
		if fault.Code(err) != tt.code {
			t.Errorf("%s: %v %v, want %s", name, d, err, tt.code)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s tells what is outside: %v", name, err)
		}
	}
	// Links out of the package, and to itself, lead nowhere.
	d, err := Read(packed(t, map[string]string{
		"_rels/.rels": rootRels, "word/document.xml": "<document><body><p><r><t>x</t></r></p></body></document>",
		"word/_rels/document.xml.rels": `<Relationships><Relationship Id="a" Type="x/styles" Target="../../../../etc/passwd"/><Relationship Id="b" Type="x/footnotes" Target="document.xml"/></Relationships>`,
	}), on)
	if err != nil || len(d.Blocks) != 1 {
		t.Errorf("links that lead out: %v %v", d, err)
	}
}

// xlsx is a workbook of so many sheets, all of them one part.
func xlsx(t testing.TB, sheets int, sheet string) []byte {
	return packed(t, map[string]string{
		"_rels/.rels":                strings.ReplaceAll(rootRels, "word/document", "xl/workbook"),
		"xl/workbook.xml":            `<workbook xmlns:r="x/relationships"><sheets>` + strings.Repeat(`<sheet name="s" r:id="a"/>`, sheets) + "</sheets></workbook>",
		"xl/_rels/workbook.xml.rels": "<Relationships>" + strings.Repeat(`<Relationship Id="b" Target="none"/>`, sheets) + `<Relationship Id="a" Target="s.xml"/></Relationships>`,
		"xl/s.xml":                   "<worksheet><sheetData>" + sheet + "</sheetData></worksheet>",
	})
}

// A small file has neither much memory taken nor much time: cells that are empty count,
// texts in many pieces are put together once, and who waits no more is heard.
func TestDOC06_SEC01_SmallFilesTakeLittle(t *testing.T) {
	longtest.Skip(t)
	wide := strings.Repeat(`<row><c r="CV1"><v>1</v></c></row>`, maxRows)
	d, err := Read(xlsx(t, 1900, wide), on)
	if err != nil {
		t.Fatal(err)
	}
	cells := 0
	for _, b := range d.Blocks {
		for _, r := range b.Rows {
			cells += len(r)
		}
	}
	if most := maxText / cellText; cells > most || len(d.Markdown()) > 4*maxText || !strings.Contains(strings.Join(d.Left, "\n"), "the rest") {
		t.Errorf("%d cells, %d bytes of text, left out: %v", cells, len(d.Markdown()), d.Left)
	}
	if d, err = Read(xlsx(t, 200_000, "<row><c><v>1</v></c></row>"), on); err != nil || len(d.Blocks) != 2*maxPages || len(d.Left) != 1 {
		t.Errorf("many sheets: %d blocks, left out: %v, %v", len(d.Blocks), d.Left, err)
	}
	pieces := docx(t, "<document><body><p><r><t>"+strings.Repeat("a<!---->", 1_000_000)+"</t></r></p></body></document>")
	if d, err = Read(pieces, on); err != nil || len(d.Blocks) != 1 || len(d.Blocks[0].Text) != 1_000_000 {
		t.Errorf("a text of many pieces: %v", err)
	}
	asked := 0
	gone := errors.New("nobody waits")
	_, err = Read(pieces, func() error {
		if asked++; asked > 3 {
			return gone
		}
		return nil
	})
	if !errors.Is(err, gone) || asked > 6 {
		t.Errorf("asked %d times whether anybody waits: %v", asked, err)
	}
}

// What is too much is left out, and that is said.
func TestDOC06_WhatIsLeftOutIsSaid(t *testing.T) {
	longtest.Skip(t)
	row := "<tr><tc><p><r><t>x</t></r></p></tc></tr>"
	d, err := Read(docx(t, "<document><body><tbl>"+strings.Repeat(row, maxRows+3)+"</tbl></body></document>"), on)
	if err != nil || len(d.Blocks[0].Rows) != maxRows || len(d.Left) != 1 {
		t.Errorf("a long table: %v %v", d.Left, err)
	}
	long := "<p><r><t>" + strings.Repeat("x", 1<<20) + "</t></r></p>"
	d, err = Read(docx(t, "<document><body>"+strings.Repeat(long, 12)+"</body></document>"), on)
	if err != nil || len(d.Blocks) != 8 || len(d.Left) != 1 || !strings.Contains(d.Markdown(), "[left out: the rest") {
		t.Errorf("a long text: %d %v %v", len(d.Blocks), d.Left, err)
	}
}

// Whatever the bytes are, there is an answer. With -fuzzminimizetime 2x: files are large,
// and with the default the time goes into making one smaller.
func FuzzDOC06_Read(f *testing.F) {
	for _, name := range []string{"pandoc.docx", "pandoc.pptx", "libreoffice.xlsx", "libreoffice.pdf", "tagged.pdf"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add(onePage(setLines(10, "text", "more")))
	f.Add(docx(f, "<document><body><p><pPr><numPr><ilvl val='9'/></numPr></pPr></p></body></document>"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if d, err := Read(data, on); err == nil {
			_ = d.Markdown()
		} else if fault.Code(err) == "" {
			t.Errorf("an error without a code: %v", err)
		}
	})
}
