package projection_test

import (
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"

	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	stories "github.com/loomrun/loom/test/play"
)

// TestAGENT05_CostsAddUp adds up lives in every way, and wants of each the sums
// that their events give, read one by one.
func TestAGENT05_CostsAddUp(t *testing.T) {
	longtest.Skip(t)
	for seed := range uint64(3) {
		p := play(t, 300+seed, 350)
		db := open(t, filled(t, []journal{p.journal(0)}))
		var calls, tokens, money uint64
		part := map[string]bool{} // beads that are worked on for another
		for _, e := range p.events {
			part[e.Bead] = part[e.Bead] || e.GetExecutionStarted().GetParent() != ""
			if a := e.GetModelAnswered().GetAnswer(); a != nil {
				calls, tokens, money = calls+1, tokens+a.Usage.GetInputTokens()+a.Usage.GetOutputTokens(), money+a.Usage.GetCostMicroUsd()
			}
		}
		for by := range loomv1.CostGroup_name {
			group := loomv1.CostGroup(by)
			list, total, err := db.Costs(t.Context(), &loomv1.CostRequest{By: group})
			if err != nil {
				t.Fatal(err)
			}
			sum := &loomv1.Cost{}
			for _, c := range list {
				if group == loomv1.CostGroup_COST_GROUP_TREE && part[c.Name] {
					t.Errorf("seed %d: %s stands by itself, and is worked on for another", seed, c.Name)
				}
				sum.Calls, sum.InputTokens, sum.CostMicroUsd, sum.Attempts = sum.Calls+c.Calls, sum.InputTokens+c.InputTokens+c.OutputTokens, sum.CostMicroUsd+c.CostMicroUsd, sum.Attempts+c.Attempts
			}
			if calls == 0 || sum.Calls != calls || sum.InputTokens != tokens || sum.CostMicroUsd != money || sum.Attempts != total.Attempts {
				t.Errorf("seed %d by %s: %v, of %d calls, %d tokens, %d; in all %v", seed, group, list, calls, tokens, money, total)
			}
			if (total.Attempts == 0) != (group == loomv1.CostGroup_COST_GROUP_MODEL) || total.Succeeded > total.Attempts {
				t.Errorf("seed %d by %s: attempts %v", seed, group, total)
			}
		}
		if list, _, err := db.Costs(t.Context(), &loomv1.CostRequest{Project: "other"}); err != nil || len(list) != 0 {
			t.Errorf("costs of another project: %v, %v", list, err)
		}
		if _, _, err := db.Costs(t.Context(), &loomv1.CostRequest{By: 99}); err == nil {
			t.Error("costs are added up by nothing that there is")
		}
	}
}

// TestAGENT05_CallsWithoutAnAnswerCost has calls of which one came to nothing and one was
// lost with its agent: they count for whom they were made, as they do for budgets.
func TestAGENT05_CallsWithoutAnAnswerCost(t *testing.T) {
	var j journal
	var used, all uint64
	shop := stories.Open("shop", 0, func(b *loomv1.Batch) {
		j = append(j, b)
		for _, e := range b.Events {
			if u := e.GetCallSettled().GetUsage(); u != nil {
				used += u.InputTokens
			}
		}
	})
	stories.Reserved(shop)
	shop.Flush()
	for _, x := range shop.State.Snapshot().Executions {
		all += x.GetUsage().GetInputTokens()
	}
	db := open(t, filled(t, []journal{j}))
	list, total, err := db.Costs(t.Context(), &loomv1.CostRequest{By: loomv1.CostGroup_COST_GROUP_ROLE})
	if err != nil {
		t.Fatal(err)
	}
	if used == 0 || total.InputTokens != all || total.InputTokens < used {
		t.Errorf("%d tokens cost, of %d that executions used, %d of them by calls without an answer", total.InputTokens, all, used)
	}
	if total.BrokenCalls == 0 || total.BrokenTokens != used-500 || total.BrokenTokens%2000 != 0 {
		t.Errorf("%d calls were broken off, with %d of %d tokens", total.BrokenCalls, total.BrokenTokens, used)
	}
	if len(list) != 1 || list[0].Name != "qa-engineer" {
		t.Errorf("by role: %v", list)
	}
}

// TestAGENT05_WhatIsNoAgentsDoing counts neither for nor against it: its host was
// stopped, or its work is no longer wanted. A host that broke down counts.
func TestAGENT05_WhatIsNoAgentsDoing(t *testing.T) {
	var j journal
	shop := stories.Open("shop", 0, func(b *loomv1.Batch) { j = append(j, b) })
	give := func(reason string) {
		b, who := shop.Claim("qa-engineer")
		shop.Do(&loomv1.Command{Actor: &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_AGENT, Name: who.Agent + "@" + who.Host}, Body: &loomv1.Command_ReleaseAttempt{
			ReleaseAttempt: &loomv1.ReleaseAttempt{Attempt: b.Attempt.Id, Claimant: who, Reason: reason},
		}})
	}
	reliable := func() (attempts, released uint64) {
		t.Helper()
		shop.Flush()
		_, total, err := open(t, filled(t, []journal{j})).Costs(t.Context(), &loomv1.CostRequest{By: loomv1.CostGroup_COST_GROUP_ROLE})
		if err != nil {
			t.Fatal(err)
		}
		return total.Attempts, total.Released
	}
	filed := shop.File(&loomv1.Submission{Goal: "mend it", Type: loomv1.BeadType_BEAD_TYPE_BUG})
	give(workflow.HostStops)
	shop.Claim("qa-engineer")
	shop.Order(&loomv1.CeoCommand{Verb: &loomv1.CeoCommand_Close{Close: &loomv1.CloseExecution{Execution: filed.Execution, Reason: "not wanted", Now: true}}})
	if attempts, released := reliable(); attempts != 0 || released != 0 {
		t.Errorf("a host that was stopped, and work that was closed, count as %d attempts, and %d taken away", attempts, released)
	}
	shop.File(&loomv1.Submission{Goal: "mend it", Type: loomv1.BeadType_BEAD_TYPE_BUG})
	give("host h1 is gone")
	if attempts, released := reliable(); attempts != 0 || released != 1 {
		t.Errorf("a host that broke down counts as %d attempts, and %d taken away, want none and one", attempts, released)
	}
}
