package foreign

import (
	"strings"
	"unicode/utf16"

	"golang.org/x/text/encoding/charmap"

	"github.com/loomrun/loom/internal/base/fault"
)

// maxPieces bounds the pieces of text of all pages.
const maxPieces = 1_000_000

// pdf reads a pdf: what its structure says where it has one, else headings by its bookmarks
// and by the size of letters, lists by their marks, and tables where texts stand in columns.
func (d *Document) pdf(data []byte, alive func() error) error {
	d.Format = "pdf"
	work := &pdfWork{alive: alive}
	f := findObjects(data, work)
	if f.trailer["Encrypt"] != nil {
		return fault.New("document/encrypted", "the pdf is encrypted; save it without a password and without protection")
	}
	root := f.dict(f.trailer["Root"])
	if root["Pages"] == nil {
		root = f.dict(f.catalog)
	}
	pages := f.pages(d, root)
	if work.err != nil {
		return work.err
	}
	if len(pages) == 0 {
		return fault.New("document/foreign", "the pdf is damaged: it has no page")
	}
	if err := d.readable(pages); err != nil {
		return err
	}
	if !d.structured(f, root, pages) {
		d.laidOut(pages, f.bookmarks(root, pages))
	}
	return work.err
}

// readable refuses what has no text that can be read, and says what is left out of the rest.
func (d *Document) readable(pages []*pdfPage) error {
	glyphs, lost, empty, turned := 0, 0, 0, false
	for _, p := range pages {
		glyphs, lost = glyphs+p.glyphs, lost+p.lost
		turned = turned || p.turned
		if len(p.runs) == 0 {
			empty++
		}
	}
	switch {
	case glyphs == 0:
		return fault.New("document/no-text", "the pdf has no text: all that it has on %d page(s) is drawn or a picture; a program that recognizes letters must add the text", len(pages))
	case lost*2 > glyphs:
		return fault.New("document/no-text", "the pdf does not say which letters its glyphs are: of %d it tells %d", glyphs, glyphs-lost)
	}
	if lost > 0 {
		d.left("what %d of %d glyphs say, which the pdf does not tell", lost, glyphs)
	}
	if empty > 0 && empty < len(pages) {
		d.left("%d of %d pages: they are pictures or empty", empty, len(pages))
	}
	if turned {
		d.left("text that stands at an angle")
	}
	return nil
}

// inherited is what a page has from those that it is below.
type inherited struct{ resources, box any }

// pages reads the pages in their order.
func (f *pdfFile) pages(d *Document, root pdfDict) (pages []*pdfPage) {
	fonts := map[pdfRef]*pdfFont{}
	seen := map[pdfRef]bool{}
	pieces := 0
	var walk func(v any, above inherited, depth int)
	walk = func(v any, above inherited, depth int) {
		ref, _ := v.(pdfRef)
		if seen[ref] || depth > MaxDepth || !f.work.spend(1) {
			return
		}
		seen[ref] = ref != 0
		dict := f.dict(v)
		if r := dict["Resources"]; r != nil {
			above.resources = r
		}
		if b := dict["MediaBox"]; b != nil {
			above.box = b
		}
		if kids := f.list(dict["Kids"]); kids != nil {
			for _, kid := range kids {
				walk(kid, above, depth+1)
			}
			return
		}
		switch {
		case dict == nil:
		case len(pages) == maxPages:
			d.left("pages: it has more than %d", maxPages)
		case pieces >= maxPieces:
			d.left("pages from %d on: there is more text than is read", len(pages)+1)
		default:
			p := f.draw(ref, dict, above, fonts)
			pieces += len(p.runs)
			pages = append(pages, p)
		}
	}
	walk(root["Pages"], inherited{}, 0)
	return pages
}

