// Package terminal is a terminal for tests: a program runs at it as at a person's, a
// test types and reads what stands there. It knows what the command line uses: line
// ends, the cursor's moves, erasing, and the bell; colours and modes show nothing. What
// scrolls out at the top is kept. Only Linux has one that a program can run at.
package terminal

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Screen is what stands on a terminal of so many columns and rows. Its zero value has
// no size; [NewScreen] makes one.
type Screen struct {
	columns, rows int
	lines         []line // from the first that was ever shown
	row, column   int    // of the cursor; a column of columns waits for the next rune to wrap
	bells         int
	unknown       []string // sequences that it did not understand
	rest          []byte   // of a sequence or a rune that is not whole yet
}

type line struct {
	runes   []rune
	wrapped bool // goes on in the next, because the terminal was too narrow
}

// NewScreen returns an empty screen.
func NewScreen(columns, rows int) *Screen {
	return &Screen{columns: columns, rows: rows, lines: make([]line, 1)}
}

// Write shows what a program writes. It never fails.
func (s *Screen) Write(data []byte) (int, error) {
	s.rest = append(s.rest, data...)
	for len(s.rest) > 0 {
		n := s.take(s.rest)
		if n == 0 {
			break
		}
		s.rest = s.rest[n:]
	}
	return len(data), nil
}

// take shows the first of what is there, and says how many bytes it was; 0 where it is
// not whole.
func (s *Screen) take(data []byte) int {
	if data[0] == 0x1b {
		return s.escape(data)
	}
	if !utf8.FullRune(data) {
		return 0
	}
	r, n := utf8.DecodeRune(data)
	switch r {
	case '\n':
		s.down()
	case '\r':
		s.column = 0
	case '\b':
		s.column = max(0, s.column-1)
	case '\t':
		s.column = min(s.columns-1, s.column/8*8+8)
	case '\a':
		s.bells++
	default:
		s.put(r)
	}
	return n
}

// escape obeys a sequence that begins with ESC.
func (s *Screen) escape(data []byte) int {
	if len(data) < 2 {
		return 0
	}
	if data[1] != '[' {
		s.unknown = append(s.unknown, fmt.Sprintf("%q", data[:2]))
		return 2
	}
	end := slices.IndexFunc(data[2:], func(b byte) bool { return b >= 0x40 && b <= 0x7e })
	if end < 0 {
		return 0
	}
	s.control(string(data[2:2+end]), data[2+end])
	return end + 3
}

// control obeys a control sequence.
func (s *Screen) control(parameters string, final byte) {
	n, err := strconv.Atoi(parameters)
	count := max(n, 1)
	switch {
	case final == 'm' || strings.HasPrefix(parameters, "?"): // colours and modes
	case parameters != "" && err != nil:
		s.unknown = append(s.unknown, parameters+string(final))
	case final == 'A':
		s.row = max(s.top(), s.row-count)
	case final == 'B':
		s.row = min(len(s.lines)-1, s.row+count)
	case final == 'C':
		s.column = min(s.columns-1, s.column+count)
	case final == 'D':
		s.column = max(0, s.column-count)
	case final == 'G':
		s.column = min(s.columns, count) - 1
	case final == 'K' && n == 0:
		s.erase()
	case final == 'K' && n == 2:
		s.lines[s.row] = line{}
	case final == 'J' && n == 0:
		s.erase()
		s.lines = s.lines[:s.row+1]
	default:
		s.unknown = append(s.unknown, parameters+string(final))
	}
}

// erase clears the line from the cursor on.
func (s *Screen) erase() {
	l := &s.lines[s.row]
	l.runes, l.wrapped = l.runes[:min(s.column, len(l.runes))], false
}

// top is the first row that the cursor can reach.
func (s *Screen) top() int { return max(0, len(s.lines)-s.rows) }

func (s *Screen) down() {
	s.row++
	if s.row == len(s.lines) {
		s.lines = append(s.lines, line{})
	}
}

func (s *Screen) put(r rune) {
	if s.column >= s.columns {
		s.lines[s.row].wrapped = true
		s.column = 0
		s.down()
	}
	l := &s.lines[s.row]
	for len(l.runes) <= s.column {
		l.runes = append(l.runes, ' ')
	}
	l.runes[s.column] = r
	s.column++
}

// Resize gives the screen another size, and breaks the lines that the terminal had broken
// anew, as terminals do. The cursor stays at the end of what stands there.
func (s *Screen) Resize(columns, rows int) {
	var whole []line
	for i, l := range s.lines {
		if i > 0 && s.lines[i-1].wrapped {
			last := &whole[len(whole)-1]
			last.runes = append(last.runes, l.runes...)
			continue
		}
		whole = append(whole, line{runes: slices.Clone(l.runes)})
	}
	s.columns, s.rows, s.lines = columns, rows, nil
	for _, l := range whole {
		for len(l.runes) > columns {
			s.lines = append(s.lines, line{runes: slices.Clone(l.runes[:columns]), wrapped: true})
			l.runes = l.runes[columns:]
		}
		s.lines = append(s.lines, line{runes: l.runes})
	}
	s.row = len(s.lines) - 1
	s.column = len(s.lines[s.row].runes)
}

// Text is all that stands there and has scrolled away, a line each, without blanks at
// their ends.
func (s *Screen) Text() string {
	var b strings.Builder
	for _, l := range s.lines {
		b.WriteString(strings.TrimRight(string(l.runes), " "))
		b.WriteByte('\n')
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// Wrapped are the lines that the terminal had to break.
func (s *Screen) Wrapped() (list []string) {
	for _, l := range s.lines {
		if l.wrapped {
			list = append(list, string(l.runes))
		}
	}
	return list
}

// Bells is how often it rang.
func (s *Screen) Bells() int { return s.bells }

// Unknown are the sequences that it did not understand.
func (s *Screen) Unknown() []string { return s.unknown }
