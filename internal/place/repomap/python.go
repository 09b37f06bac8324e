package repomap

import "strings"

// block is a class or function in Python, by its indentation.
type block struct {
	indent int
	class  string // empty for a function
}

// indented outlines Python: classes and their methods, functions, and what is
// assigned at the top.
func (s *source) indented() {
	var open []block
	depth := 0
	for i, t := range s.tokens {
		if t.indent >= 0 && depth == 0 {
			for len(open) > 0 && t.indent <= open[len(open)-1].indent {
				open = open[:len(open)-1]
			}
			s.statement(i, t, &open)
		}
		switch t.kind {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth = max(depth-1, 0)
		case 'n':
			s.refer(s.text(i))
		}
	}
}

func (s *source) statement(i int, t lexeme, open *[]block) {
	word := s.text(i)
	at := i
	if word == "async" {
		at++
		word = s.text(at)
	}
	switch {
	case word == "import" || word == "from":
		s.pythonImport(i, word)
	case s.lang.defs[word] == Type && word == "class", word == "def":
		name := s.text(at + 1)
		if s.kind(at+1) != 'n' {
			return
		}
		inside := block{}
		if len(*open) > 0 {
			inside = (*open)[len(*open)-1]
		}
		b := block{indent: t.indent}
		sig, kind := s.upTo(i, ":"), Func
		if word == "class" {
			b.class, kind = name, Type
		} else if inside.class != "" {
			kind, sig = Method, inside.class+"."+strings.TrimPrefix(sig, "def ")
		}
		if len(*open) == 0 || inside.class != "" { // what a function declares is its own
			s.symbol(Symbol{Name: name, Kind: kind, Line: t.line, Local: strings.HasPrefix(name, "_"), Signature: sig})
		}
		if len(*open) < maxNesting {
			*open = append(*open, b)
		}
	case t.kind == 'n' && t.indent == 0 && (s.kind(i+1) == '=' && s.kind(i+2) != '=' || s.kind(i+1) == ':'):
		if !statementsPython[word] {
			s.symbol(Symbol{Name: word, Kind: Value, Line: t.line, Local: strings.HasPrefix(word, "_"), Signature: word})
		}
	}
}

var statementsPython = set("else try finally if while for with lambda match case")

// pythonImport notes modules: "from .a import b" imports ".a" and ".a.b".
func (s *source) pythonImport(i int, word string) {
	name, at := s.dotted(i + 1)
	if word == "import" {
		s.imported(name)
		for s.kind(at) == ',' {
			name, at = s.dotted(at + 1)
			s.imported(name)
		}
		return
	}
	s.imported(name)
	if s.text(at) != "import" {
		return
	}
	base := name
	if !strings.HasSuffix(base, ".") {
		base += "."
	}
	line := s.tokens[at].line
	paren := s.kind(at+1) == '('
	for at++; at < len(s.tokens) && s.kind(at) != ')' && (paren || s.tokens[at].line == line); at++ {
		if s.kind(at) == 'n' && s.text(at-1) != "as" && s.text(at) != "as" {
			s.imported(base + s.text(at))
		}
	}
}

// dotted reads a module's name, and returns the place behind it.
func (s *source) dotted(i int) (string, int) {
	var b strings.Builder
	named := false
	for ; i < len(s.tokens) && b.Len() < 4*maxName; i++ {
		name := s.kind(i) == 'n' && s.text(i) != "import" && s.text(i) != "as" && !named
		if !name && s.kind(i) != '.' {
			break
		}
		named = name
		b.WriteString(s.text(i))
	}
	return b.String(), i
}
