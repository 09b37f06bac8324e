package verify

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/craft/foreign"
)

// content is a deliverable as rules see it.
type content struct {
	name string
	kind string // how the name ends: md, csv, docx
	// text is what patterns and words are looked for in: the file itself, or what an
	// office file says, as Markdown. Its first 256 KiB.
	text   string
	whole  string          // all of the text
	blocks []foreign.Block // of an office file
	grids  []grid          // the tables of a csv, tsv or xlsx; of other files once they are asked for
	parted bool            // the tables of such another file were asked for
	blind  string          // why nothing can be looked for in it
	left   []string        // what was left out of it
	cut    bool            // whole lacks something, too
	wrong  []Finding       // it is not what its name says
}

// grid is a table: its header, and rows with the numbers that people find them by.
type grid struct {
	sheet  string // of a workbook
	nth    int    // of a docx or pptx, which has no lines: the how manieth it is, from 1
	line   int    // of the header, in a text
	header []string
	rows   [][]string
	number []int
}

// lookInto reads a deliverable once for all rules.
func lookInto(name string, data []byte) *content {
	c := &content{name: name, kind: kindOf(name)}
	if read := readers[c.kind]; read != nil {
		read(c, data)
	} else if !isText(data) {
		c.blind = "a file of this kind is not read"
	} else {
		c.plain(data)
	}
	return c
}

// kindOf is how a name ends, in lower case.
func kindOf(name string) string {
	kind := strings.TrimPrefix(strings.ToLower(path.Ext(name)), ".")
	if other := map[string]string{"markdown": "md", "yml": "yaml", "htm": "html", "jpeg": "jpg"}[kind]; other != "" {
		return other
	}
	return kind
}

// Blind says whether rules cannot look into a file of such a name, whatever it holds.
func Blind(name string) bool {
	switch kindOf(name) {
	case "png", "jpg", "gif", "webp", "zip", "doc", "xls", "ppt", "odt", "ods", "odp", "mp3", "mp4", "parquet":
		return true
	}
	return false
}

// Readable is the text of a file as rules see it; ok is false for one that they cannot look
// into.
func Readable(name string, data []byte) (text string, ok bool) {
	c := lookInto(name, data)
	return c.whole, c.blind == "" && !unsound(c.wrong)
}

// not reports that the file is not what its name says.
func (c *content) not(line int, format string, args ...any) {
	c.wrong = append(c.wrong, Finding{Rule: formatRule, Severity: isError, File: c.name, Line: line, Text: fmt.Sprintf(format, args...)})
}

// doubt reports what a reader may stumble over.
func (c *content) doubt(line int, format string, args ...any) {
	c.wrong = append(c.wrong, Finding{Rule: formatRule, Severity: isWarning, File: c.name, Line: line, Text: fmt.Sprintf(format, args...)})
}

// plain takes a text as it is.
func (c *content) plain(data []byte) {
	c.text = string(data)
	c.bound()
}

func (c *content) bound() {
	if c.whole = c.text; len(c.text) > MaxText {
		c.text = c.text[:MaxText]
		c.left = append(c.left, "only its first 256 KiB were looked at")
	}
}

// isText says whether data is something that a pattern can be looked for in.
func isText(data []byte) bool {
	head := data[:min(len(data), MaxText)]
	for i := 0; i < utf8.UTFMax && len(head) > 0 && !utf8.Valid(head); i++ {
		head = head[:len(head)-1] // a rune may have been cut
	}
	return utf8.Valid(head) && !bytes.ContainsRune(head, 0)
}

// office reads what an office file says.
func office(c *content, data []byte) {
	d, err := foreign.Read(data, func() error { return nil })
	switch {
	case fault.Code(err) == "document/limit":
		c.blind = fault.From(err).Message
		c.doubt(0, "%s%s", unseen, c.blind)
		return
	case err == nil && d.Format != c.kind:
		err = fault.New("document/foreign", "it is a %s", d.Format)
	case err != nil && isText(data):
		err = fault.New("document/foreign", "it is a text")
	}
	if err != nil {
		c.blind = "it is no " + c.kind
		c.not(0, "it is no %s: %s", c.kind, fault.From(err).Message)
		return
	}
	c.says(d)
	if d.Format == "xlsx" {
		c.sheets(d)
	}
}

// says takes what a file says.
func (c *content) says(d *foreign.Document) {
	c.blocks, c.left, c.cut = d.Blocks, d.Left, len(d.Left) > 0
	c.text = d.Markdown()
	c.bound()
}

// sheets takes the tables of a workbook, and what is wrong with its formulas.
func (c *content) sheets(d *foreign.Document) {
	sheet := ""
	for i, b := range d.Blocks {
		if b.Kind == "heading" {
			sheet = b.Text
		}
		if b.Kind != "table" || len(b.Rows) == 0 {
			continue
		}
		g := grid{sheet: sheet, header: b.Rows[0], rows: b.Rows[1:]}
		for n := range g.rows {
			g.number = append(g.number, d.RowNumber(i, n+1))
		}
		c.grids = append(c.grids, g)
	}
	for i, e := range d.CellErrors {
		if i == maxFound {
			c.not(0, "and %d more cells with errors", len(d.CellErrors)-i)
			break
		}
		c.not(0, "cell %s of sheet %q: %s", e.Cell, e.Sheet, short(e.Text))
	}
}

// separated reads a table of values with separators.
func separated(comma rune) func(*content, []byte) {
	return func(c *content, data []byte) {
		if !isText(data) {
			c.blind = "it is no text"
			c.not(0, "it is no %s: it is no text in UTF-8", c.kind)
			return
		}
		c.plain(data)
		t := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(data, []byte("\uFEFF"))))
		t.FieldsPerRecord, t.Comma, t.LazyQuotes = -1, comma, comma == '\t'
		var g grid
		uneven := 0
		for {
			cells, err := t.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				line := 0
				if at := (*csv.ParseError)(nil); errors.As(err, &at) {
					line = at.Line
				}
				c.not(line, "the table cannot be read: %s", err)
				return
			}
			line, _ := t.FieldPos(0)
			if g.header == nil {
				g.header = cells
				continue
			}
			if len(cells) != len(g.header) && uneven == 0 {
				uneven = line
				c.doubt(line, "the row has %d cells, the header %d", len(cells), len(g.header))
			}
			if len(g.rows) < maxRows {
				g.rows, g.number = append(g.rows, cells), append(g.number, line)
			} else if len(g.rows) == maxRows {
				c.left = append(c.left, fmt.Sprintf("only its first %d rows were looked at", maxRows))
				g.rows = append(g.rows, nil) // says it once
			}
		}
		g.rows = g.rows[:min(len(g.rows), maxRows)]
		c.grids = []grid{g}
	}
}
