package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// atWork are codes of their areas that no file can earn: they are about
// executions.
var atWork = []string{"workflow/inconsistent", "workflow/dead-end", "workflow/node", "workflow/depth"}

// The stories of broken files are many, and leave no code out.
func TestWF02_EveryCodeHasABrokenFile(t *testing.T) {
	list, err := os.ReadFile("../../internal/base/fault/codes.go")
	if err != nil {
		t.Fatal(err)
	}
	stories, err := filepath.Glob("testdata/script/validate*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, name := range stories {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(data)
	}
	if n := strings.Count(text.String(), "\n-- broken/"); n < 40 {
		t.Errorf("%d broken files, want at least 40", n)
	}
	found := regexp.MustCompile(`(?m)^\t"((?:yaml|workflow)/[a-z-]+)":`).FindAllStringSubmatch(string(list), -1)
	if len(found) < 20 {
		t.Fatalf("%d codes, want them all", len(found))
	}
	for _, m := range found {
		told := regexp.MustCompile(`(?m)^broken/\S+\.yaml:\d+:\d+: ` + m[1] + `: `).MatchString(text.String())
		if told == slices.Contains(atWork, m[1]) {
			t.Errorf("%s: told of a broken file: %t", m[1], told)
		}
	}
}
