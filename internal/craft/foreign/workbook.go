package foreign

import (
	"strconv"
	"strings"
)

// workbook reads an xlsx: a heading and a table a sheet, with the values that are saved.
// Dates are the numbers that they are saved as.
func (d *Document) workbook(p *pack, main string) error {
	root, err := p.xml(main)
	if err != nil {
		return err
	}
	rels, err := p.relations(main)
	if err != nil {
		return err
	}
	var shared []string
	for _, part := range targetsOf(rels, "sharedStrings") {
		table, err := p.xml(part)
		if err != nil {
			return err
		}
		for _, s := range table.all("si") {
			shared = append(shared, plain(s))
		}
	}
	targets := byID(rels)
	for i, s := range root.all("sheet") {
		if i == maxPages {
			d.left("sheets: it has more than %d", maxPages)
			break
		}
		part := targets[s.relation()]
		if d.full() || part == "" {
			continue
		}
		page, err := p.xml(part)
		if err != nil {
			return err
		}
		d.add(Block{Kind: "heading", Level: 1, Text: s.attr("name")})
		d.add(Block{Kind: "table", Rows: d.cells(page, shared, s.attr("name"))})
	}
	return nil
}

// plain is the text of a shared string, without how it is pronounced.
func plain(n *node) string {
	var b strings.Builder
	for _, c := range n.below {
		switch c.name {
		case "t":
			b.WriteString(c.text)
		case "r":
			b.WriteString(plain(c))
		}
	}
	return b.String()
}

// cells are the rows of a sheet, those that are empty left out.
func (d *Document) cells(page *node, shared []string, name string) (rows [][]string) {
	for _, r := range page.first("sheetData").all("row") {
		if len(rows) == maxRows {
			d.left("rows of the sheet %q: it has more than %d", name, maxRows)
			return rows
		}
		var row []string
		for _, c := range r.all("c") {
			text := value(c, shared)
			if text == "" {
				continue
			}
			at := len(row)
			if ref := c.attr("r"); ref != "" {
				at = column(ref)
			}
			if at >= maxColumns {
				d.left("columns of the sheet %q: it has more than %d", name, maxColumns)
				continue
			}
			for len(row) <= at {
				row = append(row, "")
			}
			row[at] = text
		}
		if len(row) > 0 {
			rows = append(rows, row)
		}
	}
	return rows
}

func value(c *node, shared []string) string {
	v := c.child("v")
	text := ""
	if v != nil {
		text = v.text
	}
	switch c.attr("t") {
	case "s":
		if i, err := strconv.Atoi(text); err == nil && i >= 0 && i < len(shared) {
			return shared[i]
		}
		return ""
	case "inlineStr":
		if s := c.child("is"); s != nil {
			return plain(s)
		}
		return ""
	case "b":
		return map[string]string{"1": "TRUE", "0": "FALSE"}[text]
	}
	return text
}

// column is a cell's column from 0; one that is beyond all is given as such.
func column(ref string) int {
	n := 0
	for _, r := range ref {
		if r < 'A' || r > 'Z' || n > maxColumns*30 {
			break
		}
		n = n*26 + int(r-'A') + 1
	}
	return max(n-1, 0)
}
