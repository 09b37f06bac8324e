package office

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"html"
	"strings"
)

const pageHead = `<!DOCTYPE html>
<html lang="%[1]s">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="author" content="%[2]s">
<meta name="generator" content="Loom">
<title>%[3]s</title>
<style>
body { font: %[4]gpt/1.5 "%[5]s", Carlito, "Liberation Sans", Arial, sans-serif; color: #222; max-width: 50em; margin: 2em auto; padding: 0 1em; }
h1, h2, h3, h4, h5, h6 { font-family: "%[6]s", Carlito, "Liberation Sans", Arial, sans-serif; color: #%[7]s; line-height: 1.25; margin: 1.6em 0 0.5em; }
.subtitle { font-size: 1.25em; color: #555; margin-top: -0.5em; }
.about, caption, figcaption, .note { color: #555; font-size: 0.9em; }
table { border-collapse: collapse; margin: 1em 0; width: 100%%; }
caption { text-align: left; padding: 0.3em 0; }
th, td { border: 1px solid #c8ccd2; padding: 0.3em 0.6em; vertical-align: top; text-align: left; }
th { background: #%[7]s; color: #fff; }
tfoot td { font-weight: bold; background: #f2f4f7; }
.n { text-align: right; font-variant-numeric: tabular-nums; }
figure { margin: 1.2em 0; } figure img, figure svg { max-width: 100%%; height: auto; }
aside { border-left: 4px solid; padding: 0.6em 1em; margin: 1em 0; }
code, pre { font: 0.9em/1.4 "Liberation Mono", Consolas, monospace; background: #f4f4f4; }
pre { padding: 0.8em; overflow-x: auto; }
sup { line-height: 0; } .notes { border-top: 1px solid #bbb; margin-top: 2em; font-size: 0.9em; }
blockquote { border-left: 3px solid #bbb; margin-left: 0; padding-left: 1em; color: #555; }
nav ul { list-style: none; padding-left: 1.2em; } nav > ul { padding-left: 0; }
@media print { body { max-width: none; margin: 0; } thead { display: table-header-group; } tr, figure, aside { break-inside: avoid; } }
</style>
</head>
<body>
<main>
`

// html writes one page that loads nothing and runs no script.
func (w *work) html(f *flow) (*Result, error) {
	var b bytes.Buffer
	s := f.style
	fmt.Fprintf(&b, pageHead, html.EscapeString(s.lang), html.EscapeString(f.meta.GetAuthor()), html.EscapeString(f.title), s.size, cssName(s.bodyFont), cssName(s.headingFont), s.primary)
	fmt.Fprintf(&b, "<h1>%s</h1>\n", html.EscapeString(f.title))
	if f.subtitle != "" {
		fmt.Fprintf(&b, "<p class=\"subtitle\">%s</p>\n", html.EscapeString(f.subtitle))
	}
	if line := aboutLine(f); line != "" {
		fmt.Fprintf(&b, "<p class=\"about\">%s</p>\n", html.EscapeString(line))
	}
	if s.contents {
		htmlContents(&b, f)
	}
	open := &lists{b: &b}
	for _, x := range f.blocks {
		if x.kind == "item" {
			open.item(x, w.htmlRuns(f, x.runs))
			continue
		}
		open.close(0)
		w.htmlBlock(&b, f, x)
	}
	open.close(0)
	w.htmlNotes(&b, f)
	b.WriteString("</main>\n")
	if w.Carry != nil {
		// JSON in which no "<" is left can end no element.
		b.WriteString(pageMark + strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`).Replace(string(w.Carry)) + "</script>\n")
	}
	b.WriteString("</body>\n</html>\n")
	if s.header != "" || s.footer != "" {
		w.lacks("html has no pages, and so no header, footer or page numbers")
	}
	return w.result(b.Bytes()), nil
}

func cssName(font string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(`"\<>{};`, r) {
			return -1
		}
		return r
	}, font)
}

func htmlContents(b *bytes.Buffer, f *flow) {
	fmt.Fprintf(b, "<nav aria-label=\"%[1]s\"><h2>%[1]s</h2>\n", html.EscapeString(f.style.labels.contents))
	depth := 0
	for _, x := range f.blocks {
		if x.kind != "heading" {
			continue
		}
		for ; depth < x.level; depth++ {
			b.WriteString("<ul>")
			if depth+1 < x.level {
				b.WriteString("<li>")
			}
		}
		for ; depth > x.level; depth-- {
			b.WriteString("</ul>")
		}
		fmt.Fprintf(b, "<li><a href=\"#%s\">%s</a>\n", html.EscapeString(x.id), html.EscapeString(numberedText(x)))
	}
	for ; depth > 0; depth-- {
		b.WriteString("</ul>")
	}
	b.WriteString("</nav>\n")
}

// lists are the lists that are open, the innermost last.
type lists struct {
	b    *bytes.Buffer
	tags []string
}

func (l *lists) close(to int) {
	for len(l.tags) > to {
		fmt.Fprintf(l.b, "</%s>\n", l.tags[len(l.tags)-1])
		l.tags = l.tags[:len(l.tags)-1]
	}
}

func (l *lists) item(x block, text string) {
	l.close(x.level + 1)
	if x.first && len(l.tags) == x.level+1 {
		l.close(x.level)
	}
	for len(l.tags) <= x.level {
		tag := map[bool]string{true: "ol", false: "ul"}[x.ordered]
		fmt.Fprintf(l.b, "<%s>\n", tag)
		l.tags = append(l.tags, tag)
	}
	fmt.Fprintf(l.b, "<li>%s\n", text)
}

