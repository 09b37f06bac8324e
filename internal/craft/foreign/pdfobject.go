package foreign

import (
	"bytes"
	"strconv"

	"github.com/loomrun/loom/internal/base/fault"
)

// The objects of a pdf beside float64, bool and nil. What is in a content stream and is
// none of them is a pdfWord: an operator.
type (
	pdfName   string
	pdfString string // bytes, of an encoding that a font tells
	pdfWord   string
	pdfRef    int // the number of an object
	pdfArray  []any
	pdfDict   map[pdfName]any
	pdfStream struct {
		dict pdfDict
		raw  []byte
	}
)

const (
	maxSteps = 60_000_000 // of the reading of a pdf: a token, a glyph, or 64 bytes that are looked through
	maxArray = 1_000_000  // objects within an object of a pdf
)

// pdfWork counts what the reading of a pdf does, and ends it: behind a bound, or when
// nobody waits any more. Once it has an error, every lexer is at its end.
type pdfWork struct {
	steps, asked int
	alive        func() error
	err          error
}

// spend counts steps, and reports whether the work goes on.
func (w *pdfWork) spend(n int) bool {
	w.steps += n
	if w.err == nil && w.steps >= w.asked {
		w.asked = w.steps + 4096
		w.err = w.alive()
	}
	if w.err == nil && w.steps > maxSteps {
		w.err = fault.New("document/limit", "the pdf takes more than %d million steps to read", maxSteps/1_000_000)
	}
	return w.err == nil
}

// pdfLexer reads objects one after the other.
type pdfLexer struct {
	data []byte
	at   int
	work *pdfWork
	refs bool // "1 0 R" is a reference; in content streams there is none
	most int  // objects within the one at hand that may still follow
}

// next is the next object or operator; ok is false at the end.
func (l *pdfLexer) next() (any, bool) {
	l.most = maxArray
	return l.object(0)
}

func (l *pdfLexer) object(depth int) (any, bool) {
	t, ok := l.token()
	if l.most--; !ok || depth > MaxDepth || l.most < 0 {
		l.at = len(l.data)
		return nil, false
	}
	switch t {
	case pdfWord("["):
		var list pdfArray
		for {
			v, ok := l.object(depth + 1)
			if !ok || v == pdfWord("]") {
				return list, true
			}
			list = append(list, v)
		}
	case pdfWord("<<"):
		dict := pdfDict{}
		for {
			key, ok := l.object(depth + 1)
			name, named := key.(pdfName)
			if !ok || key == pdfWord(">>") {
				return dict, true
			}
			if !named {
				continue
			}
			if dict[name], ok = l.object(depth + 1); !ok || dict[name] == pdfWord(">>") {
				return dict, true
			}
		}
	}
	if n, is := t.(float64); is && l.refs && n >= 0 && n == float64(int(n)) {
		return l.reference(int(n)), true
	}
	return t, true
}

// reference is a number, or the reference that it begins.
func (l *pdfLexer) reference(n int) any {
	from := l.at
	if generation, ok := l.token(); ok {
		if _, is := generation.(float64); is {
			if t, _ := l.token(); t == pdfWord("R") {
				return pdfRef(n)
			}
		}
	}
	l.at = from
	return float64(n)
}

func pdfSpace(c byte) bool {
	return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\f' || c == 0
}

func pdfDelimiter(c byte) bool { return bytes.IndexByte([]byte("()<>[]{}/%"), c) >= 0 }

// token is the next name, string, number or word.
func (l *pdfLexer) token() (any, bool) {
	l.blanks()
	if !l.work.spend(1) || l.at >= len(l.data) {
		return nil, false
	}
	c, rest := l.data[l.at], l.data[l.at:]
	switch {
	case c == '(':
		return l.literal(), true
	case bytes.HasPrefix(rest, []byte("<<")), bytes.HasPrefix(rest, []byte(">>")):
		l.at += 2
		return pdfWord(rest[:2]), true
	case c == '<':
		return l.hex(), true
	case c == '/':
		l.at++
		return l.name(), true
	case pdfDelimiter(c):
		l.at++
		return pdfWord(c), true
	}
	word := l.regular()
	if n, ok := pdfNumber(word); ok {
		return n, true
	}
	switch string(word) {
	case "true", "false":
		return word[0] == 't', true
	case "null":
		return nil, true
	}
	return pdfWord(word), true
}

