package office

import (
	"fmt"
	"regexp"
	"strings"
)

// markdown writes GitHub's Markdown.
func (w *work) markdown(f *flow) (*Result, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", mdText(f.title))
	if f.subtitle != "" {
		fmt.Fprintf(&b, "%s\n\n", mdText(f.subtitle))
	}
	if line := aboutLine(f); line != "" {
		fmt.Fprintf(&b, "*%s*\n\n", mdText(line))
	}
	if f.style.contents {
		fmt.Fprintf(&b, "**%s**\n\n", f.style.labels.contents)
		for _, x := range f.blocks {
			if x.kind == "heading" {
				fmt.Fprintf(&b, "%s- [%s](#%s)\n", strings.Repeat("  ", x.level-1), mdText(numberedText(x)), anchor(numberedText(x)))
			}
		}
		b.WriteString("\n")
	}
	for i, x := range f.blocks {
		w.mdBlock(&b, f, x)
		if x.kind == "item" && (i+1 == len(f.blocks) || f.blocks[i+1].kind != "item" || f.blocks[i+1].first && f.blocks[i+1].level == 0) {
			b.WriteString("\n")
		}
	}
	for i, n := range f.notes {
		fmt.Fprintf(&b, "[^%d]: %s\n", i+1, mdRuns(n))
	}
	return w.result([]byte(strings.TrimRight(b.String(), "\n") + "\n")), nil
}

// aboutLine is author and date.
func aboutLine(f *flow) string {
	var parts []string
	for _, s := range []string{f.meta.GetAuthor(), f.meta.GetDate()} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, ", ")
}

func numberedText(x block) string {
	if x.number == "" {
		return x.text
	}
	return x.number + " " + x.text
}

var notInAnchor = regexp.MustCompile(`[^\p{L}\p{N} _-]`)

// anchor is how GitHub names a heading.
func anchor(s string) string {
	return strings.ReplaceAll(strings.ToLower(notInAnchor.ReplaceAllString(s, "")), " ", "-")
}

func (w *work) mdBlock(b *strings.Builder, f *flow, x block) {
	switch x.kind {
	case "heading":
		fmt.Fprintf(b, "%s %s\n\n", strings.Repeat("#", min(x.level+1, 6)), mdText(numberedText(x)))
	case "item":
		mark := "-"
		if x.ordered {
			mark = fmt.Sprintf("%d.", x.place)
		}
		fmt.Fprintf(b, "%s%s %s\n", strings.Repeat("   ", x.level), mark, mdRuns(x.runs))
	case "code":
		fmt.Fprintf(b, "```\n%s\n```\n\n", x.runs[0].Text)
	case "quote":
		fmt.Fprintf(b, "> %s\n\n", mdRuns(x.runs))
	case "callout":
		fmt.Fprintf(b, "> **%s:** %s\n\n", f.style.labels.callouts[x.callout], mdRuns(x.runs))
	case "table":
		w.mdTable(b, f, x)
	case "figure":
		w.mdFigure(b, f, x)
	default:
		fmt.Fprintf(b, "%s\n\n", mdRuns(x.runs))
	}
}

// mdFigure writes a chart's data as a table, because the file stands alone.
func (w *work) mdFigure(b *strings.Builder, f *flow, x block) {
	if x.caption != "" {
		fmt.Fprintf(b, "**%s**\n\n", mdText(caption(f.style.labels.figure, x.count, x.caption)))
	}
	c := x.picture.chart
	if c == nil {
		w.lacks("md shows figures of pictures by their texts")
		fmt.Fprintf(b, "*%s*\n\n", mdText(first(x.picture.alt, x.caption, f.style.labels.figure)))
		return
	}
	w.lacks("md shows charts as tables")
	head := []string{mdCell(c.X)}
	rule := []string{"---"}
	for _, s := range c.Series {
		head, rule = append(head, mdCell(s.Name)), append(rule, "---:")
	}
	fmt.Fprintf(b, "| %s |\n| %s |\n", strings.Join(head, " | "), strings.Join(rule, " | "))
	for i, name := range c.Categories {
		row := []string{mdCell(name)}
		for _, s := range c.Series {
			row = append(row, grouped(s.Values[i], -1))
		}
		fmt.Fprintf(b, "| %s |\n", strings.Join(row, " | "))
	}
	b.WriteString("\n")
}

func (w *work) mdTable(b *strings.Builder, f *flow, x block) {
	g := x.grid
	if x.caption != "" {
		fmt.Fprintf(b, "**%s**\n\n", mdText(caption(f.style.labels.table, x.count, x.caption)))
	}
	if len(g.Merges) > 0 {
		w.lacks("md has no merged cells: the first has the value, the others are empty")
	}
	var head, rule []string
	for j, h := range g.Headers {
		head = append(head, mdCell(h))
		rule = append(rule, map[bool]string{true: "---:", false: "---"}[g.right[j]])
	}
	fmt.Fprintf(b, "| %s |\n| %s |\n", strings.Join(head, " | "), strings.Join(rule, " | "))
	for i := range g.Rows {
		var row []string
		for j := range g.Headers {
			text := ""
			if !g.under[[2]int{i, j}] {
				text = mdCell(g.text(i, j))
			}
			row = append(row, text)
		}
		fmt.Fprintf(b, "| %s |\n", strings.Join(row, " | "))
	}
	if g.total {
		var row []string
		for j := range g.Headers {
			text := mdCell(g.totalText(j))
			if text != "" {
				text = "**" + text + "**"
			}
			row = append(row, text)
		}
		fmt.Fprintf(b, "| %s |\n", strings.Join(row, " | "))
	}
	b.WriteString("\n")
	if g.Note != "" {
		fmt.Fprintf(b, "*%s*\n\n", mdText(g.Note))
	}
}

var mdMarks = regexp.MustCompile("([\\\\`*_\\[\\]<>])")

// mdText is text in which nothing is a mark.
func mdText(s string) string {
	return mdMarks.ReplaceAllString(strings.Join(strings.Fields(s), " "), `\$1`)
}

func mdCell(s string) string { return strings.ReplaceAll(mdText(s), "|", `\|`) }

func mdRuns(runs []run) string {
	var b strings.Builder
	for i, r := range runs {
		if r.Break {
			b.WriteString("\\\n")
			continue
		}
		if r.Note > 0 {
			fmt.Fprintf(&b, "[^%d]", r.Note)
			continue
		}
		text := mdMarks.ReplaceAllString(r.Text, `\$1`)
		if i == 0 {
			text = escapeStart(text)
		}
		if r.Code {
			text = "`" + r.Text + "`"
		}
		lead := text[:len(text)-len(strings.TrimLeft(text, " "))]
		trail := text[len(strings.TrimRight(text, " ")):]
		inner := strings.TrimSpace(text)
		if inner == "" {
			b.WriteString(text)
			continue
		}
		if r.Italic {
			inner = "*" + inner + "*"
		}
		if r.Bold {
			inner = "**" + inner + "**"
		}
		if r.Link != "" {
			inner = "[" + inner + "](" + r.Link + ")"
		}
		b.WriteString(lead + inner + trail)
	}
	return b.String()
}

var startMark = regexp.MustCompile(`^(#{1,6} |[-+] |\d+[.)] )`)

// escapeStart keeps a line from becoming a heading or an item.
func escapeStart(s string) string {
	m := startMark.FindString(s)
	if m == "" {
		return s
	}
	at := len(m) - 2
	if m[0] == '#' {
		at = 0
	}
	return s[:at] + `\` + s[at:]
}
