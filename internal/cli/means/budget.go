package means

import (
	"math"

	"github.com/spf13/pflag"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/host"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// budget is what each project that is named may spend, as flags say it.
type budget struct {
	tokens int64
	usd    float64
}

func (b *budget) flags(f *pflag.FlagSet) {
	f.Int64Var(&b.tokens, "project-tokens", 0, "at most `N` tokens for all work of a project")
	f.Float64Var(&b.usd, "project-usd", 0, "at most so many `DOLLARS` for all work of a project")
	Hide(f, "project-tokens", "project-usd")
}

func (b *budget) fill(c *host.Config) error {
	const most = 1e12
	if b.tokens < 0 || b.tokens > most || !(b.usd >= 0 && b.usd <= most/1e6) {
		return fault.New("usage/argument", "not an amount that a project may spend").At("--project-tokens, --project-usd").Want("0 (no limit) or more")
	}
	if b.tokens > 0 || b.usd > 0 {
		c.Budget = &loomv1.Budget{Tokens: b.tokens, MicroUsd: int64(math.Round(b.usd * 1e6))}
	}
	return nil
}
