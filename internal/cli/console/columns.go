package console

import (
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// inks are what a text is painted with, which takes no column.
var inks = regexp.MustCompile("\x1b\\[[0-9;]*m")

// Columns is how many columns of a terminal a text takes: none for what it is painted
// with and for marks on letters, two for wide letters.
func Columns(text string) (n int) {
	for _, r := range inks.ReplaceAllString(text, "") {
		n += ColumnsOf(r)
	}
	return n
}

// ColumnsOf is how many columns a rune takes.
func ColumnsOf(r rune) int {
	if unicode.In(r, unicode.Mn, unicode.Me) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// Cut is a text of at most n columns; what is left of a longer one ends in "…".
func Cut(text string, n int) string {
	if Columns(text) <= n {
		return text
	}
	if n < 1 {
		return ""
	}
	used := 0
	for i, r := range text {
		if used += ColumnsOf(r); used > n-1 {
			return strings.TrimRight(text[:i], " ") + "…"
		}
	}
	return text
}

// padded is a text followed by blanks, of n columns at least.
func padded(text string, n int) string {
	return text + strings.Repeat(" ", max(0, n-Columns(text)))
}

// breakLine cuts a line that is too long: at the last blank that there is room for behind
// its first word. It cuts in a word that no line has room for, and never in what it is
// painted with.
func breakLine(line string, room int, fit bool) (head, rest string) {
	if !fit || Columns(line) <= room {
		return line, ""
	}
	ends := inks.FindAllStringIndex(line, -1)
	used, last, blank, at, worded := 0, 0, 0, 0, false
	for i, r := range line {
		for len(ends) > 0 && i >= ends[0][1] {
			ends = ends[1:]
		}
		if len(ends) > 0 && i >= ends[0][0] {
			continue // it is painted with that
		}
		used += ColumnsOf(r)
		if worded = worded || r != ' '; r == ' ' && worded && used-1 <= room {
			blank, at = i, used-1
		}
		if used > max(room, 1) && i > 0 {
			last = i
			break
		}
	}
	if last == 0 {
		return line, ""
	}
	if blank > 0 && (at > room/2 || Columns(firstWord(line[blank:])) <= room) {
		return line[:blank], strings.TrimLeft(line[blank:], " ")
	}
	return line[:last], line[last:]
}

func firstWord(s string) string {
	word, _, _ := strings.Cut(strings.TrimLeft(s, " "), " ")
	return word
}
