package sheet

import "strings"

// Markdown writes the table as one of Markdown, numbers to the right.
func (t *Table) Markdown() string {
	var b strings.Builder
	line := func(cells []string) { b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	cells, rule := make([]string, len(t.Columns)), make([]string, len(t.Columns))
	for i, c := range t.Columns {
		cells[i] = inCell(c)
		if rule[i] = "---"; t.numeric(i) {
			rule[i] = "---:"
		}
	}
	line(cells)
	line(rule)
	for _, row := range t.Rows {
		for i, v := range row {
			cells[i] = inCell(v.Text)
		}
		line(cells)
	}
	return b.String()
}

// numeric reports whether a column has numbers and nothing else.
func (t *Table) numeric(column int) bool {
	seen := false
	for _, row := range t.Rows {
		if !row[column].Numeric && row[column].Text != "" {
			return false
		}
		seen = seen || row[column].Numeric
	}
	return seen
}

var cellEscapes = strings.NewReplacer("\\", "\\\\", "|", "\\|", "\r\n", "<br>", "\n", "<br>", "\r", "<br>", "<", "&lt;", ">", "&gt;", "&", "&amp;")

// inCell keeps text in its cell, and what looks like HTML from being it.
func inCell(s string) string { return cellEscapes.Replace(strings.TrimSpace(s)) }
