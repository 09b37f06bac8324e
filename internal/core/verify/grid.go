package verify

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/net/html"

	"github.com/loomrun/loom/internal/base/lazy"
)

// tables are the tables of a file, in its order.
func (c *content) tables() []grid {
	if c.parted {
		return c.grids
	}
	c.parted = true
	switch c.kind {
	case "md":
		c.grids = markdownTables(c.text)
	case "html":
		c.grids = htmlTables(c.text)
	case "docx", "pptx":
		n := 0
		for _, b := range c.blocks {
			if b.Kind != "table" || len(b.Rows) == 0 {
				continue
			}
			n++
			g := grid{nth: n, header: b.Rows[0], rows: b.Rows[1:]}
			for i := range g.rows {
				g.number = append(g.number, i+2)
			}
			c.grids = append(c.grids, g)
		}
	}
	for i := range c.grids {
		if g := &c.grids[i]; len(g.rows) > maxRows {
			g.rows, g.number = g.rows[:maxRows], g.number[:maxRows]
			c.left = append(c.left, fmt.Sprintf("only the first %d rows of a table were looked at", maxRows))
		}
	}
	return c.grids
}

var rulerCell = lazy.Compile(`^:?-+:?$`)

// markdownTables are the pipe tables of a text.
func markdownTables(text string) (list []grid) {
	lines := strings.Split(withoutCode(text), "\n")
	for i := 0; i+1 < len(lines); i++ {
		header, ruler := pipeCells(lines[i]), pipeCells(lines[i+1])
		if len(header) == 0 || len(ruler) != len(header) || !isRuler(ruler) {
			continue
		}
		g := grid{line: i + 1, header: header}
		for i += 2; i < len(lines); i++ {
			cells := pipeCells(lines[i])
			if len(cells) == 0 {
				break
			}
			g.rows, g.number = append(g.rows, cells), append(g.number, i+1)
		}
		list = append(list, g)
	}
	return list
}

func isRuler(cells []string) bool {
	for _, c := range cells {
		if !rulerCell.MatchString(c) {
			return false
		}
	}
	return true
}

// pipeCells parts a line of a pipe table; nil for another.
func pipeCells(line string) (cells []string) {
	line = strings.TrimSpace(line)
	if !strings.Contains(line, "|") {
		return nil
	}
	line = strings.TrimPrefix(line, "|")
	if strings.HasSuffix(line, "|") && !strings.HasSuffix(line, `\|`) {
		line = line[:len(line)-1]
	}
	var cell strings.Builder
	for i := 0; i < len(line); i++ {
		switch {
		case line[i] == '\\' && i+1 < len(line) && line[i+1] == '|':
			cell.WriteByte('|')
			i++
		case line[i] == '|':
			cells = append(cells, plainCell(cell.String()))
			cell.Reset()
		default:
			cell.WriteByte(line[i])
		}
	}
	return append(cells, plainCell(cell.String()))
}

// plainCell takes the marks of bold type and code off a cell.
func plainCell(s string) string { return strings.Trim(strings.TrimSpace(s), "*`") }

// htmlTables are the tables of a page; one inside of another stands by itself.
func htmlTables(text string) (list []grid) {
	var open []*grid
	var row []string
	var cell *strings.Builder
	span := 1
	end := func() { // of a cell
		if cell != nil {
			row = append(row, strings.Join(strings.Fields(cell.String()), " "))
			row = append(row, make([]string, span-1)...)
			cell = nil
		}
	}
	eachToken(text, func(t html.Token, line int) {
		switch {
		case t.Type == html.TextToken && cell != nil:
			cell.WriteString(t.Data)
			return
		case t.Type == html.TextToken:
			return
		}
		begins := t.Type == html.StartTagToken
		switch t.Data {
		case "table":
			end()
			if n := len(open); n > 0 && len(row) > 0 {
				open[n-1].add(row, line)
			}
			row = nil
			if begins {
				open = append(open, &grid{line: line})
			} else if n := len(open); n > 0 {
				if g := open[n-1]; len(g.header) > 0 {
					list = append(list, *g)
				}
				open = open[:n-1]
			}
		case "td", "th":
			end()
			if begins && len(open) > 0 {
				cell, span = &strings.Builder{}, columnSpan(t)
			}
		case "tr":
			end()
			if n := len(open); n > 0 && len(row) > 0 {
				open[n-1].add(row, line)
			}
			row = nil
		case "br":
			if cell != nil {
				cell.WriteByte(' ')
			}
		}
	})
	return list
}

// maxSpan is how many columns a cell of a page may take.
const maxSpan = 100

// columnSpan is how many columns a cell takes: those behind it are empty.
func columnSpan(t html.Token) int {
	for _, a := range t.Attr {
		if n, err := strconv.Atoi(strings.TrimSpace(a.Val)); a.Key == "colspan" && err == nil && n > 1 {
			return min(n, maxSpan)
		}
	}
	return 1
}

// add takes a row; the first is the header.
func (g *grid) add(cells []string, line int) {
	if g.header == nil {
		g.header = cells
		return
	}
	g.rows, g.number = append(g.rows, cells), append(g.number, line)
}

// eachToken gives the tokens of a page, each with the line on which it begins.
func eachToken(text string, give func(html.Token, int)) {
	z := html.NewTokenizer(strings.NewReader(text))
	z.SetMaxBuf(MaxFile)
	line := 1
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			return
		}
		lines := bytes.Count(z.Raw(), []byte("\n"))
		give(z.Token(), line)
		line += lines
	}
}

// fence is what a block of code begins with on a line: three marks or more, behind which
// there is no other backtick; "" where none begins.
func fence(line string) string {
	if !strings.HasPrefix(line, "```") && !strings.HasPrefix(line, "~~~") {
		return ""
	}
	rest := strings.TrimLeft(line, line[:1])
	if line[0] == '`' && strings.Contains(rest, "`") {
		return ""
	}
	return line[:len(line)-len(rest)]
}

// fences tells the blocks of code of a Markdown text, line by line.
type fences struct {
	mark string // of the block that is open
}

// code says whether a line is of a block of code; those with its marks are.
func (f *fences) code(line string) bool {
	line = strings.TrimSpace(line)
	switch was := f.mark; {
	case was == "":
		f.mark = fence(line)
		return f.mark != ""
	case strings.HasPrefix(line, was) && strings.Trim(line, was[:1]) == "":
		f.mark = ""
	}
	return true
}

// withoutCode blanks the blocks of code of a Markdown text; lines keep their numbers.
func withoutCode(text string) string {
	var b strings.Builder
	var f fences
	for line := range strings.Lines(text) {
		if !f.code(line) {
			b.WriteString(line)
		} else if strings.HasSuffix(line, "\n") {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// prose is what a file says to its reader, without code and tags; lines keep their numbers.
func (c *content) prose() string {
	switch c.kind {
	case "md":
		return withoutCode(c.text)
	case "html":
		var b strings.Builder
		hidden, at := "", 1
		eachToken(c.text, func(t html.Token, line int) {
			for ; at < line; at++ {
				b.WriteByte('\n')
			}
			switch {
			case t.Type == html.TextToken && hidden == "":
				b.WriteString(t.Data)
				at += strings.Count(t.Data, "\n")
				return
			case t.Type == html.StartTagToken && (t.Data == "script" || t.Data == "style"):
				hidden = t.Data
			case t.Type == html.EndTagToken && t.Data == hidden:
				hidden = ""
			}
			b.WriteByte(' ')
		})
		return b.String()
	}
	return c.text
}
