package patchscan

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/lazy"
)

// language knows the tests of a language.
type language struct {
	ext   []string
	names *lazy.Regexp // of its tests, in the last group that matched
	skips *lazy.Regexp // what keeps tests from being run
	quiet *lazy.Regexp // text that is none of its code: comments that have lines of their own, strings of many lines
}

// blocks are comments of many languages.
var blocks = lazy.Compile(`(?ms)^[ \t]*/\*.*?\*/`)

var languages = []language{
	{
		[]string{".go"},
		lazy.Compile(`(?m)^func ((?:Test|Fuzz|Example|Benchmark)\w*)\(`),
		lazy.Compile(`\b(?:t|b|f|tb|tt|st)\.Skip\(|\b\w+\.Skip(?:f|Now)\(|^//(?:go:build| ?\+build)\b`),
		blocks,
	},
	{
		[]string{".py"},
		lazy.Compile(`(?m)^[ \t]*(?:(?:async )?def (test\w*)\(|class (Test\w*)\b)`),
		lazy.Compile(`@(?:pytest\.mark\.|unittest\.)?(?:skip|skipif|skipIf|skipUnless|xfail|expectedFailure)\b|\bpytest\.(?:skip|xfail)\(|\bself\.skipTest\(|\bpytestmark\s*=.*\bskip|\bpytest\.importorskip\(|\bSkipTest\b|\b__test__\s*=\s*False\b|\bcollect_ignore(?:_glob)?\b|\bpytest_(?:collection_modifyitems|ignore_collect)\b`),
		lazy.Compile(`(?s)'''.*?'''|""".*?"""`),
	},
	{
		[]string{".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts", ".vue", ".svelte"},
		lazy.Compile("(?m)\\b(?:it|test|describe)(?:\\.\\w+)*\\(\\s*(?:'((?:[^'\\\\\\n]|\\\\.)*)'|\"((?:[^\"\\\\\\n]|\\\\.)*)\"|`([^`\\n]*)`)"),
		lazy.Compile(`\b(?:it|test|describe|context|suite)(?:\.\w+)*\.(?:skip|todo|only|fails)\b|\b(?:xit|xtest|xdescribe|xcontext|fit|fdescribe)\(|\b(?:this|t|ctx|context)\.(?:skip|todo)\(|\b(?:skip|todo)\s*:\s*(?:true\b|['"` + "`" + `])`),
		blocks,
	},
	{
		[]string{".rs"},
		lazy.Compile(`#\[(?:\w+::)*test\b[^\]]*\]\s*(?:#\[[^\]]*\]\s*)*(?:pub(?:\([^)]*\))? )?(?:async )?fn (\w+)`),
		lazy.Compile(`#\[ignore\b`),
		blocks,
	},
	{
		[]string{".rb"},
		lazy.Compile(`(?m)^[ \t]*(?:def (test_\w+)|(?:it|specify|test|scenario)[ (]+(?:'([^'\n]*)'|"([^"\n]*)"))`),
		lazy.Compile(`^\s*(?:x(?:it|describe|context|specify)\b|skip\b|pending\b)|\bskip:\s*(?:true|["'])`),
		nil,
	},
	{
		[]string{".ex", ".exs"},
		lazy.Compile(`(?m)^[ \t]*test[ (]+"([^"\n]*)"`),
		lazy.Compile(`@(?:module)?tag\s+:?skip\b`),
		nil,
	},
	{
		[]string{".java", ".kt", ".scala", ".groovy"},
		lazy.Compile(`@(?:Parameterized|Repeated)?Test\b[^\n]*\s+(?:@[^\n]*\s+)*(?:public |private |protected |internal )?(?:static |suspend )?(?:void|fun)\s+(\w+|` + "`[^`\n]*`" + `)`),
		lazy.Compile(`@(?:Disabled|Ignore|EnabledIf|DisabledIf)\b|\bassumeTrue\(\s*false`),
		blocks,
	},
	{
		[]string{".cs"},
		lazy.Compile(`\[(?:Fact|Theory|Test|TestMethod|TestCase)\b[^\n]*\]\s+(?:\[[^\n]*\]\s+)*public (?:async )?(?:void|Task) (\w+)`),
		lazy.Compile(`\[Ignore\b|\bSkip\s*=\s*"`),
		blocks,
	},
	{
		[]string{".php"},
		lazy.Compile(`(?m)function (test\w*)\(`),
		lazy.Compile(`->markTestSkipped\(|->markTestIncomplete\(`),
		blocks,
	},
	{
		[]string{".swift"},
		lazy.Compile(`(?m)func (test\w*)\(`),
		lazy.Compile(`\bXCTSkip\b`),
		blocks,
	},
}

