package tool_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/loomrun/loom/internal/agents/tool"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func envelope(lines ...string) string {
	return "*** Begin Patch\n" + strings.Join(lines, "\n") + "\n*** End Patch"
}

// files returns what lies below a directory, by slashed paths; directories end in
// a slash.
func files(t testing.TB, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		name, err := filepath.Rel(root, path)
		if d.IsDir() {
			all[filepath.ToSlash(name)+"/"] = ""
			return err
		}
		all[filepath.ToSlash(name)] = get(t, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

const poem = "one\n\tindented\ntwo\nsame\nthree\nsame\nfour\n"

func TestTOOL01_ApplyPatch(t *testing.T) {
	update := func(lines ...string) string {
		return envelope(append([]string{"*** Update File: f"}, lines...)...)
	}
	for name, tt := range map[string]struct{ before, patch, after, says string }{
		"lines for lines":             {poem, update(" two", "-same", "+other", " three"), strings.Replace(poem, "same", "other", 1), "changed f at line 4\n"},
		"several hunks":               {poem, update("-one", "+1", "@@", "-four", "+4", "+5"), "1\n\tindented\ntwo\nsame\nthree\nsame\n4\n5\n", "changed f at line 1, 7\n"},
		"the first below a line":      {poem, update("@@ three", "-same", "+other"), "one\n\tindented\ntwo\nsame\nthree\nother\nfour\n", ""},
		"below the beginning of one":  {poem, update("@@ ind", "@@ thr", "-same"), "one\n\tindented\ntwo\nsame\nthree\nfour\n", ""},
		"the line above is its first": {poem, update("@@ three", " three", "-same", "+other"), "one\n\tindented\ntwo\nsame\nthree\nother\nfour\n", ""},
		"lines after one":             {poem, update("@@ three", "+and"), "one\n\tindented\ntwo\nsame\nthree\nand\nsame\nfour\n", ""},
		"lines at the end":            {poem, update("+five", "*** End of File"), poem + "five\n", ""},
		"the end of two":              {"a\nb\na\n", update("-a", "+c", "*** End of File"), "a\nb\nc\n", ""},
		"an empty file":               {"", update("+five"), "five\n", ""},
		"all lines":                   {"a\nb\n", update("-a", "-b"), "", ""},
		"no end of the last line":     {"a\nb", update("-b", "+c"), "a\nc", ""},
		"blanks at ends of lines":     {"a  \nb\t\nc\n", update(" a", "-b", "+B", " c "), "a  \nB\nc\n", ""},
		"the file's ends of lines":    {"a\r\nb\r\n", update(" a", "-b", "+c"), "a\r\nc\r\n", ""},
		"an empty line for a blank":   {"a\n\nb\n", update(" a", "", "-b", "+c", ""), "a\n\nc\n", ""},
	} {
		s, root := workspace(t, map[string]string{"f": tt.before})
		r := ok(t, do(t, s, "apply_patch", args{"patch": tt.patch}))
		if diff := cmp.Diff(map[string]string{"f": tt.after}, files(t, root)); diff != "" || !slices.Equal(r.Changed, []string{"f"}) {
			t.Errorf("%s: changed %q; want -, got +:\n%s", name, r.Changed, diff)
		}
		if tt.says != "" && r.Output != tt.says {
			t.Errorf("%s: it says %q, want %q", name, r.Output, tt.says)
		}
	}
}

func TestTOOL01_PatchOfSeveralFiles(t *testing.T) {
	s, root := workspace(t, map[string]string{"a": "1\n", "b": "2\n", "c": "3\n", "run.sh": "x\n"})
	if err := os.Chmod(filepath.Join(root, "run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	r := ok(t, do(t, s, "apply_patch", args{"patch": envelope(
		"*** Update File: a", "-1", "+one", "*** Delete File: b", "*** Add File: new/dir/d", "+4", "*** Add File: empty",
		"*** Update File: c", "*** Move to: new/c", "-3", "+three", "*** Update File: run.sh", "*** Move to: bin/run")}))
	want := map[string]string{"a": "one\n", "bin/": "", "bin/run": "x\n", "empty": "", "new/": "", "new/dir/": "", "new/dir/d": "4\n", "new/c": "three\n"}
	if diff := cmp.Diff(want, files(t, root)); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a", "b", "new/dir/d", "empty", "new/c", "c", "bin/run", "run.sh"}, r.Changed); diff != "" {
		t.Errorf("changed, want -, got +:\n%s", diff)
	}
	says(t, r, "changed a at line 1\n", "deleted b\n", "added new/dir/d\n", "moved c at line 1 to new/c\n", "moved run.sh to bin/run\n")
	if info, err := os.Stat(filepath.Join(root, "bin", "run")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the moved file: %v, %v", info, err)
	}
}

