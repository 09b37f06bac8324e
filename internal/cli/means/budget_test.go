package means

import (
	"testing"

	"github.com/loomrun/loom/internal/host"
)

func TestBYD05_WhatAProjectMaySpend(t *testing.T) {
	for _, tt := range []struct {
		limits        budget
		tokens, money int64
		refused       bool
	}{
		{budget{}, 0, 0, false},
		{budget{tokens: 5}, 5, 0, false},
		{budget{usd: 2.5}, 0, 2_500_000, false},
		{budget{tokens: -1}, 0, 0, true},
		{budget{usd: -0.1}, 0, 0, true},
		{budget{usd: 2e6}, 0, 0, true},
	} {
		var c host.Config
		err := tt.limits.fill(&c)
		if (err != nil) != tt.refused || c.Budget.GetTokens() != tt.tokens || c.Budget.GetMicroUsd() != tt.money {
			t.Errorf("%+v: %v, %v", tt.limits, c.Budget, err)
		}
	}
}