// blanks passes over white space and comments.
func (l *pdfLexer) blanks() {
	from := l.at
	for comment := false; l.at < len(l.data); l.at++ {
		c := l.data[l.at]
		switch {
		case c == '\n' || c == '\r':
			comment = false
		case c == '%':
			comment = true
		case !comment && !pdfSpace(c):
			l.work.spend((l.at - from) / 64)
			return
		}
	}
	l.work.spend((l.at - from) / 64)
}

// regular takes characters up to white space or a delimiter, at least one.
func (l *pdfLexer) regular() []byte {
	from := l.at
	for l.at++; l.at < len(l.data) && !pdfSpace(l.data[l.at]) && !pdfDelimiter(l.data[l.at]); l.at++ {
	}
	l.work.spend((l.at - from) / 64)
	return l.data[from:l.at]
}

func pdfNumber(word []byte) (float64, bool) {
	if c := word[0]; (c < '0' || c > '9') && c != '-' && c != '+' && c != '.' || len(word) > 40 {
		return 0, false
	}
	n, err := strconv.ParseFloat(string(word), 64)
	return n, err == nil && n > -1e9 && n < 1e9
}

func (l *pdfLexer) name() pdfName {
	from := l.at
	for ; l.at < len(l.data) && !pdfSpace(l.data[l.at]) && !pdfDelimiter(l.data[l.at]); l.at++ {
	}
	word := l.data[from:l.at]
	l.work.spend(len(word) / 64)
	if bytes.IndexByte(word, '#') < 0 {
		return pdfName(word)
	}
	var name []byte
	for i := 0; i < len(word); i++ {
		if word[i] == '#' && i+2 < len(word) {
			if n, err := strconv.ParseUint(string(word[i+1:i+3]), 16, 8); err == nil {
				name = append(name, byte(n))
				i += 2
				continue
			}
		}
		name = append(name, word[i])
	}
	return pdfName(name)
}

// literal reads a string in parentheses.
func (l *pdfLexer) literal() pdfString {
	var s []byte
	depth, from := 0, l.at
	for ; l.at < len(l.data); l.at++ {
		switch l.data[l.at] {
		case '\\':
			s = l.escaped(s)
			continue
		case '(':
			if depth++; depth == 1 {
				continue
			}
		case ')':
			if depth--; depth == 0 {
				l.at++
				l.work.spend((l.at - from) / 64)
				return pdfString(s)
			}
		}
		s = append(s, l.data[l.at])
	}
	l.work.spend((l.at - from) / 64)
	return pdfString(s)
}

// escaped adds what a backslash stands for, and stays at the last byte of it.
func (l *pdfLexer) escaped(s []byte) []byte {
	if l.at++; l.at >= len(l.data) {
		return s
	}
	c := l.data[l.at]
	if i := bytes.IndexByte([]byte("nrtbf"), c); i >= 0 {
		return append(s, "\n\r\t\b\f"[i])
	}
	switch {
	case c == '\r' && l.at+1 < len(l.data) && l.data[l.at+1] == '\n':
		l.at++
		return s
	case c == '\n' || c == '\r':
		return s
	case c < '0' || c > '7':
		return append(s, c)
	}
	n := 0
	for i := 0; i < 3 && l.at < len(l.data) && l.data[l.at] >= '0' && l.data[l.at] <= '7'; i++ {
		n = n*8 + int(l.data[l.at]-'0')
		l.at++
	}
	l.at--
	return append(s, byte(n))
}

// hex reads a string in angle brackets.
func (l *pdfLexer) hex() pdfString {
	var s []byte
	digit, half, from := byte(0), false, l.at
	for l.at++; l.at < len(l.data) && l.data[l.at] != '>'; l.at++ {
		n, err := strconv.ParseUint(string(l.data[l.at]), 16, 8)
		if err != nil {
			continue
		}
		if half {
			s = append(s, digit<<4|byte(n))
		}
		digit, half = byte(n), !half
	}
	l.at++
	if half {
		s = append(s, digit<<4)
	}
	l.work.spend((l.at - from) / 16)
	return pdfString(s)
}
