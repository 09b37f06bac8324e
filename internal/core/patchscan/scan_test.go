package patchscan_test

import (
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/core/patchscan"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// mode gives a file another mode.
func mode(f patchscan.File, m string) patchscan.File { f.NewMode = m; return f }

// gone is a file that a change removes.
func gone(path, content string) patchscan.File {
	return patchscan.File{Path: path, OldMode: "100644", NewMode: patchscan.None, OldSize: int64(len(content)), Old: []byte(content)}
}

func link(path, target string) patchscan.File { return mode(added(path, target), patchscan.Symlink) }

const goTest = "package a\n\nfunc TestA(t *testing.T) {}\n\nfunc TestB(t *testing.T) {}\n"

func TestREAL09_WhatAChangeContainsIsFound(t *testing.T) {
	s := scanner(t)
	large := strings.Repeat("a line of text\n", patchscan.LargeFile/15+1)
	for _, tt := range []struct {
		name  string
		files []patchscan.File
		want  string // findings, one a line; "" for none
	}{
		{"nothing", nil, ""},
		{"plain text", []patchscan.File{changed("a.go", "a\n", "a\nb\n")}, ""},
		{"a file of 1 MiB", []patchscan.File{added("a.txt", large[:patchscan.LargeFile])}, ""},
		{"a byte more", []patchscan.File{added("a.txt", large[:patchscan.LargeFile+1])}, `warn "a.txt": the file has 1048577 bytes, more than 1048576 (large)`},
		{"a large file that goes", []patchscan.File{gone("a.txt", large)}, ""},
		{"binary", []patchscan.File{added("a.bin", "a\x00b")}, `warn "a.bin": the file is binary: no diff shows its 3 bytes (binary)`},
		{"a link beside", []patchscan.File{link("d/l", "../a.txt")}, `warn "d/l": the file is a symbolic link to "../a.txt" (link)`},
		{"a link to the top", []patchscan.File{link("d/l", "..")}, `warn "d/l": the file is a symbolic link to ".." (link)`},
		{"a link above", []patchscan.File{link("d/l", "../../x")}, `refuse "d/l": the symbolic link leads to "../../x", which lies outside of the repository (link-outside)`},
		{"an absolute link", []patchscan.File{link("l", "/etc/passwd")}, `refuse "l": the symbolic link leads to "/etc/passwd", which lies outside of the repository (link-outside)`},
		{"a link through another", []patchscan.File{link("l", "a/b/../../x")}, `refuse "l": the symbolic link leads to "a/b/../../x", which cannot be told to lie in the repository (link-outside)`},
		{"a link into git", []patchscan.File{link("d/l", "../.GIT/config")}, `refuse "d/l": the symbolic link leads to "../.GIT/config", which is git's own (link-outside)`},
		{"a file that becomes a link", []patchscan.File{mode(changed("l", "a", "/x"), patchscan.Symlink)}, `refuse "l": the symbolic link leads to "/x", which lies outside of the repository (link-outside)`},
		{"a conflict", []patchscan.File{changed("a.md", "x\n=======\n", "x\n=======\n<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n")}, `refuse "a.md", line 3: git's marks of a conflict stand here, up to line 7: it was not resolved (conflict)`},
		{"a conflict of a merge of the runtime, and half of one", []patchscan.File{changed("a.md", "", strings.ReplaceAll("<<<<<<< ID\na\n=======\nb\n>>>>>>> ID\n>>>>>>> ID\n", "ID", strings.Repeat("0a", 20)))}, "" +
			`refuse "a.md", line 1: git's marks of a conflict stand here, up to line 5: it was not resolved (conflict)` + "\n" +
			`refuse "a.md", line 6: a mark of a conflict that git could not resolve was left (conflict)`},
		{"a conflict that stood there already", []patchscan.File{changed("a.md", "<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n", "<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\nx\n")}, ""},
		{"what looks a little like one", []patchscan.File{added("a.md", "Title\n=======\n>>>>>>> a mail that quotes\n<<<<<<<< eight\n")}, ""},
		{"a submodule", []patchscan.File{mode(added("m", ""), patchscan.Gitlink)}, `gate "m": a submodule is added, moved or taken out (submodule)`},
		{".gitmodules", []patchscan.File{added(".gitmodules", "")}, `gate ".gitmodules": the file says where submodules come from (submodule)`},
		{"a script", []patchscan.File{mode(added("run.sh", "x\n"), patchscan.Runnable)}, `warn "run.sh": the file becomes executable (executable)`},
		{"a filter", []patchscan.File{changed("d/.gitattributes", "*.a text\n", "*.a text\n*.b filter=f\n# filter=g\n*.c -diff\n")}, "" +
			`gate "d/.gitattributes", line 2: the filter "f" names a program that git runs where it is configured (attributes)` + "\n" +
			`gate "d/.gitattributes", line 4: -diff hides the text of files from diffs (attributes)`},
		{"a workflow", []patchscan.File{added(".github/workflows/x.yml", "a\n"), added("sub/Jenkinsfile", "a\n")}, "" +
			`gate ".github/workflows/x.yml": a build service runs what stands here (ci)` + "\n" +
			`gate "sub/Jenkinsfile": a build service runs what stands here (ci)`},
		{"hooks", []patchscan.File{added(".husky/pre-commit", "x\n"), added("package.json", "{\n  \"postinstall\": \"x\"\n}\n")}, "" +
			`gate ".husky/pre-commit": what stands here runs by itself on the machines of those who work on the repository (hooks)` + "\n" +
			`gate "package.json", line 2: "postinstall" runs by itself when the package is installed or committed to (hooks)`},
		{"settings of this host", []patchscan.File{added("loom.toml", "x\n")}, `gate "loom.toml": the file steers agents, or the host that runs them (agents)`},
		{"a lock file", []patchscan.File{added("web/package-lock.json", "{}\n")}, `warn "web/package-lock.json": the file decides which code of others is installed (lock)`},
		{"a list of requirements", []patchscan.File{added("requirements-dev.txt", "left\n")}, `warn "requirements-dev.txt": the file decides which code of others is installed (lock)`},
		{"a test that goes", []patchscan.File{changed("a_test.go", goTest, goTest[:strings.Index(goTest, "func TestB")])}, `warn "a_test.go": the test "TestB", which stood at line 5, is gone (tests)`},
		{"a test that moves", []patchscan.File{gone("a_test.go", goTest), added("b_test.go", goTest)}, ""},
		{"a test file that goes", []patchscan.File{gone("a_test.go", goTest)}, "" +
			`warn "a_test.go": the test "TestA", which stood at line 3, is gone (tests)` + "\n" +
			`warn "a_test.go": the test "TestB", which stood at line 5, is gone (tests)`},
		{"a test that is skipped", []patchscan.File{changed("a_test.go", "a\n", "a\n\tt.Skip(\"later\")\n")}, `warn "a_test.go", line 2: "t.Skip(" keeps tests from being run (tests)`},
		{"one in JavaScript", []patchscan.File{changed("a.test.js", "it('works', f)\n", "it.skip('works', f)\nxit('x', f)\n")}, "" +
			`warn "a.test.js", line 1: "it.skip" keeps tests from being run (tests)` + "\n" +
			`warn "a.test.js", line 2: "xit(" keeps tests from being run (tests)`},
		{"one in Python", []patchscan.File{changed("test_a.py", "def test_a():\n  pass\n", "@pytest.mark.skip\ndef test_a():\n  pass\n")}, `warn "test_a.py", line 1: "@pytest.mark.skip" keeps tests from being run (tests)`},
		{"one in Rust", []patchscan.File{changed("src/l.rs", "#[test]\nfn a() {}\n", "#[test]\n#[ignore]\nfn a() {}\n")}, `warn "src/l.rs", line 2: "#[ignore" keeps tests from being run (tests)`},
		{"one of Rust that goes", []patchscan.File{changed("src/l.rs", "#[test]\nfn a() {}\n", "\n")}, `warn "src/l.rs": the test "a", which stood at line 2, is gone (tests)`},
		{"one of Ruby that goes", []patchscan.File{changed("spec/a_spec.rb", "it \"adds\" do\nend\n", "\n")}, `warn "spec/a_spec.rb": the test "adds", which stood at line 1, is gone (tests)`},
		{"one of Java that is disabled", []patchscan.File{changed("src/ATest.java", "@Test\nvoid a() {}\n", "@Disabled\n@Test\nvoid a() {}\n")}, `warn "src/ATest.java", line 1: "@Disabled" keeps tests from being run (tests)`},
		{"a test whose file becomes a link", []patchscan.File{mode(changed("a_test.go", goTest, "b.go"), patchscan.Symlink)}, "" +
			`warn "a_test.go": the file is a symbolic link to "b.go" (link)` + "\n" +
			`warn "a_test.go": the test "TestA", which stood at line 3, is gone (tests)` + "\n" +
			`warn "a_test.go": the test "TestB", which stood at line 5, is gone (tests)`},
		{"a test that moves where nothing runs it", []patchscan.File{gone("a_test.go", goTest[:strings.Index(goTest, "func TestB")]), added("_a_test.go", goTest), added("testdata/a_test.go", goTest)}, `warn "a_test.go": the test "TestA", which stood at line 3, is gone (tests)`},
		{"a test for another system", []patchscan.File{changed("a_test.go", goTest, "//go:build never\n\n"+goTest)}, `warn "a_test.go", line 1: "//go:build" keeps tests from being run (tests)`},
		{"a test behind a zero byte", []patchscan.File{changed("a.test.js", "it('works', f)\n", "// \x00\nit.skip('works', f)\n")}, "" +
			`warn "a.test.js": the file is binary: no diff shows its 25 bytes (binary)` + "\n" +
			`warn "a.test.js", line 2: "it.skip" keeps tests from being run (tests)`},
		{"a filter behind a zero byte", []patchscan.File{added(".gitattributes", "# \x00\n*.b filter=f\n")}, "" +
			`gate ".gitattributes", line 2: the filter "f" names a program that git runs where it is configured (attributes)` + "\n" +
			`warn ".gitattributes": the file is binary: no diff shows its 17 bytes (binary)`},
		{"scripts in one line", []patchscan.File{added("package.json", `{"name":"a","scripts":{"test":"t","postinstall":"x"}}`)}, `gate "package.json", line 1: "postinstall" runs by itself when the package is installed or committed to (hooks)`},
		{"scripts that are written otherwise", []patchscan.File{changed("package.json", `{"scripts":{"prepare":"a"}}`, "{\"scripts\":{\n\"prepare\"\n:\"a\",\"pre\\u0069nstall\":\"x\"}}\n")}, `gate "package.json": the script "preinstall" runs by itself when the package is installed or committed to (hooks)`},
		{"where packages come from", []patchscan.File{added(".npmrc", "x\n"), added("web/.cargo/config.toml", "x\n")}, "" +
			`gate ".npmrc": the file says from where packages are installed, and what runs then (hooks)` + "\n" +
			`gate "web/.cargo/config.toml": the file says from where packages are installed, and what runs then (hooks)`},
		{"a key store", []patchscan.File{added("server.p12", "x")}, `refuse "server.p12": the file is of a kind that holds keys: pkcs12-file (secret)`},
		{"what was not read", []patchscan.File{{Path: "a.txt", OldMode: patchscan.None, NewMode: "100644", NewSize: 100, New: []byte("a\n")}}, `warn "a.txt": only the first 2 bytes were looked at (unexamined)`},
	} {
		if got := strings.TrimSuffix(lines(s.Scan(tt.files, nil, nil)), "\n"); got != tt.want {
			t.Errorf("%s gives\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
}

func TestREAL09_SecretsOfTheHostAreFound(t *testing.T) {
	known := func(text string) []string {
		if strings.Contains(text, "swordfish") {
			return []string{"THE_KEY"}
		}
		return nil
	}
	s := scanner(t)
	for _, tt := range []struct {
		file patchscan.File
		want string
	}{
		{changed("a.txt", "a\n", "a\nx swordfish\n"), `refuse "a.txt", line 2: it holds the secret THE_KEY of this host (secret)`},
		{changed("a.txt", "a swordfish\nb\n", "a swordfish\nc\n"), ""},
		{gone("a.txt", "a swordfish\n"), ""},
		{added("a.bin", "\x00swordfish"), `refuse "a.bin", line 1: it holds the secret THE_KEY of this host (secret)`},
	} {
		first, _, _ := strings.Cut(lines(s.Scan([]patchscan.File{tt.file}, nil, known)), "\n")
		if first != tt.want {
			t.Errorf("%s gives %s, want %s", tt.file.Path, first, tt.want)
		}
	}
}

func TestREAL09_APolicyDecides(t *testing.T) {
	s := scanner(t)
	f := []patchscan.File{link("l", "/x")}
	for _, level := range []string{"allow", "warn", "gate", "refuse"} {
		p, err := patchscan.ParsePolicy([]string{"link-outside=refuse", "link-outside=" + level})
		if err != nil {
			t.Fatal(err)
		}
		found := s.Scan(f, p, nil)
		if level == "allow" && len(found) != 0 || level != "allow" && (len(found) != 1 || patchscan.Level(found[0].Action) != level) {
			t.Errorf("with %s: %s", level, lines(found))
		}
	}
	for _, tt := range []struct{ setting, want string }{
		{"large", "not KIND=LEVEL"}, {"lage=warn", `did you mean "large"`}, {"large=maybe", "allow, warn, gate, refuse"},
	} {
		if _, err := patchscan.ParsePolicy([]string{tt.setting}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("ParsePolicy(%s): %v, want %q", tt.setting, err, tt.want)
		}
	}
	if err := (patchscan.Policy{"large": 9}).Check(); err == nil {
		t.Error("a level that there is not is taken")
	}
}

// TestREAL09_FindingsAreBounded has more to tell than fits: all kinds are told of,
// and how much was left out.
func TestREAL09_FindingsAreBounded(t *testing.T) {
	var files []patchscan.File
	for i := range 1000 {
		files = append(files, link(strings.Repeat("d/", 100)+string(rune('a'+i%26))+strings.Repeat("x", i%50)+"/l", "/x"), added(strings.Repeat("e/", 100)+"f"+strings.Repeat("y", i%50)+"/go.sum", "x\n"))
	}
	found := scanner(t).Scan(files, nil, nil)
	if len(found) > patchscan.MaxFindings || proto.Size(&loomv1.Change{Warnings: found}) > 40<<10 {
		t.Errorf("%d findings of %d bytes", len(found), proto.Size(&loomv1.Change{Warnings: found}))
	}
	all := lines(found)
	for _, want := range []string{"more findings of this kind (link-outside)", "more findings of this kind (lock)"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is missing in the end of\n%s", want, all[max(len(all)-500, 0):])
		}
	}
	if len(patchscan.Refused(found)) == 0 {
		t.Error("nothing is refused")
	}
}

// TestREAL09_TheSearchForKeysIsBounded has more words of keys than rules are held
// against: that is said, and what is looked at is looked at.
func TestREAL09_TheSearchForKeysIsBounded(t *testing.T) {
	longtest.Skip(t)
	dense := strings.Repeat("akia and no more, for as long as it takes\n", 15<<20/42)
	found := lines(scanner(t).Scan([]patchscan.File{added("a.txt", "k="+keys()["aws-access-token"]+"\n"), added("b.txt", dense), added("c.txt", dense)}, nil, nil))
	for _, want := range []string{`refuse "a.txt", line 1`, `"c.txt": not all of it was searched for keys`} {
		if !strings.Contains(found, want) {
			t.Errorf("%q is missing in\n%s", want, found)
		}
	}
}

// FuzzScan holds any two contents of any path to what is promised: the same
// findings each time, lines that are there, text that a message can carry, and
// nothing about what did not change.
func FuzzScan(f *testing.F) {
	f.Add("a_test.go", "100644", goTest, "t.Skip()\n")
	f.Add("l", patchscan.Symlink, "", "../x")
	f.Add(".gitattributes", "100755", "", "* filter=\xff\n")
	f.Add("a.js", "100644", "it('a')", "key = '"+random(mixed, 40)+"'")
	s := scanner(f)
	f.Fuzz(func(t *testing.T, path, mode, old, now string) {
		file := changed(path, old, now)
		file.NewMode = mode
		found := s.Scan([]patchscan.File{file}, nil, nil)
		if got, want := lines(s.Scan([]patchscan.File{file}, nil, nil)), lines(found); got != want {
			t.Errorf("twice the same gives\n%s\nand\n%s", want, got)
		}
		if _, err := proto.Marshal(&loomv1.Change{Warnings: found}); err != nil {
			t.Errorf("the findings have no encoding: %v", err)
		}
		for _, w := range found {
			if int(w.Line) > strings.Count(now, "\n")+1 || w.Text == "" || w.Kind == "" || w.Action < patchscan.Warn {
				t.Errorf("%v of a file of %d lines", w, strings.Count(now, "\n")+1)
			}
		}
		same := changed(path, now, now)
		for _, w := range s.Scan([]patchscan.File{same}, nil, nil) {
			if w.Line > 0 || w.Kind == "tests" {
				t.Errorf("nothing changed, and there is %v", w)
			}
		}
	})
}

// BenchmarkScan looks at a change that adds 10 MiB of source, and at one that
// adds a line to each file of as much.
func BenchmarkScan(b *testing.B) {
	source := strings.Repeat("func (s *Server) handle(w http.ResponseWriter, r *http.Request) error {\n\ttoken := r.Header.Get(\"Authorization\") // the key of the api\n\treturn s.access(token, w)\n}\n\n", 6000)
	s := scanner(b)
	all := map[string][]patchscan.File{}
	for i := range 10<<20/len(source) + 1 {
		path := "pkg" + string(rune('a'+i)) + "/a.go"
		all["added"] = append(all["added"], added(path, source))
		all["a line each"] = append(all["a line each"], changed(path, source, source+"var x = 1\n"))
	}
	for _, name := range []string{"added", "a line each"} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(10 << 20)
			for b.Loop() {
				s.Scan(all[name], nil, nil)
			}
		})
	}
}

