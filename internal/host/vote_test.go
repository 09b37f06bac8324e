package host_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/internal/core/turn"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// council is a policy of a team that puts a question to the vote: the lead opens
// it, and each voter answers for its role.
func council(r *model.Request) (*model.Response, error) {
	prompt := r.Messages[0].Text
	calls := 0
	for _, m := range r.Messages {
		calls += len(m.Calls)
	}
	say := func(tool, arguments string) (*model.Response, error) {
		return &model.Response{Text: "so be it", Stop: model.StopTools, Calls: []*loomv1.ToolCall{{Tool: tool, Arguments: arguments}}}, nil
	}
	if strings.Contains(prompt, "node: vote") {
		option := "left"
		if strings.Contains(prompt, "role: researcher") {
			option = "right"
		}
		id := regexp.MustCompile(`(d\d+): ` + option).FindStringSubmatch(prompt)[1]
		return say(turn.FinishName, fmt.Sprintf(`{"status":"success","summary":"for %s","notes":"","fields":{"option":%q,"confidence":80,"rationale":"it is %s"}}`, id, id, option))
	}
	ids := logged(r)
	switch calls {
	case 0, 1:
		return say("decision_log", fmt.Sprintf(`{"type":"option","title":%q}`, []string{"left", "right"}[calls]))
	case 2:
		return say("decision_log", `{"type":"decision","title":"which way"}`)
	case 3:
		return say("decision_ballot", fmt.Sprintf(`{"decision":%q,"options":[%q,%q],"voters":["architect","implementer","researcher"]}`, ids[2], ids[0], ids[1]))
	}
	return say(turn.FinishName, `{"status":"success","summary":"nothing to mend","notes":"","fields":{"severity":"none","specialist":"","check":""}}`)
}

// logged are the ids that decision_log gave.
func logged(r *model.Request) (ids []string) {
	for _, m := range r.Messages {
		if id, ok := strings.CutPrefix(m.Text, "logged as "); ok && m.Role == model.RoleTool {
			ids = append(ids, strings.TrimSpace(id))
		}
	}
	return ids
}

// TestGRAPH05_AgentsVote has agents of a real host decide between two options.
func TestGRAPH05_AgentsVote(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	h := start(t, config(t, scripted.New("council", council)))
	bead, err := connect(t, h, "anonymous").Submit(ctx, &loomv1.Submission{Project: "shop", Process: "team-delivery", Goal: "which way?"})
	if err != nil {
		t.Fatal(err)
	}
	ops := connect(t, h, "operator")
	var voters []string
	closed := followUntil(ctx, t, ops, "the end of the vote", func(e *loomv1.Event) bool {
		if v := e.GetVoteCast().GetVote(); v != nil {
			voters = append(voters, strings.Split(e.Actor.Name, "@")[0])
		}
		return e.GetBallotClosed() != nil
	})
	reply, err := ops.Ask(ctx, &loomv1.GraphRequest{Question: loomv1.GraphQuestion_GRAPH_QUESTION_BALLOTS, Id: closed.GetBallotClosed().Decision})
	if err != nil || len(reply.Ballots) != 1 {
		t.Fatalf("the ballot: %v, %v", reply, err)
	}
	b := reply.Ballots[0]
	won, err := ops.Ask(ctx, &loomv1.GraphRequest{Question: loomv1.GraphQuestion_GRAPH_QUESTION_SEARCH, Text: "left"})
	if err != nil {
		t.Fatal(err)
	}
	if b.Result != won.Graph.Nodes[0].Id || len(b.Votes) != 3 || b.Bead != bead.Bead {
		t.Errorf("the ballot is %v, want left by 2 of 3", b)
	}
	for _, v := range b.Votes {
		if v.Voter.GetKind() != loomv1.IdentityKind_IDENTITY_KIND_AGENT || !strings.HasPrefix(v.Voter.Name, v.Role+"/") {
			t.Errorf("the vote of %s is by %v; voters %q", v.Role, v.Voter, voters)
		}
	}
}
