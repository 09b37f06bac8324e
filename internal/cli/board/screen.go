package board

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/loomrun/loom/internal/cli/console"
)

// Screen is a terminal whose last lines are a board. What is written to it meanwhile
// stands above the board, and stays. Its methods may be called from many goroutines.
//
// A terminal that nobody reads takes nothing after a while. Nobody waits for it longer
// than [patience]: of the boards that it did not take it gets the newest, of a text of more than
// [mostUnread] bytes the end.
type Screen struct {
	w io.Writer

	mu    sync.Mutex
	lines []string // of the board that is wanted
	shown []string // of the one that the terminal has
	width int      // columns of the terminal, by which it has broken the lines shown; 0 is any number
	anew  bool     // it has broken them: they are drawn again in any case
	ring  bool
	text  []byte // that is to be written
	lost  int    // lines of text that were left out
	begun []byte // of a line that has no end yet
	left  bool

	written chan struct{} // closed when the terminal has taken all; nil while nothing is written
	stuck   bool          // it has not taken what was written for longer than patience
	err     error         // of the last write
}

// patience is how long a writer waits for a terminal.
const patience = time.Second

// mostUnread is how much text waits for a terminal that nobody reads.
const mostUnread = 1 << 20

// NewScreen returns a screen without a board.
func NewScreen(w io.Writer) *Screen { return &Screen{w: w} }

// File is what is written to, nil where it is no file.
func (s *Screen) File() *os.File {
	return console.File(s.w)
}

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
	text := append(s.begun, p...)
	end := len(text)
	if len(s.lines) > 0 {
		end = bytes.LastIndexByte(text, '\n') + 1
	}
	s.begun = bytes.Clone(text[end:])
	s.text = append(s.text, text[:end]...)
	if err := s.release(); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Draw shows a board in the place of the one before. Columns is the width that the
// terminal has now, by which it has broken what stood there if it is less than before;
// ring rings its bell. A board that is shown already is not drawn again.
func (s *Screen) Draw(lines []string, columns int, ring bool) {
	s.draw(lines, columns, ring, false)
}

// Resized draws the board anew: the terminal has broken its lines.
func (s *Screen) Resized(lines []string, columns int) { s.draw(lines, columns, false, true) }

func (s *Screen) draw(lines []string, columns int, ring, anew bool) {
	s.mu.Lock()
	if !s.left {
		s.lines, s.width, s.ring, s.anew = lines, columns, s.ring || ring, s.anew || anew
	}
	_ = s.release() // the next line that is written says why
}

// Clear takes the board away, as if there had been none.
func (s *Screen) Clear() {
	s.mu.Lock()
	s.lines, s.width = nil, 0
	_ = s.release()
}

// Leave takes the board away for good: what it said last may have been overtaken. What is
// written then is written as it is; nothing is drawn any more.
func (s *Screen) Leave() {
	s.mu.Lock()
	s.text = append(s.text, s.begun...)
	s.lines, s.width, s.begun, s.left = nil, 0, nil, true
	_ = s.release()
}

// Stuck reports whether the terminal takes nothing.
func (s *Screen) Stuck() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stuck
}

// release has what is wanted be written, unlocks, and waits until it is, as long as its
// patience lasts.
func (s *Screen) release() error {
	if s.written == nil {
		s.written = make(chan struct{})
		go s.writeAll()
	}
	written, stuck := s.written, s.stuck
	s.bound()
	s.mu.Unlock()
	if stuck {
		return nil
	}
	select {
	case <-written:
	case <-time.After(patience):
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stuck = s.stuck || s.written == written
	return s.err
}

// bound leaves the older half of the lines out of a text that grows without being read.
func (s *Screen) bound() {
	if len(s.text) <= mostUnread {
		return
	}
	end := len(s.text)
	if n := bytes.IndexByte(s.text[end-mostUnread/2:], '\n'); n >= 0 {
		end += n + 1 - mostUnread/2
	}
	s.lost += bytes.Count(s.text[:end], []byte{'\n'})
	s.text = append([]byte(nil), s.text[end:]...)
}

// writeAll writes what is wanted until there is no more.
func (s *Screen) writeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		out := s.next()
		if out == "" {
			close(s.written)
			s.written = nil
			return
		}
		s.mu.Unlock()
		_, err := io.WriteString(s.w, out)
		s.mu.Lock()
		s.err, s.stuck = err, false
	}
}

// next is what is to be written now, as if it were: the text, and the board if it is
// another one.
func (s *Screen) next() string {
	var out strings.Builder
	if s.ring {
		out.WriteByte('\a')
	}
	above := len(s.text) > 0 || s.lost > 0
	switch same := slices.Equal(s.lines, s.shown); {
	case same && !above && !s.anew:
	case len(s.shown) == 0 && len(s.lines) == 0:
		out.WriteString(s.said())
	case above, s.anew, len(s.lines) == 0:
		out.WriteString(top(s.shown, s.width) + erase + s.said() + drawn(s.lines))
	default:
		out.WriteString(top(s.shown, s.width) + drawn(s.lines) + erase)
	}
	s.shown, s.text, s.lost, s.ring, s.anew = s.lines, nil, 0, false, false
	return out.String()
}

// said is the text, behind how much of it was left out.
func (s *Screen) said() string {
	if s.lost == 0 {
		return string(s.text)
	}
	return fmt.Sprintf("(%d lines are left out: nobody read this terminal)\n%s", s.lost, s.text)
}

// top moves the cursor from the end of a board to its beginning. On a screen of so many
// columns lines that have more take several rows; 0 is any number.
func top(lines []string, columns int) string {
	rows := 0
	for _, l := range lines {
		rows++
		if w := console.Columns(l); columns > 0 && w > columns {
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
