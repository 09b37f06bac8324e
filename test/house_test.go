package test

import (
	"bytes"
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// mostLines is how long a file may be that a person wrote.
const mostLines = 500

var (
	unfinished = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b`)
	machine    = regexp.MustCompile(`(^|[\s"'` + "`" + `=(:])/(root|work|home/\w+|Users/\w+)(/|\b)`)
	// spelled is a subject that is not made by package subject.
	spelled = regexp.MustCompile(`loom\.v1\.(actor|ceo|dlq|error|journal|lease|live|name|notice|svc|task|work)(\.|>|\*|$)`)
)

func TestHouseRules(t *testing.T) { report(t, houseProblems(load(t, ".."))) }

// houseProblems lists what a reader of the code should never meet.
func houseProblems(files []*file) (problems []string) {
	for _, f := range files {
		problems = append(problems, badText(f)...)
		if !f.isGo() || f.isGenerated() {
			continue
		}
		if lines := bytes.Count(f.text, []byte("\n")); lines > mostLines {
			problems = append(problems, f.problemAt(lines, "%d lines, at most %d: part it by what its pieces are for", lines, mostLines))
		}
		if f.isTest() || f.supportsTests() {
			problems = append(problems, badTests(f)...)
		} else {
			problems = append(problems, spelledSubjects(f)...)
		}
	}
	return append(problems, uncommented(files)...)
}

// quoted is data of others, kept as they have it.
const quoted = "internal/core/patchscan/gitleaks/rules.toml"

// badText finds what is unfinished, and paths of somebody's machine.
func badText(f *file) (problems []string) {
	if f.isGenerated() || strings.HasSuffix(f.path, ".sum") || strings.HasSuffix(f.path, "package-lock.json") || f.path == quoted {
		return nil
	}
	for i, line := range strings.Split(string(f.text), "\n") {
		if m := unfinished.FindString(line); m != "" {
			problems = append(problems, f.problemAt(i+1, "%s: finish it, or file it", m))
		}
		if m := machine.FindString(line); m != "" {
			problems = append(problems, f.problemAt(i+1, "%s is a path of one machine", strings.TrimLeft(m, " \t\"'`=(:")))
		}
	}
	return problems
}

// badTests finds tests that sleep instead of waiting for an event, and tests
// that pass without testing; one place leaves out what is too long for -short.
func badTests(f *file) (problems []string) {
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		on, ok := sel.X.(*ast.Ident)
		if !ok {
			return true
		}
		if on.Name == "time" && sel.Sel.Name == "Sleep" {
			problems = append(problems, f.problem(call.Pos(), "a test sleeps: wait for an event, or use testing/synctest"))
		}
		skips := slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, sel.Sel.Name)
		if skips && f.dir() != "internal/base/longtest" && slices.Contains([]string{"t", "b", "f", "tb"}, on.Name) {
			problems = append(problems, f.problem(call.Pos(), "a test is skipped: make it run, or take it out"))
		}
		return true
	})
	return problems
}

func spelledSubjects(f *file) (problems []string) {
	if f.dir() == "proto/subject" {
		return nil
	}
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return true
		}
		if s, err := strconv.Unquote(lit.Value); err == nil && spelled.MatchString(s) {
			problems = append(problems, f.problem(lit.Pos(), "the subject %q is spelled here: only proto/subject does that", spelled.FindString(s)))
		}
		return true
	})
	return problems
}

// uncommented finds packages that do not say what they are for.
func uncommented(files []*file) (problems []string) {
	first, said := map[string]*file{}, map[string]bool{}
	var dirs []string
	for _, f := range files {
		if !f.isGo() || f.isTest() || f.isGenerated() {
			continue
		}
		if first[f.dir()] == nil {
			first[f.dir()] = f
			dirs = append(dirs, f.dir())
		}
		doc := f.syntax.Doc.Text()
		if strings.HasPrefix(doc, "Package "+f.syntax.Name.Name+" ") || f.syntax.Name.Name == "main" && doc != "" {
			said[f.dir()] = true
		}
	}
	for _, dir := range dirs {
		if !said[dir] {
			problems = append(problems, first[dir].problemAt(1, "package %s does not say what it is for: begin with \"Package %s ...\"", dir, first[dir].syntax.Name.Name))
		}
	}
	return problems
}

// The rules can fail: this house breaks each of them.
func TestHouseRules_AreSeenWhenBroken(t *testing.T) {
	want := []string{
		"NOTES.md:3: TO" + "DO: finish it, or file it",
		"NOTES.md:3: /ro" + "ot/ is a path of one machine",
		"internal/core/document/document.go:502: 502 lines, at most 500: part it by what its pieces are for",
		`internal/core/workflow/workflow.go:9: the subject "loom.v1.work." is spelled here: only proto/subject does that`,
		"internal/core/workflow/workflow_test.go:11: a test is skipped: make it run, or take it out",
		"internal/core/workflow/workflow_test.go:13: a test sleeps: wait for an event, or use testing/synctest",
		`cmd/loom/main.go:1: package cmd/loom does not say what it is for: begin with "Package main ..."`,
		`internal/core/workflow/workflow.go:1: package internal/core/workflow does not say what it is for: begin with "Package workflow ..."`,
		`internal/place/git/git.go:1: package internal/place/git does not say what it is for: begin with "Package git ..."`,
	}
	if diff := cmp.Diff(want, houseProblems(load(t, "testdata/house"))); diff != "" {
		t.Errorf("problems of the bad house (-want +got):\n%s", diff)
	}
}
