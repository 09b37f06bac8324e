package project_test

import (
	"cmp"
	"crypto/ed25519"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/keyring"
	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

const (
	urgent = loomv1.Priority_PRIORITY_URGENT
	normal = loomv1.Priority_PRIORITY_NORMAL
	low    = loomv1.Priority_PRIORITY_LOW
)

var publisher = &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_PUBLISHER, Name: "p"}

// yard is a project with a process "fan" whose tasks are all there at once.
type yard struct {
	fatal interface{ Fatalf(string, ...any) }
	cfg   project.Config
	s     *project.State
	now   time.Time
	key   ed25519.PrivateKey
	nonce int
}

// newYard makes a yard whose process has one task for each of roles.
func newYard(t interface{ Fatalf(string, ...any) }, roles ...string) *yard {
	key := ed25519.NewKeyFromSeed([]byte("0123456789abcdef0123456789abcdef"))
	y := &yard{fatal: t, now: noon, key: key, cfg: project.Config{ID: "shop", Deployment: "dp-1", Epoch: 1, CEO: key.Public().(ed25519.PublicKey)}}
	y.s = project.New(y.cfg)
	y.must(&loomv1.Command{Body: &loomv1.Command_RegisterProject{RegisterProject: &loomv1.RegisterProject{
		Config: &loomv1.ProjectConfig{Id: "shop", Repository: "/src/shop", TargetBranch: "main", DefaultProcess: "fan"},
	}}})
	y.define("fan", roles...)
	return y
}

func (y *yard) define(name string, roles ...string) {
	def := &loomv1.Definition{Name: name, Version: "1.0", Nodes: []*loomv1.NodeDefinition{
		{Id: "start", Type: loomv1.NodeType_NODE_TYPE_START}, {Id: "end", Type: loomv1.NodeType_NODE_TYPE_END},
	}}
	for i, role := range roles {
		id := fmt.Sprintf("t%d", i)
		def.Nodes = append(def.Nodes, &loomv1.NodeDefinition{Id: id, Type: loomv1.NodeType_NODE_TYPE_TASK, Role: role, MaxAttempts: 3, MultiDispatch: true})
		def.Edges = append(def.Edges,
			&loomv1.EdgeDefinition{Id: "i" + id, From: "start", To: id}, &loomv1.EdgeDefinition{Id: "o" + id, From: id, To: "end"})
	}
	y.must(&loomv1.Command{Body: &loomv1.Command_StoreDefinition{StoreDefinition: &loomv1.StoreDefinition{Definition: def}}})
}

func (y *yard) do(cmd *loomv1.Command) (*loomv1.Answer, error) {
	cmd.Project = "shop"
	if cmd.Actor == nil {
		cmd.Actor = &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_OPERATOR, Name: "ann"}
	}
	y.s.RestAll()
	_, answer, err := y.s.Do(y.now, cmd)
	if err != nil {
		y.fatal.Fatalf("Do(%T): %v", cmd.Body, err)
	}
	return answer, fault.FromProto(answer.GetError())
}

func (y *yard) must(cmd *loomv1.Command) *loomv1.Answer {
	answer, err := y.do(cmd)
	if err != nil {
		y.fatal.Fatalf("%T: %v", cmd.Body, err)
	}
	return answer
}

// file files a bead by a process, a second after the last.
func (y *yard) file(process string, p loomv1.Priority) string {
	y.now = y.now.Add(time.Second)
	return y.must(&loomv1.Command{Actor: publisher, Body: &loomv1.Command_FileBead{FileBead: &loomv1.FileBead{
		Submission: &loomv1.Submission{Goal: "mend it", Process: process, Priority: p},
	}}}).GetSubmit().Bead
}

// agent is the nth agent of a role.
func agentOf(role string, n int) *loomv1.Claimant {
	return &loomv1.Claimant{Agent: fmt.Sprintf("%s/%d", role, n), Host: "h1", Epoch: 1}
}

