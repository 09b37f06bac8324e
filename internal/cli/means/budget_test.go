package means

import (
	"context"
	"testing"

	"github.com/spf13/pflag"
	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/host"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// costly is a model that nothing stands in for.
type costly struct{}

func (costly) Name() string   { return "openai:gpt-5" }
func (costly) Scripted() bool { return false }
func (costly) Ask(context.Context, *model.Request, func(model.Chunk)) (*model.Response, error) {
	return nil, nil
}

func TestBYD05_WhatWorkMaySpend(t *testing.T) {
	script := scripted.New("nothing", nil)
	usual := [3]*loomv1.Budget{nil, {Tokens: 20_000_000, MicroUsd: 20_000_000}, {Tokens: 100_000_000, MicroUsd: 100_000_000}}
	for _, tt := range []struct {
		name string
		c    host.Config
		args []string
		want [3]*loomv1.Budget // of the project, a bead, a day
		says string
	}{
		{
			"a model that costs",
			host.Config{Model: costly{}},
			nil, usual,
			"at most 20 USD and 20M tokens for a bead, 100 USD and 100M tokens for a project and day (UTC); beyond that you are asked",
		},
		{"a script", host.Config{Model: script}, nil, [3]*loomv1.Budget{}, ""},
		{"no model yet", host.Config{Model: model.None{}}, nil, [3]*loomv1.Budget{}, ""},
		{
			"a role's that costs",
			host.Config{Model: script, Models: map[string]model.Provider{"lead": costly{}}},
			nil, usual,
			"at most 20 USD and 20M tokens for a bead, 100 USD and 100M tokens for a project and day (UTC); beyond that you are asked",
		},
		{
			"a script with limits",
			host.Config{Model: script},
			[]string{"--project-usd=2.5", "--bead-tokens=5", "--day-usd=0"},
			[3]*loomv1.Budget{{MicroUsd: 2_500_000}, {Tokens: 5}, nil},
			"at most 5 tokens for a bead, 2.5 USD for a project in all; beyond that you are asked",
		},
		{
			"none",
			host.Config{Model: costly{}},
			[]string{"--bead-usd=0", "--bead-tokens=0", "--day-usd=0", "--day-tokens=0"},
			[3]*loomv1.Budget{},
			"nothing bounds what is spent (--bead-usd, --day-usd, --project-usd do)",
		},
		{
			"money alone",
			host.Config{Model: costly{}},
			[]string{"--bead-usd=0.5", "--bead-tokens=0"},
			[3]*loomv1.Budget{nil, {MicroUsd: 500_000}, usual[2]},
			"at most 0.5 USD for a bead, 100 USD and 100M tokens for a project and day (UTC); beyond that you are asked",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := filled(&tt.c, tt.args...); err != nil {
				t.Fatal(err)
			}
			for i, got := range []*loomv1.Budget{tt.c.Budget, tt.c.BeadBudget, tt.c.DayBudget} {
				if !proto.Equal(got, tt.want[i]) {
					t.Errorf("budget %d is %v, want %v", i, got, tt.want[i])
				}
			}
			if says := LimitsText(&tt.c); says != tt.says {
				t.Errorf("it says %q, want %q", says, tt.says)
			}
		})
	}
	for _, arg := range []string{"--project-tokens=-1", "--bead-usd=-0.1", "--day-usd=2e6", "--bead-usd=NaN", "--bead-usd=0.0000001", "--day-tokens=2000000000000"} {
		if err := filled(&host.Config{Model: costly{}}, arg); fault.Code(err) != "usage/argument" {
			t.Errorf("%s: %v", arg, err)
		}
	}
}

func filled(c *host.Config, args ...string) error {
	f := pflag.NewFlagSet("up", pflag.ContinueOnError)
	var b budgets
	b.add(f)
	if err := f.Parse(args); err != nil {
		return err
	}
	return b.fill(c)
}

// What holds where no flag says anything is the same for who has no flags.
func TestBYD05_LimitsOfADemo(t *testing.T) {
	var said, demo host.Config
	said.Model, demo.Model = costly{}, costly{}
	if err := filled(&said); err != nil {
		t.Fatal(err)
	}
	Limit(&demo)
	if !proto.Equal(said.BeadBudget, demo.BeadBudget) || !proto.Equal(said.DayBudget, demo.DayBudget) {
		t.Errorf("%v and %v, want %v and %v", demo.BeadBudget, demo.DayBudget, said.BeadBudget, said.DayBudget)
	}
}