// draw reads what stands on a page.
func (f *pdfFile) draw(ref pdfRef, dict pdfDict, above inherited, fonts map[pdfRef]*pdfFont) *pdfPage {
	p := &pdfPage{ref: ref, width: 595, height: 842}
	at := matrix{1, 0, 0, 1, 0, 0}
	if box := f.list(above.box); len(box) == 4 {
		x, y := f.number(box[0], 0), f.number(box[1], 0)
		p.width, p.height = f.number(box[2], 595)-x, f.number(box[3], 842)-y
		at[4], at[5] = -x, -y
	}
	switch int(f.number(dict["Rotate"], 0)) {
	case 90, -270:
		at = at.times(matrix{0, -1, 1, 0, 0, p.width})
		p.width, p.height = p.height, p.width
	case 180, -180:
		at = at.times(matrix{-1, 0, 0, -1, p.width, p.height})
	case 270, -90:
		at = at.times(matrix{0, 1, -1, 0, p.height, 0})
		p.width, p.height = p.height, p.width
	}
	var content []byte
	for _, c := range f.list(dict["Contents"]) {
		if s, ok := f.get(c).(pdfStream); ok {
			content = append(append(content, f.decode(s)...), '\n')
		}
		if len(content) > maxPart {
			f.work.err = fault.New("document/limit", "a page of the pdf has more than %d MiB", maxPart>>20)
		}
	}
	drawing := &pdfDrawing{file: f, fonts: fonts, page: p, pdfState: pdfState{at: at, stretch: 1}}
	drawing.draw(content, f.dict(above.resources))
	return p
}

// pdfText is a text outside of pages: UTF-16 or UTF-8 behind its mark, else Latin.
func pdfText(s pdfString) string {
	if rest, ok := strings.CutPrefix(string(s), "\xFE\xFF"); ok {
		var units []uint16
		for i := 0; i+1 < len(rest); i += 2 {
			units = append(units, uint16(rest[i])<<8|uint16(rest[i+1]))
		}
		return string(utf16.Decode(units))
	}
	if rest, ok := strings.CutPrefix(string(s), "\xEF\xBB\xBF"); ok {
		return strings.ToValidUTF8(rest, string(unread))
	}
	var b strings.Builder
	for i := range len(s) {
		b.WriteRune(charmap.Windows1252.DecodeByte(s[i]))
	}
	return b.String()
}

// bookmark is a heading by its title, without blanks and signs.
type bookmark struct {
	title string
	level int
	page  int // −1 where it is not told
}

// bookmarks are those of a pdf, at most 5,000.
func (f *pdfFile) bookmarks(root pdfDict, pages []*pdfPage) (list []bookmark) {
	const most = 5000
	numbers := map[pdfRef]int{}
	for i, p := range pages {
		numbers[p.ref] = i
	}
	seen := map[pdfRef]bool{}
	var walk func(v any, level int)
	walk = func(v any, level int) {
		for {
			ref, ok := v.(pdfRef)
			if !ok || seen[ref] || level > 20 || len(list) >= most || !f.work.spend(1) {
				return
			}
			seen[ref] = true
			dict := f.dict(v)
			if title, ok := f.get(dict["Title"]).(pdfString); ok {
				b := bookmark{letters(pdfText(title)), level, -1}
				to := dict["Dest"]
				if action := f.dict(dict["A"]); action != nil {
					to = action["D"]
				}
				if at, ok := f.get(to).(pdfArray); ok && len(at) > 0 {
					if ref, ok := at[0].(pdfRef); ok {
						if n, known := numbers[ref]; known {
							b.page = n
						}
					}
				}
				list = append(list, b)
			}
			walk(dict["First"], level+1)
			v = dict["Next"]
		}
	}
	walk(f.dict(root["Outlines"])["First"], 1)
	return list
}

// structured reads a pdf by its structure, as files have it that are made to be read aloud;
// it reports false, and adds nothing, where there is none that has nearly all of the text.
func (d *Document) structured(f *pdfFile, root pdfDict, pages []*pdfPage) bool {
	tree := f.dict(root["StructTreeRoot"])
	if tree == nil {
		return false
	}
	s := &pdfStructure{file: f, roles: f.dict(tree["RoleMap"]), pages: map[pdfRef]int{}, runs: map[[2]int][]pdfRun{}, seen: map[pdfRef]bool{}}
	all := 0
	for i, p := range pages {
		s.pages[p.ref] = i
		for _, r := range p.runs {
			if r.beside {
				continue
			}
			all += len(r.text)
			if r.mark >= 0 {
				s.runs[[2]int{i, r.mark}] = append(s.runs[[2]int{i, r.mark}], r)
			}
		}
	}
	s.below(tree["K"], -1, 0)
	if s.flush(); all == 0 || float64(s.taken) < 0.9*float64(all) {
		return false
	}
	for _, b := range s.blocks {
		d.add(b)
	}
	return true
}
