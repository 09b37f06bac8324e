package patchscan_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/core/patchscan"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// random returns n characters of an alphabet, the same each time. Keys for tests
// are made of them, so that nothing in this repository looks like one.
func random(alphabet string, n int) string {
	r := rand.New(rand.NewPCG(7, uint64(n)))
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[r.IntN(len(alphabet))]
	}
	return string(b)
}

const (
	upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	mixed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	hex   = "0123456789abcdef"
)

// keys are keys of known forms.
func keys() map[string]string {
	return map[string]string{
		"aws-access-token":      "AK" + "IA" + random(upper, 16),
		"anthropic-api-key":     "sk-" + "ant-api03-" + random(mixed, 93) + "AA",
		"github-pat":            "gh" + "p_" + random(mixed, 36),
		"slack-bot-token":       "xox" + "b-" + random("0123456789", 12) + "-" + random("0123456789", 12) + "-" + random(mixed, 24),
		"stripe-access-token":   "sk_" + "live_" + random(mixed, 24),
		"anthropic-oauth-token": "sk-" + "ant-oat01-" + random(mixed, 93) + "AA",
		"groq-api-key":          "gs" + "k_" + random(mixed, 52),
		"xai-api-key":           "xa" + "i-" + random(mixed, 80),
		"openrouter-api-key":    "sk-" + "or-v1-" + random(hex, 64),
		"nats-seed":             "SU" + "A" + random(upper, 55),
		"private-key":           "-----BEGIN " + "RSA PRIVATE KEY-----\n" + strings.Repeat(random(mixed, 64)+"\n", 20) + "-----END " + "RSA PRIVATE KEY-----",
	}
}

