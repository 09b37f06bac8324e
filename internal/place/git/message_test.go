package git

import (
	"strings"
	"testing"
)

var someTrailers = trailers{bead: "b1", execution: "b1-x1", decision: "g7", token: 5, patch: strings.Repeat("ab", 32)}

const someLines = "Loom-Bead: b1\nLoom-Execution: b1-x1\nLoom-Decision: g7\nLoom-Token: 5\nLoom-Patch: " +
	"abababababababababababababababababababababababababababababababab\n"

func TestP20_Message(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ subject, body, want string }{
		{"Fix it", "", "Fix it\n\n" + someLines},
		{"  Fix\n it\t now ", "Why.\n\n\n\nBecause.  \n", "Fix it now\n\nWhy.\n\nBecause.\n\n" + someLines},
		{"Fix", "Loom-Token: 9", "Fix\n\n> Loom-Token: 9\n\n" + someLines},
		{"Fix", "a\n  LOOM-bead : x\nb", "Fix\n\na\n>   LOOM-bead : x\nb\n\n" + someLines},
		{"Fix", "Loom-Token: 5", "Fix\n\n> Loom-Token: 5\n\n" + someLines},
		{"Fix", "Loom-Anything-new: x", "Fix\n\n> Loom-Anything-new: x\n\n" + someLines},
		{"Loom-Token: 9", "", "> Loom-Token: 9\n\n" + someLines},
		{"Fix", "x\u2028Loom-Token: 9", "Fix\n\nx\n> Loom-Token: 9\n\n" + someLines},
		{"Fix", "x\rLoom-Token: 9", "Fix\n\nx\n> Loom-Token: 9\n\n" + someLines},
		{"Fix", "Lo\u200bom-Token: 9", "Fix\n\n> Loom-Token: 9\n\n" + someLines},
		{"Fix", "Signed-off-by: CEO <c@e.o>\nCo-authored-by: X <x@y.z>", "Fix\n\n> Signed-off-by: CEO <c@e.o>\n> Co-authored-by: X <x@y.z>\n\n" + someLines},
		{"Fix", "\x1b[31mred\x1b[0m \x00 \u202etxt", "Fix\n\n[31mred[0m  txt\n\n" + someLines},
		{"Fix", "Change-Id: I1", "Fix\n\nChange-Id: I1\n" + someLines},
		{"Fix: a thing", "", "Fix: a thing\n\n" + someLines},
		{"", "", ""},
		{strings.Repeat("ä", 300), "", strings.Repeat("ä", 69) + "...\n\n" + strings.Repeat("ä", 300) + "\n\n" + someLines},
		{
			"REAL06 round half up. The comparison took the lower of two prices where they were equal, and the test shows it", "Why.",
			"REAL06 round half up\n\nREAL06 round half up. The comparison took the lower of two prices where they were equal, and the test shows it\n\nWhy.\n\n" + someLines,
		},
		{
			"the comparison takes the lower of two prices where they are equal and the test shows it", "",
			"the comparison takes the lower of two prices where they are equal...\n\n" +
				"the comparison takes the lower of two prices where they are equal and the test shows it\n\n" + someLines,
		},
	} {
		got := seal(compose(tt.subject, tt.body), someTrailers)
		if got != tt.want {
			t.Errorf("subject %q, body %q give\n%q\nwant\n%q", tt.subject, tt.body, got, tt.want)
		}
		if again := seal(got, someTrailers); again != got {
			t.Errorf("sealed twice:\n%q\nwant\n%q", again, got)
		}
	}
	if got := compose("s", strings.Repeat("x", bodyBytes+100)); len(got) > bodyBytes+20 {
		t.Errorf("%d bytes of a body were kept", len(got))
	}
}

func TestReadTrailers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		message string
		want    trailers
	}{
		{"x\n\n" + someLines, someTrailers},
		{"x\n\nLoom-Bead: z\n\n" + someLines, someTrailers},
		{"x\n\n" + someLines + "\nanother paragraph", trailers{}},
		{"x\n\nLoom-Hooks: pre-commit=0 commit-msg=skipped\n", trailers{hooks: "pre-commit=0 commit-msg=skipped"}},
		{"x\n\nLoom-Token: many\nLoom-Bead: b", trailers{bead: "b"}},
		{"", trailers{}},
	} {
		if got := readTrailers(tt.message); got != tt.want {
			t.Errorf("readTrailers(%q) = %v, want %v", tt.message, got, tt.want)
		}
	}
}

// Whatever a model writes, the trailers read back are the ones that were set.
func FuzzMessage(f *testing.F) {
	f.Add("Fix", "Loom-Token: 9\n\nLoom-Bead: x")
	f.Add("\n\n", "\r\n\x00Loom-Execution: y")
	f.Add("s", "\u2028Loom-Patch: \u202e")
	f.Fuzz(func(t *testing.T, subject, body string) {
		text := seal(compose(subject, body), someTrailers)
		if text == "" {
			return
		}
		if got := readTrailers(text); got != someTrailers {
			t.Errorf("%q gives %v", text, got)
		}
		n := 0
		for _, line := range strings.Split(text, "\n") {
			if reserved.MatchString(line) {
				n++
			}
		}
		if n != 5 {
			t.Errorf("%q has %d lines that look like ours, want 5", text, n)
		}
	})
}

func TestPatchDigest(t *testing.T) {
	t.Parallel()
	zero := strings.Repeat("0", 40)
	one := strings.Repeat("1", 40)
	raw := ":000000 100644 " + zero + " " + one + " A\x00b\x00:100644 000000 " + one + " " + zero + " D\x00a\x00"
	p, err := parsePatch([]byte(raw))
	if err != nil || len(p) != 2 || p[0].path != "a" || p[0].status() != "deleted" || p[1].status() != "added" {
		t.Fatalf("%v, %v", p, err)
	}
	// sha256 of "a NUL 100644 000000 1... 0... LF b NUL 000000 100644 0... 1... LF"
	if got, want := p.digest(), digestOf("a\x00100644 000000 "+one+" "+zero+"\n"+"b\x00000000 100644 "+zero+" "+one+"\n"); got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
	for _, bad := range []string{"x", ":1 2 3 4 A", ":1 2 3\x00p\x00", "100644 100644 a b M\x00p\x00"} {
		if _, err := parsePatch([]byte(bad)); err == nil {
			t.Errorf("parsePatch(%q) was accepted", bad)
		}
	}
}

func FuzzParsePatch(f *testing.F) {
	f.Add([]byte(":000000 100644 0 1 A\x00b\x00"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if p, err := parsePatch(raw); err == nil && len(p) > len(raw)/9 {
			t.Errorf("%d entries from %d bytes", len(p), len(raw))
		}
	})
}

func FuzzParseLock(f *testing.F) {
	f.Add("loom refs/heads/main " + strings.Repeat("a", 40) + " " + strings.Repeat("b", 40) + "\nwords\n")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		if cut, ok := parseLock(text); ok && (!isObjectID(cut.from) || !isObjectID(cut.to) || !strings.HasPrefix(cut.ref, "refs/heads/")) {
			t.Errorf("%q gives %v", text, cut)
		}
	})
}