// take claims any attempt of the claimant's role with a ticket of a dead one.
func (y *yard) take(c *loomv1.Claimant) (*loomv1.Brief, error) {
	answer, err := y.do(&loomv1.Command{Body: &loomv1.Command_ClaimAttempt{ClaimAttempt: &loomv1.ClaimAttempt{
		Attempt: "shop-1-x1-a1", Generation: 1, Claimant: c, Any: true,
	}}})
	return answer.GetBrief(), err
}

// takeAll has agents claim all that waits for a role: from then on its time runs.
func (y *yard) takeAll(role string) {
	for n := len(y.s.Queued()); n > 0; n-- {
		if _, err := y.take(agentOf(role, n)); err != nil {
			y.fatal.Fatalf("claim of what is queued: %v", err)
		}
	}
}

func (y *yard) answer(attempt string, c *loomv1.Claimant, status loomv1.OutcomeStatus) {
	y.must(&loomv1.Command{Body: &loomv1.Command_AnswerAttempt{AnswerAttempt: &loomv1.AnswerAttempt{
		Attempt: attempt, Claimant: c, Outcome: &loomv1.Outcome{Status: status, Summary: "done"},
	}}})
}

// taken has a number of agents of a role take work and returns the beads.
func (y *yard) taken(role string, n int) (beads []string) {
	for i := range n {
		b, err := y.take(agentOf(role, i+1))
		if err != nil {
			y.fatal.Fatalf("claim %d: %v", i, err)
		}
		beads = append(beads, b.Bead.Id)
	}
	return beads
}

func TestSUB02_TheMostUrgentIsClaimedFirst(t *testing.T) {
	y := newYard(t, "researcher")
	for range 200 {
		y.file("fan", normal)
	}
	y.file("fan", low)
	hurry := y.file("fan", urgent)
	if got, want := y.taken("researcher", 3), []string{hurry, "shop-1", "shop-2"}; !slices.Equal(got, want) {
		t.Errorf("claimed %v, want %v", got, want)
	}
}

func TestWF12_NoBeadKeepsAnotherOfItsPriorityWaiting(t *testing.T) {
	var twenty []string
	for range 20 {
		twenty = append(twenty, "researcher")
	}
	y := newYard(t, twenty...)
	y.define("one", "researcher")
	wide := y.file("fan", normal)
	narrow := y.file("one", normal)
	if got, want := y.taken("researcher", 3), []string{wide, narrow, wide}; !slices.Equal(got, want) {
		t.Errorf("claimed work of %v, want %v", got, want)
	}
}

// TestWF12_HowFarFairnessLooks has an attempt of another bead wait behind more
// and more of one.
func TestWF12_HowFarFairnessLooks(t *testing.T) {
	for _, tt := range []struct {
		before int // attempts of the first bead that still wait
		first  bool
	}{{62, true}, {63, true}, {64, false}} {
		roles := make([]string, tt.before+1)
		for i := range roles {
			roles[i] = "researcher"
		}
		y := newYard(t, roles...)
		y.define("one", "researcher")
		y.file("fan", normal)
		narrow := y.file("one", normal)
		if got := y.taken("researcher", 2)[1] == narrow; got != tt.first {
			t.Errorf("behind %d attempts of a bead that is worked on, another's is next: %t, want %t", tt.before, got, tt.first)
		}
	}
}

