package provider_test

import (
	"context"
	"testing"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/modeltest"
	"github.com/loomrun/loom/internal/agents/model/provider"
	"github.com/loomrun/loom/internal/agents/model/wire"
	"github.com/loomrun/loom/internal/base/fault"
)

// What one model was told about a key holds for all that use it.
func TestF14_AKeysLimitIsShared(t *testing.T) {
	s := modeltest.OpenAI(t, replies(refuse(429, limited, "Retry-After", "120"))())
	gates := &wire.Gates{}
	ask := func(spec, key string) error {
		env := map[string]string{"OPENAI_BASE_URL": s.URL, "OPENAI_API_KEY": key}
		p, err := provider.Config{Env: func(name string) string { return env[name] }, Gates: gates}.Open(spec)
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.Ask(context.Background(), conversation(), nil)
		return err
	}
	for i, tt := range []struct {
		spec, key string
		asked     int
	}{{"openai:a", "k1", 1}, {"openai:b", "k1", 1}, {"openai:a", "k2", 2}} {
		err := ask(tt.spec, tt.key)
		if _, ok := model.RetryAt(err); !ok || fault.Code(err) != "model/rate-limited" || len(s.Asked()) != tt.asked {
			t.Errorf("%d: %v, asked %d times; want model/rate-limited after %d", i, err, len(s.Asked()), tt.asked)
		}
	}
}

// A server that says how much is left is not asked for more.
func TestF14_WhatIsLeftIsKept(t *testing.T) {
	script := replies(modeltest.Reply{Text: "good", Headers: map[string]string{
		"X-Ratelimit-Limit-Requests": "2", "X-Ratelimit-Remaining-Requests": "0", "X-Ratelimit-Reset-Requests": "2m0s",
	}})
	each(t, "F14 left", quick, script, func(t *testing.T, s *modeltest.Server, p model.Provider) {
		if _, err := p.Ask(context.Background(), conversation(), nil); err != nil {
			t.Fatal(err)
		}
		_, err := p.Ask(context.Background(), conversation(), nil)
		if fault.Code(err) != "model/rate-limited" || len(s.Asked()) != 1 {
			t.Errorf("%v, asked %d times; want model/rate-limited and one request", err, len(s.Asked()))
		}
	})
}

// A server that stays overloaded is one to come back to.
func TestF14_OverloadedForLong(t *testing.T) {
	each(t, "F14 overloaded", quick, replies(refuse(529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`)),
		func(t *testing.T, s *modeltest.Server, p model.Provider) {
			_, err := p.Ask(context.Background(), conversation(), nil)
			if _, ok := model.RetryAt(err); !ok || len(s.Asked()) != 5 {
				t.Errorf("%v, asked %d times; want model/rate-limited after 5", err, len(s.Asked()))
			}
		})
}
