package repomap

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// token is a word of a source text. Strings and comments are skipped, but for
// the text of a string, which may name a module.
type lexeme struct {
	kind       byte // 'n' for a name, 's' for a string, 'd' for a number, else the character
	start, end int
	line       int
	indent     int // of the first on its line; -1 of those after it
}

// lexer divides source into lexemes in one pass: each byte is looked at a
// bounded number of times, whatever the text is.
type lexer struct {
	lang   *language
	data   []byte
	at     int
	line   int
	fresh  bool // nothing stands before on this line
	column int  // indentation of this line
	last   lexeme
	holes  []int // open braces within ${ } of template strings, innermost last
}

const maxNesting = 200

// next returns the next lexeme; ok is false at the end.
func (x *lexer) next() (t lexeme, ok bool) {
	for x.at < len(x.data) {
		c := x.data[x.at]
		switch {
		case c == '\n':
			x.line, x.fresh, x.column = x.line+1, true, 0
			x.at++
			continue
		case c == ' ' || c == '\t' || c == '\r':
			if x.fresh {
				x.column++
			}
			x.at++
			continue
		case x.comment():
			continue
		}
		t = lexeme{start: x.at, line: x.line, indent: -1}
		if x.fresh {
			t.indent, x.fresh = x.column, false
		}
		x.lexeme(&t, c)
		t.end = x.at
		x.last = t
		return t, true
	}
	return t, false
}

func (x *lexer) lexeme(t *lexeme, c byte) {
	r, _ := utf8.DecodeRune(x.data[x.at:])
	switch {
	case c >= '0' && c <= '9':
		t.kind = 'd'
		x.name()
	case nameRune(r) || c == '$' || c == '@' && x.lang.shape == namesOnly:
		t.kind = 'n'
		x.at++
		x.name()
	case strings.IndexByte(x.lang.quotes, c) >= 0:
		t.kind = 's'
		x.quoted(c)
	case c == '\'' && x.lang.quoteID:
		t.kind = 's'
		x.character()
	case c == '/' && x.lang.regexps && x.operand():
		t.kind = 's'
		x.regexp()
	default:
		t.kind = c
		x.at++
		x.hole(c)
	}
}

func (x *lexer) name() {
	for x.at < len(x.data) {
		r, n := utf8.DecodeRune(x.data[x.at:])
		if !nameRune(r) && r != '$' {
			return
		}
		x.at += n
	}
}

// comment skips a comment, if one begins here.
func (x *lexer) comment() bool {
	rest := x.data[x.at:]
	for _, mark := range x.lang.line {
		if bytes.HasPrefix(rest, []byte(mark)) {
			n := bytes.IndexByte(rest, '\n')
			if n < 0 {
				n = len(rest)
			}
			x.at += n
			return true
		}
	}
	if open := x.lang.block[0]; open != "" && bytes.HasPrefix(rest, []byte(open)) {
		x.skipTo(len(open), x.lang.block[1])
		return true
	}
	return false
}

// skipTo goes on behind the next mark after from bytes, or to the end.
func (x *lexer) skipTo(from int, mark string) {
	rest := x.data[x.at:]
	n := bytes.Index(rest[min(from, len(rest)):], []byte(mark))
	if n < 0 {
		n = len(rest)
	} else {
		n += from + len(mark)
	}
	x.line += bytes.Count(rest[:n], []byte{'\n'})
	x.at += n
}

// quoted skips a string. One of a kind that ends with its line is ended by it.
func (x *lexer) quoted(q byte) {
	if three := strings.Repeat(string(q), 3); x.lang.triple && bytes.HasPrefix(x.data[x.at:], []byte(three)) {
		x.skipTo(3, three)
		return
	}
	x.at++
	x.inString(q)
}

func (x *lexer) inString(q byte) {
	template := q == '`'
	for x.at < len(x.data) {
		switch c := x.data[x.at]; {
		case c == '\\':
			x.at++
			if x.at < len(x.data) && x.data[x.at] == '\n' {
				x.line++
			}
		case c == q:
			x.at++
			return
		case c == '\n' && !template:
			return
		case c == '\n':
			x.line++
		case template && c == '$' && x.at+1 < len(x.data) && x.data[x.at+1] == '{' && len(x.holes) < maxNesting:
			x.at += 2
			x.holes = append(x.holes, 0)
			return
		}
		x.at++
	}
	x.at = len(x.data)
}

// hole counts braces in the ${ } of a template string, which goes on behind it.
func (x *lexer) hole(c byte) {
	if len(x.holes) == 0 {
		return
	}
	top := &x.holes[len(x.holes)-1]
	switch {
	case c == '{':
		*top++
	case c == '}' && *top > 0:
		*top--
	case c == '}':
		x.holes = x.holes[:len(x.holes)-1]
		x.inString('`')
	}
}

