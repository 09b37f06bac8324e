// Package foreign reads what office files say that somebody else made: text, headings and
// tables of docx, xlsx, pptx and pdf, without their looks.
//
// It promises an answer whatever the bytes are, in bounded time and memory: a file
// unpacks to at most [MaxUnpacked] bytes, its XML or objects are at most [MaxDepth] deep, no
// entity is resolved and nothing outside of the file is read. What is left out at a bound is
// said.
package foreign

import (
	"archive/zip"
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
)

// The limits of what is read.
const (
	MaxFile     = 64 << 20
	MaxUnpacked = 128 << 20 // of all parts that are looked at
	MaxDepth    = 200       // of elements in elements
	maxPart     = 32 << 20  // bytes of a part
	maxRun      = 4 << 20   // bytes of a tag, or of a text between two
	maxParts    = 10_000    // files in a package
	maxNodes    = 1_500_000 // elements of a part
	maxText     = 8 << 20   // bytes that are given
	maxRows     = 2000      // of a table
	maxColumns  = 100
	maxPages    = 2000 // sheets or slides
	maxLeft     = 100  // lines about what is left out
	maxErrors   = 100  // cells with an error

	cellText = 4 // bytes that even an empty cell takes of the text that is given
)

// Block is a piece of a file in reading order.
type Block struct {
	// Kind is heading, paragraph, item, table or note: what the speaker says, or a footnote.
	Kind string `json:"kind"`
	// Level of a heading from 1, of an item from 0.
	Level int    `json:"level,omitempty"`
	Text  string `json:"text,omitempty"`
	// Rows of a table, the first often its headers.
	Rows [][]string `json:"rows,omitempty"`
}

// CellError is a cell of a workbook whose formula came to an error, or names cells that are
// no longer there.
type CellError struct {
	Sheet string `json:"sheet"`
	Cell  string `json:"cell"`
	Text  string `json:"text"`
}

// Document is what a file says.
type Document struct {
	// Format is docx, xlsx, pptx or pdf.
	Format string  `json:"format"`
	Blocks []Block `json:"blocks"`
	// Left says what was left out.
	Left []string `json:"left,omitempty"`
	// CellErrors are those of a workbook's cells, at most 100.
	CellErrors []CellError `json:"cell_errors,omitempty"`

	room    int           // bytes that may still be given
	numbers map[int][]int // of the rows of sheets, by their block
}

// RowNumber is the number of a row of the table that is a block: in a sheet, of which empty
// rows are left out, the one that its program shows, else its place from 1.
func (d *Document) RowNumber(block, row int) int {
	if list := d.numbers[block]; row < len(list) {
		return list[row]
	}
	return row + 1
}

// Formats are those that are read.
var Formats = []string{"docx", "xlsx", "pptx", "pdf"}

// Known reports whether a file begins as those do that are read.
func Known(head []byte) bool {
	return bytes.HasPrefix(head, []byte("PK\x03\x04")) || isPDF(head)
}

func isPDF(head []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(head, "\xEF\xBB\xBF\r\n "), []byte("%PDF-"))
}

// Read reads a file. It returns document/limit for one that is too large, document/encrypted
// and document/no-text for a pdf that is encrypted or has only pictures of its text, and
// document/foreign for what is no such file, or a damaged one. A large file may take
// seconds: alive is asked again and again, and its first error ends the reading.
func Read(data []byte, alive func() error) (*Document, error) {
	if len(data) > MaxFile {
		return nil, fault.New("document/limit", "the file has %d bytes; at most %d are read", len(data), MaxFile)
	}
	d := &Document{room: maxText, numbers: map[int][]int{}}
	if !bytes.HasPrefix(data, []byte("PK")) {
		if !isPDF(data) {
			return nil, fault.New("document/foreign", "it is no docx, xlsx, pptx or pdf")
		}
		if err := d.pdf(data, alive); err != nil {
			return nil, err
		}
		return d, nil
	}
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, fault.New("document/foreign", "the file is a damaged package: %s", err)
	}
	if len(z.File) > maxParts {
		return nil, fault.New("document/limit", "the file has %d parts; at most %d are read", len(z.File), maxParts)
	}
	p := &pack{files: map[string]*zip.File{}, alive: alive}
	for _, f := range z.File {
		p.files[strings.TrimPrefix(f.Name, "/")] = f
	}
	main, err := p.main()
	if err != nil {
		return nil, err
	}
	switch {
	case strings.HasPrefix(main, "word/"):
		d.Format, err = "docx", d.text(p, main)
	case strings.HasPrefix(main, "xl/"):
		d.Format, err = "xlsx", d.workbook(p, main)
	case strings.HasPrefix(main, "ppt/"):
		d.Format, err = "pptx", d.deck(p, main)
	default:
		return nil, fault.New("document/foreign", "it is no docx, xlsx or pptx")
	}
	if err != nil {
		return nil, err
	}
	return d, nil
}

