package probe

import (
	"context"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/place/sandbox"
)

// Probe is one try to get out.
type Probe struct {
	// Name is its own, in kebab-case.
	Name string
	// Promise is the one that a success would break: P11, P12 or P13.
	Promise string
	// Control says that it succeeds where there is no sandbox.
	Control bool

	try func(b *bait) error // nil: it got through
}

// Result is how a probe went.
type Result struct {
	Name    string `json:"name"`
	Promise string `json:"promise"`
	// Refused says that the sandbox held.
	Refused bool `json:"refused"`
	// Why is the reason of the refusal, or what was got.
	Why string `json:"why"`
}

// Run tries all probes in a sandbox and returns how each went, and as the last
// whether the bait was left alone. It takes a second or two.
//
// It returns sandbox/unavailable where there is no sandbox, and the error of
// ctx if that ends first.
func Run(ctx context.Context) ([]Result, error) {
	if r := sandbox.Check(); len(r.Missing) > 0 {
		return nil, fault.New("sandbox/unavailable", "there is no sandbox to try: %s", r.Missing[0])
	}
	return run(ctx)
}

// Escaped returns those that got through.
func Escaped(results []Result) []Result {
	var list []Result
	for _, r := range results {
		if !r.Refused {
			list = append(list, r)
		}
	}
	return list
}
