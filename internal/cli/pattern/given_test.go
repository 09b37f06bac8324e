package pattern

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/core/intent"
	"github.com/loomrun/loom/internal/net/ceokey"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func said(number uint32, about loomv1.IntentField, text string) *loomv1.IntentAnswer {
	return &loomv1.IntentAnswer{Number: number, About: about, Text: text}
}

func quote(answer uint32, text string) *loomv1.Quotation {
	return &loomv1.Quotation{Answer: answer, Text: text}
}

// The CEO's key signs without a question what quotes all that the file says, and no less.
func TestPAT02_OnlyWhatTheFileSaysIsSignedUnasked(t *testing.T) {
	given := map[loomv1.IntentField][]string{
		intent.Goal:        {"Tidy the orders"},
		intent.Constraints: {"Do not delete old orders", "No downtime"},
	}
	answers := []*loomv1.IntentAnswer{
		said(1, intent.Goal, "Tidy the orders"), said(2, intent.Constraints, "Do not delete old orders"), said(3, intent.Constraints, "No downtime"),
	}
	goal := []*loomv1.Quotation{quote(1, "Tidy the orders")}
	all := []*loomv1.Quotation{quote(3, "No downtime"), quote(2, "Do not delete old orders")}
	for name, c := range map[string]struct {
		e    *loomv1.IntentEnvelope
		want []string
	}{
		"all": {e: &loomv1.IntentEnvelope{Answers: answers, Goal: goal, Constraints: all}},
		"a part": {
			&loomv1.IntentEnvelope{Answers: answers, Goal: goal, Constraints: []*loomv1.Quotation{quote(2, "delete old orders"), quote(3, "No downtime")}},
			[]string{
				`constraints quotes "delete old orders", which is not the whole of an answer about it`,
				`constraints does not have all of answer 2: "Do not delete old orders"`,
			},
		},
		"one of two": {
			&loomv1.IntentEnvelope{Answers: answers, Goal: goal, Constraints: all[1:]},
			[]string{`constraints does not have all of answer 3: "No downtime"`},
		},
		"of another field": {
			&loomv1.IntentEnvelope{Answers: answers, Goal: append(goal, quote(3, "No downtime")), Constraints: all},
			[]string{`goal quotes "No downtime", which is not the whole of an answer about it`},
		},
		"twice": {
			&loomv1.IntentEnvelope{Answers: answers, Goal: append(goal, goal...), Constraints: all},
			[]string{`goal quotes "Tidy the orders", which is not the whole of an answer about it`},
		},
		"more than the file": {
			&loomv1.IntentEnvelope{Answers: append(answers, said(4, intent.Scope, "June")), Goal: goal, Constraints: all, Scope: []*loomv1.Quotation{quote(4, "June")}},
			[]string{`answer 4, about scope, is not in the file`},
		},
	} {
		if diff := cmp.Diff(c.want, notGiven(c.e, given)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Who looks at a session sees, as whoever seals it does, where a model quotes a part alone.
func TestPAT02_ASessionShowsAPartOfAnAnswer(t *testing.T) {
	answers := []*loomv1.IntentAnswer{said(1, intent.Constraints, "Do not delete old orders")}
	var out strings.Builder
	sessionText(&out, &loomv1.PatternSession{Id: "s1", Answers: answers, Shown: &loomv1.IntentDrafted{Envelope: &loomv1.IntentEnvelope{
		Answers: answers, Constraints: []*loomv1.Quotation{quote(1, "delete old orders")},
	}}})
	if want := "\n!  constraints quotes \"delete old orders\""; !strings.Contains(out.String(), want) {
		t.Errorf("shown is\n%s\nwant %q", out.String(), want)
	}
}

// What a model left out of an envelope is told to whoever would sign it, who is asked.
func TestPAT02_WhoSignsIsAskedAboutAPartOfAnAnswer(t *testing.T) {
	var out strings.Builder
	a := New(&console.Console{In: strings.NewReader("l\n"), Out: &out, Err: io.Discard})
	talk := a.talk(nil, "shop", map[loomv1.IntentField][]string{intent.Constraints: {"Do not delete old orders"}})
	talk.by = &signer{key: &ceokey.Key{}}
	answers := []*loomv1.IntentAnswer{said(1, intent.Constraints, "Do not delete old orders")}
	talk.s = &loomv1.PatternSession{Answers: answers, Shown: &loomv1.IntentDrafted{Envelope: &loomv1.IntentEnvelope{
		Answers: answers, Constraints: []*loomv1.Quotation{quote(1, "delete old orders")},
	}}}
	if err := talk.seal(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("the seal: %v, want that it is left for now", err)
	}
	for _, want := range []string{"\nthe envelope differs from the file:\n  constraints quotes \"delete old orders\"", "\nSeal it?"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("shown is\n%s\nwant %q", out.String(), want)
		}
	}
}
