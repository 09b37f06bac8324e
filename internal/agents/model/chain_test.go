package model_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// link is a provider that answers, or fails with err.
type link struct {
	name     string
	scripted bool
	err      error
	saw      *model.Request
}

func (l *link) Name() string   { return l.name }
func (l *link) Scripted() bool { return l.scripted }
func (l *link) Ask(_ context.Context, r *model.Request, _ func(model.Chunk)) (*model.Response, error) {
	l.saw = r
	if l.err != nil {
		return nil, l.err
	}
	return &model.Response{Text: "from " + l.name, Usage: &loomv1.Usage{InputTokens: 10, CostKnown: true}}, nil
}

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func TestAGENT02_AChainGoesOnToWhoAnswers(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error // of the first
		next bool  // the second is asked
	}{
		{"it answers", nil, false},
		{"its server fails", fault.New("model/unavailable", "x"), true},
		{"it is too slow", fault.New("model/timeout", "x"), true},
		{"no such model", fault.New("model/unknown", "x"), true},
		{"the key is refused", fault.New("model/key-refused", "x"), true},
		{"over its rate limit", model.RateLimited("a", noon, ""), true},
		{"the request is refused", fault.New("model/refused", "x"), false},
		{"an answer of no use, which is paid for", model.Spent(fault.New("model/invalid-output", "x"), &loomv1.Usage{InputTokens: 3}), false},
	} {
		a, b := &link{name: "a", err: tt.err}, &link{name: "b", scripted: true}
		chain := model.Chain(a, b)
		resp, err := chain.Ask(context.Background(), &model.Request{}, nil)
		switch {
		case (b.saw != nil) != tt.next:
			t.Errorf("%s: the next was asked: %t, want %t", tt.name, b.saw != nil, tt.next)
		case tt.next && (err != nil || resp.By != "b" || !resp.Scripted || resp.Text != "from b"):
			t.Errorf("%s: %v, %v; want b's answer", tt.name, resp, err)
		case !tt.next && tt.err == nil && (err != nil || resp.By != "a" || resp.Scripted):
			t.Errorf("%s: %v, %v; want a's answer", tt.name, resp, err)
		case !tt.next && tt.err != nil && fault.Code(err) != fault.Code(tt.err):
			t.Errorf("%s: %v, want %v", tt.name, err, tt.err)
		}
	}
}

func TestAGENT02_AChainSettlesWhatAllUsed(t *testing.T) {
	broken := model.Spent(fault.New("model/unavailable", "x"), &loomv1.Usage{InputTokens: 7})
	resp, err := model.Chain(&link{name: "a", err: broken}, &link{name: "b"}).Ask(context.Background(), &model.Request{}, nil)
	if err != nil || resp.Usage.InputTokens != 17 || resp.Usage.CostKnown {
		t.Errorf("usage %v, %v; want 17 tokens of unknown price", resp, err)
	}
	_, err = model.Chain(&link{err: broken}, &link{err: broken}).Ask(context.Background(), &model.Request{}, nil)
	if u := model.UsageOf(err); u.InputTokens != 14 || u.CostKnown {
		t.Errorf("usage %v without an answer, want 14 tokens of unknown price", u)
	}
}

// Where one of them will answer later, the work waits for the first that does.
func TestF14_AChainOfLimits(t *testing.T) {
	soon, late := noon.Add(time.Minute), noon.Add(time.Hour)
	down := fault.New("model/unavailable", "x")
	for _, errs := range [][]error{
		{model.RateLimited("a", late, ""), model.RateLimited("b", soon, "")},
		{model.RateLimited("a", soon, ""), model.RateLimited("b", late, "")},
		{model.RateLimited("a", soon, ""), down},
		{down, model.RateLimited("a", soon, "")},
	} {
		_, err := model.Chain(&link{err: errs[0]}, &link{err: errs[1]}).Ask(context.Background(), &model.Request{}, nil)
		if at, ok := model.RetryAt(err); !ok || !at.Equal(soon) {
			t.Errorf("after %v: again at %s (%v), want %s", errs, at, err, soon)
		}
	}
}

// Signed reasoning goes back to whom it is from, and to nobody else.
func TestAGENT02_AChainKeepsReasoningApart(t *testing.T) {
	a, b := &link{name: "a", err: errors.Join(fault.New("model/unavailable", "x"))}, &link{name: "b"}
	r := &model.Request{Messages: []model.Message{
		{Role: model.RoleAssistant, Text: "1", Opaque: []byte("of a"), By: "a"},
		{Role: model.RoleAssistant, Text: "2", Opaque: []byte("of b"), By: "b"},
	}}
	if _, err := model.Chain(a, b).Ask(context.Background(), r, nil); err != nil {
		t.Fatal(err)
	}
	seen := func(r *model.Request) string {
		return string(r.Messages[0].Opaque) + "," + string(r.Messages[1].Opaque)
	}
	if seen(a.saw) != "of a," || seen(b.saw) != ",of b" || seen(r) != "of a,of b" {
		t.Errorf("a saw %q, b saw %q, and %q is left", seen(a.saw), seen(b.saw), seen(r))
	}
}

func TestAGENT02_AChainHasTheNamesOfAll(t *testing.T) {
	a, b := &link{name: "a", scripted: true}, &link{name: "b"}
	if c := model.Chain(a, b); c.Name() != "a,b" || c.Scripted() {
		t.Errorf("%q, scripted %t; want a,b, which is no script", c.Name(), c.Scripted())
	}
	if c := model.Chain(a); c != model.Provider(a) || strings.Contains(c.Name(), ",") {
		t.Errorf("a chain of one is %v, want that one", c)
	}
}
