package foreign

import (
	"strconv"
	"strings"
)

// deck reads a pptx: a heading a slide, its texts as items, tables, what the speaker says.
func (d *Document) deck(p *pack, main string) error {
	root, err := p.xml(main)
	if err != nil {
		return err
	}
	rels, err := p.relations(main)
	if err != nil {
		return err
	}
	targets := byID(rels)
	for i, s := range root.all("sldId") {
		if i == maxPages {
			d.left("slides: it has more than %d", maxPages)
			break
		}
		part := targets[s.relation()]
		if d.full() || part == "" {
			continue
		}
		if err := d.slide(p, part, i+1); err != nil {
			return err
		}
	}
	return nil
}

func (d *Document) slide(p *pack, part string, n int) error {
	root, err := p.xml(part)
	if err != nil || root == nil {
		return err
	}
	title := "Slide " + strconv.Itoa(n)
	var rest []Block
	for _, s := range root.all("sp") {
		holder := s.first("ph")
		switch holder.attr("type") {
		case "title", "ctrTitle":
			if text := oneLine(drawn(s)); text != "" {
				title = text
			}
		case "sldNum", "ftr", "dt":
		default:
			for _, para := range s.first("txBody").all("p") {
				level, _ := strconv.Atoi(para.child("pPr").attr("lvl")) // 0 where there is none
				rest = append(rest, Block{Kind: "item", Level: level, Text: drawn(para)})
			}
		}
	}
	for _, t := range root.all("tbl") {
		var rows [][]string
		for _, r := range t.all("tr") {
			var row []string
			for _, c := range r.all("tc") {
				if len(row) < maxColumns {
					row = append(row, strings.TrimSpace(drawn(c)))
				}
			}
			if len(rows) < maxRows {
				rows = append(rows, row)
			}
		}
		rest = append(rest, Block{Kind: "table", Rows: rows})
	}
	d.add(Block{Kind: "heading", Level: 1, Text: title})
	for _, b := range rest {
		d.add(b)
	}
	rels, err := p.relations(part)
	if err != nil {
		return err
	}
	for _, notes := range targetsOf(rels, "notesSlide") {
		root, err := p.xml(notes)
		if err != nil {
			return err
		}
		for _, s := range root.all("sp") {
			if s.first("ph").attr("type") == "body" {
				d.add(Block{Kind: "note", Text: drawn(s)})
			}
		}
	}
	return nil
}

// drawn is the text of a shape, a line a paragraph.
func drawn(n *node) string {
	var b strings.Builder
	var walk func(n *node)
	walk = func(n *node) {
		for _, c := range n.below {
			switch c.name {
			case "t":
				b.WriteString(c.text)
			case "br":
				b.WriteString("\n")
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
