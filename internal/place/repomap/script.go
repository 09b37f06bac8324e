package repomap

import "strings"

// scope is a pair of braces in JavaScript or TypeScript: the body of a class or an
// interface, of a namespace, or of anything else, whose declarations are its own.
type scope struct {
	class     string
	namespace bool
}

// modifiers may stand before a method's name.
var modifiers = set("async static get set public private protected readonly override abstract export default declare")

// statements are followed by a bracket and declare nothing.
var statements = set("if for while switch catch return function with super typeof await new throw do else import")

// script outlines JavaScript and TypeScript: declarations at the top and in
// namespaces, methods of classes, and functions that are given to properties.
func (s *source) script() {
	var open []scope
	bodies := map[int]scope{} // by the place of their braces
	parens := 0
	for i := range s.tokens {
		switch s.kind(i) {
		case '{':
			open = append(open, bodies[i])
		case '}':
			open = open[:max(len(open)-1, 0)]
		case '(', '[':
			parens++
		case ')', ']':
			parens = max(parens-1, 0)
		case 'n':
			word := s.text(i)
			s.refer(word)
			s.module(i, word)
			at := scope{namespace: true} // the top
			if len(open) > 0 {
				at = open[len(open)-1]
			}
			switch {
			case at.class != "":
				s.member(i, at.class)
			case at.namespace && parens == 0:
				s.property(i)
				s.declaration(i, word, bodies)
			}
		}
	}
}

// declaration adds what is declared here, and notes where its body is if that
// declares more.
func (s *source) declaration(i int, word string, bodies map[int]scope) {
	name := s.declared(i, word)
	switch {
	case s.kind(i-1) == '.':
	case word == "class" || word == "interface":
		bodies[s.brace(i)] = scope{class: name}
	case word == "namespace" || word == "module" && s.kind(i+1) == 's' || word == "global" && s.text(i-1) == "declare":
		bodies[s.brace(i)] = scope{namespace: true}
	}
}

// brace finds the brace of a body, behind type parameters and what is extended;
// -1 if there is none nearby.
func (s *source) brace(from int) int {
	depth := 0
	for i := from; i < len(s.tokens) && i < from+200; i++ {
		switch k := s.kind(i); {
		case k == '{' && depth <= 0:
			return i
		case k == '(' || k == '[' || k == '{' || k == '<':
			depth++
		case k == ')' || k == ']' || k == '}' || k == '>' && s.kind(i-1) != '=':
			depth--
		}
	}
	return -1
}

// module notes what is imported here.
func (s *source) module(i int, word string) {
	if !s.lang.imports[word] || s.kind(i-1) == '.' {
		return
	}
	at := i + 1
	if s.kind(at) == '(' {
		at++
	}
	s.imported(s.unquoted(at))
}

// declared adds what a keyword declares, and returns its name.
func (s *source) declared(i int, word string) string {
	kind, ok := s.lang.defs[word]
	if !ok || s.kind(i-1) == '.' {
		return ""
	}
	at := i + 1
	if word == "const" && s.text(at) == "enum" || s.kind(at) == '*' {
		at++
	}
	if s.kind(at) != 'n' || word == "type" && s.kind(at+1) != '=' && s.kind(at+1) != '<' {
		if word == "class" {
			return "class" // without a name: its members are methods still
		}
		return ""
	}
	if word == "function" && s.kind(i-1) == '=' {
		return "" // it is known by what it is given to
	}
	if kind == Value && s.kind(at+1) == '=' && s.text(at+2) == "require" && s.kind(at+3) == '(' {
		return "" // it is declared where it comes from
	}
	local := s.text(i-1) != "export" && s.text(i-1) != "default" && s.text(i-1) != "async" && s.text(i-1) != "abstract" && s.text(i-1) != "declare"
	name := s.text(at)
	if kind == Value && s.function(at+1) {
		kind = Func
	}
	ends := "{;="
	if kind == Func && word != "function" {
		ends = "{;>"
	}
	s.symbol(Symbol{Name: name, Kind: kind, Line: s.tokens[i].line, Local: local, Signature: strings.TrimSuffix(s.upTo(i, ends), " =")})
	return name
}

// function reports whether what is assigned at a place is a function.
func (s *source) function(i int) bool {
	if s.kind(i) != '=' {
		return false
	}
	i++
	if s.text(i) == "async" {
		i++
	}
	if s.text(i) == "function" || s.kind(i) == 'n' && s.kind(i+1) == '=' && s.kind(i+2) == '>' {
		return true
	}
	if s.kind(i) != '(' {
		return false
	}
	depth := 0
	for at := i; at < len(s.tokens) && at < i+200; at++ {
		switch s.kind(at) {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return s.kind(at+1) == ':' || s.kind(at+1) == '=' && s.kind(at+2) == '>'
			}
		}
	}
	return false
}

// property adds a function that is given to a property: exports.name = function.
func (s *source) property(i int) {
	if s.kind(i-1) == '.' && s.kind(i+1) == '=' && s.function(i+1) {
		from := i
		for s.kind(from-1) == '.' && s.kind(from-2) == 'n' && i-from < 8 {
			from -= 2
		}
		s.symbol(Symbol{Name: s.text(i), Kind: Func, Line: s.tokens[i].line, Signature: s.upTo(from, "{;>")})
	}
}

// member adds a method of a class.
func (s *source) member(i int, class string) {
	word := s.text(i)
	if next := s.kind(i + 1); next != '(' && next != '<' && !(next == '=' && s.function(i+1)) || statements[word] {
		return
	}
	switch before := s.kind(i - 1); {
	case before == '{' || before == '}' || before == ';' || before == '*' || before == '#' || s.tokens[i].indent >= 0:
	case before == 'n' && modifiers[s.text(i-1)]:
	default:
		return
	}
	s.symbol(Symbol{Name: word, Kind: Method, Line: s.tokens[i].line, Local: s.text(i-1) == "private" || s.kind(i-1) == '#', Signature: class + "." + s.upTo(i, "{;=}")})
}
