package foreign

import (
	"bytes"
	"slices"
	"sort"
	"strings"
	"unicode/utf16"

	"golang.org/x/text/encoding/charmap"

	"github.com/loomrun/loom/internal/base/fault"
)

// pdfFont tells what codes say, and how wide they are.
type pdfFont struct {
	wide   bool        // two bytes a code
	utf16  bool        // a code is UTF-16
	table  [256]string // of a font with a byte a code, what is not in ranges
	ranges []pdfRange  // by its table of Unicode, in the order of lo
	widths []pdfWidth  // in the order of lo
	width  float64     // of the others, in em
	bold   bool
	mono   bool
}

// pdfRange are codes that follow each other, and so do their texts.
type pdfRange struct {
	lo, hi int
	text   []rune
}

type pdfWidth struct {
	lo, hi int
	width  float64 // in em
}

// unread stands for a glyph of which the file does not tell what it says.
const unread = '\uFFFD'

// font reads a font.
func (f *pdfFile) font(v any) *pdfFont {
	dict := f.dict(v)
	base := string(f.name(dict["BaseFont"]))
	font := &pdfFont{width: 0.5, bold: named(base, "bold", "black", "heavy", "cmbx"), mono: named(base, "courier", "mono", "consol", "cmtt", "typewriter")}
	if strings.Contains(base, "Courier") {
		font.width = 0.6
	}
	if f.name(dict["Subtype"]) == "Type0" {
		f.wideFont(font, dict)
	} else {
		f.simpleFont(font, dict, base)
	}
	if s, ok := f.get(dict["ToUnicode"]).(pdfStream); ok {
		font.unicode(f, f.decode(s))
	}
	return font
}

// named says whether one of the words stands in the name of a font.
func named(font string, words ...string) bool {
	font = strings.ToLower(font)
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(font, w) })
}

func (f *pdfFile) simpleFont(font *pdfFont, dict pdfDict, base string) {
	encoding := f.get(dict["Encoding"])
	name, _ := encoding.(pdfName)
	differences, _ := encoding.(pdfDict)
	if n := f.name(differences["BaseEncoding"]); n != "" {
		name = n
	}
	symbols := strings.Contains(base, "Symbol") || strings.Contains(base, "Dingbats")
	about := f.dict(dict["FontDescriptor"])
	flags := int(f.number(about["Flags"], 0))
	switch {
	case name == "WinAnsiEncoding":
		font.fill(charmap.Windows1252)
	case name == "MacRomanEncoding":
		font.fill(charmap.Macintosh)
	case f.name(dict["Subtype"]) != "Type3" && !symbols && (about == nil || flags&4 == 0):
		font.standard()
	}
	if program, ok := f.get(about["FontFile"]).(pdfStream); ok && name == "" {
		font.own(f, f.decode(program))
	}
	code := 0
	for _, v := range f.list(differences["Differences"]) {
		switch v := f.get(v).(type) {
		case float64:
			code = int(v)
		case pdfName:
			if code >= 0 && code < 256 {
				font.table[code] = glyphText(string(v))
			}
			code++
		}
	}
	unit := 0.001
	if m := f.list(dict["FontMatrix"]); len(m) == 6 {
		unit = f.number(m[0], unit)
	}
	first := int(f.number(dict["FirstChar"], 0))
	for i, w := range f.list(dict["Widths"]) {
		font.widths = append(font.widths, pdfWidth{first + i, first + i, f.number(w, 0) * unit})
	}
}

func (font *pdfFont) fill(of *charmap.Charmap) {
	for i := 0x20; i < 256; i++ {
		if r := of.DecodeByte(byte(i)); r != unread {
			font.table[i] = string(r)
		}
	}
}

func (font *pdfFont) standard() {
	for i := 0x20; i < 0x7F; i++ {
		font.table[i] = string(rune(i))
	}
	font.table['\''], font.table['`'] = "’", "‘"
	for i, r := range []rune(standard) {
		if r != ' ' {
			font.table[0xA1+i] = string(r)
		}
	}
}

// own reads the codes that a font of Type 1 has itself: "dup 46 /period put".
func (font *pdfFont) own(f *pdfFile, program []byte) {
	head, _, _ := bytes.Cut(program, []byte("eexec"))
	l := &pdfLexer{data: head, work: f.work}
	var code, name any
	for {
		t, ok := l.token()
		if !ok {
			return
		}
		n, is := code.(float64)
		if glyph, named := name.(pdfName); t == pdfWord("put") && is && named && n >= 0 && n < 256 {
			font.table[int(n)] = glyphText(string(glyph))
		}
		code, name = name, t
	}
}

