package chaos

import (
	"bytes"
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/loomrun/loom/internal/core/plan"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/net/client"
	checkouts "github.com/loomrun/loom/internal/place/git"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

var allStudies = flag.Bool("chaos.studies", false, "every process that comes with Loom is worked on by three hosts, and not one alone")

// TestPROC05_EveryProcessOutlivesAKilledHost has processes that come with Loom go from goal to
// deliverables on three hosts, each with the script of its own test. The host that works on a
// phase in the middle of the process is killed after its first tool call, another one goes on,
// and all that was promised is on the branch. Three of them are planned anew on the way.
func TestPROC05_EveryProcessOutlivesAKilledHost(t *testing.T) {
	list := studies[:1]
	if *allStudies {
		list = studies
	}
	f := newFleet(t, false)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range list {
		names = append(names, s.process)
	}
	for _, s := range list {
		s.create(t, f.places[0].dir)
	}
	f.populated(program, knowledgeHost+"="+strings.Join(names, " "))
	for i := range fleetSize {
		f.begin(i)
	}
	f.serve()
	for _, s := range list {
		t.Run(s.process, func(t *testing.T) { f.carryOut(t, s) })
	}
}

// create makes the repository of a study.
func (s study) create(t *testing.T, dir string) {
	t.Helper()
	test, err := s.given()
	if err != nil {
		t.Fatal(err)
	}
	files := []checkouts.File{{Path: ".gitignore", Data: []byte("*.tmp\n")}}
	for name, text := range test.Files {
		files = append(files, checkouts.File{Path: name, Data: []byte(text)})
	}
	if err := checkouts.Create(t.Context(), filepath.Join(dir, "repositories", s.process), "main", "what is known", files); err != nil {
		t.Fatal(err)
	}
}

// carryOut has a process worked on, and kills one of the hosts.
func (f *fleet) carryOut(t *testing.T, s study) {
	ctx, cancel := context.WithTimeout(t.Context(), fleetPatience())
	defer cancel()
	test, err := s.given()
	if err != nil {
		t.Fatal(err)
	}
	work := s.submission(t, test)
	var bead string
	for try := 0; bead == ""; try++ {
		if ctx.Err() != nil {
			t.Fatal("the goal is not taken")
		}
		f.ask(ctx, try%fleetSize, func(ctx context.Context, c *client.Client) error {
			reply, err := c.Submit(ctx, work)
			bead = reply.GetBead()
			return err
		})
	}
	victim := -1
	x, def := f.untilEnded(ctx, t, s, bead, func() {
		name, err := os.ReadFile(s.heldBy(f.places[0].dir))
		if victim >= 0 || err != nil || len(name) == 0 {
			return
		}
		victim = slices.IndexFunc(f.places[:], func(p *place) bool { return filepath.Base(p.data) == string(name) })
		f.host(victim).kill()
	})
	if victim < 0 {
		t.Fatalf("no host was killed; it is %s %s", project.Word(x.Status), x.Reason)
	}
	f.begin(victim)
	f.host(victim).serves()
	if got := project.Word(x.Status); got != "completed" || len(x.Gaps) > 0 {
		t.Errorf("it is %s %s, with gaps %v", got, x.Reason, x.Gaps)
		for node, st := range x.Nodes {
			for _, a := range st.History {
				if o := a.Outcome; o.GetStatus() == loomv1.OutcomeStatus_OUTCOME_STATUS_FAILURE {
					t.Logf("%s, attempt %d of visit %d on %s: %s: %s", node, a.Number, a.Visit, a.Claimant.GetHost(), o.Code, o.Summary)
				}
			}
		}
	}
	if s.anew != "" && (x.Nodes[processes.Planner].GetVisit() != 2 || x.Plan.GetNumber() != 2 || x.Nodes[s.anew].GetVisit() != 1) {
		t.Errorf("the planner is at visit %d, by plan %d, and %s at visit %d", x.Nodes[processes.Planner].GetVisit(), x.Plan.GetNumber(), s.anew, x.Nodes[s.anew].GetVisit())
	}
	s.landed(t, f.places[0].dir, test, def, x)
	if who := f.claimants(ctx, t, s); !slices.Contains(who, f.name(victim)) || len(who) < 2 {
		t.Errorf("%s was worked on by %q, and host %s was killed there", s.dies, who, f.name(victim))
	}
}

// submission is the goal of a study, with what its test sets.
func (s study) submission(t *testing.T, test *processes.Test) *loomv1.Submission {
	t.Helper()
	set := map[string]any{}
	for key, value := range test.Set {
		set[key] = value
	}
	script, err := s.read(".script.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(script, []byte("node: "+processes.Planner+"\n")) {
		set[plan.PlannerKey] = plan.ByRules
	}
	values, err := structpb.NewStruct(set)
	if err != nil {
		t.Fatal(err)
	}
	return &loomv1.Submission{
		Project: s.process, Type: loomv1.BeadType_BEAD_TYPE_TASK, Goal: test.Goal, Process: s.process, Context: values, IdempotencyKey: "study",
	}
}

// untilEnded answers the CEO's questions, and looks at the work, until it has ended.
func (f *fleet) untilEnded(ctx context.Context, t *testing.T, s study, bead string, look func()) (*loomv1.Execution, *loomv1.Definition) {
	t.Helper()
	var seen *loomv1.View
	for try := 0; ; try++ {
		look()
		h := f.host(try % fleetSize)
		f.ask(ctx, try%fleetSize, func(ctx context.Context, c *client.Client) error {
			v, err := c.Execution(ctx, &loomv1.Query{Project: s.process, Id: bead})
			if err == nil {
				seen = v
			}
			return err
		})
		if x := seen.GetExecutions(); len(x) > 0 && x[0].EndedAt != nil {
			return x[0], seen.Definition
		}
		if human := h.ceo(ctx); human != nil {
			_ = human.decide(ctx, s.process, func(a *loomv1.Approval) loomv1.ApprovalDecision { // it is asked again
				if a.Kind == loomv1.ApprovalKind_APPROVAL_KIND_ESCALATION {
					t.Errorf("the CEO is asked: %s", a.Reason)
				}
				return approve(a)
			})
			human.close()
		}
		if rest(ctx, 50*time.Millisecond); ctx.Err() != nil {
			t.Fatalf("it has not ended: %v", seen)
		}
	}
}

// landed holds what is on the branch against what was promised.
func (s study) landed(t *testing.T, dir string, test *processes.Test, def *loomv1.Definition, x *loomv1.Execution) {
	t.Helper()
	var left []string
	for _, l := range x.Plan.GetLeftOut() {
		left = append(left, l.Phase)
	}
	for _, name := range test.Promised(def, left) {
		text, err := exec.CommandContext(t.Context(), "git", "-C", filepath.Join(dir, "repositories", s.process), "show", "main:"+name).Output()
		if err != nil || !strings.Contains(string(text), test.Expect.Contains[name]) {
			t.Errorf("%s was delivered as %.300q, %v; want %q in it", name, text, err, test.Expect.Contains[name])
		}
	}
}

// claimants are the hosts that claimed the node at which one of them was killed.
func (f *fleet) claimants(ctx context.Context, t *testing.T, s study) (hosts []string) {
	t.Helper()
	for try := 0; ; try++ {
		hosts = nil
		if f.ask(ctx, try%fleetSize, func(ctx context.Context, c *client.Client) error {
			return c.Follow(ctx, &loomv1.NoticesRequest{Project: s.process, Kinds: []string{"attempt-claimed"}}, false, func(n *loomv1.Notice) error {
				if host := n.Event.GetAttemptClaimed().GetClaimant().GetHost(); n.Event.Node == s.dies && !slices.Contains(hosts, host) {
					hosts = append(hosts, host)
				}
				return nil
			})
		}) {
			return hosts
		}
		if ctx.Err() != nil {
			t.Fatal("nobody tells who claimed what")
		}
	}
}