func (w *work) htmlBlock(b *bytes.Buffer, f *flow, x block) {
	switch x.kind {
	case "heading":
		level := min(x.level+1, 6)
		fmt.Fprintf(b, "<h%d id=\"%s\">%s</h%d>\n", level, html.EscapeString(x.id), html.EscapeString(numberedText(x)), level)
	case "code":
		fmt.Fprintf(b, "<pre><code>%s</code></pre>\n", html.EscapeString(x.runs[0].Text))
	case "quote":
		fmt.Fprintf(b, "<blockquote><p>%s</p></blockquote>\n", w.htmlRuns(f, x.runs))
	case "callout":
		colors := calloutColors[x.callout]
		fmt.Fprintf(b, "<aside class=\"%s\" style=\"border-color: #%s; background: #%s\"><strong>%s:</strong> %s</aside>\n", x.callout, colors[0], colors[1], html.EscapeString(f.style.labels.callouts[x.callout]), w.htmlRuns(f, x.runs))
	case "table":
		w.htmlTable(b, f, x)
	case "figure":
		w.htmlFigure(b, f, x)
	default:
		fmt.Fprintf(b, "<p>%s</p>\n", w.htmlRuns(f, x.runs))
	}
}

func (w *work) htmlTable(b *bytes.Buffer, f *flow, x block) {
	g := x.grid
	id := ""
	if x.count > 0 {
		id = fmt.Sprintf(` id="table-%d"`, x.count)
	}
	fmt.Fprintf(b, "<table%s>\n", id)
	if x.caption != "" {
		fmt.Fprintf(b, "<caption>%s</caption>\n", html.EscapeString(caption(f.style.labels.table, x.count, x.caption)))
	}
	b.WriteString("<thead><tr>")
	for j, h := range g.Headers {
		fmt.Fprintf(b, "<th scope=\"col\"%s>%s</th>", class(g.right[j]), html.EscapeString(h))
	}
	b.WriteString("</tr></thead>\n<tbody>\n")
	for i := range g.Rows {
		b.WriteString("<tr>")
		for j := range g.Headers {
			if g.under[[2]int{i, j}] {
				continue
			}
			span := ""
			rows, columns := g.span(i, j)
			if rows > 1 {
				span += fmt.Sprintf(" rowspan=\"%d\"", rows)
			}
			if columns > 1 {
				span += fmt.Sprintf(" colspan=\"%d\"", columns)
			}
			fmt.Fprintf(b, "<td%s%s>%s</td>", class(g.right[j]), span, strings.ReplaceAll(html.EscapeString(g.text(i, j)), "\n", "<br>"))
		}
		b.WriteString("</tr>\n")
	}
	b.WriteString("</tbody>\n")
	if g.total {
		b.WriteString("<tfoot><tr>")
		for j := range g.Headers {
			fmt.Fprintf(b, "<td%s>%s</td>", class(g.right[j]), html.EscapeString(g.totalText(j)))
		}
		b.WriteString("</tr></tfoot>\n")
	}
	b.WriteString("</table>\n")
	if g.Note != "" {
		fmt.Fprintf(b, "<p class=\"note\">%s</p>\n", html.EscapeString(g.Note))
	}
}

func class(number bool) string {
	if number {
		return ` class="n"`
	}
	return ""
}

func (w *work) htmlFigure(b *bytes.Buffer, f *flow, x block) {
	p := x.picture
	id := ""
	if x.count > 0 {
		id = fmt.Sprintf(` id="figure-%d"`, x.count)
	}
	fmt.Fprintf(b, "<figure%s>", id)
	alt := html.EscapeString(first(p.alt, x.caption))
	switch {
	case p.svg != nil:
		fmt.Fprintf(b, "<img alt=\"%s\" src=\"data:image/svg+xml;base64,%s\">", alt, base64.StdEncoding.EncodeToString(p.svg))
	case p.data != nil:
		fmt.Fprintf(b, "<img alt=\"%s\" src=\"data:image/%s;base64,%s\">", alt, p.kind, base64.StdEncoding.EncodeToString(p.data))
	default:
		fmt.Fprintf(b, "<p><em>%s</em></p>", alt)
	}
	if x.caption != "" {
		fmt.Fprintf(b, "<figcaption>%s</figcaption>", html.EscapeString(caption(f.style.labels.figure, x.count, x.caption)))
	}
	b.WriteString("</figure>\n")
}

// htmlRuns writes text, in which "Table 1" leads to the table.
func (w *work) htmlRuns(f *flow, runs []run) string {
	var b strings.Builder
	for _, r := range runs {
		if r.Break {
			b.WriteString("<br>")
			continue
		}
		if r.Note > 0 {
			b.WriteString(f.htmlNote(r.Note))
			continue
		}
		text := html.EscapeString(r.Text)
		if !r.Code && r.Link == "" {
			text = ""
			for _, p := range f.pieces(r.Text) {
				if p.kind == "" {
					text += html.EscapeString(p.text)
				} else {
					text += fmt.Sprintf("<a href=\"#%s-%d\">%s</a>", p.kind, p.n, html.EscapeString(p.text))
				}
			}
		}
		if r.Code {
			text = "<code>" + text + "</code>"
		}
		if r.Italic {
			text = "<em>" + text + "</em>"
		}
		if r.Bold {
			text = "<strong>" + text + "</strong>"
		}
		if r.Link != "" {
			text = fmt.Sprintf("<a href=\"%s\">%s</a>", html.EscapeString(r.Link), text)
		}
		b.WriteString(text)
	}
	return b.String()
}
