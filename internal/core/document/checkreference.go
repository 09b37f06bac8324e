package document

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/loomrun/loom/internal/base/lazy"
	"github.com/loomrun/loom/internal/craft/manuscript"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

var pointed = lazy.Compile(`\b(Table|Figure|Fig\.)\s+(\d{1,3})\b`)

// captions counts what has a caption, in reading order: the numbers that writers give
// them.
func (v *validation) captions() (tables, figures []text) {
	for _, p := range v.parts {
		if p.table != nil && p.table.Caption != "" {
			tables = append(tables, text{p.path + ".table", p.table.Caption})
		}
		for i, f := range figuresOf(v.spec) {
			if f.Section == p.id && f.Caption != "" {
				figures = append(figures, text{fmt.Sprintf("figures[%d]", i), f.Caption})
			}
		}
	}
	return tables, figures
}

// cited calls do for each "Table 3" and "Figure 2" of the texts.
func (v *validation) cited(do func(t text, figure bool, n int, words string)) {
	for _, t := range v.texts() {
		for _, m := range pointed.FindAllStringSubmatch(t.text, -1) {
			n, _ := strconv.Atoi(m[2]) // digits
			do(t, m[1] != "Table", n, m[0])
		}
	}
}

func (v *validation) missingTarget() {
	tables, figures := v.captions()
	v.cited(func(t text, figure bool, n int, words string) {
		there := len(tables)
		if figure {
			there = len(figures)
		}
		if n < 1 || n > there {
			v.found(t.path, "", "there is no %s: %d have captions", words, there)
		}
	})
}

func (v *validation) captionCited() {
	if _, ok := v.spec.(*loomv1.DocumentSpec); !ok {
		return
	}
	tables, figures := v.captions()
	if len(tables)+len(figures) < 2 {
		return // the only one needs no name
	}
	seen := map[string]bool{}
	v.cited(func(_ text, figure bool, n int, _ string) { seen[fmt.Sprint(figure, n)] = true })
	for i, c := range tables {
		if !seen[fmt.Sprint(false, i+1)] {
			v.found(c.path, "", "no text speaks of Table %d, %q", i+1, c.text)
		}
	}
	for i, c := range figures {
		if !seen[fmt.Sprint(true, i+1)] {
			v.found(c.path, "", "no text speaks of Figure %d, %q", i+1, c.text)
		}
	}
}

var links = lazy.Compile(`\[([^\]]*)\]\(([^)\s]*)\)`)

var (
	scheme = lazy.Compile(`^[A-Za-z][A-Za-z0-9+.-]*:`)
	remote = lazy.Compile(`^https?://[^/?#\s@]+([/?#]\S*)?$`)
	mail   = lazy.Compile(`^mailto:[^@\s]+@[^@\s]+$`)
)

// safeLink says why a link leads nowhere, or "".
func safeLink(target string) string {
	lower := strings.ToLower(target)
	switch {
	case strings.HasPrefix(target, "#"), remote.MatchString(lower), mail.MatchString(lower):
		return ""
	case target == "" || !scheme.MatchString(target):
		return "it is no address"
	case strings.HasPrefix(lower, "http"):
		return "it names no host"
	}
	return "only http, https and mailto lead out of a document"
}

func (v *validation) link() {
	var ids []string
	for _, p := range v.parts {
		ids = append(ids, "#"+p.id)
	}
	for _, t := range v.texts() {
		for _, m := range links.FindAllStringSubmatch(t.text, -1) {
			if why := safeLink(m[2]); why != "" {
				v.found(t.path, "", "the link %q leads nowhere: %s", m[2], why)
			} else if strings.HasPrefix(m[2], "#") && !slices.Contains(ids, m[2]) {
				v.found(t.path, "", "the link %q leads to no section", m[2])
			}
		}
	}
	if d, ok := v.spec.(*loomv1.DocumentSpec); ok {
		for i, s := range d.Sources {
			if why := safeLink(s.Url); s.Url != "" && why != "" {
				v.found(fmt.Sprintf("sources[%d].url", i), "", "the address %q leads nowhere: %s", s.Url, why)
			}
		}
	}
}

