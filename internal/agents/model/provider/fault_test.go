package provider_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/loomrun/loom/internal/base/longtest"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/modeltest"
	"github.com/loomrun/loom/internal/agents/model/wire"
	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func refuse(status int, body string, headers ...string) modeltest.Reply {
	r := modeltest.Reply{Status: status, Body: body, Headers: map[string]string{}}
	for i := 0; i < len(headers); i += 2 {
		r.Headers[headers[i]] = headers[i+1]
	}
	return r
}

var good = modeltest.Reply{Text: "good"}

const limited = `{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}`

func TestF14_RateLimit(t *testing.T) {
	each(t, "F14 passes", quick, replies(refuse(429, limited, "Retry-After-Ms", "1"), refuse(429, limited), good),
		func(t *testing.T, s *modeltest.Server, p model.Provider) {
			r, err := p.Ask(context.Background(), conversation(), nil)
			if err != nil || r.Text != "good" || len(s.Asked()) != 3 {
				t.Errorf("after two refusals: %v, %v, asked %d times; want good at the third", r, err, len(s.Asked()))
			}
		})
	each(t, "F14 stays", quick, replies(refuse(429, limited)),
		func(t *testing.T, s *modeltest.Server, p model.Provider) {
			_, err := p.Ask(context.Background(), conversation(), nil)
			at, ok := model.RetryAt(err)
			if fault.Code(err) != "model/rate-limited" || !ok || at.Before(time.Now()) || len(s.Asked()) != 5 {
				t.Errorf("always refused: %v, again at %v, asked %d times; want model/rate-limited after 5", err, at, len(s.Asked()))
			}
		})
	each(t, "F14 asks for long", quick, replies(refuse(429, limited, "Retry-After", "120")),
		func(t *testing.T, s *modeltest.Server, p model.Provider) {
			_, err := p.Ask(context.Background(), conversation(), nil)
			at, _ := model.RetryAt(err)
			if wait := time.Until(at); fault.Code(err) != "model/rate-limited" || wait < 110*time.Second || wait > 125*time.Second || len(s.Asked()) != 1 {
				t.Errorf("told to wait 120 s: %v, again in %v, asked %d times; want to be told at once", err, wait, len(s.Asked()))
			}
		})
}

// TestAGENT02_WhatTheOperatorMends has each provider refuse as its servers do when no
// agent and no second request can help.
func TestAGENT02_WhatTheOperatorMends(t *testing.T) {
	for _, tt := range []struct {
		name  string
		reply modeltest.Reply
		code  string
	}{
		{"a refused key", refuse(401, `{"error":{"type":"authentication_error","message":"invalid x-api-key"}}`), "model/key-refused"},
		{"a key without the right", refuse(403, `{"error":{"type":"permission_error","message":"not for you"}}`), "model/key-refused"},
		{"an empty account, at Anthropic", refuse(400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}`), "model/no-credit"},
		{"an empty account, at OpenAI", refuse(429, `{"error":{"message":"no credit","type":"insufficient_quota","code":"insufficient_quota"}}`), "model/no-credit"},
		{"an empty account, elsewhere", refuse(402, `{"error":{"message":"Insufficient Balance"}}`), "model/no-credit"},
		{"an empty account, at Google", refuse(403, `{"error":{"code":403,"message":"billing is off","status":"PERMISSION_DENIED","details":[{"reason":"BILLING_DISABLED"}]}}`), "model/no-credit"},
		{"no such model", refuse(404, `{"error":{"type":"not_found_error","message":"model: x"}}`), "model/unknown"},
	} {
		each(t, "AGENT02 "+tt.name, quick, replies(tt.reply), func(t *testing.T, s *modeltest.Server, p model.Provider) {
			_, err := p.Ask(context.Background(), conversation(), nil)
			if fault.Code(err) != tt.code || model.Remedy(err) == "" || len(s.Asked()) != 1 {
				t.Errorf("%v, to be mended by %q, asked %d times; want %s at once", err, model.Remedy(err), len(s.Asked()), tt.code)
			}
		})
	}
}

func TestF15_ServerTrouble(t *testing.T) {
	each(t, "F15 passes", quick, replies(refuse(500, "oops"), refuse(529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`), good),
		func(t *testing.T, s *modeltest.Server, p model.Provider) {
			r, err := p.Ask(context.Background(), conversation(), nil)
			if err != nil || r.Text != "good" {
				t.Errorf("after two 5xx: %v, %v, want good", r, err)
			}
		})
	each(t, "F15 stays", quick, replies(refuse(503, "oops")),
		func(t *testing.T, s *modeltest.Server, p model.Provider) {
			_, err := p.Ask(context.Background(), conversation(), nil)
			if fault.Code(err) != "model/unavailable" || !strings.Contains(err.Error(), "tried 5 times") || len(s.Asked()) != 5 {
				t.Errorf("always 503: %v, asked %d times; want model/unavailable after 5", err, len(s.Asked()))
			}
		})
}

