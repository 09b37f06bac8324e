package provider_test

import (
	"context"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/modeltest"
	"github.com/loomrun/loom/internal/base/fault"
)

func gemini(t *testing.T, name string, replies ...modeltest.Reply) (*modeltest.Server, model.Provider) {
	t.Helper()
	s := modeltest.Google(t, modeltest.Sequence(replies...))
	return s, open(t, "google:"+name, quick, map[string]string{"GOOGLE_BASE_URL": s.URL, "GOOGLE_API_KEY": key})
}

// What Google says of an error stands in details, not in headers.
func TestF14_GoogleSaysHowLongToWait(t *testing.T) {
	s, p := gemini(t, "gemini-3-test", refuse(429, `{"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED","details":[
		{"@type":"type.googleapis.com/google.rpc.QuotaFailure"},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"90.5s"}]}}`))
	_, err := p.Ask(context.Background(), conversation(), nil)
	at, _ := model.RetryAt(err)
	if wait := time.Until(at); fault.Code(err) != "model/rate-limited" || wait < 80*time.Second || wait > 95*time.Second || len(s.Asked()) != 1 {
		t.Errorf("told to wait 90.5 s: %v, again in %v, asked %d times; want to be told at once", err, wait, len(s.Asked()))
	}
}

func TestAGENT02_GoogleRefusals(t *testing.T) {
	for _, tt := range []struct {
		name  string
		reply modeltest.Reply
		code  string
		mends bool // by the operator
	}{
		{"unknown key", refuse(400, `{"error":{"code":400,"message":"API key not valid","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}`), "model/key-refused", true},
		{"bad request", refuse(400, `{"error":{"code":400,"message":"too many tokens","status":"INVALID_ARGUMENT"}}`), "model/refused", false},
		{"blocked prompt", modeltest.Reply{Raw: "data: {\"promptFeedback\":{\"blockReason\":\"SAFETY\"}}\n\n"}, "model/refused", false},
		{"malformed call", modeltest.Reply{Raw: "data: {\"candidates\":[{\"finishReason\":\"MALFORMED_FUNCTION_CALL\"}]}\n\n"}, "model/invalid-output", false},
		{"no such model in the stream", modeltest.Reply{Raw: "data: {\"error\":{\"code\":404,\"message\":\"gone\",\"status\":\"NOT_FOUND\"}}\n\n"}, "model/unknown", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, p := gemini(t, "gemini-3-test", tt.reply)
			_, err := p.Ask(context.Background(), conversation(), nil)
			if fault.Code(err) != tt.code || (model.Remedy(err) != "") != tt.mends {
				t.Errorf("%v, to be mended by %q; want %s, %t", err, model.Remedy(err), tt.code, tt.mends)
			}
		})
	}
}

// Models before Gemini 3 know no signatures and are sent none.
func TestAGENT02_GoogleSignaturesWhereTheyAreAsked(t *testing.T) {
	for _, name := range []string{"gemini-2.5-test", "gemini-3-test"} {
		_, p := gemini(t, name, good)
		if r, err := p.Ask(context.Background(), conversation(), nil); err != nil || r.Text != "good" {
			t.Errorf("%s: %v, %v; want good", name, r, err)
		}
	}
}

// Reasoning is no part of an answer.
func TestAGENT02_GoogleThoughtsAreLeftOut(t *testing.T) {
	_, p := gemini(t, "gemini-3-test", modeltest.Reply{Thinking: "hm", Text: "yes"})
	r, err := p.Ask(context.Background(), conversation(), nil)
	if err != nil || r.Text != "yes" || r.Model != "gemini-fake" {
		t.Errorf("%+v, %v; want yes from gemini-fake", r, err)
	}
}
