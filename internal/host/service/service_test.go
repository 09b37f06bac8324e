package service_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/host/service"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// A request that a stopping host breaks off is refused as such, so that who follows the
// journal waits for the next start; what fails by itself stays an error of Loom's own.
func TestMSG01_WhatAStoppingHostBreaksOffIsAskedAgain(t *testing.T) {
	stopped, stop := context.WithCancel(t.Context())
	stop()
	for _, tt := range []struct {
		name string
		ctx  context.Context
		err  error
		want string
	}{
		{"broken off", stopped, fmt.Errorf("page: %w", context.Canceled), "host/stopping"},
		{"another request was cancelled", t.Context(), context.Canceled, "internal/error"},
		{"a failure while it stops", stopped, errors.New("disk"), "internal/error"},
		{"a refusal while it stops", stopped, fault.New("bead/unknown", "no such bead"), "bead/unknown"},
	} {
		h := service.Asked(func(context.Context, *loomv1.Query) (*loomv1.View, error) { return nil, tt.err })
		if got := h(tt.ctx, service.Call{}).(*loomv1.View).GetError().GetCode(); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
