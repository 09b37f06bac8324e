package tool_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/agents/tool"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func TestTOOL01_FileRead(t *testing.T) {
	wide := strings.Repeat("x", 300<<10)
	s, _ := workspace(t, map[string]string{
		"a.txt": "one\ntwo\nthree\n", "open.txt": "one\ntwo", "empty": "", "bin": "a\x00b", "latin": strings.Repeat("\xe9\xe8", 50),
		"dir/b.txt": "b\n", "wide": wide, "long": strings.Repeat("line of text\n", 40_000),
		"crlf": "one\r\n\n\n", "broad": strings.Repeat("é", 999) + "x" + strings.Repeat("é", 250) + "z\ny\n",
	})
	for _, tt := range []struct {
		args args
		want string // the whole output
	}{
		{args{"path": "a.txt"}, "     1\tone\n     2\ttwo\n     3\tthree\n[end of the file, 3 lines]\n"},
		{args{"path": "./dir//b.txt"}, "     1\tb\n[end of the file, 1 lines]\n"},
		{args{"path": "open.txt"}, "     1\tone\n     2\ttwo\n[end of the file, 2 lines, the last without a line break]\n"},
		{args{"path": "a.txt", "limit": 2}, "     1\tone\n     2\ttwo\n[lines 1 to 2 of 3; go on with offset 3]\n"},
		{args{"path": "a.txt", "limit": 3}, "     1\tone\n     2\ttwo\n     3\tthree\n[end of the file, 3 lines]\n"},
		{args{"path": "a.txt", "offset": 2, "limit": 1}, "     2\ttwo\n[lines 2 to 2 of 3; go on with offset 3]\n"},
		{args{"path": "open.txt", "offset": 2}, "     2\ttwo\n[end of the file, 2 lines, the last without a line break]\n"},
		{args{"path": "crlf"}, "     1\tone\r\n     2\t\n     3\t\n[end of the file, 3 lines]\n"},
		{args{"path": "broad", "limit": 2}, "     1\t" + strings.Repeat("é", 999) + "x [501 more bytes in this line]\n     2\ty\n[end of the file, 2 lines]\n"},
		{args{"path": "broad", "limit": 1}, "     1\t" + strings.Repeat("é", 999) + "x" + strings.Repeat("é", 250) + "z\n[lines 1 to 1 of 2; go on with offset 2]\n"},
		{args{"path": "empty"}, "[the file is empty]\n"},
		{args{"path": "a.txt", "offset": 4}, `tool/arguments: offset: the file has 3 lines (got "4")` + "\n"},
		{args{"path": "bin"}, `tool/failed: path: the file is not text; it has 3 bytes (got "bin")` + "\n"},
		{args{"path": "latin"}, `tool/failed: path: the file is not text; it has 100 bytes (got "latin")` + "\n"},
		{args{"path": "dir"}, `tool/failed: path: it is a directory (got "dir"); use directory_list` + "\n"},
		{args{"path": "none"}, `tool/not-found: path: there is no such file or directory (got "none")` + "\n"},
		{args{"path": "a.txt/b"}, `tool/not-found: path: "a.txt" on the way there is not a directory (got "a.txt/b")` + "\n"},
	} {
		if r := do(t, s, "file_read", tt.args); r.Output != tt.want {
			t.Errorf("file_read %v:\n%q, want\n%q", tt.args, r.Output, tt.want)
		}
	}
	for _, args := range []args{{"path": "wide", "limit": 1}, {"path": "long"}} {
		r := ok(t, do(t, s, "file_read", args))
		if len(r.Output) > tool.Shown || len(r.Output) < tool.Shown-1<<10 {
			t.Errorf("file_read %v: %d bytes", args, len(r.Output))
		}
	}
	says(t, do(t, s, "file_read", args{"path": "wide"}), "x [305200 more bytes in this line]\n[end of the file, 1 lines, the last without a line break]\n")
	says(t, do(t, s, "file_read", args{"path": "long", "offset": 39_999}), " 39999\tline of text\n 40000\tline of text\n[end of the file, 40000 lines]\n")
}