// A stream that breaks is asked for again as the same request; what had come
// is void, and what it cost is not known.
func TestF15_BrokenStream(t *testing.T) {
	for name, kind := range map[string]modeltest.FailKind{
		"reset": modeltest.Reset, "hangup": modeltest.Hangup, "overrun": modeltest.Overrun,
	} {
		script := replies(modeltest.Reply{Text: "half of a long answer", Fail: 4, FailKind: kind}, good)
		each(t, "F15 "+name, quick, script, func(t *testing.T, s *modeltest.Server, p model.Provider) {
			seen := ""
			r, err := p.Ask(context.Background(), conversation(), func(c model.Chunk) {
				if c.Discard {
					seen = "void:"
				}
				seen += c.Text
			})
			if err != nil || r.Text != "good" || seen != "void:good" {
				t.Fatalf("answer %v, %v, seen %q; want good alone", r, err, seen)
			}
			if r.Usage.CostKnown || r.Usage.InputTokens < 2*model.Floor(conversation().Size()) {
				t.Errorf("usage %v, want both tries in it and no known cost", r.Usage)
			}
			h := s.Headers()
			if id := h[0].Get("Idempotency-Key"); id == "" || id != h[1].Get("Idempotency-Key") {
				t.Errorf("request ids %q and %q, want the same", id, h[1].Get("Idempotency-Key"))
			}
		})
	}
}

// A try that broke after it had begun costs what was counted of it, though not for sure:
// budgets count it.
func TestBYD05_F15_ABrokenTryIsNotFree(t *testing.T) {
	s := modeltest.Anthropic(t, modeltest.Sequence(modeltest.Reply{Text: "half of a long answer", Fail: 4, FailKind: modeltest.Reset}))
	p := open(t, "anthropic:claude-sonnet-4-5", quick, map[string]string{"ANTHROPIC_BASE_URL": s.URL})
	_, err := p.Ask(t.Context(), conversation(), nil)
	if u := model.UsageOf(err); err == nil || u.CostMicroUsd == 0 || u.CostKnown {
		t.Errorf("usage %v of %v, want a cost that is not known for sure", model.UsageOf(err), err)
	}
}

func TestF15_NobodyThere(t *testing.T) {
	h := httptest.NewServer(http.NotFoundHandler())
	h.Close()
	p := open(t, "openai:m", quick, map[string]string{"OPENAI_BASE_URL": h.URL})
	_, err := p.Ask(context.Background(), conversation(), nil)
	if fault.Code(err) != "model/unavailable" || !strings.Contains(err.Error(), "refused") {
		t.Errorf("nobody listens: %v, want model/unavailable that says so", err)
	}
}

func TestF16_SilenceAndTrickle(t *testing.T) {
	longtest.Skip(t)
	for name, kind := range map[string]modeltest.FailKind{"silence": modeltest.Silence, "trickle": modeltest.Trickle} {
		each(t, "F16 "+name, quick, replies(modeltest.Reply{Text: "half of a long answer", Fail: 4, FailKind: kind}),
			func(t *testing.T, s *modeltest.Server, p model.Provider) {
				_, err := p.Ask(context.Background(), conversation(), nil)
				if fault.Code(err) != "model/timeout" {
					t.Errorf("%v, want model/timeout", err)
				}
				if u := model.UsageOf(err); u.CostKnown || u.InputTokens == 0 {
					t.Errorf("usage of the broken try = %v, want a count and no known cost", u)
				}
				gone(t, s)
			})
	}
}

// gone waits until the server sees that the connection was closed.
func gone(t *testing.T, s *modeltest.Server) {
	t.Helper()
	select {
	case <-s.Gone():
	case <-time.After(2 * time.Minute):
		t.Error("the connection was not closed")
	}
}

func TestF16_TotalLimit(t *testing.T) {
	limits := wire.Limits{Total: 100 * time.Millisecond, Tries: 1 << 20, Patience: time.Millisecond}
	each(t, "F16", limits, replies(refuse(500, "oops")), func(t *testing.T, s *modeltest.Server, p model.Provider) {
		_, err := p.Ask(context.Background(), conversation(), nil)
		if fault.Code(err) != "model/timeout" || !strings.Contains(err.Error(), "within 100ms") {
			t.Errorf("trouble for ever: %v, want model/timeout after the total limit", err)
		}
	})
}