func TestROLE02_AClaimThatIsRepeatedTakesNothingNew(t *testing.T) {
	y := newYard(t, "researcher")
	y.file("fan", normal)
	y.file("fan", normal)
	who := agentOf("researcher", 1)
	first, err := y.take(who)
	if err != nil {
		t.Fatal(err)
	}
	y.file("fan", urgent) // what it would be given now
	for _, tt := range []struct {
		who  *loomv1.Claimant
		same bool
	}{
		{who, true},
		{agentOf("researcher", 2), false},
		{&loomv1.Claimant{Agent: who.Agent, Host: "h2", Epoch: 1}, false},
		{&loomv1.Claimant{Agent: who.Agent, Host: who.Host, Epoch: 2}, false},
	} {
		b, err := y.take(tt.who)
		if same := b.GetAttempt().GetId() == first.Attempt.Id; same != tt.same && err == nil || b == nil && tt.same {
			t.Errorf("%v claims %s, %v; same as before: %t, want %t", tt.who, b.GetAttempt().GetId(), err, same, tt.same)
		}
	}
	y.answer(first.Attempt.Id, who, success)
	if b, err := y.take(who); b != nil || fault.Code(err) != "attempt/stale" {
		t.Errorf("when all is taken: %v, %v, want attempt/stale", b.GetAttempt(), err)
	}
}

func TestWF08_AnyIsAnyOfTheClaimantsRole(t *testing.T) {
	y := newYard(t, "researcher")
	y.file("fan", normal)
	for _, tt := range []struct {
		agent, code string
	}{{"implementer/1", "attempt/stale"}, {"researcher", "attempt/wrong-role"}, {"/1", "attempt/wrong-role"}, {"researcher/", "attempt/wrong-role"}, {"", "attempt/wrong-role"}} {
		if b, err := y.take(&loomv1.Claimant{Agent: tt.agent, Host: "h1", Epoch: 1}); fault.Code(err) != tt.code {
			t.Errorf("%q claims %v, %v, want %s", tt.agent, b.GetAttempt(), err, tt.code)
		}
	}
}

// free returns what agents could claim, found in a snapshot by looking at all
// of it: by role, then as it is to be worked on.
func free(p *loomv1.ProjectState) (all []*loomv1.Assignment) {
	for _, x := range p.Executions {
		if x.Status != loomv1.ExecutionStatus_EXECUTION_STATUS_RUNNING || x.HeldSince != nil {
			continue
		}
		for _, n := range x.Nodes {
			if a := n.Attempt; a != nil && a.Claimant == nil && a.Parked == "" && a.Process == "" {
				all = append(all, &loomv1.Assignment{
					Project: "shop", Attempt: a.Id, Generation: a.Generation, Role: a.Role, Bead: x.Bead, Priority: x.Priority, DispatchedAt: a.DispatchedAt,
				})
			}
		}
	}
	slices.SortFunc(all, func(a, b *loomv1.Assignment) int {
		return cmp.Or(strings.Compare(a.Role, b.Role), cmp.Compare(a.Priority, b.Priority), queued(p, a).Compare(queued(p, b)),
			cmp.Compare(len(a.Attempt), len(b.Attempt)), strings.Compare(a.Attempt, b.Attempt))
	})
	return all
}

func find(p *loomv1.ProjectState, id string) *loomv1.Attempt {
	for _, n := range p.Executions[id[:strings.LastIndex(id, "-a")]].Nodes {
		if n.Attempt.GetId() == id {
			return n.Attempt
		}
	}
	return nil
}

func queued(p *loomv1.ProjectState, a *loomv1.Assignment) time.Time {
	if at := find(p, a.Attempt); at.QueuedAt != nil {
		return at.QueuedAt.AsTime()
	}
	return a.DispatchedAt.AsTime()
}

// next returns what an agent that claims any attempt is to be given: what it
// holds already, else of the 64 longest waiting of the highest priority the
// first of the beads with the fewest claimed attempts of the role.
func next(p *loomv1.ProjectState, role string, who *loomv1.Claimant) string {
	busy := map[string]int{}
	var holds []string
	for _, x := range p.Executions {
		for _, n := range x.Nodes {
			if a := n.Attempt; a.GetRole() == role && a.GetClaimant() != nil {
				if busy[x.Bead]++; proto.Equal(a.Claimant, who) {
					holds = append(holds, a.Id)
				}
			}
		}
	}
	if len(holds) > 0 {
		return slices.Min(holds)
	}
	best, n := (*loomv1.Assignment)(nil), 0
	for _, a := range free(p) {
		switch {
		case a.Role != role || best != nil && best.Priority != a.Priority:
		case best == nil:
			best, n = a, 1
		default:
			if n++; n <= 64 && busy[a.Bead] < busy[best.Bead] {
				best = a
			}
		}
	}
	return best.GetAttempt()
}

