package console

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/term"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
)

// Ink is how a text looks where there is colour.
type Ink string

// What is written in which ink.
const (
	Plain  Ink = ""   // as it is
	Strong Ink = "1"  // what a line is about
	Faint  Ink = "2"  // times and ids beside it
	Good   Ink = "32" // what went well, and lines that a change adds
	Bad    Ink = "31" // what went wrong, and lines that a change takes away
	Waits  Ink = "33" // what waits for somebody
	Place  Ink = "36" // where a part of a diff belongs
)

// colours are what --color takes.
var colours = []string{"auto", "always", "never"}

// CheckColour refuses what --color does not take.
func (a *Console) CheckColour() error {
	for _, c := range colours {
		if a.Colour == c || a.Colour == "" {
			return nil
		}
	}
	return fault.New("usage/argument", "no such choice").At("--color").Got(a.Colour).Want("%s", suggest.Among(a.Colour, colours))
}

// Coloured reports whether output is to be in colour: always and never say so; else
// where it goes to a terminal that knows colour, unless NO_COLOR is set to anything.
func (a *Console) Coloured() bool { return a.colouredOn(a.Out) }

func (a *Console) colouredOn(w any) bool {
	switch a.Colour {
	case "always":
		return !a.JSON
	case "never":
		return false
	}
	return !a.JSON && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && Terminal(w)
}

// Paint is text in an ink, where there is colour. The text is [Printable] already.
func (a *Console) Paint(ink Ink, text string) string { return a.PaintOn(a.Out, ink, text) }

// PaintOn is [Console.Paint] for what is written to w, and not to the output.
func (a *Console) PaintOn(w any, ink Ink, text string) string {
	if text == "" || ink == Plain || !a.colouredOn(w) {
		return text
	}
	return "\x1b[" + string(ink) + "m" + text + "\x1b[0m"
}

// PaintDiff is a diff in colour, where there is colour: what it adds, takes away, and
// where its parts belong. The diff is [Printable] already.
func (a *Console) PaintDiff(diff string) string {
	if !a.Coloured() {
		return diff
	}
	var b strings.Builder
	for line := range strings.Lines(diff) {
		text := strings.TrimRight(line, "\n")
		b.WriteString(a.Paint(inkOf(text), text))
		b.WriteString(line[len(text):])
	}
	return b.String()
}

// inkOf is how a line of a diff looks.
func inkOf(line string) Ink {
	for _, is := range []struct {
		prefix string
		ink    Ink
	}{{"diff ", Strong}, {"+++ ", Strong}, {"--- ", Strong}, {"@@", Place}, {"+", Good}, {"-", Bad}} {
		if strings.HasPrefix(line, is.prefix) {
			return is.ink
		}
	}
	return Plain
}

// Width is how many columns a line of output may have: those of the terminal, or what
// COLUMNS says; 0 for as many as it takes, where neither is known.
func (a *Console) Width() int { return widthOf(a.Out) }

// narrowest is the least that lines are fitted to.
const narrowest = 20

func widthOf(w any) int {
	if f, ok := w.(folder); ok {
		return f.width
	}
	if f := fileOf(w); f != nil && term.IsTerminal(int(f.Fd())) {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
			return max(n, narrowest)
		}
	}
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		return max(n, narrowest)
	}
	return 0
}

// Wrapped is a text whose lines are broken at blanks, or in words that are longer
// than a line, so that none has more than width columns; of width 0 the text itself.
// What a line begins with stands before its other parts too.
func Wrapped(text string, width int, indent string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		for {
			head, rest := breakLine(line, width-Columns(indent), width > 0)
			b.WriteString(strings.TrimRight(indent+head, " \t"))
			b.WriteByte('\n')
			if rest == "" {
				break
			}
			line = rest
		}
	}
	return b.String()
}
