package means

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/models"
	"github.com/loomrun/loom/internal/host"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// What work may spend where nobody has said anything else. A script and a recording
// cost nothing, and have no limit.
const (
	beadUSD, beadTokens = 20, 20_000_000
	dayUSD, dayTokens   = 100, 100_000_000
)

// limit is one budget as two flags say it, NAME-tokens and NAME-usd.
type limit struct {
	name   string
	flags  *pflag.FlagSet
	tokens int64
	usd    float64
}

// add adds the two flags; of says what the budget is for.
func (l *limit) add(f *pflag.FlagSet, name, of string, tokens int64, usd float64) {
	l.name, l.flags = name, f
	f.Int64Var(&l.tokens, name+"-tokens", tokens, "at most `N` tokens for "+of+"; 0 is no limit")
	f.Float64Var(&l.usd, name+"-usd", usd, "at most so many `DOLLARS` for "+of+"; 0 is no limit")
	Hide(f, name+"-tokens", name+"-usd")
}

// budget returns what the flags say, nil for no limit. Without paid, defaults are none.
func (l *limit) budget(paid bool) (*loomv1.Budget, error) {
	const most = 1e12
	if l.usd > 0 && l.usd < 1e-6 {
		return nil, fault.New("usage/argument", "too small an amount").At("--" + l.name + "-usd").Got(fmt.Sprint(l.usd)).Want("0 (no limit), or at least 0.000001")
	}
	if l.tokens < 0 || l.tokens > most {
		return nil, fault.New("usage/argument", "not an amount that work may spend").At("--" + l.name + "-tokens").Got(strconv.FormatInt(l.tokens, 10)).Want("0 (no limit) or more")
	}
	if !(l.usd >= 0 && l.usd <= most/1e6) {
		return nil, fault.New("usage/argument", "not an amount that work may spend").At("--" + l.name + "-usd").Got(fmt.Sprint(l.usd)).Want("0 (no limit) or more")
	}
	b := &loomv1.Budget{}
	if paid || l.flags.Changed(l.name+"-tokens") {
		b.Tokens = l.tokens
	}
	if paid || l.flags.Changed(l.name+"-usd") {
		b.MicroUsd = int64(math.Round(l.usd * 1e6))
	}
	if b.Tokens == 0 && b.MicroUsd == 0 {
		return nil, nil
	}
	return b, nil
}

// budgets are what work may spend: all work of each project that is named, each bead,
// and all work of a project on one day.
type budgets struct{ project, bead, day limit }

func (b *budgets) add(f *pflag.FlagSet) {
	b.project.add(f, "project", "all work of a project", 0, 0)
	b.bead.add(f, "bead", "each bead without a budget of its own", beadTokens, beadUSD)
	b.day.add(f, "day", "all work of a project on one day (UTC)", dayTokens, dayUSD)
}

// fill puts them into a configuration whose models are known.
func (b *budgets) fill(c *host.Config) error {
	paid := paid(c)
	var errs [3]error
	c.Budget, errs[0] = b.project.budget(paid)
	c.BeadBudget, errs[1] = b.bead.budget(paid)
	c.DayBudget, errs[2] = b.day.budget(paid)
	return fault.Join(slices.Concat(fault.All(errs[0]), fault.All(errs[1]), fault.All(errs[2])))
}

// paid says whether a model of a host is one that is asked, and not a stand-in.
func paid(c *host.Config) bool {
	asked := func(m model.Provider) bool {
		_, none := m.(model.None)
		return m != nil && !none && models.StandIn(m) == ""
	}
	return asked(c.Model) || slices.ContainsFunc(slices.Collect(maps.Values(c.Models)), asked)
}

// Limit gives a host whose models are known the limits that hold where no flag says
// anything.
func Limit(c *host.Config) {
	if paid(c) {
		c.BeadBudget = &loomv1.Budget{Tokens: beadTokens, MicroUsd: beadUSD * 1e6}
		c.DayBudget = &loomv1.Budget{Tokens: dayTokens, MicroUsd: dayUSD * 1e6}
	}
}

// LimitsText says in a line what work may spend, and "" where it costs nothing and
// nothing bounds it.
func LimitsText(c *host.Config) string {
	var said []string
	for _, one := range []struct {
		b  *loomv1.Budget
		of string
	}{{c.BeadBudget, "a bead"}, {c.DayBudget, "a project and day (UTC)"}, {c.Budget, "a project in all"}} {
		if text := amountText(one.b); text != "" {
			said = append(said, text+" for "+one.of)
		}
	}
	switch {
	case len(said) > 0:
		return "at most " + strings.Join(said, ", ") + "; beyond that you are asked"
	case paid(c):
		return "nothing bounds what is spent (--bead-usd, --day-usd, --project-usd do)"
	}
	return ""
}

func amountText(b *loomv1.Budget) string {
	var said []string
	if b.GetMicroUsd() > 0 {
		said = append(said, fmt.Sprintf("%g USD", float64(b.MicroUsd)/1e6))
	}
	if n := b.GetTokens(); n > 0 && n%1e6 == 0 {
		said = append(said, fmt.Sprintf("%dM tokens", n/1e6))
	} else if n > 0 {
		said = append(said, fmt.Sprintf("%d tokens", n))
	}
	return strings.Join(said, " and ")
}
