//go:build !linux || !(amd64 || arm64)

package probe

import (
	"context"

	"github.com/loomrun/loom/internal/base/fault"
)

type bait struct{}

// All returns the probes; there are none for this system.
func All() []Probe { return nil }

func run(context.Context) ([]Result, error) {
	return nil, fault.New("sandbox/unavailable", "there is no sandbox on this system")
}