// command gives a command of the CEO.
func (y *yard) command(edit func(*loomv1.CeoCommand)) error {
	y.nonce++
	c := &loomv1.CeoCommand{
		Deployment: "dp-1", Project: "shop", Nonce: fmt.Sprint("n", y.nonce),
		IssuedAt: timestamppb.New(y.now), NotAfter: timestamppb.New(y.now.Add(time.Minute)),
	}
	edit(c)
	payload, err := proto.Marshal(c)
	if err != nil {
		return err
	}
	_, err = y.do(&loomv1.Command{Actor: &loomv1.Identity{Kind: ceo, Name: "ceo"}, Body: &loomv1.Command_Signed{Signed: &loomv1.SignedCommand{
		Payload: payload, PublicKey: "U", Signature: ed25519.Sign(y.key, keyring.SignedBytes(payload)),
	}}})
	return err
}

// TestWF12_TheQueueIsWhatASearchWouldFind lets random commands run and looks
// after each at everything.
func TestWF12_TheQueueIsWhatASearchWouldFind(t *testing.T) {
	roles := []string{"researcher", "implementer"}
	seen := map[string]bool{}
	rapid.Check(t, func(t *rapid.T) {
		y := newYard(t, "researcher", "implementer", "researcher", "researcher")
		y.define("two", "implementer", "researcher")
		var held []*loomv1.Attempt
		drop := func() *loomv1.Attempt {
			if len(held) == 0 {
				return nil
			}
			i := rapid.IntRange(0, len(held)-1).Draw(t, "which")
			a := held[i]
			held = slices.Delete(held, i, i+1)
			return a
		}
		bead := func(t *rapid.T) string { return fmt.Sprint("shop-", rapid.IntRange(1, 8).Draw(t, "bead")) }
		step := map[string]func(*rapid.T){
			"file": func(t *rapid.T) {
				y.file(rapid.SampledFrom([]string{"fan", "two"}).Draw(t, "process"), rapid.SampledFrom([]loomv1.Priority{urgent, normal, low}).Draw(t, "priority"))
			},
			"claim": func(t *rapid.T) {
				role := rapid.SampledFrom(roles).Draw(t, "role")
				who := agentOf(role, rapid.IntRange(1, 6).Draw(t, "agent"))
				want := next(y.s.Snapshot(), role, who)
				b, err := y.take(who)
				if got := b.GetAttempt().GetId(); got != want {
					t.Fatalf("%s was given %q, %v, want %q", who.Agent, got, err, want)
				}
				if b != nil && !slices.ContainsFunc(held, func(a *loomv1.Attempt) bool { return a.Id == b.Attempt.Id }) {
					held = append(held, b.Attempt)
				}
			},
			"answer": func(t *rapid.T) {
				a := drop()
				if a == nil {
					return
				}
				y.answer(a.Id, a.Claimant, rapid.SampledFrom([]loomv1.OutcomeStatus{success, success, failed, more}).Draw(t, "outcome"))
			},
			"give back": func(t *rapid.T) {
				a := drop()
				if a == nil {
					return
				}
				y.must(&loomv1.Command{Body: &loomv1.Command_ReleaseAttempt{ReleaseAttempt: &loomv1.ReleaseAttempt{Attempt: a.Id, Claimant: a.Claimant, Reason: "drain"}}})
			},
			"park": func(t *rapid.T) {
				a := drop()
				if a == nil {
					return
				}
				_, err := y.do(&loomv1.Command{Body: &loomv1.Command_AcquireLock{AcquireLock: &loomv1.AcquireLock{Request: a.Id, Holder: a.Claimant}}})
				if err == nil {
					_, err = y.do(&loomv1.Command{Body: &loomv1.Command_ParkAttempt{ParkAttempt: &loomv1.ParkAttempt{Attempt: a.Id, Claimant: a.Claimant, WaitsFor: "lock"}}})
				}
				switch fault.Code(err) {
				case "":
				case "attempt/paused":
					held = append(held, a)
				default:
					t.Fatalf("park: %v", err)
				}
			},
			"host starts again": func(t *rapid.T) {
				y.must(&loomv1.Command{Body: &loomv1.Command_ReleaseHost{ReleaseHost: &loomv1.ReleaseHost{Host: "h1", Epoch: 2}}})
				held = nil
			},
			"time passes": func(t *rapid.T) {
				at, ok := y.s.Next()
				if !ok {
					return
				}
				if at.After(y.now) {
					y.now = at
				}
				y.must(&loomv1.Command{Body: &loomv1.Command_Tick{Tick: &loomv1.Tick{}}})
				p := y.s.Snapshot()
				held = slices.DeleteFunc(held, func(a *loomv1.Attempt) bool { return find(p, a.Id).GetClaimant() == nil })
			},
			"pause or resume": func(t *rapid.T) {
				scope, name := loomv1.PauseScope_PAUSE_SCOPE_PROJECT, ""
				switch rapid.IntRange(0, 2).Draw(t, "scope") {
				case 0:
					scope, name = loomv1.PauseScope_PAUSE_SCOPE_PROCESS, rapid.SampledFrom([]string{"fan", "two"}).Draw(t, "process")
				case 1:
					scope, name = loomv1.PauseScope_PAUSE_SCOPE_EXECUTION, bead(t)+"-x1"
				}
				on := rapid.Bool().Draw(t, "on")
				y.now = y.now.Add(time.Second)
				err := y.command(func(c *loomv1.CeoCommand) {
					if on {
						c.Verb = &loomv1.CeoCommand_Pause{Pause: &loomv1.PauseWork{Scope: scope, Name: name, Reason: "r"}}
					} else {
						c.Verb = &loomv1.CeoCommand_Resume{Resume: &loomv1.ResumeWork{Scope: scope, Name: name, Reason: "r"}}
					}
				})
				if err == nil {
					seen["held"] = seen["held"] || on
					seen["resumed"] = seen["resumed"] || !on
				}
			},
			"update": func(t *rapid.T) {
				b := &loomv1.Bead{Id: bead(t), Priority: rapid.SampledFrom([]loomv1.Priority{urgent, normal, low}).Draw(t, "priority")}
				fields := []string{"priority"}
				if rapid.Bool().Draw(t, "block") {
					fields = append(fields, "blocked_by")
					if on := bead(t); rapid.Bool().Draw(t, "blocked") && on != b.Id {
						b.BlockedBy = []string{on}
					}
				}
				_, err := y.do(&loomv1.Command{Actor: &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_OPERATOR, Name: "o"}, Body: &loomv1.Command_UpdateBead{UpdateBead: &loomv1.UpdateBead{Bead: b, Fields: fields, Reason: "r"}}})
				seen["updated"] = seen["updated"] || err == nil
				seen["blocked"] = seen["blocked"] || err == nil && len(b.BlockedBy) > 0
			},
			"restart": func(t *rapid.T) {
				s, err := project.Restore(y.cfg, y.s.Snapshot())
				if err != nil {
					t.Fatal(err)
				}
				y.s = s
			},
			"": func(t *rapid.T) {
				if got, want := y.s.Queued(), free(y.s.Snapshot()); !slices.EqualFunc(got, want, func(a, b *loomv1.Assignment) bool { return proto.Equal(a, b) }) {
					t.Fatalf("queued are %v, want %v", got, want)
				}
			},
		}
		t.Repeat(step)
	})
	for _, what := range []string{"held", "resumed", "updated", "blocked"} {
		if !seen[what] && !testing.Short() { // which has a fifth of the runs
			t.Errorf("no run ever had work that was %s", what)
		}
	}
}