func TestF16_CancelClosesTheConnection(t *testing.T) {
	each(t, "F16", quick, replies(modeltest.Reply{Text: "half of a long answer", Fail: 4, FailKind: modeltest.Silence}),
		func(t *testing.T, s *modeltest.Server, p model.Provider) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			_, err := p.Ask(ctx, conversation(), func(model.Chunk) { cancel() })
			if !errors.Is(err, context.Canceled) {
				t.Errorf("after cancel: %v, want context.Canceled", err)
			}
			gone(t, s)
		})
}

func TestF17_Garbage(t *testing.T) {
	call := modeltest.Call
	huge := strings.Repeat("a", model.MaxText+1)
	for _, tt := range []struct {
		name  string
		reply modeltest.Reply
	}{
		{"arguments are no JSON", modeltest.Reply{Calls: []*loomv1.ToolCall{call("a", "shell", `{"command":`)}}},
		{"arguments are a list", modeltest.Reply{Calls: []*loomv1.ToolCall{call("a", "shell", `["ls"]`)}}},
		{"two values", modeltest.Reply{Calls: []*loomv1.ToolCall{call("a", "shell", `{} {}`)}}},
		{"two calls with one id", modeltest.Reply{Calls: []*loomv1.ToolCall{call("a", "shell", `{}`), call("a", "shell", `{}`)}}},
		{"no tool's name", modeltest.Reply{Calls: []*loomv1.ToolCall{call("a", "", `{}`)}}},
		{"a tool's name with a line break", modeltest.Reply{Calls: []*loomv1.ToolCall{call("a", "sh\nell", `{}`)}}},
		{"more than 1 MiB of text", modeltest.Reply{Text: huge}},
		{"more arguments than fit", modeltest.Reply{Calls: []*loomv1.ToolCall{call("a", "shell", `{"a":"`+huge[:model.MaxArguments]+`"}`)}}},
		{"nothing", modeltest.Reply{}},
		{"white space", modeltest.Reply{Text: " \n"}},
		{"a page", modeltest.Reply{Raw: "<html>log in</html>", Headers: map[string]string{"Content-Type": "text/html"}}},
		{"a value and no stream", modeltest.Reply{Raw: "{}", Headers: map[string]string{"Content-Type": "application/json"}}},
		{"half a chunk", modeltest.Reply{Raw: "event: message_start\ndata: {\"a\n\n"}},
	} {
		each(t, "F17 "+tt.name, quick, replies(tt.reply), func(t *testing.T, s *modeltest.Server, p model.Provider) {
			r, err := p.Ask(context.Background(), conversation(), nil)
			if fault.Code(err) != "model/invalid-output" || len(s.Asked()) != 1 {
				t.Errorf("answer %v, %v, asked %d times; want model/invalid-output at once", r, err, len(s.Asked()))
			}
		})
	}
}

func TestF17_TextIsMadeSound(t *testing.T) {
	each(t, "F17", quick, replies(modeltest.Reply{Text: "a\x00b"}), func(t *testing.T, s *modeltest.Server, p model.Provider) {
		r, err := p.Ask(context.Background(), conversation(), nil)
		if err != nil || r.Text != "a\uFFFDb" {
			t.Errorf("NUL in the text: %v, %v, want it replaced", r, err)
		}
	})
	for name, raw := range map[string]string{
		"anthropic": "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"a\xff\xfeb\"}}\n\n" +
			"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
		"google": "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\xff\xfeb\"}]},\"finishReason\":\"STOP\"}]}\n\n",
		"openai": "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\xff\xfeb\"},\"finish_reason\":\"stop\"}]}\n\n",
	} {
		t.Run("F17 UTF-8 "+name, func(t *testing.T) {
			for _, p := range protocols {
				if p.name != name {
					continue
				}
				s := p.start(t, modeltest.Sequence(modeltest.Reply{Raw: raw}))
				r, err := open(t, p.spec, quick, map[string]string{p.prefix + "_BASE_URL": s.URL}).Ask(context.Background(), conversation(), nil)
				if err != nil || !utf8.ValidString(r.Text) || !strings.HasPrefix(r.Text, "a") || !strings.HasSuffix(r.Text, "b") {
					t.Errorf("invalid UTF-8 in the text: %v, %v, want it replaced", r, err)
				}
			}
		})
	}
}

func TestF22_UsageThatLies(t *testing.T) {
	text := strings.Repeat("word ", 800) // 4000 bytes: at least 500 tokens
	for _, tt := range []struct {
		name       string
		reported   modeltest.Reported
		in, out    uint64 // at least
		exactInput bool
	}{
		{"nothing", modeltest.Reported{}, model.Floor(conversation().Size()), 500, true},
		{"negative", modeltest.Reported{Input: -5, CacheRead: -9, Output: -1}, model.Floor(conversation().Size()), 500, true},
		{"very much", modeltest.Reported{Input: 1 << 50, Output: 1 << 50}, 1 << 34, 1 << 34, true},
		{"plausible", modeltest.Reported{Input: 700, Output: 900}, 700, 900, true},
	} {
		each(t, "F22 "+tt.name, quick, replies(modeltest.Reply{Text: text, Reported: &tt.reported}),
			func(t *testing.T, s *modeltest.Server, p model.Provider) {
				r, err := p.Ask(context.Background(), conversation(), nil)
				if err != nil {
					t.Fatal(err)
				}
				if u := r.Usage; u.InputTokens != tt.in || u.OutputTokens < tt.out || u.CostKnown {
					t.Errorf("reported %+v, settled %v; want %d in and at least %d out", tt.reported, u, tt.in, tt.out)
				}
			})
	}
}

