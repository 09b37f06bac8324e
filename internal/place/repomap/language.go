package repomap

import (
	"path"
	"strings"
)

// language says how a language is scanned. The scanner knows strings, comments,
// names and brackets; what a name declares is told by the word before it.
type language struct {
	read func(*builder, []byte) // in the place of the scanner

	line    []string // what begins a comment to the end of the line
	block   [2]string
	quotes  string // characters that quote strings
	triple  bool   // three quotes do too
	regexps bool   // a slash may begin a regular expression
	quoteID bool   // a single quote may be a lifetime or a prime
	defs    map[string]Kind
	imports map[string]bool
	// shape is what more the scanner understands of the language.
	shape shape
}

// shape is how a language nests declarations.
type shape uint8

const (
	namesOnly shape = iota // names after keywords, without signatures
	script                 // JavaScript and TypeScript
	indented               // Python
)

func kinds(k Kind, words string, more map[string]Kind) map[string]Kind {
	m := map[string]Kind{}
	for w := range strings.FieldsSeq(words) {
		m[w] = k
	}
	for w, k := range more {
		m[w] = k
	}
	return m
}

func set(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

var (
	goLang     = &language{read: readGo}
	javascript = &language{
		line: []string{"//"}, block: [2]string{"/*", "*/"}, quotes: "'\"`", regexps: true, shape: script,
		defs:    kinds(Type, "class interface type enum namespace", map[string]Kind{"function": Func, "const": Value, "let": Value, "var": Value}),
		imports: set("from require import"),
	}
	python = &language{line: []string{"#"}, quotes: "'\"", triple: true, shape: indented, defs: map[string]Kind{"def": Func, "class": Type}}
	rust   = &language{line: []string{"//"}, block: [2]string{"/*", "*/"}, quotes: "\"", quoteID: true, defs: kinds(Type, "struct enum trait mod type union", map[string]Kind{"fn": Func, "const": Value, "static": Value, "macro_rules": Func})}
	elixir = &language{line: []string{"#"}, quotes: "'\"", triple: true, defs: kinds(Func, "def defp defmacro defmacrop defguard defdelegate", map[string]Kind{"defmodule": Type, "defprotocol": Type})}
	ruby   = &language{line: []string{"#"}, quotes: "'\"", defs: kinds(Type, "class module", map[string]Kind{"def": Func})}
	curly  = &language{
		line: []string{"//"}, block: [2]string{"/*", "*/"}, quotes: "\"", quoteID: true,
		defs: kinds(Type, "class interface enum record struct union trait object protocol extension namespace typedef", map[string]Kind{"fun": Func, "func": Func, "function": Func, "def": Func, "fn": Func}),
	}
	hashed = &language{line: []string{"#"}, quotes: "'\"", defs: kinds(Type, "class package", map[string]Kind{"function": Func, "sub": Func, "def": Func})}
	lua    = &language{line: []string{"--"}, quotes: "'\"", defs: kinds(Func, "function", nil)}
)

var byExtension = map[string]*language{
	".go": goLang,
	".js": javascript, ".jsx": javascript, ".mjs": javascript, ".cjs": javascript, ".ts": javascript, ".tsx": javascript, ".mts": javascript, ".cts": javascript,
	".vue": javascript, ".svelte": javascript,
	".py": python, ".pyi": python, ".pyx": python,
	".rs": rust, ".ex": elixir, ".exs": elixir, ".rb": ruby, ".rake": ruby,
	".java": curly, ".kt": curly, ".kts": curly, ".scala": curly, ".swift": curly, ".cs": curly, ".c": curly, ".h": curly, ".cc": curly, ".cpp": curly,
	".cxx": curly, ".hpp": curly, ".m": curly, ".php": curly, ".dart": curly, ".zig": curly, ".groovy": curly, ".proto": {
		line: []string{"//"}, block: [2]string{"/*", "*/"}, quotes: "'\"", defs: kinds(Type, "message enum service", map[string]Kind{"rpc": Method}),
	},
	".sh": hashed, ".bash": hashed, ".pl": hashed, ".pm": hashed, ".lua": lua,
}

func languageOf(name string) *language { return byExtension[strings.ToLower(path.Ext(name))] }