// inTests are paths that tests stand at, in lower case.
var inTests = anyOf(
	`_test\.\w+$`, `(^|/)test_[^/]*\.py$`, `(^|/)conftest\.py$`, `\.(test|spec)\.\w+$`, `_spec\.rb$`, `tests?\.(java|kt|cs|php|scala|swift)$`,
	`(^|/)(tests?|specs?|__tests__|testing)/`,
)

// languageOf returns the language of a file, or nil.
func languageOf(file string) *language {
	ext := strings.ToLower(path.Ext(file))
	for i := range languages {
		if slices.Contains(languages[i].ext, ext) {
			return &languages[i]
		}
	}
	return nil
}

// unseen are paths of Go that its tools pass over.
var unseen = lazy.Compile(`(^|/)([._][^/]*|testdata/.*)\.go$`)

// isTest says whether a file holds tests, by its path.
func isTest(file string) bool {
	lower := strings.ToLower(file)
	if unseen.MatchString(file) {
		return false
	}
	return (strings.Contains(lower, "test") || strings.Contains(lower, "spec")) && inTests.MatchString(lower)
}

// code returns a text with spaces for what is none of the language's code; every
// byte stays where it is.
func (l *language) code(whole string) string {
	if l.quiet == nil {
		return whole
	}
	return l.quiet.ReplaceAllStringFunc(whole, func(s string) string {
		blank := []byte(s)
		for i, c := range blank {
			if c != '\n' {
				blank[i] = ' '
			}
		}
		return string(blank)
	})
}

// testsIn returns the names of the tests in a text with the lines they stand at,
// from 1. Rust has its tests in any file.
func (l *language) testsIn(file string, t text) map[string][]int {
	if !isTest(file) && path.Ext(file) != ".rs" {
		return nil
	}
	found := map[string][]int{}
	code := l.code(t.whole)
	for _, m := range l.names.FindAllStringSubmatchIndex(code, -1) {
		if strings.HasPrefix(strings.TrimSpace(t.line(t.lineAt(m[0]))), "//") {
			continue // a comment
		}
		for g := len(m) - 2; g >= 2; g -= 2 {
			if m[g] >= 0 {
				name := code[m[g]:m[g+1]]
				found[name] = append(found[name], t.lineAt(m[g])+1)
				break
			}
		}
	}
	return found
}

// tally counts the tests that a change takes out and puts in, all files together:
// a test that was moved is not gone.
type tally struct {
	gone  []goneTest
	came  map[string]int // by extension and name
	files []string       // test files that were removed, in which no test is known
}

type goneTest struct {
	path, name string
	line       int // of the old file
}

// count notes the tests of a file before and after.
func (t *tally) count(f File, before, after text) {
	l := languageOf(f.Path)
	if l == nil {
		return
	}
	if t.came == nil {
		t.came = map[string]int{}
	}
	was, is := l.testsIn(f.Path, before), l.testsIn(f.Path, after)
	if f.deleted() && len(was) == 0 && isTest(f.Path) {
		t.files = append(t.files, f.Path)
	}
	for _, name := range slices.Sorted(maps.Keys(was)) {
		for i := len(is[name]); i < len(was[name]); i++ {
			t.gone = append(t.gone, goneTest{f.Path, name, was[name][i]})
		}
	}
	for name, lines := range is {
		if n := len(lines) - len(was[name]); n > 0 {
			t.came[l.ext[0]+name] += n
		}
	}
}

// missingTests reports the tests that the change takes out.
func (e *examination) missingTests() {
	for _, file := range e.tests.files {
		e.add(Tests, file, 0, "the file, which stands among tests, is removed")
	}
	for _, g := range e.tests.gone {
		key := languageOf(g.path).ext[0] + g.name
		if e.tests.came[key]--; e.tests.came[key] < 0 {
			e.add(Tests, g.path, 0, "the test %s, which stood at line %d, is gone", quoted(g.name), g.line)
		}
	}
}

// skips looks for added lines that keep tests from being run.
func (e *examination) skips(file string, t text, added []int) {
	l := languageOf(file)
	if l == nil || !isTest(file) && path.Ext(file) != ".rs" {
		return
	}
	for _, i := range added {
		if m := l.skips.FindString(t.line(i)); m != "" {
			e.add(Tests, file, i+1, "%s keeps tests from being run", quoted(strings.TrimSpace(m)))
		}
	}
}