// Reading on from where the last part ended gives the whole file.
func TestTOOL02_FileReadInParts(t *testing.T) {
	var text strings.Builder
	for i := range 60_000 {
		fmt.Fprintf(&text, "line %d\n", i)
	}
	s, _ := workspace(t, map[string]string{"f": text.String()})
	var got strings.Builder
	for offset := 1; offset <= 60_000; {
		r := ok(t, do(t, s, "file_read", args{"path": "f", "offset": offset}))
		for line := range strings.Lines(r.Output) {
			var n int
			number, body, isLine := strings.Cut(line, "\t")
			if !isLine {
				continue
			}
			if _, err := fmt.Sscan(number, &n); err != nil || n != offset {
				t.Fatalf("line %q, want number %d: %v", line, offset, err)
			}
			got.WriteString(body)
			offset++
		}
		if want := fmt.Sprintf("of 60000; go on with offset %d]\n", offset); offset <= 60_000 && !strings.HasSuffix(r.Output, want) {
			t.Fatalf("a part ends with %q, want %q", r.Output[len(r.Output)-60:], want)
		}
	}
	if got.String() != text.String() {
		t.Error("the parts are not the file")
	}
}

func TestTOOL01_FileWrite(t *testing.T) {
	s, root := workspace(t, map[string]string{"tool.sh": "#!/bin/sh\n"})
	if err := os.Chmod(filepath.Join(root, "tool.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		path, content, want string
		changed             int
	}{
		{"new/deep/a.txt", "a", "new/deep/a.txt: written, 1 bytes\n", 1},
		{"tool.sh", "#!/bin/sh\nexit 1\n", "tool.sh: replaced, 17 bytes\n", 1},
		{"tool.sh", "#!/bin/sh\nexit 1\n", "the file had this content already\n", 0},
		{"empty", "", "empty: written, 0 bytes\n", 1},
		{"full", strings.Repeat("x", 1<<20), "full: written, 1048576 bytes\n", 1},
	} {
		r := ok(t, do(t, s, "file_write", args{"path": tt.path, "content": tt.content}))
		if r.Output != tt.want || len(r.Changed) != tt.changed || get(t, root, tt.path) != tt.content {
			t.Errorf("file_write %s: %q changed %v, want %q", tt.path, r.Output, r.Changed, tt.want)
		}
	}
	if info, _ := os.Stat(filepath.Join(root, "tool.sh")); info.Mode().Perm() != 0o755 {
		t.Errorf("mode is %v after the file was replaced, want rwxr-xr-x", info.Mode())
	}
	for path, content := range map[string]string{"over": strings.Repeat("x", 1<<20+1), ".": "x", "new": "x", "new/": "x", "tool.sh/x": "x"} {
		if r := do(t, s, "file_write", args{"path": path, "content": content}); r.Status == loomv1.ToolStatus_TOOL_STATUS_OK {
			t.Errorf("file_write %s: %s", path, r.Output)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(root, ".loom*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestTOOL02_ReadOnly(t *testing.T) {
	_, root := workspace(t, map[string]string{"a": "one"})
	s := tool.New(tool.Workspace{Root: root, ReadOnly: true}, nil)
	for _, r := range []tool.Result{
		do(t, s, "file_write", args{"path": "a", "content": "two"}),
		do(t, s, "file_edit", args{"path": "a", "old_text": "one", "new_text": "two"}),
	} {
		if r.Status != loomv1.ToolStatus_TOOL_STATUS_DENIED || r.Code != "tool/denied" {
			t.Errorf("in a read-only workspace: %v %s", r.Status, r.Output)
		}
	}
	if got := get(t, root, "a"); got != "one" {
		t.Errorf("the file is %q", got)
	}
}

func TestTOOL01_FileEdit(t *testing.T) {
	const text = "func a() {\n\treturn 1\n}\n\nfunc b() {\n\treturn 1\n}\naaa\n"
	for _, tt := range []struct {
		old, new string
		want     string // of the file; "" when it stays
		says     string
	}{
		{"func a() {\n\treturn 1", "func a() {\n\treturn 2", strings.Replace(text, "1", "2", 1), "f: edited at line 1"},
		{"func b() {\n", "", strings.Replace(text, "func b() {\n", "", 1), "f: edited at line 5"},
		{"return 1", "return 2", "", "old_text stands in the file 2 times, at lines 2, 6; add lines around the one you mean, or say replace_all"},
		{"aa", "b", "", "old_text stands in the file 2 times, at lines 8, 8"}, // they overlap
		{"func a() {\n    return 1", "x", "", `line 2 differs in white space; it is "\treturn 1"`},
		{"func a() {\r\n\treturn 1", "x", "", `line 1 differs in white space; it is "func a() {"`},
		{"func a() {\n\treturn 3", "x", "", `it begins at line 1, but line 2 is "\treturn 1" where old_text has "\treturn 3"`},
		{"aaa\nbbb", "x", "", `line 9 is "" where old_text has "bbb"`},
		{"nothing", "x", "", "not even the first line of old_text is there"},
		{"\treturn 10", "x", "", `not even the first line of old_text is there; the nearest to it is line 2, "\treturn 1"`},
		{"aaa", "aaa", "", "it is the same as old_text"},
		{"aaa", strings.Repeat("x", 1<<20), "", "the file would have"},
	} {
		s, root := workspace(t, map[string]string{"f": text})
		r := do(t, s, "file_edit", args{"path": "f", "old_text": tt.old, "new_text": tt.new})
		says(t, r, tt.says)
		want := tt.want
		if want == "" {
			want = text
		}
		if edited := r.Status == loomv1.ToolStatus_TOOL_STATUS_OK; edited != (tt.want != "") || get(t, root, "f") != want {
			t.Errorf("file_edit %q by %q: %v, the file is %q", tt.old, tt.new, r.Status, get(t, root, "f"))
		}
	}
}

// Several edits of one call are made in their order, or none of them is.
func TestREAL05_SeveralEdits(t *testing.T) {
	type edits = []args
	const text = "one\ntwo\none\nthree\n"
	for _, tt := range []struct {
		args args
		want string // of the file; "" when it stays
		says string
	}{
		{args{"edits": edits{{"old_text": "two", "new_text": "2"}, {"old_text": "three", "new_text": "3"}}}, "one\n2\none\n3\n", "f: 2 edits, at lines 2, 4"},
		{args{"edits": edits{{"old_text": "two", "new_text": "2"}, {"old_text": "2\none", "new_text": "2 1"}}}, "one\n2 1\nthree\n", "f: 2 edits, at lines 2, 2"},
		{args{"edits": edits{{"old_text": "one", "new_text": "1", "replace_all": true}, {"old_text": "two", "new_text": ""}}}, "1\n\n1\nthree\n", "f: 3 edits, at lines 1, 3, 2"},
		{args{"old_text": "one", "new_text": "oneone", "replace_all": true}, "oneone\ntwo\noneone\nthree\n", "f: 2 edits, at lines 1, 3"},
		{args{"old_text": "two", "new_text": "2", "replace_all": "true"}, "one\n2\none\nthree\n", "f: edited at line 2"},
		{args{"edits": edits{{"old_text": "two", "new_text": "2"}, {"old_text": "one", "new_text": "1"}}}, "", "edits/1/old_text: old_text stands in the file 2 times, at lines 1, 3"},
		{args{"edits": edits{{"old_text": "two", "new_text": "2"}, {"old_text": "four", "new_text": "4"}}}, "", "edits/1/old_text: old_text does not stand in the file"},
		{args{"edits": edits{{"old_text": "two", "new_text": "2"}}, "old_text": "one"}, "", "not beside them"},
		{args{"old_text": "two"}, "", "old_text and new_text are needed, or edits"},
		{args{"old_text": "none", "new_text": "x", "replace_all": true}, "", "not even the first line of old_text is there"},
		{args{"old_text": "o", "new_text": strings.Repeat("x", 1<<19), "replace_all": true}, "", "the file would have"},
	} {
		s, root := workspace(t, map[string]string{"f": text})
		tt.args["path"] = "f"
		r := do(t, s, "file_edit", tt.args)
		says(t, r, tt.says)
		if want := cmp.Or(tt.want, text); get(t, root, "f") != want || (r.Status == loomv1.ToolStatus_TOOL_STATUS_OK) != (tt.want != "") {
			t.Errorf("file_edit %v: %v, the file is %q", tt.args, r.Status, get(t, root, "f"))
		}
	}
}

// Text that was pasted with the line numbers of file_read is taken without them
// where that is the one thing it can mean.
func TestREAL05_EditsWithLineNumbers(t *testing.T) {
	const text = "one\ntwo\nthree\ntwo\n"
	for _, tt := range []struct {
		file, old, new string
		want           string // of the file; "" when it stays
		says           string
	}{
		{text, "     2\ttwo\n     3\tthree\n", "     2\t2\n     3\t3\n", "one\n2\n3\ntwo\n", "edited at line 2"},
		{text, "     3\tthree", "one", "one\ntwo\none\ntwo\n", "edited at line 3"},
		{text, "3\tthree", "a\nb", "one\ntwo\na\nb\ntwo\n", "edited at line 3"},
		{text, "     1\tone\n     2\ttwo", "     1\tone\na half\n     2\ttwo", "", "new_text: some lines of the text begin with the line numbers of file_read"},
		{text, "     2\ttwo\n     9\tthree", "x", "", "does not stand in the file"},
		{text, "     2\ttwo", "x", "", "stands in the file 2 times, at lines 2, 4"},
		{text, "     3\tthree", "three", "", "the same as old_text"},
		{text, "     1\tone\ntwo", "x", "", "does not stand in the file"},
		{"a\n     7\tb\nb\n", "     7\tb", "c", "a\nc\nb\n", "edited at line 2"}, // the file's own
	} {
		s, root := workspace(t, map[string]string{"f": tt.file})
		c := call(t, "file_edit", args{"path": "f", "old_text": tt.old, "new_text": tt.new})
		r := s.Call(t.Context(), everything, 0, c)
		says(t, r, tt.says)
		if want := cmp.Or(tt.want, tt.file); get(t, root, "f") != want || (r.Status == loomv1.ToolStatus_TOOL_STATUS_OK) != (tt.want != "") {
			t.Errorf("file_edit %q by %q: %v, the file is %q", tt.old, tt.new, r.Status, get(t, root, "f"))
		}
		if _, settled := s.Reconcile(t.Context(), c); settled != (tt.want != "") && r.Code == "" {
			t.Errorf("file_edit %q by %q, cut off after it ended: settled %t", tt.old, tt.new, settled)
		}
	}
}

// Numbers in quotes are taken where the schema says number, and only there.
func TestREAL05_NumbersInQuotes(t *testing.T) {
	s, _ := workspace(t, map[string]string{"f": "one\ntwo\nthree\n"})
	for _, tt := range []struct {
		args args
		want string
	}{
		{args{"path": "f", "offset": "2", "limit": "1"}, "     2\ttwo\n[lines 2 to 2 of 3; go on with offset 3]\n"},
		{args{"path": "f", "offset": "two"}, "tool/arguments: /offset: got string, want integer\n"},
		{args{"path": "f", "offset": ""}, "tool/arguments: /offset: got string, want integer\n"},
		{args{"path": "1"}, `tool/not-found: path: there is no such file or directory (got "1")` + "\n"},
	} {
		if r := do(t, s, "file_read", tt.args); r.Output != tt.want {
			t.Errorf("file_read %v: %q, want %q", tt.args, r.Output, tt.want)
		}
	}
}

func TestTOOL01_DirectoryList(t *testing.T) {
	s, root := workspace(t, map[string]string{"b.txt": "12345", "a/c/d.txt": "1", "a/x": "", ".git/config": "x"})
	if err := os.Symlink("/etc/passwd", filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	put(t, root, map[string]string{"two\nlines": ""})
	for _, tt := range []struct {
		args args
		want string
	}{
		{args{}, "a/\nb.txt  5\nlink -> \"/etc/passwd\"\n\"two\\nlines\"  0\n"},
		{args{"path": "."}, "a/\nb.txt  5\nlink -> \"/etc/passwd\"\n\"two\\nlines\"  0\n"},
		{args{"path": "a", "depth": 2}, "c/\n  d.txt  1\nx  0\n"},
		{args{"path": "b.txt"}, "tool/not-found: path: it is not a directory (got \"b.txt\")\n"},
	} {
		if r := do(t, s, "directory_list", tt.args); r.Output != tt.want {
			t.Errorf("directory_list %v:\n%s\nwant\n%s", tt.args, r.Output, tt.want)
		}
	}
	for i := range 1100 {
		put(t, root, map[string]string{fmt.Sprintf("many/%04d", i): ""})
	}
	says(t, do(t, s, "directory_list", args{"path": "many"}), "0999  0\n[cut: there is more than the 1000 entries listed]")
}

func TestTOOL01_FileSearch(t *testing.T) {
	s, _ := workspace(t, map[string]string{"a.go": "", "cmd/main.go": "", "cmd/x/y_test.go": "", "cmd/x/y.go": "", "README.md": "", ".git/x.go": ""})
	for _, tt := range []struct {
		args args
		want string
	}{
		{args{"pattern": "*.go"}, "a.go\n"},
		{args{"pattern": "**/*.go"}, "a.go\ncmd/main.go\ncmd/x/y.go\ncmd/x/y_test.go\n"},
		{args{"pattern": "**/*.go", "limit": 2}, "a.go\ncmd/main.go\n[2 of 4 paths]\n"},
		{args{"pattern": "x/*", "path": "cmd"}, "cmd/x/y.go\ncmd/x/y_test.go\n"},
		{args{"pattern": "**/{main,y}.go"}, "cmd/main.go\ncmd/x/y.go\n"},
		{args{"pattern": "*.py"}, "no file matches\n"},
	} {
		if r := do(t, s, "file_search", tt.args); r.Output != tt.want {
			t.Errorf("file_search %v:\n%s\nwant\n%s", tt.args, r.Output, tt.want)
		}
	}
	if r := do(t, s, "file_search", args{"pattern": "[a"}); r.Code != "tool/arguments" {
		t.Errorf("file_search [a: %s", r.Output)
	}
}

func TestTOOL01_ContentSearch(t *testing.T) {
	s, _ := workspace(t, map[string]string{
		"a.go": "package a\nfunc One() {}\n", "b/b.go": "package b\r\nfunc one() {}\r\n", "c.txt": "func One\n",
		"bin": "func One\x00", "large": strings.Repeat("x", 8<<20) + "\nfunc One\n", "wide.txt": strings.Repeat("y", 65<<10) + "func One\n",
		"near.txt": "1\n2 here\n3\n4 here\n5\n6\n7\n8\n9 here",
	})
	const passed = "[1 files over 8 MiB were not searched: large]\n"
	for _, tt := range []struct {
		args args
		want string
	}{
		{args{"pattern": `func One`, "glob": "**/*.go"}, "a.go:2:func One() {}\n"},
		{args{"pattern": `(?i)^func one\(`, "glob": "**/*.go"}, "a.go:2:func One() {}\nb/b.go:2:func one() {}\n"},
		{args{"pattern": `^package`, "path": "b"}, "b/b.go:1:package b\n"},
		{args{"pattern": `^package`, "path": "b/b.go"}, "b/b.go:1:package b\n"},
		{args{"pattern": `^package`, "path": "b/b.go", "glob": "*.go", "mode": "count"}, "b/b.go: 1\n"},
		{args{"pattern": `x`, "path": "bin"}, "no line matches in 0 files\n[1 binary files were not searched: bin]\n"},
		{args{"pattern": `zzz`, "glob": "*.go"}, "no line matches in 1 files\n"},
		{args{"pattern": `func One`}, "a.go:2:func One() {}\nc.txt:1:func One\n" + passed + "[in 1 files lines were searched only in their first 64 KiB: wide.txt]\n[1 binary files were not searched: bin]\n"},
		{args{"pattern": `func`, "limit": 1, "glob": "**/*.{go,txt}"}, "a.go:2:func One() {}\n[1 of 3 lines are given]\n[in 1 files lines were searched only in their first 64 KiB: wide.txt]\n"},
		{args{"pattern": `(?i)one|pack`, "mode": "files", "glob": "**/*.go"}, "a.go\nb/b.go\n"},
		{args{"pattern": `(?i)one|pack`, "mode": "files", "glob": "**/*.go", "limit": 1}, "a.go\n[1 of 2 files are given]\n"},
		{args{"pattern": `(one|One)+|pack`, "mode": "count", "glob": "**/*.go"}, "a.go: 2\nb/b.go: 2\n"},
		{args{"pattern": `here`, "context": 1, "glob": "near.txt"}, "near.txt-1-1\nnear.txt:2:2 here\nnear.txt-3-3\nnear.txt:4:4 here\nnear.txt-5-5\n--\nnear.txt-8-8\nnear.txt:9:9 here\n"},
		{args{"pattern": `here|^3$`, "context": 2, "glob": "near.txt", "limit": 3}, "near.txt-1-1\nnear.txt:2:2 here\nnear.txt:3:3\nnear.txt:4:4 here\nnear.txt-5-5\nnear.txt-6-6\n[3 of 4 lines are given]\n"},
	} {
		if r := do(t, s, "content_search", tt.args); r.Output != tt.want {
			t.Errorf("content_search %v:\n%s\nwant\n%s", tt.args, r.Output, tt.want)
		}
	}
	if r := do(t, s, "content_search", args{"pattern": strings.Repeat("a", 513)}); r.Code != "tool/arguments" {
		t.Errorf("content_search with 513 bytes: %s", r.Output)
	}
	for p, want := range map[string]string{"One(": "a.go:2:func One() {}\n", `(a{1000}){1000}`: "no line matches", `\1`: "no line matches", "a(?=b)": "no line matches"} {
		r := do(t, s, "content_search", args{"pattern": p})
		if r.Status != loomv1.ToolStatus_TOOL_STATUS_OK || !strings.HasPrefix(r.Output, want) || !strings.Contains(r.Output, "[the pattern was looked for as it stands, because") {
			t.Errorf("content_search %.20s: %s", p, r.Output)
		}
	}
}

// A whole tree is searched, in the order of its paths: what stands in its last
// directory is found behind more than any bound of bytes that there was, and
// each bound that was met is in the answer and in the line for people.
func TestTOOL01_NoSearchStopsInSilence(t *testing.T) {
	files := map[string]string{"zz/last/last.go": "func Last() {}\n", "large.bin": strings.Repeat("l", 8<<20+1)}
	for i := range 40 {
		files[fmt.Sprintf("d%02d/sub/f.txt", i)] = strings.Repeat(strings.Repeat("x", 99)+"\n", 20_000)
	}
	s, root := workspace(t, files)

	t.Run("the last directory of 80 MB", func(t *testing.T) {
		r := ok(t, do(t, s, "content_search", args{"pattern": "func Last"}))
		says(t, r, "zz/last/last.go:1:func Last() {}\n")
		if want := "func Last: 1 lines in 1 files; 1 files over 8 MiB were not searched: large.bin"; r.Summary != want {
			t.Errorf("summary %q, want %q", r.Summary, want)
		}
	})
	t.Run("more lines than are given", func(t *testing.T) {
		r := ok(t, do(t, s, "content_search", args{"pattern": "xx", "limit": 5, "path": "d07"}))
		if want := "xx: 20000 lines in 1 files; 5 of 20000 lines are given"; r.Summary != want {
			t.Errorf("summary %q, want %q", r.Summary, want)
		}
	})
	t.Run("the time is over", func(t *testing.T) {
		var list []string
		for name := range files {
			list = append(list, name)
		}
		slices.Sort(list)
		r, err := tool.New(tool.Workspace{Root: root}, nil).SearchListed(&expiring{Context: t.Context(), left: 10}, "func", list)
		if err != nil {
			t.Fatal(err)
		}
		const want = "the time was over before 32 files were searched, in ., d10, d11,"
		if says(t, r, want, "and 12 more, up to zz; search there with path"); !strings.Contains(r.Summary, want) {
			t.Errorf("summary %q, want %q", r.Summary, want)
		}
	})
}

// expiring is a context whose time is over after so many looks at it.
type expiring struct {
	context.Context
	left int
}

func (e *expiring) Err() error {
	if e.left--; e.left < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

func TestTOOL01_FileSearchFindsNamesBelow(t *testing.T) {
	s, _ := workspace(t, map[string]string{"inner/median.go": "", "a.go": "", "b/a.go": ""})
	for pattern, want := range map[string]string{
		"median.go": "inner/median.go\n[nothing matches median.go from the top; these match **/median.go]\n",
		"a.go":      "a.go\n",
		"none.go":   "no file matches\n",
	} {
		if r := ok(t, do(t, s, "file_search", args{"pattern": pattern})); r.Output != want {
			t.Errorf("file_search %s: %q, want %q", pattern, r.Output, want)
		}
	}
}