var citations = lazy.Compile(`\[(\d{1,3})\]`)

// citation: [n] names a source, and every source is named.
func (v *validation) citation() {
	d, ok := v.spec.(*loomv1.DocumentSpec)
	if !ok {
		return
	}
	seen := map[int]bool{}
	for _, t := range v.texts() {
		for _, m := range citations.FindAllStringSubmatch(t.text, -1) {
			n, _ := strconv.Atoi(m[1]) // digits
			if seen[n] = true; n < 1 || n > len(d.Sources) {
				v.found(t.path, "", "%s names no source: there are %d", m[0], len(d.Sources))
			}
		}
	}
	for i, s := range d.Sources {
		if !seen[i+1] {
			v.found(fmt.Sprintf("sources[%d]", i), "", "no text cites the source [%d], %q", i+1, s.Title)
		}
	}
}

// footnoteRefs finds the footnotes that a text names, each in its first group.
var footnoteRefs = lazy.Compile(`\[\^([A-Za-z0-9][A-Za-z0-9._-]{0,63})\]`)

// marks are the footnotes that a text names where writers number them, each in its first
// group: in no code, and in no link.
func marks(t text) (list [][]string) {
	runs := manuscript.Inline(t.text)
	if strings.HasSuffix(t.path, ".body") {
		runs = nil
		for _, b := range manuscript.Blocks(t.text) {
			runs = append(runs, b.Runs...)
		}
	}
	for _, r := range runs {
		if !r.Code && r.Link == "" {
			list = append(list, footnoteRefs.FindAllStringSubmatch(r.Text, -1)...)
		}
	}
	return list
}

// footnotes are the texts of the footnotes.
func (v *validation) footnotes() (list []text) {
	d, _ := v.spec.(*loomv1.DocumentSpec)
	for i, n := range d.GetFootnotes() {
		list = append(list, text{fmt.Sprintf("footnotes[%d].text", i), n.Text})
	}
	return list
}

// footnote: [^id] in a text names a footnote, and every footnote is named by one. In code
// and in links it names none; a footnote names no other, and a table's cells have none.
func (v *validation) footnote() {
	d, _ := v.spec.(*loomv1.DocumentSpec)
	named := map[string]bool{}
	for _, p := range v.parts {
		for _, t := range p.texts {
			for _, m := range marks(t) {
				named[m[1]] = true
				if !slices.ContainsFunc(d.GetFootnotes(), func(n *loomv1.Footnote) bool { return n.Id == m[1] }) {
					v.found(t.path, "", "%s names no footnote: there are %d", m[0], len(d.GetFootnotes()))
				}
			}
		}
		for i, row := range p.table.GetRows() {
			for j, c := range row.GetValues() {
				if m := footnoteRefs.FindString(c.GetStringValue()); m != "" {
					v.found(fmt.Sprintf("%s.table.rows[%d][%d]", p.path, i, j), "", "%s stands in a table, where no footnote can be: use the note of the table", m)
				}
			}
		}
	}
	for i, n := range d.GetFootnotes() {
		at := fmt.Sprintf("footnotes[%d]", i)
		if !named[n.Id] {
			v.found(at, "", "no text names the footnote [^%s]", n.Id)
		}
		for _, m := range marks(text{at + ".text", n.Text}) {
			v.found(at+".text", "", "a footnote names %s: footnotes have none of their own", m[0])
		}
	}
}

// clause: legal text is the library's, word for word.
func (v *validation) clause() {
	d, ok := v.spec.(*loomv1.DocumentSpec)
	if !ok {
		return
	}
	for i, c := range d.Clauses {
		at := fmt.Sprintf("clauses[%d]", i)
		want, right, why := v.Clauses.approved(c)
		if right {
			continue
		}
		id := ""
		if want != "" {
			id = v.patch(at+".text", "replace", want)
		}
		v.found(at, id, "%s", why)
	}
}
