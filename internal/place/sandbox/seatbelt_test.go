package sandbox_test

import (
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/place/sandbox"
)

var update = flag.Bool("update", false, "write the expected profile")

// profile is a profile as sandbox-exec reads it: lists of words and lists.
type profile []any

// parse reads s-expressions, strings with their escapes.
func parse(t *testing.T, text string) profile {
	t.Helper()
	top := []profile{nil}
	put := func(x any) { top[len(top)-1] = append(top[len(top)-1], x) }
	for text != "" {
		switch text[0] {
		case '(':
			top, text = append(top, profile{}), text[1:]
		case ')':
			list := top[len(top)-1]
			top, text = top[:len(top)-1], text[1:]
			put(list)
		case ' ', '\n':
			text = text[1:]
		case '"':
			var s strings.Builder
			for text = text[1:]; text[0] != '"'; text = text[1:] {
				if text[0] == '\\' {
					text = text[1:]
				}
				s.WriteByte(text[0])
			}
			text = text[1:]
			put("=" + s.String()) // a string, and no word
		default:
			n := strings.IndexAny(text, " ()\n")
			put(text[:n])
			text = text[n:]
		}
	}
	if len(top) != 1 {
		t.Fatalf("%d lists of the profile are open", len(top)-1)
	}
	return top[0]
}

// allows says what a profile says of an operation on a path: the last rule that
// matches decides.
func (p profile) allows(operation, path string) bool {
	verdict := false
	for _, x := range p {
		rule, _ := x.(profile)
		if len(rule) < 2 || rule[0] != "allow" && rule[0] != "deny" {
			continue
		}
		var names, filters []any
		for _, x := range rule[1:] {
			if _, isList := x.(profile); isList {
				filters = append(filters, x)
			} else {
				names = append(names, x)
			}
		}
		if slices.ContainsFunc(names, func(n any) bool { return covers(n.(string), operation) }) && matches(filters, path) {
			verdict = rule[0] == "allow"
		}
	}
	return verdict
}

func covers(name, operation string) bool {
	stem, star := strings.CutSuffix(name, "*")
	return name == "default" || name == operation || star && strings.HasPrefix(operation, stem)
}

func matches(filters []any, path string) bool {
	return len(filters) == 0 || slices.ContainsFunc(filters, func(x any) bool {
		f := x.(profile)
		switch f[0] {
		case "literal":
			return f[1] == "="+path
		case "subpath":
			dir := strings.TrimPrefix(f[1].(string), "=")
			return path == dir || strings.HasPrefix(path, dir+"/")
		}
		return false
	})
}

func written(t *testing.T, s sandbox.Spec) profile {
	t.Helper()
	text, err := s.Profile()
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, text)
}

// The profile of macOS is what it was, byte for byte. It has never been run here.
func TestTOOL03_ProfileOfMacOS(t *testing.T) {
	text, err := sandbox.Spec{
		Dir: "/private/tmp/w", Write: []string{"/private/tmp/w"}, Read: []string{"/Volumes/work/go/pkg/mod", "/private/tmp/w/.git/hooks"}, Network: true,
	}.Profile()
	if err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "macos.sb")
	if *update {
		if err := os.WriteFile(golden, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if text != string(want) {
		t.Errorf("the profile is\n%s\nwant what %s has; -update writes it", text, golden)
	}
}

// What a profile says of paths and of the network is what its Spec says, whatever
// the paths are called.
func TestTOOL03_ProfileSaysWhatTheSpecSays(t *testing.T) {
	longtest.Skip(t)
	random := rand.New(rand.NewPCG(1, 2))
	names := []string{"a", "b c", `q"uote`, `back\slash`, `")(allow default)("`, "ümlaut", "(paren)", ";comment"}
	path := func() string {
		parts := []string{""}
		for range 1 + random.IntN(4) {
			parts = append(parts, names[random.IntN(len(names))])
		}
		return strings.Join(parts, "/")
	}
	for range 500 {
		s := sandbox.Spec{Network: random.IntN(2) == 0}
		for range random.IntN(4) {
			s.Read = append(s.Read, path())
		}
		for range 1 + random.IntN(3) {
			s.Write = append(s.Write, path())
		}
		p := written(t, s)
		for _, at := range append(slices.Concat(s.Read, s.Write), path(), path(), "/private/etc/master.passwd", "/Volumes/work/.ssh/id") {
			read, write := nearest(s, at)
			if got := p.allows("file-read-data", at); got != read {
				t.Fatalf("%+v: reading %s is allowed: %t, want %t", s, at, got, read)
			}
			if got := p.allows("file-write-create", at); got != write {
				t.Fatalf("%+v: writing %s is allowed: %t, want %t", s, at, got, write)
			}
			if got := p.allows("process-exec", at); got != read {
				t.Fatalf("%+v: running %s is allowed: %t, want %t", s, at, got, read)
			}
		}
		if !p.allows("file-write-data", "/dev/null") || p.allows("file-write-data", "/dev/random") {
			t.Fatalf("%+v: what may be written in /dev is not /dev/null alone", s)
		}
		for _, operation := range []string{"network-outbound", "network-bind", "network-inbound", "system-socket"} {
			if got := p.allows(operation, "localhost"); got != s.Network {
				t.Fatalf("%s is allowed: %t, want %t", operation, got, s.Network)
			}
		}
		for _, operation := range []string{"file-read-data", "file-write-data", "mach-register", "iokit-open", "system-privilege", "sysctl-write"} {
			if p.allows(operation, "/nowhere") {
				t.Fatalf("%s is allowed by default", operation)
			}
		}
	}
}

// nearest says what the innermost directory of a Spec says of a path; where one is
// both, it is written.
func nearest(s sandbox.Spec, at string) (read, write bool) {
	deepest := -1
	for _, list := range [][]string{s.Read, s.Write} {
		for _, dir := range list {
			if n := strings.Count(dir, "/"); (at == dir || strings.HasPrefix(at, dir+"/")) && n >= deepest {
				deepest, read, write = n, true, slices.Contains(s.Write, dir)
			}
		}
	}
	return read, write
}

// A directory above what is only read cannot be renamed away, which would let its
// files be written under another name.
func TestTOOL03_ProfilePinsWhatIsOnlyRead(t *testing.T) {
	p := written(t, sandbox.Spec{Write: []string{"/w"}, Read: []string{"/w/a/b/kept"}})
	for at, want := range map[string]bool{"/w/a": false, "/w/a/b": false, "/w/a/b/kept": false, "/w/a/other": true, "/w/c": true} {
		if got := p.allows("file-write-unlink", at); got != want {
			t.Errorf("renaming %s is allowed: %t, want %t", at, got, want)
		}
	}
}

// What macOS cannot give is refused, and so is a path that a profile cannot spell.
func TestTOOL03_ProfileRefusesWhatItCannotSay(t *testing.T) {
	for name, tt := range map[string]struct {
		spec sandbox.Spec
		code string
	}{
		"layers":  {sandbox.Spec{Layers: []sandbox.Layer{{Path: "/a", Keep: "/b"}}}, "sandbox/unavailable"},
		"newline": {sandbox.Spec{Write: []string{"/a\n(allow default)"}}, "sandbox/spec"},
		"zero":    {sandbox.Spec{Read: []string{"/a\x00"}}, "sandbox/spec"},
	} {
		if text, err := tt.spec.Profile(); fault.Code(err) != tt.code || text != "" {
			t.Errorf("%s: %q, %v, want %s", name, text, err, tt.code)
		}
	}
}