// A key goes where it belongs and into no error, and what a server says is cut.
func TestSEC02_KeysStayOutOfErrors(t *testing.T) {
	long := strings.Repeat("x", 5000)
	for _, tt := range []struct {
		name  string
		reply modeltest.Reply
		code  string
	}{
		{"refused key", refuse(401, `{"error":{"type":"authentication_error","message":"bad key `+key+` or sk-other-0123456789"}}`), "model/key-refused"},
		{"trouble", refuse(500, "you sent Bearer "+key+" "+long), "model/unavailable"},
		{"limit", refuse(429, `{"error":{"message":"`+long+key+`"}}`), "model/rate-limited"},
		{"no such model", refuse(404, `{"error":"no model for `+key+`"}`), "model/unknown"},
		{"bad request", refuse(400, `{"error":{"message":"`+key+long+`"}}`), "model/refused"},
		{"unreadable", modeltest.Reply{Raw: "event: message_start\ndata: " + key + "\n\n"}, "model/invalid-output"},
		{"control bytes", refuse(400, "a\x1b[31mb\x00c\r\nd"), "model/refused"},
	} {
		each(t, "SEC02 "+tt.name, quick, replies(tt.reply), func(t *testing.T, s *modeltest.Server, p model.Provider) {
			_, err := p.Ask(context.Background(), conversation(), nil)
			if fault.Code(err) != tt.code {
				t.Errorf("%v, want %s", err, tt.code)
			}
			said := err.Error() + fault.From(err).Proto().String()
			for _, secret := range []string{key, "0123456789", "\x1b"} {
				if strings.Contains(said, secret) {
					t.Errorf("the error holds %q: %s", secret, said)
				}
			}
			if len(err.Error()) > 320 {
				t.Errorf("the error has %d bytes: %s", len(err.Error()), err)
			}
			if h := s.Headers()[0]; h.Get("X-Api-Key") != key && h.Get("X-Goog-Api-Key") != key && h.Get("Authorization") != "Bearer "+key {
				t.Error("the key did not reach the server")
			}
		})
	}
}

// A server cannot send the key on to somebody else.
func TestSEC02_RedirectsAreNotFollowed(t *testing.T) {
	asked := make(chan struct{}, 10)
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked <- struct{}{} }))
	defer other.Close()
	each(t, "SEC02", quick, replies(refuse(307, "", "Location", other.URL)), func(t *testing.T, s *modeltest.Server, p model.Provider) {
		_, err := p.Ask(context.Background(), conversation(), nil)
		if fault.Code(err) != "model/refused" || len(asked) != 0 {
			t.Errorf("redirected: %v, the other server was asked %d times; want model/refused and nothing", err, len(asked))
		}
	})
}

func TestAGENT02_ModelDeclines(t *testing.T) {
	each(t, "AGENT02", quick, replies(modeltest.Reply{Text: "I", Stop: "refusal"}), func(t *testing.T, s *modeltest.Server, p model.Provider) {
		_, err := p.Ask(context.Background(), conversation(), nil)
		if fault.Code(err) != "model/refused" || len(s.Asked()) != 1 {
			t.Errorf("%v, asked %d times; want model/refused at once", err, len(s.Asked()))
		}
	})
}

func TestAGENT02_CutAtTheLimit(t *testing.T) {
	for _, reply := range []modeltest.Reply{
		{Text: "a beginning", Stop: model.StopLength},
		{Stop: model.StopLength}, // reasoning took it all
		{Text: "so", Calls: []*loomv1.ToolCall{modeltest.Call("a", "shell", `{}`)}, Stop: model.StopLength},
		{Calls: []*loomv1.ToolCall{modeltest.Call("a", "shell", `{}`)}, Stop: model.StopLength},
	} {
		each(t, "AGENT02", quick, replies(reply), func(t *testing.T, s *modeltest.Server, p model.Provider) {
			r, err := p.Ask(context.Background(), conversation(), nil)
			if err != nil || r.Stop != model.StopLength || r.Text != reply.Text || len(r.Calls) != 0 {
				t.Errorf("%v, %v; want %q, that it was cut, and no call", r, err, reply.Text)
			}
		})
	}
}
