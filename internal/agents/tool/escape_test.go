//go:build unix

package tool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/base/longtest"

	"pgregory.net/rapid"

	"github.com/loomrun/loom/internal/agents/tool"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

const canary = "CANARY-that-no-tool-may-show"

// prison is a workspace beside things that its tools must never reach, and
// full of ways there.
func prison(t testing.TB) (s *tool.Set, root, outside string) {
	t.Helper()
	top := t.TempDir()
	root, outside = filepath.Join(top, "work"), filepath.Join(top, "outside")
	put(t, outside, map[string]string{"secret": canary, "dir/secret": canary})
	put(t, root, map[string]string{
		"a.txt": "hello\n", "dir/b.txt": "hello\n", ".git/config": canary, ".git/secret": canary, ".git/hooks/pre-commit": canary,
		"sub/.git/config": canary, "sub/.GIT.d/fine": "hello\n",
	})
	for link, target := range map[string]string{
		"abs": outside, "absfile": filepath.Join(outside, "secret"), "rel": "../outside", "relfile": "../outside/secret",
		"dir/up": "..", "dir/upup": "../..", "nested": "dir/upup/outside", "proc": "/proc/self/root", "cwd": "/proc/self/cwd",
		"fd": "/dev/fd", "circle": "circle", "c1": "c2", "c2": "c1", "gitlink": ".git", "dir/gitlink": "../.git/hooks",
		"inside": "dir/b.txt", "insidedir": "dir", "dangling": "nowhere", "danglingout": "../outside/new", "self": ".", "abstrick": "/a.txt",
	} {
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(filepath.Join(outside, "secret"), filepath.Join(root, "hard")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(root, "fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	return tool.New(tool.Workspace{Root: root}, nil), root, outside
}

// state is all there is below a directory, to compare.
func state(t testing.TB, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s %v %v\n", path, info.Mode(), info.ModTime())
		if info.Mode().IsRegular() {
			data, _ := os.ReadFile(path)
			fmt.Fprintf(&b, "%d %s\n", len(data), data)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestF38_Escapes(t *testing.T) {
	s, root, outside := prison(t)
	before, git := state(t, outside), state(t, filepath.Join(root, ".git"))
	for _, path := range []string{
		"..", "../outside/secret", "dir/../../outside/secret", "a/../../../etc/passwd", "./../outside/secret", "dir/..",
		"/etc/passwd", "//etc/passwd", outside + "/secret", root + "/a.txt", "~/x", "~root/x", `\etc`, `C:\x`, "C:/x",
		"abs/secret", "absfile", "rel/secret", "relfile", "dir/upup/outside/secret", "nested/secret", "proc/etc/passwd",
		"proc/" + outside + "/secret", "cwd/a.txt", "fd/0", "circle", "circle/x", "c1", "danglingout", "hard",
		".git/config", ".GIT/config", ".Git/hooks/pre-commit", ".git/", ".git", "GIT~1/config", "git~2/config", ".git./config",
		".git /config", ".git::$INDEX_ALLOCATION/config", ".g\u200cit/config", "\ufeff.git/config", `.git\config`, "sub/.git/config",
		`dir\.git`, "gitlink/config", "dir/gitlink/pre-commit", "insidedir/gitlink/pre-commit", "self/.git/config", "self/gitlink/config",
		"a\x00b", "a\nb", "a\x7f", strings.Repeat("a/", 2049), strings.Repeat("a", 256), "fifo", "fifo/x", "abstrick",
	} {
		for _, c := range []*loomv1.ToolCall{
			call(t, "file_read", args{"path": path}),
			call(t, "file_write", args{"path": path, "content": "pwned"}),
			call(t, "file_edit", args{"path": path, "old_text": "CANARY", "new_text": "pwned"}),
			call(t, "apply_patch", args{"patch": envelope("*** Update File: "+path, "-CANARY", "+pwned")}),
			call(t, "apply_patch", args{"patch": envelope("*** Add File: "+path, "+pwned")}),
			call(t, "apply_patch", args{"patch": envelope("*** Delete File: " + path)}),
			call(t, "apply_patch", args{"patch": envelope("*** Update File: a.txt", "*** Move to: "+path)}),
			call(t, "directory_list", args{"path": path, "depth": 3}),
			call(t, "content_search", args{"pattern": "CANARY", "path": path}),
			call(t, "file_search", args{"pattern": "**", "path": path}),
		} {
			r := s.Call(context.Background(), everything, 5*time.Second, c)
			if r.Status == loomv1.ToolStatus_TOOL_STATUS_OK || r.Code == "tool/timeout" || strings.Contains(r.Output, canary) {
				t.Errorf("%s %q: %v %s", c.Tool, path, r.Status, r.Output)
			}
		}
	}
	if after := state(t, outside); after != before {
		t.Errorf("outside has changed from\n%s\nto\n%s", before, after)
	}
	if after := state(t, filepath.Join(root, ".git")); after != git {
		t.Errorf(".git has changed from\n%s\nto\n%s", git, after)
	}
}

// What looks like an escape and is none keeps working.
func TestF38_Inside(t *testing.T) {
	s, root, _ := prison(t)
	for path, want := range map[string]string{
		"inside": "hello\n", "insidedir/b.txt": "hello\n", "dir/up/a.txt": "hello\n", "self/self/a.txt": "hello\n",
		"sub/.GIT.d/fine": "hello\n", "./a.txt": "hello\n",
	} {
		if r := ok(t, do(t, s, "file_read", args{"path": path})); r.Output != "     1\t"+want+"[end of the file, 1 lines]\n" {
			t.Errorf("file_read %s: %q", path, r.Output)
		}
	}
	for _, path := range []string{".gitignore", ".github/x.yml", "git~x", "..a", "a..b", "x.git"} {
		ok(t, do(t, s, "file_write", args{"path": path, "content": "x"}))
	}
	for _, path := range []string{"inside", "insidedir/b.txt", "dangling"} {
		if r := do(t, s, "file_write", args{"path": path, "content": "x"}); r.Code != "tool/outside" {
			t.Errorf("file_write through the link %s: %s", path, r.Output)
		}
	}
	if got := get(t, root, "dir/b.txt"); got != "hello\n" {
		t.Errorf("the file behind the links is %q", got)
	}
}

// A device and a pipe are refused without being opened: nothing waits.
func TestF38_SpecialFiles(t *testing.T) {
	s, root, _ := prison(t)
	special := []string{"fifo"}
	if syscall.Mknod(filepath.Join(root, "zero"), syscall.S_IFCHR|0o666, 1<<8|5) == nil { // root may
		special = append(special, "zero")
	}
	begin := time.Now()
	for _, path := range special {
		for name, a := range map[string]args{
			"file_read":  {"path": path},
			"file_write": {"path": path, "content": "x"},
			"file_edit":  {"path": path, "old_text": "a", "new_text": "b"},
		} {
			if r := do(t, s, name, a); r.Code != "tool/outside" {
				t.Errorf("%s %s: %v %s", name, path, r.Status, r.Output)
			}
		}
	}
	ok(t, do(t, s, "content_search", args{"pattern": "hello"}))
	if took := time.Since(begin); took > time.Minute {
		t.Errorf("it took %v", took)
	}
}

// A directory that is exchanged for a link out of the workspace, or to .git,
// again and again, is never followed there.
func TestP11_ExchangedDirectory(t *testing.T) {
	longtest.Skip(t)
	s, root, outside := prison(t)
	before, git := state(t, outside), state(t, filepath.Join(root, ".git"))
	put(t, root, map[string]string{"swap/secret": "hello\n"})
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		swap, aside := filepath.Join(root, "swap"), filepath.Join(root, "aside")
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				_ = os.Rename(swap, aside)
				_ = os.Symlink([]string{outside, ".git"}[i%2], swap)
				_ = os.Remove(swap)
				_ = os.Rename(aside, swap)
			}
		}
	}()
	tried, read := 0, 0
	for deadline := time.Now().Add(10 * time.Second); (tried < 2000 || read < 20) && time.Now().Before(deadline); tried++ {
		if tried%4 == 0 {
			do(t, s, "file_edit", args{"path": "swap/secret", "old_text": "l", "new_text": "pwned"})
			do(t, s, "file_edit", args{"path": "swap/secret", "old_text": canary, "new_text": "pwned"})
		}
		r := do(t, s, "file_read", args{"path": "swap/secret"})
		if strings.Contains(r.Output, canary) {
			t.Fatal("the secret was read")
		}
		if r.Status == loomv1.ToolStatus_TOOL_STATUS_OK {
			read++
		}
	}
	close(stop)
	<-stopped
	if after := state(t, outside); after != before {
		t.Errorf("outside has changed from\n%s\nto\n%s", before, after)
	}
	if after := state(t, filepath.Join(root, ".git")); after != git {
		t.Errorf(".git has changed from\n%s\nto\n%s", git, after)
	}
	if read < 20 || tried-read < 20 {
		t.Errorf("%d of %d reads succeeded; some must, and some must not", read, tried)
	}
}

// hostile draws a call as a confused or hostile model might make it.
func hostile(rt *rapid.T) *loomv1.ToolCall {
	element := rapid.SampledFrom([]string{
		"..", ".", "", "a.txt", "dir", "b.txt", "abs", "rel", "absfile", "nested", "proc", "cwd", "fd", "hard", "fifo", "gitlink", ".git", ".GIT",
		"GIT~1", ".g\u200cit", "config", "hooks", "secret", "outside", "self", "up", "upup", "insidedir", "new", "root", "etc", "passwd", "c1", "~", "\x00", "danglingout",
	})
	path := rapid.Custom(func(rt *rapid.T) string {
		if rapid.Bool().Draw(rt, "decent") {
			return rapid.SampledFrom([]string{"a.txt", "dir/b.txt", "inside", "dir", ".", "new/x", "sub", "self/a.txt"}).Draw(rt, "path")
		}
		return rapid.SampledFrom([]string{"", "", "", "/", "./", "../"}).Draw(rt, "start") + strings.Join(rapid.SliceOfN(element, 1, 6).Draw(rt, "elements"), "/")
	})
	text := rapid.SampledFrom([]string{"pwned", "hello", "CANARY", "", "\n", "\xff\x00", "${HOME}"})
	name := rapid.SampledFrom(append(slices.Clone(everything[:6]), append(slices.Clone(everything), "rm", "", "FILE_READ", "file_read\x00")...)).Draw(rt, "tool")
	if rapid.IntRange(0, 19).Draw(rt, "garbage") == 0 {
		return &loomv1.ToolCall{Id: "c1", Tool: name, Arguments: rapid.StringOfN(rapid.RuneFrom([]rune(`{}[]":,0antruefls \`)), 0, 30, -1).Draw(rt, "arguments")}
	}
	a := map[string]any{"path": path.Draw(rt, "path")}
	switch name {
	case "file_write":
		a["content"] = text.Draw(rt, "content")
	case "file_edit":
		a["old_text"], a["new_text"] = text.Draw(rt, "old"), text.Draw(rt, "new")
	case "apply_patch":
		verb := rapid.SampledFrom([]string{"Add File: ", "Update File: ", "Delete File: ", "Update File: a.txt\n*** Move to: "}).Draw(rt, "verb")
		a = map[string]any{"patch": envelope("*** "+verb+path.Draw(rt, "patched"), "-"+text.Draw(rt, "old"), "+"+text.Draw(rt, "new"))}
	case "file_search", "content_search":
		a["pattern"] = rapid.SampledFrom([]string{"**", "../**", "/**", "CANARY", ".*", "(", "[", "{a,b}"}).Draw(rt, "pattern")
	case "directory_list":
		a["depth"] = rapid.IntRange(-1, 9).Draw(rt, "depth")
	case "file_read":
		if rapid.Bool().Draw(rt, "window") {
			a["offset"] = rapid.SampledFrom([]any{0, 1, -1, 2.5, 1e300, "1", nil}).Draw(rt, "offset")
		}
	case "shell":
		a = map[string]any{"command": "touch ../outside/pwned"}
	}
	data, err := json.Marshal(a)
	if err != nil {
		rt.Fatal(err)
	}
	return &loomv1.ToolCall{Id: "c1", Tool: name, Arguments: string(data)}
}

// Ten thousand hostile calls change nothing outside, show nothing of it, and
// are all answered.
func TestP11_HostileCalls(t *testing.T) {
	longtest.Skip(t)
	s, root, outside := prison(t)
	before, git := state(t, outside), state(t, filepath.Join(root, ".git"))
	calls, fine := 0, 0
	for calls < 10_000 {
		rapid.Check(t, func(rt *rapid.T) {
			for range 20 {
				c := hostile(rt)
				r := s.Call(context.Background(), everything, 5*time.Second, c)
				calls++
				if r.Status == loomv1.ToolStatus_TOOL_STATUS_OK {
					fine++
				}
				if strings.Contains(r.Output+r.Summary, canary) || strings.Contains(r.Output+r.Summary, outside) && !strings.Contains(c.Tool, "list") {
					rt.Fatalf("%s %s shows what is outside: %s", c.Tool, c.Arguments, r.Output)
				}
				if r.Status == loomv1.ToolStatus_TOOL_STATUS_UNSPECIFIED || r.Summary == "" || len(r.Summary) > tool.MaxSummary || len(r.Output) > tool.MaxOutput {
					rt.Fatalf("%s %s: an answer out of bounds: %v %q", c.Tool, c.Arguments, r.Status, r.Summary)
				}
			}
		})
		if t.Failed() {
			return
		}
	}
	if after := state(t, outside); after != before {
		t.Errorf("outside has changed from\n%s\nto\n%s", before, after)
	}
	if after := state(t, filepath.Join(root, ".git")); after != git {
		t.Errorf(".git has changed from\n%s\nto\n%s", git, after)
	}
	if fine < calls/50 {
		t.Errorf("only %d of %d calls did anything", fine, calls)
	}
}

func FuzzCall(f *testing.F) {
	s, root, outside := prison(f)
	for i, name := range everything {
		f.Add(byte(i), fmt.Sprintf(`{"path":"a.txt","tool":%q}`, name))
	}
	f.Add(byte(0), `{"path":"../outside/secret"}`)
	f.Add(byte(1), `{"path":"rel/secret","content":"x"}`)
	before, git := state(f, outside), state(f, filepath.Join(root, ".git"))
	f.Fuzz(func(t *testing.T, which byte, arguments string) {
		c := &loomv1.ToolCall{Id: "c1", Tool: everything[int(which)%len(everything)], Arguments: arguments}
		r := s.Call(context.Background(), everything, 5*time.Second, c)
		if r.Status == loomv1.ToolStatus_TOOL_STATUS_UNSPECIFIED || strings.Contains(r.Output, canary) {
			t.Errorf("%s %s: %v %s", c.Tool, arguments, r.Status, r.Output)
		}
		if state(t, outside) != before || state(t, filepath.Join(root, ".git")) != git {
			t.Errorf("%s %s changed what it must not reach", c.Tool, arguments)
		}
	})
}
