package redact_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/loomrun/loom/internal/base/redact"
)

// A key in a header that was printed, and in the coding of a whole line.
func ExampleSecrets_Text() {
	s := redact.Of([]string{"OPENAI_API_KEY=sk-0123456789", "HOME=/srv/somebody", "SHORT_KEY=abc"})
	fmt.Println(s.Text("Authorization: Bearer sk-0123456789 of /srv/somebody, abc"))
	fmt.Println(s.Text(base64.StdEncoding.EncodeToString([]byte("user:sk-0123456789"))))
	fmt.Println(s.In("sk-0123\n456789"))
	// Output:
	// Authorization: Bearer [redacted OPENAI_API_KEY] of /srv/somebody, abc
	// dXNlcjp[redacted OPENAI_API_KEY]
	// [OPENAI_API_KEY]
}

// written are the ways in which a secret gets into texts.
var written = map[string]func(string) string{
	"as it is": func(s string) string { return s },
	"JSON": func(s string) string {
		data, err := json.Marshal(map[string]string{"k": s})
		if err != nil {
			panic(err)
		}
		return string(data)
	},
	"JSON in JSON": func(s string) string {
		data, err := json.Marshal(map[string]string{"arguments": strconv.Quote(s)})
		if err != nil {
			panic(err)
		}
		return string(data)
	},
	"base64":           func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	"base64, later":    func(s string) string { return base64.StdEncoding.EncodeToString([]byte("x" + s + "yz")) },
	"base64, later on": func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte("xy" + s + "z")) },
	"hexadecimal":      func(s string) string { return hex.EncodeToString([]byte("x" + s)) },
	"HEXADECIMAL":      func(s string) string { return strings.ToUpper(hex.EncodeToString([]byte(s))) },
	"query":            func(s string) string { return "?k=" + url.QueryEscape(s) },
	"path":             func(s string) string { return "/" + url.PathEscape(s) },
	"lines":            func(s string) string { return s[:3] + "\n" + s[3:5] + "\\\r\n  " + s[5:] },
	"base64, lines":    func(s string) string { return every(5, base64.StdEncoding.EncodeToString([]byte("x"+s+"yz"))) },
	"hex, lines":       func(s string) string { return every(7, hex.EncodeToString([]byte(s))) },
	"colours":          func(s string) string { return "\x1b[31m" + s[:4] + "\x1b[0m" + s[4:] + "\x1b[m" },
}

// every breaks a text into lines of n bytes, as base64 and xxd do.
func every(n int, text string) string {
	var lines []string
	for part := range slices.Chunk([]byte(text), n) {
		lines = append(lines, string(part))
	}
	return strings.Join(lines, "\n")
}

func TestP25_NoFormOfASecretIsLeft(t *testing.T) {
	value := rapid.StringMatching(`[!-.0-~][ -~]{5}[!-~]{2,60}`).Filter(func(s string) bool { return len(strings.TrimSpace(s)) >= redact.Shortest })
	rapid.Check(t, func(t *rapid.T) {
		secret := strings.TrimSpace(value.Draw(t, "secret"))
		s := redact.Of([]string{"THE_SECRET=" + secret, "OTHER_TOKEN=" + strings.Repeat("other", 3)})
		for name, write := range written {
			text := "before " + write(secret) + " after"
			clean := s.Text(text)
			if clean == text || len(s.In(text)) == 0 {
				t.Fatalf("%s: %q is found nowhere in %q", name, secret, text)
			}
			if len(secret) >= 12 && strings.Contains(clean, secret[2:]) {
				t.Fatalf("%s: most of %q is left in %q", name, secret, clean)
			}
			if again := s.Text(clean); again != clean {
				t.Fatalf("%s: %q becomes %q", name, clean, again)
			}
			if !strings.HasPrefix(clean, "before ") || !strings.HasSuffix(clean, " after") {
				t.Fatalf("%s: %q takes away more than the secret", name, clean)
			}
		}
	})
}

