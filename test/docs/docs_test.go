package docs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/notice"
)

// read returns a file of the repository.
func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

const root = "../.."

// found returns the first group of every match, sorted, each once.
func found(text, pattern string) []string {
	var list []string
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		list = append(list, m[1])
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// pages are the texts that a user reads, by their path in the repository.
func pages(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/decisions/*.md"} {
		names, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(names) == 0 {
			t.Fatalf("no %s: %v", pattern, err)
		}
		for _, name := range names {
			name = strings.TrimPrefix(filepath.ToSlash(name), root+"/")
			all[name] = read(t, name)
		}
	}
	return all
}

func TestCodes(t *testing.T) {
	var want []string
	for _, code := range found(read(t, "internal/base/fault/codes.go"), `(?m)^\t"([a-z]+/[a-z-]+)":`) {
		want = append(want, fmt.Sprintf("`%s` | %d", code, fault.Status(fault.New(code, ""))))
	}
	slices.Sort(want) // as the page's rows are, marks and all
	got := found(read(t, "docs/subjects.md"), "(?m)^\\| (`[a-z]+/[a-z-]+` \\| \\d+) \\| ")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("codes and exit statuses in subjects.md are not those of codes.go (-code +page):\n%s", diff)
	}
}

func TestKinds(t *testing.T) {
	_, text, _ := strings.Cut(read(t, "docs/subjects.md"), "\n### Kinds\n")
	text, _, _ = strings.Cut(text, "\nA taken")
	want := notice.Kinds()
	slices.Sort(want)
	if diff := cmp.Diff(want, found(text, "`([a-z-]+)`")); diff != "" {
		t.Errorf("kinds of notices in subjects.md are not those of the contract (-code +page):\n%s", diff)
	}
}

func TestSubjects(t *testing.T) {
	page := read(t, "docs/subjects.md")
	list := found(read(t, "proto/subject/subject.go"), `(?m)^//\t(loom\.v1\.\S+)`)
	if len(list) < 9 {
		t.Fatalf("the package comment of subject lists %d subjects", len(list))
	}
	for _, s := range list {
		if !strings.Contains(page, "| `"+s+"` |") {
			t.Errorf("subjects.md has no row for %s", s)
		}
	}
}

// tests returns the names of all tests there are, sorted.
func tests(t *testing.T) []string {
	t.Helper()
	var code strings.Builder
	err := filepath.WalkDir(root, func(name string, _ os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(name, "_test.go") {
			code.WriteString(read(t, strings.TrimPrefix(filepath.ToSlash(name), root+"/")))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found(code.String(), `(?m)^func ((?:Test|Fuzz)\w+)\(`)
}

// TestNamedTests finds promises whose test is gone.
func TestNamedTests(t *testing.T) {
	code := tests(t)
	for name, text := range pages(t) {
		for _, test := range found(text, `\b((?:Test|Fuzz)[A-Z]\w+)\b`) {
			if !slices.Contains(code, test) {
				t.Errorf("%s names %s, which does not exist", name, test)
			}
		}
	}
}

func TestLinks(t *testing.T) {
	for name, text := range pages(t) {
		for _, link := range found(text, `\]\(([^)#:]+)[^)]*\)`) {
			if _, err := os.Stat(filepath.Join(root, filepath.Dir(name), link)); err != nil {
				t.Errorf("%s links to %s, which is not there", name, link)
			}
		}
	}
}

func TestLines(t *testing.T) {
	for name, text := range pages(t) {
		for i, line := range strings.Split(text, "\n") {
			if n := len([]rune(line)); n > 120 && !strings.HasPrefix(line, "|") { // a table's row cannot be broken
				t.Errorf("%s:%d: %d characters, at most 120", name, i+1, n)
			}
		}
	}
}
