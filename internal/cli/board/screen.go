package board

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
)

// Screen is a terminal whose last lines are a board. What is written to it meanwhile
// stands above the board, and stays. Its methods may be called from many goroutines.
type Screen struct {
	w io.Writer

	mu    sync.Mutex
	lines []string // of the board that is shown
	begun []byte   // of a line that has no end yet
	left  bool
}

// NewScreen returns a screen without a board.
func NewScreen(w io.Writer) *Screen { return &Screen{w: w} }

// The sequences that a board is drawn with. While it is, the terminal wraps no line: one
// whose runes are wider than they should be is cut, and the others stay where they are.
const (
	noWrap   = "\x1b[?7l"
	wrap     = "\x1b[?7h"
	eraseEnd = "\x1b[K" // of the line
	erase    = "\x1b[J" // all below, too
)

// Write writes lines above the board. The beginning of a line waits for its end while
// there is a board.
func (s *Screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.lines) == 0 && len(s.begun) == 0 {
		return s.w.Write(p)
	}
	text := append(s.begun, p...)
	end := bytes.LastIndexByte(text, '\n') + 1
	s.begun = bytes.Clone(text[end:])
	if end == 0 {
		return len(p), nil
	}
	out := s.top(0) + erase + string(text[:end]) + drawn(s.lines)
	if _, err := io.WriteString(s.w, out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Draw shows a board in the place of the one before. Columns is the width that the
// terminal has now, by which it has broken what stood there if it is less than before;
// ring rings its bell. A board that is shown already is not drawn again.
func (s *Screen) Draw(lines []string, columns int, ring bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out strings.Builder
	if ring && !s.left {
		out.WriteByte('\a')
	}
	if same := strings.Join(lines, "\n") == strings.Join(s.lines, "\n"); !same && !s.left {
		out.WriteString(s.top(columns) + drawn(lines) + erase)
		s.lines = lines
	}
	if out.Len() > 0 {
		_, _ = io.WriteString(s.w, out.String())
	}
}

// Resized draws the board anew: the terminal has broken its lines.
func (s *Screen) Resized(lines []string, columns int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left {
		return
	}
	_, _ = io.WriteString(s.w, s.top(columns)+erase+drawn(lines))
	s.lines = lines
}

// Clear takes the board away, as if there had been none.
func (s *Screen) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.lines) > 0 && !s.left {
		_, _ = io.WriteString(s.w, s.top(0)+erase)
	}
	s.lines = nil
}

// Leave takes the board away for good: what it said last may have been overtaken. What is
// written then is written as it is; nothing is drawn any more.
func (s *Screen) Leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.lines) > 0 && !s.left {
		_, _ = io.WriteString(s.w, s.top(0)+erase)
	}
	_, _ = s.w.Write(s.begun)
	s.lines, s.begun, s.left = nil, nil, true
}

// top moves the cursor from the end of the board to its beginning. On a screen of so many
// columns lines that have more take several rows; 0 is any number.
func (s *Screen) top(columns int) string {
	rows := 0
	for _, l := range s.lines {
		rows++
		if w := shown(l); columns > 0 && w > columns {
			rows += (w - 1) / columns
		}
	}
	if rows < 2 {
		return "\r"
	}
	return fmt.Sprintf("\r\x1b[%dA", rows-1)
}

// drawn is a board as it is written from its first column; the cursor stays behind it.
func drawn(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return noWrap + strings.Join(lines, eraseEnd+"\n") + eraseEnd + wrap
}

// inks are the sequences that colour a line.
var inks = regexp.MustCompile("\x1b\\[[0-9;]*m")

// shown is how many columns a line takes, its inks aside.
func shown(line string) int { return columnsOf(inks.ReplaceAllString(line, "")) }
