package host

import (
	"fmt"
	"log/slog"
	"sync"

	"github.com/loomrun/loom/internal/agents/agent"
)

// brokenCalls are the model calls that were broken off because the host stops. Those
// that are broken off while it runs are logged.
type brokenCalls struct {
	log *slog.Logger

	mu    sync.Mutex
	stops bool
	list  []agent.BrokenCall
}

func (b *brokenCalls) stopping() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stops = true
}

func (b *brokenCalls) note(c agent.BrokenCall) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stops {
		b.list = append(b.list, c)
		return
	}
	b.log.Info("a model call was broken off", "attempt", c.Attempt, "model", c.Model, "tokens", c.Tokens, "micro_usd", c.MicroUSD, "known", c.Known)
}

// BrokenOff says, after Stop, which model calls that broke off, and what is counted as
// spent for them; "" where none was under way.
func (h *Host) BrokenOff() string {
	h.broken.mu.Lock()
	defer h.broken.mu.Unlock()
	return brokenText(h.broken.list)
}

func brokenText(list []agent.BrokenCall) string {
	var tokens, usd uint64
	assumed := 0
	for _, c := range list {
		tokens, usd = tokens+c.Tokens, usd+c.MicroUSD
		if !c.Known {
			assumed++
		}
	}
	n, calls, them := len(list), "1 model call was", "it"
	if n > 1 {
		calls, them = fmt.Sprintf("%d model calls were", n), "them"
	}
	why := ""
	switch {
	case n == 0:
		return ""
	case assumed == 0:
		why = "the prompt, and the most that can have been written by then"
	case assumed == n:
		why = fmt.Sprintf("all that was held back for %s, because only the provider knows what was used", them)
	default:
		why = fmt.Sprintf("of %d of them all that was held back, because only the provider knows what was used", assumed)
	}
	return fmt.Sprintf("%s broken off, and may be charged: up to %d tokens, %.6f USD count as spent, %s", calls, tokens, float64(usd)/1e6, why)
}
