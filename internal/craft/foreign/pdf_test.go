package foreign

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/longtest"
)

// pdfOf is a pdf of objects from 1 on; the first is its catalog, the second its pages. It has
// no table of objects, which is not read.
func pdfOf(objects ...string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n")
	for i, o := range objects {
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	b.WriteString("trailer\n<</Root 1 0 R>>\n%%EOF\n")
	return b.Bytes()
}

const (
	pdfCatalog = "<</Type/Catalog/Pages 2 0 R>>"
	pdfPages   = "<</Type/Pages/Kids[3 0 R]/Count 1/MediaBox[0 0 600 800]/Resources<</Font<</F 5 0 R/B 6 0 R>>/XObject<</X 4 0 R>>>>>>"
	pdfOnePage = "<</Type/Page/Parent 2 0 R/Contents 4 0 R>>"
	pdfFonts   = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>"
	pdfBold    = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica-Bold/Encoding<</Differences[65/fi/Lslash/uni2192/nosuchglyph]>>>>"
)

func pdfStreamOf(content, more string) string {
	return fmt.Sprintf("<</Length %d%s>>\nstream\n%s\nendstream", len(content), more, content)
}

// onePage is a pdf of one page with such content.
func onePage(content string) []byte {
	return pdfOf(pdfCatalog, pdfPages, pdfOnePage, pdfStreamOf(content, ""), pdfFonts, pdfBold)
}

func packedStream(t testing.TB, content, more string) string {
	t.Helper()
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	if _, err := z.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return pdfStreamOf(b.String(), "/Filter/FlateDecode"+more)
}

// A pdf of an office program is read by its structure where it has one, and by its look
// where it has none.
func TestDOC06_PDFsOfOthersAreRead(t *testing.T) {
	rest := []Block{
		{Kind: "heading", Level: 1, Text: "Ferry report"},
		{Kind: "heading", Level: 1, Text: "Summary"},
		{Kind: "paragraph", Text: "The line carried more people than ever.1"},
		{Kind: "heading", Level: 2, Text: "By ship"},
		{Kind: "item", Text: "Gull"},
		{Kind: "item", Level: 1, Text: "large"},
		{Kind: "item", Text: "Tern"},
		{Kind: "table", Rows: [][]string{{"Ship", "Passengers"}, {"Gull", "9000"}, {"Tern", "3000"}}},
	}
	for name, last := range map[string]string{"libreoffice.pdf": "paragraph", "tagged.pdf": "note"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		d, err := Read(data, on)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want := append(slices.Clone(rest), Block{Kind: last, Text: "1 Counted at the gates."})
		if diff := cmp.Diff(want, d.Blocks); diff != "" || d.Format != "pdf" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// text sets lines of a size at places from the top.
func setLines(size int, lines ...string) string {
	var b strings.Builder
	for i, s := range lines {
		fmt.Fprintf(&b, "BT /F %d Tf 50 %d Td (%s) Tj ET\n", size, 700-i*size*6/5, s)
	}
	return b.String()
}

// What stands on a page is put together as a reader would.
func TestDOC06_PagesAreReadAsTheyLook(t *testing.T) {
	long := "This line is as long as lines of the text are, and goes on with the"
	ruled := func(ys ...int) string {
		var b strings.Builder
		for _, y := range ys {
			fmt.Fprintf(&b, "50 %d m 300 %d l S\n", y, y)
		}
		return b.String()
	}
	var columns strings.Builder
	for i := range 8 {
		fmt.Fprintf(&columns, "BT /F 10 Tf 50 %d Td (left column number %d with its words) Tj ET BT /F 10 Tf 320 %d Td (right column number %d has others) Tj ET\n", 700-i*12, i, 700-i*12, i)
	}
	for name, tt := range map[string]struct {
		content string
		want    []Block
	}{
		"a paragraph":              {setLines(10, long, "next one."), []Block{{Kind: "paragraph", Text: long + " next one."}}},
		"words that are set apart": {"BT /F 10 Tf 50 700 Td [(Two) -300 (wo) 20 (rds)] TJ ET", []Block{{Kind: "paragraph", Text: "Two words"}}},
		"a heading by its size": {
			"BT /F 20 Tf 50 760 Td (Title) Tj ET " + setLines(10, long, "next one."),
			[]Block{{Kind: "heading", Level: 1, Text: "Title"}, {Kind: "paragraph", Text: long + " next one."}},
		},
		"items": {
			"BT /F 10 Tf 50 700 Td (\\225) Tj 15 0 Td (one) Tj -15 -14 Td (\\225) Tj 15 0 Td (two) Tj -15 -14 Td (1.) Tj 15 0 Td (first) Tj ET",
			[]Block{{Kind: "item", Text: "one"}, {Kind: "item", Text: "two"}, {Kind: "item", Text: "1. first"}},
		},
		"a table without rules": {
			"BT /F 10 Tf 50 700 Td (Ship) Tj 100 0 Td (Size) Tj -100 -14 Td (Gull) Tj 100 0 Td (9) Tj ET",
			[]Block{{Kind: "table", Rows: [][]string{{"Ship", "Size"}, {"Gull", "9"}}}},
		},
		"a table with rules, and cells of several lines": {
			ruled(712, 696, 670) + "BT /F 10 Tf 50 700 Td (Ship) Tj 100 0 Td (Size) Tj -100 -14 Td (Gull, which) Tj 100 0 Td (9) Tj -100 -12 Td (is large) Tj 0 -30 Td (Below.) Tj ET",
			[]Block{{Kind: "table", Rows: [][]string{{"Ship", "Size"}, {"Gull, which is large", "9"}}}, {Kind: "paragraph", Text: "Below."}},
		},
		"glyphs by their names":         {"BT /B 10 Tf 50 700 Td (AB C) Tj ET", []Block{{Kind: "heading", Level: 1, Text: "fiŁ →"}}},
		"a word drawn twice":            {"BT /F 10 Tf 50 700 Td (bold) Tj ET BT /F 10 Tf 50.3 700 Td (bold) Tj ET", []Block{{Kind: "paragraph", Text: "bold"}}},
		"text that is told otherwise":   {"BT /F 10 Tf 50 700 Td /Span <</ActualText(\\376\\377\\000o\\000k)>> BDC (x) Tj (y) Tj EMC ET", []Block{{Kind: "paragraph", Text: "ok"}}},
		"a picture among the operators": {"BI /W 1 /H 1 ID (((\x00 EI BT /F 10 Tf 50 700 Td (seen) Tj ET", []Block{{Kind: "paragraph", Text: "seen"}}},
	} {
		d, err := Read(onePage(tt.content), on)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(tt.want, d.Blocks); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	d, err := Read(onePage(columns.String()), on)
	if md := d.Markdown(); err != nil || strings.Index(md, "right column number 0") < strings.Index(md, "left column number 7") || strings.Contains(md, "|") {
		t.Errorf("columns of a page, %v:\n%s", err, md)
	}
}

// What is in a stream of objects is found, also packed with differences between rows; a
// later object takes the place of one before, and a wrong length or table does no harm.
func TestDOC06_PDFsAreFoundWhateverTheirTables(t *testing.T) {
	hidden := []string{pdfCatalog, pdfPages, pdfOnePage}
	var head, body strings.Builder
	for i, o := range hidden {
		fmt.Fprintf(&head, "%d %d ", i+1, body.Len())
		body.WriteString(o + " ")
	}
	plain := head.String() + body.String()
	for len(plain)%8 != 0 {
		plain += " "
	}
	var rows strings.Builder
	before := make([]byte, 8)
	for i := 0; i < len(plain); i += 8 {
		rows.WriteByte(2) // each byte less the one above
		for j := range 8 {
			rows.WriteByte(plain[i+j] - before[j])
		}
		before = []byte(plain[i : i+8])
	}
	inside := packedStream(t, rows.String(), fmt.Sprintf("/DecodeParms<</Predictor 12/Columns 8>>/Type/ObjStm/N 3/First %d", head.Len()))
	content := strings.Replace(pdfStreamOf(setLines(10, "Found."), ""), "/Length 4", "/Length 9", 1)
	data := []byte("%PDF-1.7\n9 0 obj\n" + inside + "\nendobj\n4 0 obj\n" + pdfStreamOf(setLines(10, "Old."), "") + "\nendobj\n4 0 obj\n" + content +
		"\nendobj\n5 0 obj\n" + pdfFonts + "\nendobj\nstartxref\n999999\n%%EOF")
	d, err := Read(data, on)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Block{{Kind: "paragraph", Text: "Found."}}, d.Blocks); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// What cannot be read is refused with the reason, and hostile files end at a bound.
func TestDOC06_SEC01_HostilePDFsAreBounded(t *testing.T) {
	longtest.Skip(t)
	text := setLines(10, "text")
	deep := strings.Repeat("[", 1_000_000)
	wide := "<</Type/Font/Subtype/Type0/BaseFont/A/Encoding/Identity-H/DescendantFonts[<</W[0 999999999 500]>>]>>"
	unreadable := pdfOf(pdfCatalog, pdfPages, pdfOnePage, pdfStreamOf(text, ""), wide)
	bomb := packedStream(t, strings.Repeat(" ", maxPart+10), "")
	for name, tt := range map[string]struct {
		data []byte
		code string
	}{
		"encrypted":                    {bytes.Replace(onePage(text), []byte("<</Root"), []byte("<</Encrypt 9 0 R/Root"), 1), "document/encrypted"},
		"scanned":                      {onePage("q 600 0 0 800 0 0 cm /X Do Q"), "document/no-text"},
		"glyphs without letters":       {unreadable, "document/no-text"},
		"no page":                      {[]byte("%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj"), "document/foreign"},
		"nothing":                      {[]byte("%PDF-1.4\n"), "document/foreign"},
		"cut off":                      {onePage(text)[:120], "document/foreign"},
		"pages in a ring":              {pdfOf(pdfCatalog, "<</Kids[2 0 R 2 0 R]>>"), "document/foreign"},
		"a reference to itself":        {pdfOf(pdfCatalog, "2 0 R"), "document/foreign"},
		"a bomb":                       {pdfOf(pdfCatalog, pdfPages, pdfOnePage, bomb), "document/limit"},
		"a bomb in a bomb":             {pdfOf(pdfCatalog, pdfPages, "<</Contents["+strings.Repeat("4 0 R ", 100)+"]>>", packedStream(t, strings.Repeat(" ", 4<<20), "")), "document/limit"},
		"a form that draws itself":     {pdfOf(pdfCatalog, pdfPages, pdfOnePage, pdfStreamOf(strings.Repeat("/X Do ", 1000), "/Subtype/Form")), "document/limit"},
		"many tokens":                  {onePage(strings.Repeat("0 ", 16<<20)), "document/limit"},
		"an array that does not end":   {onePage(strings.Repeat("[0 ", 100_000)), "document/no-text"},
		"nested":                       {pdfOf(pdfCatalog, pdfPages, pdfOnePage, deep), "document/no-text"},
		"dictionaries that do not end": {pdfOf(pdfCatalog, strings.Repeat("<</Kids ", 100_000)), "document/no-text"},
	} {
		d, err := Read(tt.data, on)
		if fault.Code(err) != tt.code {
			t.Errorf("%s: %v %v, want %s", name, d, err, tt.code)
		}
	}
	// A page whose contents are cut in the middle of an array is read over the cut.
	d, err := Read(pdfOf(pdfCatalog, pdfPages, "<</Contents[4 0 R 7 0 R]>>", pdfStreamOf("BT /F 10 Tf 50 700 Td [(a)", ""), pdfFonts, pdfBold, pdfStreamOf("(b)] TJ ET", "")), on)
	if err != nil || len(d.Blocks) != 1 || d.Blocks[0].Text != "ab" {
		t.Errorf("an array over two streams: %v %v", d, err)
	}
	// Who waits no more is heard.
	gone, asked := errors.New("nobody waits"), 0
	_, err = Read(onePage(strings.Repeat("0 ", 1<<20)), func() error {
		if asked++; asked > 3 {
			return gone
		}
		return nil
	})
	if !errors.Is(err, gone) {
		t.Errorf("asked %d times whether anybody waits: %v", asked, err)
	}
}

// What is repeated on pages is read once; what stands at an angle, or is a picture, is left
// out and told.
func TestDOC06_WhatAPDFHasBesideItsTextIsSaid(t *testing.T) {
	page := func(i int) string {
		return pdfStreamOf(fmt.Sprintf("BT /F 8 Tf 50 780 Td (Yearly report) Tj ET BT /F 8 Tf 300 20 Td (%d) Tj ET BT /F 10 Tf 50 500 Td (Text number %c.) Tj ET BT 0 1 -1 0 20 300 Tm (draft) Tj ET", i, 'a'+i), "")
	}
	d, err := Read(pdfOf(pdfCatalog, strings.Replace(pdfPages, "3 0 R", "7 0 R 8 0 R 9 0 R 13 0 R", 1), "null", "null", pdfFonts, pdfBold,
		"<</Contents 10 0 R>>", "<</Contents 11 0 R>>", "<</Contents 12 0 R>>", page(1), page(2), page(3), "<<>>"), on)
	if err != nil {
		t.Fatal(err)
	}
	want := []Block{{Kind: "paragraph", Text: "Yearly report"}, {Kind: "paragraph", Text: "Text number b."}, {Kind: "paragraph", Text: "Text number c."}, {Kind: "paragraph", Text: "Text number d."}}
	if diff := cmp.Diff(want, d.Blocks); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	left := []string{"1 of 4 pages: they are pictures or empty", "text that stands at an angle"}
	if diff := cmp.Diff(left, d.Left); diff != "" {
		t.Errorf("left out, -want +got:\n%s", diff)
	}
}

func TestDOC06_StandardEncodingIsWhole(t *testing.T) {
	if n := len([]rune(standard)); n != 0xFB-0xA1+1 {
		t.Errorf("%d characters", n)
	}
	for name, want := range map[string]string{"space": " ", "germandbls": "ß", "f_i": "", "uni20AC": "€", "u1F600": "😀", "a.sc": "a", "ffi": "ffi", "period": "."} {
		if got := glyphText(name); got != want {
			t.Errorf("glyphText(%s) = %q, want %q", name, got, want)
		}
	}
}
