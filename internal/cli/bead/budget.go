package bead

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// budgetFlags are what a bead may spend, as flags say it.
type budgetFlags struct {
	tokens int64
	usd    float64
	time   time.Duration
}

func (f *budgetFlags) add(cmd *cobra.Command) {
	s := cmd.Flags()
	s.Int64Var(&f.tokens, "budget-tokens", 0, "at most `N` tokens, prompts and answers together")
	s.Float64Var(&f.usd, "budget-usd", 0, "at most so many `DOLLARS`, for example 2.50")
	s.DurationVar(&f.time, "budget-time", 0, "at most this `TIME` of work, for example 2h")
}

// none is submit/negative-budget for a bound of nothing, with which nothing could be
// done: who wants no bound leaves it out.
func (f *budgetFlags) none(cmd *cobra.Command) error {
	for flag, value := range map[string]float64{"budget-tokens": float64(f.tokens), "budget-usd": f.usd, "budget-time": f.time.Seconds()} {
		if cmd.Flags().Changed(flag) && value == 0 {
			return fault.New("submit/negative-budget", "with this nothing can be done").At("--" + flag).Got(cmd.Flag(flag).Value.String()).Want("leave it out for none")
		}
	}
	return nil
}

// fill gives a budget what flags say that were given, and reports whether any
// was.
func (f *budgetFlags) fill(cmd *cobra.Command, b *loomv1.Budget) (bool, error) {
	any := false
	for _, v := range []struct {
		flag  string
		value float64
		set   func()
	}{
		{"budget-tokens", float64(f.tokens), func() { b.Tokens = f.tokens }},
		{"budget-usd", f.usd, func() { b.MicroUsd = int64(math.Round(f.usd * 1e6)) }},
		{"budget-time", f.time.Seconds(), func() { b.WallSeconds = int64(math.Ceil(f.time.Seconds())) }},
	} {
		switch {
		case !cmd.Flags().Changed(v.flag):
		case !(v.value >= 0 && v.value <= 1e12):
			return any, fault.New("submit/negative-budget", "not an amount to spend").At("--" + v.flag).Got(cmd.Flag(v.flag).Value.String()).Want("more than 0, and less than 1,000,000,000,000")
		case v.flag == "budget-usd" && v.value > 0 && v.value < 1e-6:
			return any, fault.New("submit/negative-budget", "too small an amount").At("--" + v.flag).Got(cmd.Flag(v.flag).Value.String()).Want("at least 0.000001")
		default:
			any = true
			v.set()
		}
	}
	return any, nil
}

// budgetText says what may be spent, or "".
func budgetText(b *loomv1.Budget) string {
	var parts []string
	if n := b.GetTokens(); n > 0 {
		parts = append(parts, fmt.Sprintf("%d tokens", n))
	}
	if n := b.GetMicroUsd(); n > 0 {
		parts = append(parts, fmt.Sprintf("%.2f dollars", float64(n)/1e6))
	}
	if n := b.GetWallSeconds(); n > 0 {
		parts = append(parts, (time.Duration(n) * time.Second).String())
	}
	return strings.Join(parts, ", ")
}
