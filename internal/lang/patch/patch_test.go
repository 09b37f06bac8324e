package patch_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/lang/patch"
)

func TestTOOL01_PatchIsRead(t *testing.T) {
	got, err := patch.Parse(`
*** Begin Patch
*** Update File: a.go
*** Move to: b.go
@@ type T struct {
@@ func (t T) run() {
 stays

-goes
+comes
+*** Delete File: no header
@@ -3,4 +3,5 @@ unified
-x
*** End of File

*** Add File: new dir/c
+one
+
*** Delete File: d
*** Update File: e
*** Move to: f
*** End Patch
`)
	want := []patch.File{
		{Action: patch.Update, Path: "a.go", To: "b.go", Hunks: []patch.Hunk{
			{Under: []string{"type T struct {", "func (t T) run() {"}, Lines: []patch.Line{
				{patch.Stays, "stays"}, {patch.Stays, ""}, {patch.Goes, "goes"}, {patch.Comes, "comes"}, {patch.Comes, "*** Delete File: no header"},
			}},
			{Lines: []patch.Line{{patch.Goes, "x"}}, End: true},
		}},
		{Action: patch.Add, Path: "new dir/c", Lines: []string{"one", ""}},
		{Action: patch.Delete, Path: "d"},
		{Action: patch.Update, Path: "e", To: "f"},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v; want -, got +:\n%s", err, diff)
	}
}

func TestTOOL01_WhatIsNoPatch(t *testing.T) {
	for _, tt := range []struct{ text, where, word string }{
		{"", "patch, line 1", "begins with"},
		{"--- a\n+++ b", "patch, line 1", "begins with"},
		{"*** Begin Patch\n*** Add File: a\n+x", "patch, line 3", "ends with"},
		{"*** Begin Patch\n*** End Patch", "patch, line 2", "names no file"},
		{"*** Begin Patch\n*** Add File:\n+x\n*** End Patch", "patch, line 2", "names no file"},
		{"*** Begin Patch\n*** Move to: a\n*** End Patch", "patch, line 2", "not the beginning of a file"},
		{"*** Begin Patch\n*** Add File: a\nx\n*** End Patch", "patch, line 3", "begins with +"},
		{"*** Begin Patch\n*** Delete File: a\n-x\n*** End Patch", "patch, line 3", "not the beginning of a file"},
		{"*** Begin Patch\n*** Update File: a\n*** End Patch", "patch, line 2", "nothing of the file changes"},
		{"*** Begin Patch\n*** Update File: a\n*** Move to: a\n*** End Patch", "patch, line 3", "no other file"},
		{"*** Begin Patch\n*** Update File: a\n@@ f\n x\n*** End Patch", "patch, line 3", "nothing changes"},
		{"*** Begin Patch\n*** Update File: a\n-x\ny\n*** End Patch", "patch, line 4", "begins with a blank"},
		{"*** Begin Patch\n" + strings.Repeat("*** Delete File: a\n", 51) + "*** End Patch", "patch, line 52", "at most 50"},
	} {
		_, err := patch.Parse(tt.text)
		if e := fault.From(err); e == nil || e.Code != "tool/arguments" || e.Where != tt.where || !strings.Contains(e.Message, tt.word) {
			t.Errorf("Parse(%.60q): %v, want %s: %s", tt.text, err, tt.where, tt.word)
		}
	}
}

// Whatever is read, no file of it is hidden from who asks for its paths, and no
// hunk is without a change.
func FuzzTOOL01_Patch(f *testing.F) {
	f.Add("*** Begin Patch\n*** Update File: a\n*** Move to: b\n@@ f\n x\n-y\n+z\n*** End of File\n*** Add File: c\n+x\n*** Delete File: d\n*** End Patch")
	f.Add("*** Begin Patch\r\n*** Delete File: d\r\n*** End Patch")
	f.Add("*** Begin Patch\n\n*** Update File:a\n\n@@\n+\n\n\\ No newline at end of file\n*** End Patch\n")
	f.Fuzz(func(t *testing.T, text string) {
		files, err := patch.Parse(text)
		if err != nil {
			if fault.Code(err) != "tool/arguments" {
				t.Fatalf("Parse(%q): %v", text, err)
			}
			return
		}
		paths := patch.Paths(text)
		for _, file := range files {
			if !slices.Contains(paths, file.Path) || file.To != "" && !slices.Contains(paths, file.To) {
				t.Fatalf("%q changes %q and %q, its paths are %q", text, file.Path, file.To, paths)
			}
			for _, h := range file.Hunks {
				if slices.Equal(h.Old(), h.New()) && !slices.ContainsFunc(h.Lines, func(l patch.Line) bool { return l.Kind != patch.Stays }) {
					t.Fatalf("%q has a hunk without a change", text)
				}
			}
		}
	})
}