// Each patch has one part that fits, and one that does not: nothing changes, and
// the answer says which it is and what stands there.
func TestTOOL01_PatchAllOrNothing(t *testing.T) {
	for name, tt := range map[string]struct {
		lines []string
		code  string
		says  []string
	}{
		"lines that are not there":   {[]string{"*** Update File: f", "-one", "+1", "@@", " two", "-sam", "+x"}, "tool/no-match", []string{"f, hunk 2", `it begins at line 3, but line 4 is "same" where the hunk has "sam"`}},
		"lines of other blanks":      {[]string{"*** Update File: f", "-indented"}, "tool/no-match", []string{"f, hunk 1", `line 2 differs in white space; it is "\tindented"`}},
		"lines that are there twice": {[]string{"*** Update File: f", "-same"}, "tool/no-match", []string{"2 times, at lines 4, 6"}},
		"lines above":                {[]string{"*** Update File: f", "-three", "@@", "-one"}, "tool/no-match", []string{"hunk 2", "they stand at line 1"}},
		"lines not at the end":       {[]string{"*** Update File: f", "-three", "*** End of File"}, "tool/no-match", []string{"line 5, which is not the end"}},
		"no line behind @@":          {[]string{"*** Update File: f", "@@ five", "-four"}, "tool/no-match", []string{`"five"`}},
		"nowhere":                    {[]string{"*** Update File: f", "+five"}, "tool/no-match", []string{"does not say where"}},
		"two that do not fit":        {[]string{"*** Update File: f", "-x", "@@", "-y", "*** Delete File: z"}, "tool/no-match", []string{"f, hunk 1", "f, hunk 2", "z: path: there is no such file"}},
		"no such file":               {[]string{"*** Update File: z", "-x"}, "tool/not-found", nil},
		"a file that is there":       {[]string{"*** Add File: f", "+x"}, "tool/no-match", []string{"there is a file of this name"}},
		"moved onto a file":          {[]string{"*** Update File: f", "*** Move to: g"}, "tool/no-match", []string{"g: there is a file of this name"}},
		"below a file":               {[]string{"*** Add File: f/x", "+x"}, "tool/not-found", []string{`"f" on the way there is not a directory`}},
		"a directory":                {[]string{"*** Delete File: d"}, "tool/failed", nil},
		"no text":                    {[]string{"*** Update File: bin", "+x"}, "tool/failed", nil},
		"a file twice":               {[]string{"*** Update File: f", "-one", "*** Delete File: ./f"}, "tool/arguments", []string{"twice"}},
		"outside":                    {[]string{"*** Add File: ../x", "+x"}, "tool/outside", nil},
		"no patch":                   {[]string{"*** Update File: f", "one"}, "tool/arguments", nil},
		"a directory of a new file":  {[]string{"*** Add File: p", "+x", "*** Add File: p/q", "+x"}, "tool/failed", nil}, // found out while it is written
	} {
		s, root := workspace(t, map[string]string{"f": poem, "g": "g\n", "d/x": "x\n", "bin": "\x00\x01", "other": "old\n"})
		before := files(t, root)
		r := do(t, s, "apply_patch", args{"patch": envelope(append([]string{"*** Update File: other", "-old", "+new", "*** Delete File: d/x", "*** Add File: n/m/o", "+x"}, tt.lines...)...)})
		if r.Code != tt.code && name != "a directory of a new file" || r.Code == "" {
			t.Errorf("%s: %s, want %s: %s", name, r.Code, tt.code, r.Output)
		}
		for _, word := range tt.says {
			if !strings.Contains(r.Output, word) {
				t.Errorf("%s: it does not say %q: %s", name, word, r.Output)
			}
		}
		if diff := cmp.Diff(before, files(t, root)); diff != "" || len(r.Changed) > 0 {
			t.Errorf("%s: it changed %q, before -, after +:\n%s", name, r.Changed, diff)
		}
	}
	root := t.TempDir()
	put(t, root, map[string]string{"f": poem})
	r := do(t, tool.New(tool.Workspace{Root: root, ReadOnly: true}, nil), "apply_patch", args{"patch": envelope("*** Add File: x", "*** Delete File: f")})
	if r.Code != "tool/denied" || len(files(t, root)) != 1 {
		t.Errorf("a read-only workspace: %s", r.Output)
	}
}