// BenchmarkNew compiles the rules.
func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		scanner(b)
	}
}

// Ways to have fewer tests than before, as agents take them to make a check pass.
func TestREAL09_TestsThatNoLongerRunAreShown(t *testing.T) {
	s := scanner(t)
	const golang = "package a\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) {\n\tif f() != 1 {\n\t\tt.Fatal()\n\t}\n}\n\nfunc TestB(t *testing.T) {}\n"
	const script = "describe('a', () => {\n  it('works', () => {\n    expect(1).toBe(1)\n  })\n})\n"
	const python = "import pytest\n\ndef test_a():\n    assert f() == 1\n\nclass TestX:\n    def test_b(self):\n        assert 1\n"
	const manifest = "{\"scripts\":{\"test\":\"mocha\"}}\n"
	for _, tt := range []struct{ path, before, old, with, want string }{
		{"a_test.go", golang, "func TestA(t *testing.T) {", "/*\nfunc TestA(t *testing.T) {", `"TestA", which stood at line 5, is gone`},
		{"a_test.go", golang, "func TestA(", "func testA(", `"TestA", which stood at line 5, is gone`},
		{"a_test.go", golang, "\tif", "\tt.Skip()\n\tif", `"t.Skip(" keeps`},
		{"a_test.go", golang, "TestB(t *testing.T) {}", "TestB(check *testing.T) {\n\tcheck.SkipNow()\n}", `"check.SkipNow(" keeps`},
		{"a_test.go", golang, "package a", "// +build never\n\npackage a", `"// +build" keeps`},
		{"a.test.js", script, "  it('works", "  // it('works", `"works", which stood at line 2, is gone`},
		{"a.test.js", script, "  it('works", "  /* é\n  it('works", ""},
		{"a.test.js", script, "    expect", "    /* é */ expect", ""},
		{"a.test.js", script, "'works', ()", "'works', { skip: true }, ()", `"skip: true" keeps`},
		{"a.test.js", script, "    expect", "    t.skip()\n    expect", `"t.skip(" keeps`},
		{"package.json", manifest, "mocha", "true", `the script "test", which runs the tests, is another`},
		{"package.json", manifest, "{\"test\"", "{\"build\":\"make\",\"test\"", ""},
		{"jest.config.js", "module.exports = {}\n", "{}", "{ testPathIgnorePatterns: ['a'] }", "says which tests are run"},
		{"test_a.py", python, "class TestX", "class X", `"TestX", which stood at line 6, is gone`},
		{"test_a.py", python, "class TestX:", "class TestX:\n    __test__ = False", `"__test__ = False" keeps`},
		{"test_a.py", python, "    assert f", "    raise unittest.SkipTest\n    assert f", `"SkipTest" keeps`},
		{"test_a.py", python, "def test_a():\n    assert f() == 1\n", "\"\"\"\ndef test_a():\n    assert f() == 1\n\"\"\"\n", `"test_a", which stood at line 3, is gone`},
		{"test_a.py", python, "    assert f", "    x = \"\"\"\n    ü\n    \"\"\"\n    assert f", ""},
		{"conftest.py", "import pytest\n", "import pytest\n", "collect_ignore = ['test_a.py']\n", `"collect_ignore" keeps`},
	} {
		after := strings.Replace(tt.before, tt.old, tt.with, 1)
		if strings.HasPrefix(tt.with, "/*") {
			after = strings.Replace(after, "}\n\nfunc TestB", "}\n*/\n\nfunc TestB", 1)
		}
		found := lines(s.Scan([]patchscan.File{changed(tt.path, tt.before, after)}, nil, nil))
		if after == tt.before || tt.want == "" && found != "" || !strings.Contains(found, tt.want) {
			t.Errorf("%s, %q for %q: %q, want %q", tt.path, tt.with, tt.old, found, tt.want)
		}
	}
}
