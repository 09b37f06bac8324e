package agent

import (
	"context"
	"errors"
	"testing"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// A change that has landed is told also where its attempt was ended meanwhile; whatever
// else was under way is not.
func TestLOCK02_ALandingIsToldWhoeverEndsTheAttempt(t *testing.T) {
	landed := &loomv1.Outcome{Landing: &loomv1.Landing{Commit: "abc"}}
	for _, tt := range []struct {
		name string
		out  *loomv1.Outcome
		err  error
		told bool
	}{
		{"landed", landed, nil, true},
		{"verified only", &loomv1.Outcome{Summary: "it passes"}, nil, false},
		{"broken off", nil, context.Canceled, false},
	} {
		ctx, end := context.WithCancel(t.Context())
		out, err := (&job{}).hold(ctx, &loomv1.LockClaim{Token: 7}, func(context.Context, uint64) (*loomv1.Outcome, error) {
			end() // the CEO closes the execution
			return tt.out, tt.err
		})
		if tt.told && (out != landed || err != nil) || !tt.told && (out != nil || !errors.Is(err, context.Canceled)) {
			t.Errorf("%s: %v, %v", tt.name, out, err)
		}
	}
}