// A text that was cut in the middle of a secret ends before it.
func TestP25_NoHalfOfASecretIsLeft(t *testing.T) {
	s := redact.Of([]string{"THE_KEY=sk-live-0123456789abcdef"})
	for text, want := range map[string]string{
		`got "use sk-live-012345"..., want less`: `got "use [redacted THE_KEY]"..., want less`,
		"key sk-live-0123456789…":                "key [redacted THE_KEY]…",
		"like sk-live-...":                       "like sk-live-...",
		"func f(more ...string) { g(more...) }":  "func f(more ...string) { g(more...) }",
	} {
		if got := s.Text(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

// A text of nothing but marks, as a progress bar or whoever means harm writes
// it, is read in no time, however long the secrets are.
func TestP25_MarksCostNothing(t *testing.T) {
	var env []string
	for i := range 8 {
		env = append(env, fmt.Sprintf("K%d_KEY=%s", i, strings.Repeat(strconv.Itoa(i)+"x", 2000)))
	}
	text := strings.Repeat(".", 1<<20)
	if got := redact.Of(env).Text(text); got != text {
		t.Errorf("%d dots become %d bytes", len(text), len(got))
	}
}

// A value that is a word of what stands in its place is gone, too, for good.
func TestP25_WhatStandsInAPlaceIsNoSecret(t *testing.T) {
	for _, env := range []string{"MY_TOKEN=MY_TOKEN", "MY_TOKEN=redacted", "npm_password=password"} {
		_, value, _ := strings.Cut(env, "=")
		s := redact.Of([]string{env})
		clean := s.Text("is " + value)
		if again := s.Text(clean); again != clean || strings.Contains(clean, value) || clean == "is " {
			t.Errorf("with %s it becomes %q, then %q", env, clean, again)
		}
	}
}

func TestP25_WhatIsNoSecretStays(t *testing.T) {
	for _, env := range [][]string{nil, {"PATH=/usr/bin:/bin"}, {"API_KEY=short"}, {"API_KEY=" + strings.Repeat("x", redact.Longest+1)}, {"KEYS=12345678"}, {"SSH_KEY=/srv/keys/id"}} {
		s := redact.Of(env)
		for _, text := range []string{"", "/usr/bin:/bin short", "12345678 /srv/keys/id\n" + strings.Repeat("x", 5000)} {
			if got := s.Text(text); got != text || s.In(text) != nil {
				t.Errorf("%q with %.40q becomes %.80q", text, env, got)
			}
		}
	}
	if got := (*redact.Secrets)(nil).Text("x"); got != "x" {
		t.Errorf("without secrets x becomes %q", got)
	}
}

func TestP25_LogsAreClean(t *testing.T) {
	const secret = "sk-live-0123456789"
	var out bytes.Buffer
	log := slog.New(redact.Of([]string{"MY_KEY=" + secret}).Handler(slog.NewJSONHandler(&out, nil)))
	log = log.With("with", secret).WithGroup("group")
	log.Warn("said "+secret, "error", errors.New("refused "+secret), "struct", struct{ K string }{secret},
		slog.Group("inner", "url", "https://u:"+secret+"@example.org"), "n", 7)
	if text := out.String(); strings.Contains(text, secret) || strings.Count(text, "[redacted MY_KEY]") != 5 || !strings.Contains(text, `"n":7`) {
		t.Errorf("logged %s", text)
	}
}

// What this costs on 1 MiB of a program's text, with eight secrets.
func BenchmarkText(b *testing.B) {
	var env []string
	for i := range 8 {
		env = append(env, fmt.Sprintf("K%d_KEY=sk-%d-0123456789abcdefghij", i, i))
	}
	s := redact.Of(env)
	text := strings.Repeat("func (s *Secrets) add(name, value string) { return skip }\n", 1<<20/58)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		s.Text(text)
	}
}
