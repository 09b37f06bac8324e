package hosting

import (
	"math"

	"github.com/spf13/pflag"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/host"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// projectLimits are what each project that is named may spend, as flags say it.
type projectLimits struct {
	tokens int64
	usd    float64
}

func (l *projectLimits) flags(f *pflag.FlagSet) {
	f.Int64Var(&l.tokens, "project-tokens", 0, "at most `N` tokens for all work of a project")
	f.Float64Var(&l.usd, "project-usd", 0, "at most so many `DOLLARS` for all work of a project")
	for _, name := range []string{"project-tokens", "project-usd"} {
		_ = f.MarkHidden(name) // docs/operating.md says what they are
	}
}

func (l *projectLimits) fill(c *host.Config) error {
	const most = 1e12
	if l.tokens < 0 || l.tokens > most || !(l.usd >= 0 && l.usd <= most/1e6) {
		return fault.New("usage/argument", "not an amount that a project may spend").At("--project-tokens, --project-usd").Want("0 (no limit) or more")
	}
	if l.tokens > 0 || l.usd > 0 {
		c.Budget = &loomv1.Budget{Tokens: l.tokens, MicroUsd: int64(math.Round(l.usd * 1e6))}
	}
	return nil
}