// A patch that is cut off at any point is told for what it was, and not applied
// twice.
func TestACT04_ReconcilePatch(t *testing.T) {
	c := call(t, "apply_patch", args{"patch": envelope("*** Update File: a", " x", "-old", "+new", "*** Add File: b", "+b", "*** Delete File: c", "*** Update File: d", "*** Move to: e")})
	for name, tt := range map[string]struct {
		files map[string]string
		want  string
	}{
		"untouched": {map[string]string{"a": "x\nold\n", "c": "c", "d": "d"}, "again"},
		"ran":       {map[string]string{"a": "x\nnew\n", "b": "b\n", "e": "d"}, "ran"},
		"half":      {map[string]string{"a": "x\nnew\n", "c": "c", "d": "d"}, "unknown"},
		"neither":   {map[string]string{"a": "y\n", "b": "b\n", "e": "d"}, "unknown"},
		"moved":     {map[string]string{"a": "x\nnew\n", "b": "b\n", "d": "d", "e": "d"}, "unknown"},
	} {
		s, root := workspace(t, tt.files)
		put(t, root, map[string]string{s.Draft("a", c.Id): "x\nn"})
		r, settled := s.Reconcile(context.Background(), c)
		got := "again"
		switch {
		case settled && r.Status == loomv1.ToolStatus_TOOL_STATUS_OK:
			got = "ran"
		case settled:
			got = "unknown"
		}
		if got != tt.want {
			t.Errorf("%s: %s, want %s: %s", name, got, tt.want, r.Output)
		}
		if diff := cmp.Diff(tt.files, files(t, root)); diff != "" {
			t.Errorf("%s: before -, after +:\n%s", name, diff)
		}
	}
}

// A patch made of two files, by the lines that they have in common, makes the
// second of the first; with a line in it that neither has, it changes nothing.
func TestTOOL01_PatchMakesTheSecondOfTheFirst(t *testing.T) {
	line := rapid.SampledFrom([]string{"", "a", "b", "\tb", "}", "@@ x", "*** End Patch", "*** Add File: y", "+", "-"})
	rapid.Check(t, func(rt *rapid.T) {
		from := rapid.SliceOfN(line, 1, 12).Draw(rt, "from")
		to := slices.Clone(from)
		for range rapid.IntRange(1, 4).Draw(rt, "edits") {
			i := rapid.IntRange(0, len(to)).Draw(rt, "at")
			j := rapid.IntRange(i, len(to)).Draw(rt, "to")
			to = slices.Replace(to, i, j, rapid.SliceOfN(line, 0, 3).Draw(rt, "new")...)
		}
		if len(to) == 0 || slices.Equal(from, to) {
			return
		}
		root, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			rt.Fatal(err)
		}
		first, second := strings.Join(from, "\n")+"\n", strings.Join(to, "\n")+"\n"
		put(t, root, map[string]string{"f": first})
		s := tool.New(tool.Workspace{Root: root}, nil)

		hunk := difference(from, to)
		wrong := slices.Insert(slices.Clone(hunk), rapid.IntRange(0, len(hunk)).Draw(rt, "wrong"), " of neither")
		if r := do(t, s, "apply_patch", args{"patch": envelope(append([]string{"*** Update File: f"}, wrong...)...)}); r.Code != "tool/no-match" {
			rt.Fatalf("a wrong hunk: %s %s", r.Status, r.Output)
		}
		if got := get(t, root, "f"); got != first {
			rt.Fatalf("a wrong hunk left %q of %q", got, first)
		}
		if r := do(t, s, "apply_patch", args{"patch": envelope(append([]string{"*** Update File: f"}, hunk...)...)}); r.Code != "" {
			rt.Fatalf("%q to %q by %q: %s", from, to, hunk, r.Output)
		}
		if got := get(t, root, "f"); got != second {
			rt.Fatalf("%q by %q gives %q, want %q", first, hunk, got, second)
		}
	})
}

// difference is a hunk of the whole of two files.
func difference(from, to []string) (hunk []string) {
	common := make([][]int, len(from)+1) // lines that what is left of both has in common
	for i := range common {
		common[i] = make([]int, len(to)+1)
	}
	for i, a := range slices.Backward(from) {
		for j, b := range slices.Backward(to) {
			if common[i][j] = max(common[i+1][j], common[i][j+1]); a == b {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	for i, j := 0, 0; i < len(from) || j < len(to); {
		switch {
		case i < len(from) && j < len(to) && from[i] == to[j]:
			hunk, i, j = append(hunk, " "+from[i]), i+1, j+1
		case j == len(to) || i < len(from) && common[i+1][j] >= common[i][j+1]:
			hunk, i = append(hunk, "-"+from[i]), i+1
		default:
			hunk, j = append(hunk, fmt.Sprint("+", to[j])), j+1
		}
	}
	return hunk
}
