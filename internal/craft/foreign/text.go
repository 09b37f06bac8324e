package foreign

import (
	"regexp"
	"strconv"
	"strings"
)

var headingName = regexp.MustCompile(`(?i)^heading ?([1-9])$`)

// text reads a docx: headings by their styles, lists, tables, and footnotes at the end.
func (d *Document) text(p *pack, main string) error {
	root, err := p.xml(main)
	if err != nil {
		return err
	}
	rels, err := p.relations(main)
	if err != nil {
		return err
	}
	w := &wordReader{d: d, levels: map[string]int{}}
	for _, part := range targetsOf(rels, "styles") {
		styles, err := p.xml(part)
		if err != nil {
			return err
		}
		w.styles(styles)
	}
	w.blocks(root.first("body"))
	for _, part := range targetsOf(rels, "footnotes") {
		notes, err := p.xml(part)
		if err != nil {
			return err
		}
		for _, n := range notes.all("footnote") {
			if n.attr("type") == "" {
				d.add(Block{Kind: "note", Text: "[^" + n.attr("id") + "] " + strings.TrimSpace(w.words(n))})
			}
		}
	}
	return nil
}

type wordReader struct {
	d      *Document
	levels map[string]int // of the styles that are headings
}

// styles finds the levels of headings: a style's own, or that of the one it is based on.
func (w *wordReader) styles(root *node) {
	based := map[string]string{}
	for _, s := range root.all("style") {
		id := s.attr("styleId")
		based[id] = s.child("basedOn").attr("val")
		name := s.child("name").attr("val")
		if level, err := strconv.Atoi(s.first("outlineLvl").attr("val")); err == nil && level >= 0 && level < 9 {
			w.levels[id] = level + 1
		} else if m := headingName.FindStringSubmatch(name); m != nil {
			w.levels[id], _ = strconv.Atoi(m[1]) // a digit
		} else if strings.EqualFold(name, "title") {
			w.levels[id] = 1
		}
	}
	for id := range based {
		at := id
		for range 10 { // styles may go round in a ring
			if level := w.levels[at]; level > 0 {
				w.levels[id] = level
				break
			}
			at = based[at]
		}
	}
}

// blocks reads paragraphs and tables in their order, also those in boxes for content.
func (w *wordReader) blocks(n *node) {
	if n == nil {
		return
	}
	for _, c := range n.below {
		switch c.name {
		case "p":
			w.paragraph(c)
		case "tbl":
			w.table(c)
		case "del", "moveFrom", "Fallback":
		default:
			w.blocks(c)
		}
		if w.d.full() {
			return
		}
	}
}

func (w *wordReader) paragraph(p *node) {
	look := p.child("pPr")
	b := Block{Kind: "paragraph", Text: w.words(p)}
	level := w.levels[look.child("pStyle").attr("val")]
	if n, err := strconv.Atoi(look.child("outlineLvl").attr("val")); err == nil && n >= 0 && n < 9 {
		level = n + 1
	}
	switch list := look.child("numPr"); {
	case level > 0:
		b.Kind, b.Level = "heading", level
	case list != nil && list.child("numId").attr("val") != "0":
		b.Kind = "item"
		b.Level, _ = strconv.Atoi(list.child("ilvl").attr("val")) // 0 where there is none
	}
	w.d.add(b)
}

// words are the text of an element as it is now: without what was deleted, and with
// the places of footnotes.
func (w *wordReader) words(n *node) string {
	var b strings.Builder
	var walk func(n *node)
	walk = func(n *node) {
		for _, c := range n.below {
			switch c.name {
			case "t":
				b.WriteString(c.text)
			case "tab":
				if n.name == "r" {
					b.WriteString("\t")
				}
			case "br", "cr":
				b.WriteString("\n")
			case "noBreakHyphen":
				b.WriteString("-")
			case "footnoteReference":
				b.WriteString("[^" + c.attr("id") + "]")
			case "del", "moveFrom", "Fallback", "pPr", "rPr", "instrText":
			case "p":
				walk(c)
				b.WriteString("\n")
			default:
				walk(c)
			}
		}
	}
	walk(n)
	return b.String()
}

func (w *wordReader) table(t *node) {
	var rows [][]string
	for _, r := range t.all("tr") {
		if len(rows) == maxRows {
			w.d.left("rows of a table: it has more than %d", maxRows)
			break
		}
		var row []string
		for _, c := range r.all("tc") {
			if len(row) < maxColumns {
				row = append(row, strings.TrimSpace(w.words(c)))
			}
			if span, _ := strconv.Atoi(c.first("gridSpan").attr("val")); span > 1 { // a cell over several columns
				row = append(row, make([]string, min(span-1, maxColumns-len(row)))...)
			}
		}
		rows = append(rows, row)
	}
	w.d.add(Block{Kind: "table", Rows: rows})
}
