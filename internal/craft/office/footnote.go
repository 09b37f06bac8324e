package office

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/craft/manuscript"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// footnoteRefs are the places where a text names a footnote.
var footnoteRefs = regexp.MustCompile(`\[\^([A-Za-z0-9][A-Za-z0-9._-]{0,63})\]`)

// named makes runs of their own of the places where a text names a footnote, which gets
// its number where it is named first. What names none stays as it is.
func (b *builder) named(runs []run) (out []run) {
	if len(b.footnotes) == 0 {
		return runs
	}
	for _, r := range runs {
		if r.Code || r.Link != "" {
			out = append(out, r)
			continue
		}
		at := 0
		for _, m := range footnoteRefs.FindAllStringSubmatchIndex(r.Text, -1) {
			n := b.number(r.Text[m[2]:m[3]])
			if n == 0 {
				continue
			}
			if before := r; m[0] > at {
				before.Text = r.Text[at:m[0]]
				out = append(out, before)
				r.Break = false
			}
			out = append(out, run{Text: strconv.Itoa(n), Note: n})
			at = m[1]
		}
		if r.Text = r.Text[at:]; r.Text != "" || r.Break {
			out = append(out, r)
		}
	}
	return out
}

// number is a footnote's number, 0 for one that is not there.
func (b *builder) number(id string) int {
	if n := b.numbers[id]; n > 0 {
		return n
	}
	i := slices.IndexFunc(b.footnotes, func(n *loomv1.Footnote) bool { return n.Id == id })
	if i < 0 {
		return 0
	}
	if b.numbers == nil {
		b.numbers = map[string]int{}
	}
	b.f.notes = append(b.f.notes, manuscript.Inline(b.footnotes[i].Text))
	b.numbers[id] = len(b.f.notes)
	return len(b.f.notes)
}

// htmlNote leads to a footnote; the first of its places is the one that it leads back to.
func (f *flow) htmlNote(n int) string {
	id := ""
	if f.seen == nil {
		f.seen = map[int]bool{}
	}
	if !f.seen[n] {
		f.seen[n], id = true, fmt.Sprintf(` id="footnote-ref-%d"`, n)
	}
	return fmt.Sprintf(`<sup><a%[2]s href="#footnote-%[1]d" role="doc-noteref">%[1]d</a></sup>`, n, id)
}

func (w *work) htmlNotes(b *bytes.Buffer, f *flow) {
	if len(f.notes) == 0 {
		return
	}
	b.WriteString("<section class=\"notes\" role=\"doc-endnotes\"><ol>\n")
	for i, n := range f.notes {
		fmt.Fprintf(b, "<li id=\"footnote-%[1]d\">%[2]s <a href=\"#footnote-ref-%[1]d\" role=\"doc-backlink\">↩</a></li>\n", i+1, w.htmlRuns(f, n))
	}
	b.WriteString("</ol></section>\n")
}

// noteRef refers to a footnote: where it is named first as a word processor has it, and
// afterwards to that place.
func (d *wordFile) noteRef(n int) string {
	const look = `<w:rStyle w:val="FootnoteReference"/>`
	if d.noted[n] {
		return field(fmt.Sprintf(`NOTEREF note%d \h`, n), strconv.Itoa(n), look)
	}
	if d.noted == nil {
		d.noted = map[int]bool{}
	}
	d.noted[n] = true
	return d.marked(fmt.Sprintf("note%d", n), fmt.Sprintf(`<w:r><w:rPr>%s</w:rPr><w:footnoteReference w:id="%d"/></w:r>`, look, n))
}

func (d *wordFile) noteSettings() string {
	if len(d.f.notes) == 0 {
		return ""
	}
	return `<w:footnotePr><w:footnote w:id="-1"/><w:footnote w:id="0"/></w:footnotePr>`
}

func (d *wordFile) noteStyle() string {
	if len(d.f.notes) == 0 {
		return ""
	}
	return `<w:style w:type="character" w:styleId="FootnoteReference"><w:name w:val="footnote reference"/><w:rPr><w:vertAlign w:val="superscript"/></w:rPr></w:style>`
}

// footnotes adds the part with the footnotes, and what their links lead to.
func (d *wordFile) footnotes(p *parts) {
	if len(d.f.notes) == 0 {
		return
	}
	main := d.rels
	d.rels = relations{}
	var b strings.Builder
	b.WriteString(xmlHead + `<w:footnotes ` + wordSpace + `>`)
	for i, kind := range []string{"separator", "continuationSeparator"} {
		fmt.Fprintf(&b, `<w:footnote w:type="%[1]s" w:id="%[2]d"><w:p><w:pPr><w:spacing w:after="0" w:line="240" w:lineRule="auto"/></w:pPr><w:r><w:%[1]s/></w:r></w:p></w:footnote>`, kind, i-1)
	}
	for i, n := range d.f.notes {
		fmt.Fprintf(&b, `<w:footnote w:id="%d"><w:p><w:pPr><w:pStyle w:val="FootnoteText"/></w:pPr><w:r><w:rPr><w:rStyle w:val="FootnoteReference"/></w:rPr><w:footnoteRef/></w:r>%s</w:p></w:footnote>`, i+1, text(" ", "")+d.runs(n))
	}
	b.WriteString(`</w:footnotes>`)
	p.add("word/footnotes.xml", b.String())
	if len(d.rels.list) > 0 {
		p.add("word/_rels/footnotes.xml.rels", d.rels.xml())
	}
	d.rels = main
}

// withoutFootnotes is a text for slides: raised figures stand where it names footnotes,
// which the speaker has: they are returned by section.
func withoutFootnotes(d *loomv1.DocumentSpec) (*loomv1.DocumentSpec, []string) {
	said := make([]string, len(d.Sections))
	if len(d.Footnotes) == 0 {
		return d, said
	}
	d = proto.CloneOf(d)
	b := &builder{f: &flow{}, footnotes: d.Footnotes}
	for k, s := range d.Sections {
		named := map[int]bool{}
		figures := func(words string) string {
			return footnoteRefs.ReplaceAllStringFunc(words, func(ref string) string {
				n := b.number(ref[2 : len(ref)-1])
				if n == 0 {
					return ref
				}
				if !named[n] {
					named[n] = true
					i := slices.IndexFunc(d.Footnotes, func(x *loomv1.Footnote) bool { return "[^"+x.Id+"]" == ref })
					said[k] += "\n\n" + raised(n) + " " + d.Footnotes[i].Text
				}
				return raised(n)
			})
		}
		raise := func(text string) string { return manuscript.Rewrite(text, figures) }
		s.Body = raise(s.Body)
		for _, list := range [][]string{s.Bullets, s.Steps} {
			for i := range list {
				list[i] = raise(strings.TrimSpace(list[i]))
			}
		}
		for _, c := range s.Callouts {
			c.Text = raise(strings.TrimSpace(c.Text))
		}
	}
	return d, said
}

// raised is a number in raised figures.
func raised(n int) string {
	figures := []rune("⁰¹²³⁴⁵⁶⁷⁸⁹")
	return strings.Map(func(r rune) rune { return figures[r-'0'] }, strconv.Itoa(n))
}
