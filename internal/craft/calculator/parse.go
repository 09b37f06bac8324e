package calculator

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/shopspring/decimal"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
)

// Parse reads an expression: decimal numbers with a point; names, those with
// other characters than letters, digits and _ in braces; + - * / ^ and % after
// a number for hundredths; comparisons, which give 1 or 0; parentheses; and
// the functions of [Functions]. ^ binds to the right and tighter than a sign.
//
// It returns calculation/syntax with the character where it stopped, or
// calculation/limit.
func Parse(text string) (*Expression, error) {
	if len(text) > MaxText {
		return nil, fault.New("calculation/limit", "the expression has %d bytes; at most %d are read", len(text), MaxText)
	}
	if !utf8.ValidString(text) {
		return nil, fault.New("calculation/syntax", "the expression is not UTF-8")
	}
	p := &parser{text: []rune(text)}
	p.next()
	root := p.comparison(0)
	if p.err == nil && p.token.what != "" {
		p.unexpected()
	}
	if p.err != nil {
		return nil, p.err
	}
	slices.Sort(p.names)
	return &Expression{root, slices.Compact(p.names)}, nil
}

// token is the next word: what is its kind ("number", "name", "", the end) or
// the operator itself.
type token struct {
	what, text string
	at         int
}

type parser struct {
	text  []rune
	pos   int
	token token
	nodes int
	names []string
	err   error
}

func (p *parser) refuse(code string, at int, format string, args ...any) *fault.Error {
	e := fault.New(code, format, args...).At(place(at))
	if p.err == nil {
		p.err = e
	}
	p.token = token{at: at} // the end, so that everybody returns
	p.pos = len(p.text)
	return e
}

func (p *parser) unexpected() {
	switch t := p.token; t.what {
	case "":
		p.refuse("calculation/syntax", t.at, "the expression ends where a value should follow")
	case ",":
		p.refuse("calculation/syntax", t.at, "a comma separates arguments of a function, and nothing else").Want("write 1000, not 1,000")
	case "number", "name":
		p.refuse("calculation/syntax", t.at, "an operator is missing before this").Got(t.text)
	default:
		p.refuse("calculation/syntax", t.at, "this does not fit here").Got(t.what)
	}
}

// next reads the next token.
func (p *parser) next() {
	for p.pos < len(p.text) && unicode.IsSpace(p.text[p.pos]) {
		p.pos++
	}
	start := p.pos
	p.token = token{at: start + 1}
	if p.pos == len(p.text) {
		return
	}
	switch c := p.text[p.pos]; {
	case digit(c) || c == '.':
		p.token.what = "number"
		p.digits()
	case c == '{':
		p.braced()
		return
	case letter(c):
		p.token.what = "name"
		for p.pos < len(p.text) && (letter(p.text[p.pos]) || digit(p.text[p.pos])) {
			p.pos++
		}
	default:
		p.operator()
	}
	p.token.text = string(p.text[start:min(p.pos, len(p.text))])
}

func digit(c rune) bool  { return c >= '0' && c <= '9' }
func letter(c rune) bool { return c == '_' || unicode.IsLetter(c) }

func (p *parser) digits() {
	seen := p.skip(digit)
	if p.has('.') {
		p.pos++
		seen = p.skip(digit) || seen
	}
	if !seen {
		p.refuse("calculation/syntax", p.token.at, "a point without digits")
		return
	}
	if p.has('e') || p.has('E') {
		p.pos++
		if p.has('+') || p.has('-') {
			p.pos++
		}
		if !p.skip(digit) {
			p.refuse("calculation/syntax", p.token.at, "an exponent without digits")
		}
	}
}

func (p *parser) has(c rune) bool { return p.pos < len(p.text) && p.text[p.pos] == c }

func (p *parser) skip(class func(rune) bool) bool {
	start := p.pos
	for p.pos < len(p.text) && class(p.text[p.pos]) {
		p.pos++
	}
	return p.pos > start
}

// braced reads a name between braces.
func (p *parser) braced() {
	at := p.token.at
	end := slices.Index(p.text[p.pos:], '}')
	if end < 0 {
		p.refuse("calculation/syntax", at, "the brace is not closed")
		return
	}
	text := strings.TrimSpace(string(p.text[p.pos+1 : p.pos+end]))
	p.pos += end + 1
	if text == "" {
		p.refuse("calculation/syntax", at, "a name is missing between the braces")
		return
	}
	p.token = token{"{", text, at}
}

func (p *parser) operator() {
	c := p.text[p.pos]
	p.pos++
	switch {
	case strings.ContainsRune("+-*/^%(),=", c):
		if c == '*' && p.has('*') { // as other languages have it
			p.pos++
			c = '^'
		}
		if c == '=' && p.has('=') {
			p.pos++
		}
		p.token.what = string(c)
	case strings.ContainsRune("<>!", c):
		p.token.what = string(c)
		if p.has('=') {
			p.pos++
			p.token.what += "="
		}
		if p.token.what == "!" {
			p.refuse("calculation/syntax", p.token.at, "there is no such operator").Got("!")
		}
	default:
		p.refuse("calculation/syntax", p.token.at, "there is no such operator").Got(string(c))
	}
}