// main is the part that a package begins with.
func (p *pack) main() (string, error) {
	rels, err := p.relations("")
	if err != nil {
		return "", err
	}
	for _, r := range rels {
		if strings.HasSuffix(r.kind, "/officeDocument") {
			return r.target, nil
		}
	}
	return "", fault.New("document/foreign", "it is no docx, xlsx or pptx")
}

// relation is a link of a part to another.
type relation struct{ id, kind, target string }

// relations are the links of a part; of the package itself for "".
func (p *pack) relations(part string) ([]relation, error) {
	dir, base := path.Split(part)
	root, err := p.xml(dir + "_rels/" + base + ".rels")
	if err != nil || root == nil {
		return nil, err
	}
	var list []relation
	for _, r := range root.all("Relationship") {
		target := r.attr("Target")
		if r.attr("TargetMode") == "External" {
			continue
		}
		if strings.HasPrefix(target, "/") {
			target = path.Clean(target)[1:]
		} else {
			target = path.Join(dir, target)
		}
		list = append(list, relation{r.attr("Id"), r.attr("Type"), target})
	}
	return list, nil
}

// byID are the targets of links.
func byID(list []relation) map[string]string {
	targets := map[string]string{}
	for _, r := range list {
		if _, known := targets[r.id]; !known {
			targets[r.id] = r.target
		}
	}
	return targets
}

func targetsOf(list []relation, kind string) (found []string) {
	for _, r := range list {
		if strings.HasSuffix(r.kind, "/"+kind) {
			found = append(found, r.target)
		}
	}
	return found
}

// add adds a block as far as there is room.
func (d *Document) add(b Block) {
	b.Text = strings.TrimSpace(b.Text)
	size, columns := len(b.Text), 0
	for _, r := range b.Rows {
		columns = max(columns, len(r))
		for _, c := range r {
			size += len(c)
		}
	}
	size += len(b.Rows) * columns * cellText
	if b.Text == "" && len(b.Rows) == 0 {
		return
	}
	if d.room -= size; d.room < 0 {
		d.left("the rest: it says more than %d MiB", maxText>>20)
		return
	}
	d.Blocks = append(d.Blocks, b)
}

func (d *Document) left(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	switch {
	case slices.Contains(d.Left, text) || len(d.Left) > maxLeft:
	case len(d.Left) == maxLeft:
		d.Left = append(d.Left, "more, which is not listed")
	default:
		d.Left = append(d.Left, text)
	}
}

// full says that nothing more is given.
func (d *Document) full() bool { return d.room < 0 }

// Markdown is the document as a text for people and models.
func (d *Document) Markdown() string {
	var b strings.Builder
	before := ""
	for _, x := range d.Blocks {
		if b.Len() > 0 && (x.Kind != "item" || before != "item") {
			b.WriteString("\n")
		}
		switch before = x.Kind; x.Kind {
		case "heading":
			fmt.Fprintf(&b, "%s %s\n", strings.Repeat("#", min(max(x.Level, 1), 6)), oneLine(x.Text))
		case "item":
			fmt.Fprintf(&b, "%s- %s\n", strings.Repeat("  ", min(x.Level, 8)), oneLine(x.Text))
		case "note":
			fmt.Fprintf(&b, "> %s\n", oneLine(x.Text))
		case "table":
			markTable(&b, x.Rows)
		default:
			fmt.Fprintf(&b, "%s\n", x.Text)
		}
	}
	for _, s := range d.Left {
		fmt.Fprintf(&b, "\n[left out: %s]\n", s)
	}
	return b.String()
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func markTable(b *strings.Builder, rows [][]string) {
	columns := 0
	for _, r := range rows {
		columns = max(columns, len(r))
	}
	for i, r := range rows {
		for j := range columns {
			cell := ""
			if j < len(r) {
				cell = strings.ReplaceAll(oneLine(r[j]), "|", `\|`)
			}
			b.WriteString("| " + cell + " ")
		}
		b.WriteString("|\n")
		if i == 0 {
			b.WriteString(strings.Repeat("| --- ", columns) + "|\n")
		}
	}
}