func (f *pdfFile) wideFont(font *pdfFont, dict pdfDict) {
	font.wide = true
	encoding := string(f.name(dict["Encoding"]))
	font.utf16 = strings.Contains(encoding, "UCS2") || strings.Contains(encoding, "UTF16")
	below := f.list(dict["DescendantFonts"])
	if len(below) == 0 {
		return
	}
	of := f.dict(below[0])
	font.width = f.number(of["DW"], 1000) / 1000
	list := f.list(of["W"])
	for i := 0; i+1 < len(list); {
		first := int(f.number(list[i], 0))
		if each, ok := f.get(list[i+1]).(pdfArray); ok {
			for j, w := range each {
				font.widths = append(font.widths, pdfWidth{first + j, first + j, f.number(w, 0) / 1000})
			}
			i += 2
			continue
		}
		if i+2 < len(list) {
			font.widths = append(font.widths, pdfWidth{first, int(f.number(list[i+1], 0)), f.number(list[i+2], 0) / 1000})
		}
		i += 3
	}
	sort.SliceStable(font.widths, func(i, j int) bool { return font.widths[i].lo < font.widths[j].lo })
}

// unicode reads a font's table of what codes say.
func (font *pdfFont) unicode(f *pdfFile, data []byte) {
	l := &pdfLexer{data: data, work: f.work}
	var stack []any
	for {
		v, ok := l.next()
		if !ok {
			break
		}
		word, is := v.(pdfWord)
		if !is {
			if stack = append(stack, v); len(stack) > maxArray {
				f.work.err = fault.New("document/limit", "a font of the pdf has more than %d codes", maxArray)
			}
			continue
		}
		switch word {
		case "endbfchar":
			for i := 0; i+1 < len(stack); i += 2 {
				code, text := cmapCode(stack[i]), cmapText(stack[i+1])
				font.ranges = append(font.ranges, pdfRange{code, code, text})
			}
		case "endbfrange":
			for i := 0; i+2 < len(stack); i += 3 {
				font.codes(cmapCode(stack[i]), cmapCode(stack[i+1]), stack[i+2])
			}
		}
		stack = nil
	}
	slices.SortStableFunc(font.ranges, func(a, b pdfRange) int { return a.lo - b.lo })
}

// codes adds a range, whose texts are listed or follow each other.
func (font *pdfFont) codes(lo, hi int, v any) {
	list, listed := v.(pdfArray)
	if !listed {
		font.ranges = append(font.ranges, pdfRange{lo, hi, cmapText(v)})
		return
	}
	for i, text := range list {
		font.ranges = append(font.ranges, pdfRange{lo + i, lo + i, cmapText(text)})
	}
}

// cmapCode is a code of up to four bytes, or −1.
func cmapCode(v any) int {
	s, ok := v.(pdfString)
	if !ok || len(s) > 4 {
		return -1
	}
	n := 0
	for i := range len(s) {
		n = n<<8 | int(s[i])
	}
	return n
}

// cmapText is a text in UTF-16.
func cmapText(v any) []rune {
	s, _ := v.(pdfString)
	if len(s) == 1 {
		return []rune{rune(s[0])}
	}
	var units []uint16
	for i := 0; i+1 < len(s) && i < 128; i += 2 {
		units = append(units, uint16(s[i])<<8|uint16(s[i+1]))
	}
	return utf16.Decode(units)
}

// code is the first code of s, and how many bytes it has.
func (font *pdfFont) code(s pdfString) (code, size int) {
	if font.wide && len(s) > 1 {
		return int(s[0])<<8 | int(s[1]), 2
	}
	return int(s[0]), 1
}

// text is what a code says.
func (font *pdfFont) text(code int) string {
	if i := sort.Search(len(font.ranges), func(i int) bool { return font.ranges[i].lo > code }) - 1; i >= 0 {
		if r := font.ranges[i]; code <= r.hi && len(r.text) > 0 {
			last := len(r.text) - 1
			if end := r.text[last] + rune(code-r.lo); end > 0 {
				return string(r.text[:last]) + string(end)
			}
		}
	}
	switch {
	case font.utf16:
		return string(rune(code))
	case !font.wide && font.table[code] != "":
		return font.table[code]
	}
	return string(unread)
}

func (font *pdfFont) widthOf(code int) float64 {
	if i := sort.Search(len(font.widths), func(i int) bool { return font.widths[i].lo > code }) - 1; i >= 0 && code <= font.widths[i].hi {
		return font.widths[i].width
	}
	return font.width
}
