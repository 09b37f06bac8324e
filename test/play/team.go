package play

import (
	"fmt"
	"time"

	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// Teamed is work of a team: a lead gives two tasks and is parked, one of them asks
// a person, the other fails and is done again, beginning with what the first made; a
// fourth is stopped. What they made lands as the lead's change.
func Teamed(s *Shop) {
	for _, name := range []string{project.Delegate, "team-delivery"} {
		def, _ := processes.Builtin(roles.Builtin()).Get(name)
		s.Store(def)
	}
	s.File(&loomv1.Submission{Goal: "a cart with limits", Process: "team-delivery"})
	b, who := s.Claim("lead")
	s.Turn(b, who, 1000)
	given := []*loomv1.TeamCall{gives(1, "implementer", "limit the cart", ""), gives(2, backend, "say so in the shop", "")}
	s.Team(b, who, given...)

	i, implementer := s.Claim("implementer")
	asks := &loomv1.TeamCall{Call: "c1-1", Verb: &loomv1.TeamCall_Ask{Ask: &loomv1.AskUser{Question: "how many?"}}}
	s.Team(i, implementer, asks)
	s.Decide(Approve, "100")
	i, implementer = s.Claim("implementer")
	s.Team(i, implementer, asks)
	s.Answer(i, implementer, changing("p1"))
	for range 2 {
		s.Work(backend, Outcome(Failure, nil))
		s.Pass(2 * time.Minute) // a backoff
	}

	b, who = s.Claim("lead")
	failed := s.Team(b, who, given...)[1].Tasks[0].Bead
	again := gives(3, backend, "say so in the shop", failed)
	s.Team(b, who, again)
	s.Work(backend, changing("p2"))
	b, who = s.Claim("lead")
	s.Team(b, who, again)
	idle := gives(4, "researcher", "look around", "")
	idle.GetGive().Waits = false
	bead := s.Team(b, who, idle)[0].Tasks[0].Bead
	s.Team(b, who, &loomv1.TeamCall{Call: "c5-1", Verb: &loomv1.TeamCall_Stop{Stop: &loomv1.StopTask{Bead: bead, Reason: "enough"}}})
	out := changing("p3")
	out.Fields = Outcome(Success, map[string]any{"check": "go test ./..."}).Fields
	out.Change.Makers = []string{"implementer", backend}
	s.Answer(b, who, out)
	s.Decide(Approve, "fine")
	s.Commit("p3")
	s.Verify("p3", true)
	s.Land("p3")
}

// Team makes calls of an attempt to its team.
func (s *Shop) Team(b *loomv1.Brief, who *loomv1.Claimant, calls ...*loomv1.TeamCall) []*loomv1.TeamReply {
	s.Now = s.Now.Add(time.Second)
	return s.Do(&loomv1.Command{Actor: agent(who), Body: &loomv1.Command_AskTeam{AskTeam: &loomv1.AskTeam{
		Attempt: b.Attempt.Id, Claimant: who, Calls: calls,
	}}}).GetTeam().GetReplies()
}

func gives(n int, role, goal, again string) *loomv1.TeamCall {
	return &loomv1.TeamCall{Call: fmt.Sprintf("c%d-1", n), Verb: &loomv1.TeamCall_Give{Give: &loomv1.GiveTask{
		Role: role, Goal: goal, Acceptance: "it is there", Waits: true, Again: again,
	}}}
}

func changing(patch string) *loomv1.Outcome {
	out := Outcome(Success, nil)
	out.Change = &loomv1.Change{
		Base: "b0", Commit: "w-" + patch, Tree: "t-" + patch, PatchDigest: patch, FilesTotal: 1,
		Files: []*loomv1.ChangedFile{{Path: patch + ".go", Status: "added", Added: 2}},
	}
	return out
}
