package redact_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/structpb"
	"pgregory.net/rapid"

	"github.com/loomrun/loom/internal/base/redact"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// However a text is cut into parts, what is told of it has no secret in any
// form, and nothing else is missing from it.
func TestP25_NoFormOfASecretIsLeftInParts(t *testing.T) {
	const secret = `sk-live"8f1c 5e0a\7d42`
	s := redact.Of([]string{"THE_SECRET=" + secret, "OTHER_TOKEN=sk-live-otherother"})
	rapid.Check(t, func(t *rapid.T) {
		for name, write := range written {
			text := "before " + write(secret) + " after sk-"
			stream, told := s.Stream(), ""
			for rest := text; rest != ""; {
				n := rapid.IntRange(1, min(len(rest), 30)).Draw(t, "part")
				told += stream.Text(rest[:n])
				rest = rest[n:]
			}
			if told += stream.End(); told != s.Text(text) {
				t.Fatalf("%s: %q becomes %q in parts and %q in one", name, text, told, s.Text(text))
			}
		}
	})
}

// A reader waits for no more than what may be the beginning of a secret.
func TestP25_AStreamGoesOn(t *testing.T) {
	s := redact.Of([]string{"THE_SECRET=sk-live-8f1c5e0a"}).Stream()
	if got := s.Text("The line ends. "); got != "The line ends. " {
		t.Errorf("%q is told", got)
	}
	if held, rest := s.Text("sk-live"), s.Text("-x "); held != "" || rest != "sk-live-x " {
		t.Errorf("%q is told, then %q", held, rest)
	}
	var none *redact.Secrets
	if got := none.Stream().Text("sk-"); got != "sk-" {
		t.Errorf("without secrets %q is told", got)
	}
}

func TestP25_MessagesAreClean(t *testing.T) {
	const secret = "sk-live-8f1c5e0a"
	s := redact.Of([]string{"THE_KEY=" + secret})
	values, err := structpb.NewStruct(map[string]any{"list": []any{"a " + secret, map[string]any{"of " + secret: true}}, "n": 7})
	if err != nil {
		t.Fatal(err)
	}
	m := &loomv1.Command{Project: secret, Body: &loomv1.Command_FileBead{FileBead: &loomv1.FileBead{Submission: &loomv1.Submission{
		Goal: "use " + secret, Labels: []string{"one", secret}, Context: values,
	}}}}
	before := proto.CloneOf(m)
	got := redact.Message(s, m, map[protoreflect.Name]bool{"project": true})
	if !proto.Equal(m, before) {
		t.Errorf("it was changed itself: %v", m)
	}
	if text := got.String(); got.Project != secret || strings.Count(text, secret) != 1 || strings.Count(text, "[redacted THE_KEY]") != 4 {
		t.Errorf("%s", text)
	}
	if again := redact.Message(s, got, map[protoreflect.Name]bool{"project": true}); again != got {
		t.Error("a clean message is copied")
	}
	r := &loomv1.ErrorReport{Message: "x", Attributes: map[string]string{"a": secret, secret: "b"}}
	if text := redact.Message(s, r, nil).String(); strings.Contains(text, secret) || strings.Count(text, "[redacted THE_KEY]") != 2 {
		t.Errorf("%s", text)
	}
	if got := redact.Message(s, (*loomv1.View)(nil), nil); got != nil {
		t.Errorf("nothing becomes %v", got)
	}
}
