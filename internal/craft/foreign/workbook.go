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
		rows, numbers := d.cells(page, shared, s.attr("name"))
		d.numbers[len(d.Blocks)] = numbers
		d.add(Block{Kind: "table", Rows: rows})
		d.cellErrors(page, s.attr("name"))
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

// cells are the rows of a sheet, those that are empty left out, and their numbers.
func (d *Document) cells(page *node, shared []string, name string) (rows [][]string, numbers []int) {
	for i, r := range page.first("sheetData").all("row") {
		if len(rows) == maxRows {
			d.left("rows of the sheet %q: it has more than %d", name, maxRows)
			return rows, numbers
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
			n, err := strconv.Atoi(r.attr("r"))
			if err != nil {
				n = i + 1
			}
			rows, numbers = append(rows, row), append(numbers, n)
		}
	}
	return rows, numbers
}

// cellErrors finds cells of type error, and formulas with a reference that is lost.
func (d *Document) cellErrors(page *node, name string) {
	for _, c := range page.first("sheetData").all("c") {
		if len(d.CellErrors) == maxErrors {
			return
		}
		formula, saved := c.child("f"), c.child("v")
		switch {
		case c.attr("t") == "e" && saved != nil:
			d.CellErrors = append(d.CellErrors, CellError{name, c.attr("r"), oneLine(saved.text)})
		case formula != nil && strings.Contains(formula.text, "#REF!"):
			d.CellErrors = append(d.CellErrors, CellError{name, c.attr("r"), "the formula has lost a reference: " + oneLine(formula.text)})
		case formula != nil && saved != nil && errorValue(saved.text):
			d.CellErrors = append(d.CellErrors, CellError{name, c.attr("r"), oneLine(saved.text)})
		}
	}
}

// errorValue says whether a text is one of the errors of spreadsheets.
func errorValue(text string) bool {
	switch strings.TrimSpace(text) {
	case "#REF!", "#NAME?", "#VALUE!", "#DIV/0!", "#N/A", "#NUM!", "#NULL!", "#SPILL!", "#CALC!":
		return true
	}
	return false
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
