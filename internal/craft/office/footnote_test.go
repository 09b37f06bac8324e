package office

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// noted is a document whose footnotes are named out of their order, twice, in every kind
// of text, and not at all.
func noted() *loomv1.DocumentSpec {
	return &loomv1.DocumentSpec{
		Version: "0.2", Title: "Notes",
		Sections: []*loomv1.DocumentSection{
			{Id: "a", Heading: "One", Body: "First[^b] and `[^b]` in code, **bold[^a]**.\n\nOnce more[^b], and nothing [^none].\n\nIn code `[^e]`, and [in a link [^e]](https://example.com/e).", Bullets: []string{"An item[^c]"}, Callouts: []*loomv1.Callout{{Kind: "note", Text: "A box[^d]"}}},
		},
		Footnotes: []*loomv1.Footnote{
			{Id: "a", Text: "Named *second*."},
			{Id: "b", Text: "Named first, with [a link](https://example.com/b)."},
			{Id: "c", Text: "Of an item <x>."},
			{Id: "d", Text: "Of a box."},
			{Id: "e", Text: "Never named."},
		},
	}
}

func TestDOC06_FootnotesOfEveryFormat(t *testing.T) {
	md := string(render(t, "notes", noted(), "md").Data)
	for _, want := range []string{
		"First[^1] and `[^b]` in code, **bold**[^2].", "Once more[^1], and nothing \\[^none\\].", "- An item[^3]", "A box[^4]",
		"\n[^1]: Named first, with [a link](https://example.com/b).\n[^2]: Named *second*.\n[^3]: Of an item \\<x\\>.\n[^4]: Of a box.\n",
	} {
		if !strings.Contains(md, want) {
			t.Errorf("md lacks %q:\n%s", want, md)
		}
	}
	html := string(render(t, "notes", noted(), "html").Data)
	for _, want := range []string{
		`First<sup><a id="footnote-ref-1" href="#footnote-1" role="doc-noteref">1</a></sup> and`, `Once more<sup><a href="#footnote-1" role="doc-noteref">1</a></sup>,`,
		`<li id="footnote-3">Of an item &lt;x&gt;. <a href="#footnote-ref-3" role="doc-backlink">↩</a></li>`, `id="footnote-ref-4"`,
	} {
		if !strings.Contains(html, want) {
			t.Errorf("html lacks %q:\n%s", want, html)
		}
	}
	for name, text := range map[string]string{"md": md, "html": html} {
		if body, _, _ := strings.Cut(text, pageMark); strings.Contains(body, "Never named") {
			t.Errorf("%s has a footnote that no text names", name)
		}
	}
	wordNotes(t)
	deck := render(t, "notes", noted(), "pptx")
	if text := parseXML(t, unzip(t, deck.Data)["ppt/slides/slide2.xml"]).text("t"); !strings.Contains(text, "An item³") {
		t.Errorf("the slide says %q", text)
	}
	text := parseXML(t, unzip(t, deck.Data)["ppt/notesSlides/notesSlide2.xml"]).text("t")
	if !strings.Contains(text, "³ Of an item <x>.") || strings.Contains(text, "Never named") {
		t.Errorf("the speaker says %q", text)
	}
	for _, want := range []string{"First¹ and [^b] in code, bold².", "In code [^e], and in a link [^e]."} {
		if !strings.Contains(text, want) {
			t.Errorf("the speaker says %q, want %q", text, want)
		}
	}
}

// wordNotes reads the footnotes as a word processor does: a part of its own, a reference
// to each, and links that lead out of that part.
func wordNotes(t *testing.T) {
	t.Helper()
	data := render(t, "notes", noted(), "docx").Data
	soundPackage(t, "notes.docx", data)
	files := unzip(t, data)
	var refs []string
	for _, r := range parseXML(t, files["word/document.xml"]).all("footnoteReference") {
		refs = append(refs, r.attr("id"))
	}
	if fmt.Sprint(refs) != "[1 2 3 4]" {
		t.Errorf("references are %v", refs)
	}
	if body := string(files["word/document.xml"]); !strings.Contains(body, `NOTEREF note1 \h`) || !strings.Contains(body, `w:name="note1"`) {
		t.Error("a footnote that is named twice is not referred to")
	}
	notes := map[string]string{}
	for _, n := range parseXML(t, files["word/footnotes.xml"]).all("footnote") {
		notes[n.attr("id")] = strings.TrimSpace(n.text("t"))
	}
	want := map[string]string{"-1": "", "0": "", "1": "Named first, with a link.", "2": "Named second.", "3": "Of an item <x>.", "4": "Of a box."}
	if fmt.Sprint(notes) != fmt.Sprint(want) {
		t.Errorf("footnotes are %v, want %v", notes, want)
	}
	if rels := string(files["word/_rels/footnotes.xml.rels"]); !strings.Contains(rels, "https://example.com/b") {
		t.Errorf("the footnotes lead to %q", rels)
	}
	without := unzip(t, render(t, "plain", &loomv1.DocumentSpec{Version: "0.2", Title: "x", Sections: noted().Sections}, "docx").Data)
	if _, there := without["word/footnotes.xml"]; there {
		t.Error("a document without footnotes has a part for them")
	}
}

// On pages each footnote stands on the page that names it, or goes on on the next one,
// and never on the text.
func TestDOC06_FootnotesStandOnTheirPages(t *testing.T) {
	d := noted()
	d.Sections = nil
	d.Footnotes = nil
	for i := range 40 {
		id := fmt.Sprint("n", i)
		text := strings.Repeat("What a footnote says goes over several lines. ", 1+i%7)
		if i == 20 {
			text = strings.Repeat("This one is longer than a page can take. ", 200)[:4000]
		}
		d.Footnotes = append(d.Footnotes, &loomv1.Footnote{Id: id, Text: text})
		d.Sections = append(d.Sections, &loomv1.DocumentSection{Id: fmt.Sprint("s", i), Heading: fmt.Sprint("Section ", i), Body: strings.Repeat("Words of a paragraph that is long. ", 20) + "[^" + id + "]", Callouts: []*loomv1.Callout{{Kind: "note", Text: "Again[^" + id + "]."}}})
	}
	w := &work{}
	f, err := w.flow(d)
	if err != nil {
		t.Fatal(err)
	}
	l, err := w.layout(f, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(l.notes.named) != 40 || len(l.notes.waiting) != 0 || l.PageCount() < 10 {
		t.Errorf("%d footnotes on %d pages, %d lines wait", len(l.notes.named), l.PageCount(), len(l.notes.waiting))
	}
	a, b := render(t, "pages", d, "pdf"), render(t, "pages", d, "pdf")
	if string(a.Data) != string(b.Data) {
		t.Error("two files of one spec differ")
	}
	if n := len(regexp.MustCompile(`/Type /Page\b`).FindAll(a.Data, -1)); n != l.PageCount() {
		t.Errorf("the file has %d pages, the layout %d", n, l.PageCount())
	}
}
