package console

import (
	"io"
	"strings"
)

// Folded is a writer of prose for a screen of so many columns: a line that is longer
// goes on in the next, from column hang on, or two columns further in than it begins,
// whichever is more. A line that begins with "| " is quoted, and goes on behind the same
// mark. Each write is of whole lines. Width 0 leaves lines as they are.
func Folded(w io.Writer, width, hang int) io.Writer {
	if width <= 0 {
		return w
	}
	return folder{w, width, hang}
}

// Prose is [Folded] to the width of what it writes to.
func Prose(w io.Writer, hang int) io.Writer { return Folded(w, widthOf(w), hang) }

// Hung is what w is, but that folded lines go on from column hang on.
func Hung(w io.Writer, hang int) io.Writer {
	if f, ok := w.(folder); ok {
		f.hang = hang
		return f
	}
	return w
}

type folder struct {
	w           io.Writer
	width, hang int
}

func (f folder) Write(p []byte) (int, error) {
	var b strings.Builder
	for line := range strings.Lines(string(p)) {
		text, ended := strings.CutSuffix(line, "\n")
		b.WriteString(fold(text, f.width, f.hang))
		if ended {
			b.WriteByte('\n')
		}
	}
	if _, err := io.WriteString(f.w, b.String()); err != nil {
		return 0, err
	}
	return len(p), nil
}

// quote begins a line of what somebody has said.
const quote = "| "

// fold breaks a line at blanks.
func fold(line string, width, hang int) string {
	line = untabbed(line)
	if Columns(line) <= width {
		return line
	}
	text := strings.TrimLeft(line, " ")
	begin := line[:len(line)-len(text)]
	by := strings.Repeat(" ", min(max(hang, len(begin)+2), width/2))
	if strings.HasPrefix(text, quote) {
		by = begin[:min(len(begin), width/2)] + quote
	}
	head, rest := breakLine(line, width, true)
	parts := []string{strings.TrimRight(head, " ")}
	for rest != "" {
		head, rest = breakLine(rest, width-len(by), true)
		parts = append(parts, by+strings.TrimRight(head, " "))
	}
	return strings.Join(parts, "\n")
}

// untabbed is a line with blanks in the place of tabs, as a terminal shows them.
func untabbed(line string) string {
	if !strings.Contains(line, "\t") {
		return line
	}
	var b strings.Builder
	column := 0
	for _, r := range line {
		if r != '\t' {
			b.WriteRune(r)
			column++
			continue
		}
		n := 8 - column%8
		b.WriteString(strings.Repeat(" ", n))
		column += n
	}
	return b.String()
}