// character skips a character constant; a lifetime is left to be a name.
func (x *lexer) character() {
	rest := x.data[x.at+1:]
	n := bytes.IndexByte(rest[:min(len(rest), 12)], '\'')
	x.at++
	switch {
	case n == 0 && len(rest) > 1 && rest[1] == '\'', n > 0 && rest[0] == '\\' || n == 1:
		x.at += n + 1
	case n > 0:
		if _, size := utf8.DecodeRune(rest); size == n {
			x.at += n + 1
		}
	}
}

// operand reports whether an operand may stand here, so that a slash begins a
// regular expression.
func (x *lexer) operand() bool {
	switch x.last.kind {
	case 'd', 's', ')', ']', '}':
		return false
	case 'n':
		switch string(x.data[x.last.start:x.last.end]) {
		case "return", "typeof", "case", "in", "of", "delete", "void", "throw", "new", "else", "do", "await", "yield":
			return true
		}
		return false
	}
	return true
}

func (x *lexer) regexp() {
	class := false
	for x.at++; x.at < len(x.data); x.at++ {
		switch c := x.data[x.at]; {
		case c == '\\':
			x.at++
		case c == '\n':
			return
		case c == '[':
			class = true
		case c == ']':
			class = false
		case c == '/' && !class:
			x.at++
			x.name() // flags
			return
		}
	}
	x.at = len(x.data)
}

// scan outlines source of a language that the scanner knows.
func (b *builder) scan(lang *language, data []byte) {
	x := &lexer{lang: lang, data: data, line: 1, fresh: true}
	var tokens []lexeme
	for t, ok := x.next(); ok; t, ok = x.next() {
		tokens = append(tokens, t)
	}
	s := &source{builder: b, lang: lang, data: data, tokens: tokens}
	switch lang.shape {
	case script:
		s.script()
	case indented:
		s.indented()
	default:
		s.names()
	}
}

// source is a scanned text.
type source struct {
	*builder
	lang   *language
	data   []byte
	tokens []lexeme
}

func (s *source) kind(i int) byte {
	if i < 0 || i >= len(s.tokens) {
		return 0
	}
	return s.tokens[i].kind
}

func (s *source) text(i int) string {
	if i < 0 || i >= len(s.tokens) {
		return ""
	}
	return string(s.data[s.tokens[i].start:s.tokens[i].end])
}

// unquoted is the text of a string.
func (s *source) unquoted(i int) string {
	if s.kind(i) != 's' {
		return ""
	}
	return strings.Trim(s.text(i), "'\"`")
}

// names finds the name after each keyword that declares one.
func (s *source) names() {
	for i := range s.tokens {
		if s.kind(i) != 'n' {
			continue
		}
		word := s.text(i)
		s.refer(word)
		kind, ok := s.lang.defs[word]
		if !ok || s.kind(i-1) == '.' || s.kind(i-1) == ':' {
			continue
		}
		at := i + 1
		if s.kind(at) == '!' { // macro_rules! name
			at++
		}
		if s.kind(at) == 'n' {
			for s.kind(at+1) == '.' && s.kind(at+2) == 'n' { // a qualified name ends in its own
				at += 2
			}
			s.symbol(Symbol{Name: s.text(at), Kind: kind, Line: s.tokens[i].line})
		}
	}
}

// upTo returns the text from one lexeme to before the first that ends a
// signature outside of brackets, or to the end of a line that is whole.
func (s *source) upTo(from int, ends string) string {
	depth := 0
	end := s.tokens[from].end
	for i := from; i < len(s.tokens) && i < from+300; i++ {
		k := s.kind(i)
		if depth <= 0 && i > from && (strings.IndexByte(ends, k) >= 0 || s.tokens[i].indent >= 0 && !s.goesOn(i)) {
			break
		}
		switch k {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case '<':
			if s.lang.shape == script { // of type parameters
				depth++
			}
		case '>':
			if s.lang.shape == script && s.kind(i-1) != '=' {
				depth--
			}
		}
		end = s.tokens[i].end
	}
	return string(s.data[s.tokens[from].start:min(end, s.tokens[from].start+8*maxSignature)])
}

// goesOn reports whether the line before a lexeme, or the lexeme itself, asks for
// more.
func (s *source) goesOn(i int) bool {
	return strings.IndexByte(",|&=<:.", s.kind(i-1)) >= 0 || strings.IndexByte("|&.:", s.kind(i)) >= 0
}
