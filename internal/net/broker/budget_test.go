package broker

import (
	"testing"
	"time"
)

func TestSEC01_ABudgetOfLines(t *testing.T) {
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	b := newBudget(2, time.Minute)
	b.now = func() time.Time { return now }
	for i, tt := range []struct {
		after time.Duration
		held  int
		ok    bool
	}{
		{0, 0, true},
		{0, 0, true},
		{0, 0, false},
		{time.Minute - 1, 0, false},
		{1, 2, true}, // a minute after the first
		{0, 0, true},
		{0, 0, false},
		{-time.Hour, 1, true}, // the clock was set back: nobody waits for it
	} {
		now = now.Add(tt.after)
		if held, ok := b.take(); held != tt.held || ok != tt.ok {
			t.Errorf("line %d: %d held back, %t; want %d, %t", i+1, held, ok, tt.held, tt.ok)
		}
	}
}