func scanner(t testing.TB) *patchscan.Scanner {
	t.Helper()
	s, err := patchscan.New()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func added(path, content string) patchscan.File {
	return patchscan.File{Path: path, OldMode: patchscan.None, NewMode: "100644", NewSize: int64(len(content)), New: []byte(content)}
}

func changed(path, old, now string) patchscan.File {
	return patchscan.File{Path: path, OldMode: "100644", NewMode: "100644", OldSize: int64(len(old)), Old: []byte(old), NewSize: int64(len(now)), New: []byte(now)}
}

// lines is what was found, one finding a line.
func lines(found []*loomv1.PatchWarning) string {
	var b strings.Builder
	for _, w := range found {
		b.WriteString(patchscan.Level(w.Action) + " " + patchscan.Text(w) + "\n")
	}
	return b.String()
}

func TestREAL09_KeysOfKnownFormsAreFound(t *testing.T) {
	s := scanner(t)
	for id, key := range keys() {
		for name, f := range map[string]patchscan.File{
			"in a new file":     added("conf.txt", "# a comment\nkey: "+key+"\n"),
			"in an added line":  changed("conf.txt", "a\nb\nc\n", "a\n"+"key = \""+key+"\"\nb\nc\n"),
			"among much":        added("conf.txt", strings.Repeat("nothing to see here\n", 5000)+"k="+key+"\n"+strings.Repeat("nor here\n", 5000)),
			"in one long line":  added("x.js", strings.Repeat("a(b),", 20000)+"k=\""+strings.ReplaceAll(key, "\n", `\n`)+"\";"+strings.Repeat("c(d);", 20000)),
			"with windows ends": added("conf.txt", "a\r\nkey="+key+"\r\n"),
		} {
			found := s.Scan([]patchscan.File{f}, nil, nil)
			refused := patchscan.Refused(found)
			if len(refused) == 0 || refused[0].Kind != "secret" || !strings.Contains(refused[0].Text, id) {
				t.Errorf("%s %s gives\n%swant a refusal of %s", id, name, lines(found), id)
			}
			for _, w := range found {
				for _, part := range []string{key, key[:len(key)/2], key[len(key)/2:]} {
					if strings.Contains(w.String(), part) {
						t.Errorf("%s %s: a finding quotes the key: %s", id, name, patchscan.Text(w))
					}
				}
			}
		}
		unchanged := changed("conf.txt", "key: "+key+"\nx\n", "new first line\nkey: "+key+"\ny\n")
		if found := s.Scan([]patchscan.File{unchanged}, nil, nil); len(found) > 0 {
			t.Errorf("%s stood there before, and is reported:\n%s", id, lines(found))
		}
	}
}

// What hides a text from diffs does not hide a key in it.
func TestREAL09_KeysInWhatNoDiffShows(t *testing.T) {
	s := scanner(t)
	wide := func(text string, big bool) string {
		var b strings.Builder
		for _, c := range []byte(text) {
			if big {
				b.Write([]byte{0, c})
			} else {
				b.Write([]byte{c, 0})
			}
		}
		return b.String()
	}
	for id, key := range keys() {
		line := "key = \"" + key + "\"\n"
		for name, content := range map[string]string{
			"a zero byte before it":      "\x00\n" + line,
			"a zero byte behind it":      line + "\x00",
			"UTF-16":                     "\xff\xfe" + wide("some text\n"+line, false),
			"UTF-16, the other way":      "\xfe\xff" + wide("some text\n"+line, true),
			"among bytes of a program":   "\x7fELF\x02\x01\x01\x00\x00" + strings.Repeat("\x00\x01\x90\xc3 ", 50) + "\x00" + line + "\x00\x00",
			"beyond where git looks":     strings.Repeat("a line of text\n", 1000) + "\x00\n" + line,
			"without a line's beginning": "\x00" + key + "\x00",
		} {
			found := lines(s.Scan([]patchscan.File{added("a.dat", content)}, nil, nil))
			if !strings.Contains(found, "the text has the form of a key: "+id) {
				t.Errorf("%s, %s: %s", id, name, found)
			}
		}
	}
	if found := lines(s.Scan([]patchscan.File{added("a.dat", "\x00password = \""+random(mixed, 32)+"\"\n")}, nil, nil)); strings.Contains(found, "maybe-secret") {
		t.Errorf("a binary file's entropy means something: %s", found)
	}
	for _, path := range []string{"logo.svg", "a.bin", "go.mod", "package-lock.json", "vendor/github.com/a/b/c.go"} {
		found := lines(s.Scan([]patchscan.File{added(path, "a\n"+keys()["github-pat"]+"\n")}, nil, nil))
		if !strings.Contains(found, `warn "`+path+`", line 2: the text has the form of a key, which is often none in a file of this kind: github-pat (maybe-secret)`) {
			t.Errorf("%s: %s", path, found)
		}
	}
}

// An address with a password in it could be one of a real server: it is shown. What
// stands for a password in examples is not.
func TestREAL09_AddressesWithPasswordsAreShown(t *testing.T) {
	s := scanner(t)
	password := random(mixed, 14)
	for address, shown := range map[string]bool{
		"postgres://shop:" + password + "@db.example.com:5432/shop": true, "mongodb+srv://root:" + password + "@cluster0.example.net/": true,
		"https://bot:" + password + "@git.example.com/x.git": true, "redis://a:" + password + "@[::1]:6379": true,
		"https://example.com/a:b@c": false, "postgres://user:password@localhost/db": false, "https://user:${PASSWORD}@example.com": false,
		"https://user:<your-token>@example.com": false, "postgres://shop:my-password-1@localhost": false, "git@github.com:loomrun/loom.git": false,
		"see http://a.example:8080 and mail a@b.example": false, "postgres://postgres:postgres@db": false,
	} {
		found := lines(s.Scan([]patchscan.File{added("conf.yaml", "url: "+address+"\n")}, nil, nil))
		if strings.Contains(found, "maybe-secret") != shown || strings.Contains(found, password) {
			t.Errorf("%s: %q, want it shown: %t", address, found, shown)
		}
	}
}

// A message has no key that the rules know the form of, and is otherwise as it was.
func TestREAL09_AMessageHasNoKeys(t *testing.T) {
	s := scanner(t)
	for id, key := range keys() {
		if got, want := s.Blotted("fix: do not log "+key+" twice\n\nIt was\n"+key+"\nand more"), "fix: do not log [a key: "+id+"] twice\n\nIt was\n[a key: "+id+"]\nand more"; got != want {
			t.Errorf("%s: %q, want %q", id, got, want)
		}
	}
	for _, text := range []string{"", "fix: the total of 50.00", "password = \"" + random(mixed, 32) + "\"", "ä\xff"} {
		if got := s.Blotted(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}