// make counts and returns a node.
func (p *parser) make(k kind, at int, text string, args ...*node) *node {
	if p.nodes++; p.nodes > maxNodes && p.err == nil {
		p.refuse("calculation/limit", at, "the expression has more than %d parts", maxNodes)
	}
	return &node{kind: k, at: at, text: text, args: args}
}

func (p *parser) deeper(depth int) bool {
	if depth > maxDepth && p.err == nil {
		p.refuse("calculation/limit", p.token.at, "the expression is nested deeper than %d levels", maxDepth)
	}
	return p.err == nil
}

var levels = [][]string{{"<", "<=", ">", ">=", "=", "!="}, {"+", "-"}, {"*", "/"}}

func (p *parser) comparison(depth int) *node { return p.level(0, depth) }

// level parses operators of one precedence, which bind to the left.
func (p *parser) level(l, depth int) *node {
	if l == len(levels) {
		return p.sign(depth)
	}
	left := p.level(l+1, depth)
	for p.err == nil && slices.Contains(levels[l], p.token.what) {
		t := p.token
		p.next()
		left = p.make(operation, t.at, t.what, left, p.level(l+1, depth))
	}
	return left
}

func (p *parser) sign(depth int) *node {
	if t := p.token; (t.what == "-" || t.what == "+") && p.deeper(depth) {
		p.next()
		return p.make(operation, t.at, t.what, p.sign(depth+1))
	}
	return p.power(depth)
}

func (p *parser) power(depth int) *node {
	base := p.percent(depth)
	if t := p.token; t.what == "^" && p.deeper(depth) {
		p.next()
		return p.make(operation, t.at, "^", base, p.sign(depth+1))
	}
	return base
}

func (p *parser) percent(depth int) *node {
	v := p.value(depth)
	for p.err == nil && p.token.what == "%" {
		v = p.make(operation, p.token.at, "%", v)
		p.next()
	}
	return v
}

func (p *parser) value(depth int) *node {
	t := p.token
	switch t.what {
	case "number":
		p.next()
		return p.number(t)
	case "{":
		p.next()
		p.names = append(p.names, t.text)
		return p.make(name, t.at, t.text)
	case "name":
		p.next()
		if p.token.what == "(" && p.deeper(depth) {
			return p.call(t, depth+1)
		}
		p.names = append(p.names, t.text)
		return p.make(name, t.at, t.text)
	case "(":
		if p.deeper(depth) {
			p.next()
			v := p.comparison(depth + 1)
			p.close(t.at)
			return v
		}
	default:
		p.unexpected()
	}
	return p.make(number, t.at, "")
}

func (p *parser) close(opened int) {
	if p.err == nil && p.token.what == "" {
		p.refuse("calculation/syntax", p.token.at, "the parenthesis at character %d is not closed", opened)
	}
	if p.err == nil && p.token.what != ")" {
		p.unexpected()
		return
	}
	p.next()
}

func (p *parser) number(t token) *node {
	n := p.make(number, t.at, t.text)
	d, err := ParseNumber(t.text)
	if err != nil && p.err == nil {
		p.refuse(fault.Code(err), t.at, "%s", fault.From(err).Message)
	}
	n.value = d
	return n
}

func (p *parser) call(t token, depth int) *node {
	f, ok := functions[strings.ToLower(t.text)]
	if !ok {
		p.refuse("calculation/name", t.at, "there is no such function").Got(t.text).
			Want("%s", suggest.Among(strings.ToLower(t.text), Functions()))
		return p.make(number, t.at, "")
	}
	opened := p.token.at
	p.next()
	var args []*node
	for p.err == nil && p.token.what != ")" {
		args = append(args, p.comparison(depth))
		if p.token.what != "," {
			break
		}
		if p.next(); p.token.what == ")" {
			p.unexpected()
		}
	}
	p.close(opened)
	if p.err == nil && (len(args) < f.least || len(args) > f.most) {
		p.refuse("calculation/syntax", t.at, "%s takes %s", strings.ToLower(t.text), f.takes()).Got(t.text)
	}
	return p.make(call, t.at, strings.ToLower(t.text), args...)
}

// ParseNumber reads a decimal number as expressions have it, with a sign.
func ParseNumber(text string) (decimal.Decimal, error) {
	if len(text) > 2*exactDigits {
		return zero, fault.New("calculation/limit", "a number has more than %d characters", 2*exactDigits)
	}
	rest := strings.TrimLeft(text, "+-")
	if len(text)-len(rest) > 1 || rest == "" || !digit(rune(rest[0])) && rest[0] != '.' {
		return zero, fault.New("calculation/syntax", "it is not a number").Got(text)
	}
	if i := strings.IndexAny(rest, "eE"); i >= 0 && len(strings.TrimLeft(rest[i+1:], "+-0")) > 4 {
		return zero, fault.New("calculation/limit", "the exponent of a number is larger than %d", maxExponent)
	}
	d, err := decimal.NewFromString(text)
	if err != nil {
		return zero, fault.New("calculation/syntax", "it is not a number").Got(text)
	}
	s := &slate{}
	if d.NumDigits() > exactDigits && d.Normalize().NumDigits() > exactDigits {
		s.fail("calculation/limit", "a number has more than %d digits", exactDigits)
	}
	d = s.bound(d)
	return d, s.err
}
