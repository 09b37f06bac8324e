package chaos

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/modeltest"
	"github.com/loomrun/loom/internal/core/turn"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// call names a request to a model by what it is for: node, visit, attempt, and
// how many answers the turn had before.
type call string

func callOf(node string, visit, attempt uint32, answers int) call {
	return call(fmt.Sprintf("%s %d.%d after %d", node, visit, attempt, answers))
}

// brain is the model of a host, in the process of the test: it outlives the host,
// knows when it was asked what, and can keep a call open.
type brain struct {
	mu   sync.Mutex
	asks []asking
	wait map[call]*kept
}

type asking struct {
	call call
	at   time.Time
}

// kept keeps a call open: arrived is closed when it is asked, opened lets it go.
type kept struct{ arrived, opened chan struct{} }

// keep has the next request of that call wait until it is let go.
func (b *brain) keep(c call) *kept {
	b.mu.Lock()
	defer b.mu.Unlock()
	g := &kept{make(chan struct{}), make(chan struct{})}
	b.wait[c] = g
	return g
}

// asked returns what was asked so far.
func (b *brain) asked() []asking {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.asks)
}

var assignment = regexp.MustCompile(`(?m)^node: (\S+)\nrole: \S+\nattempt: (\d+) of \d+\nvisit: (\d+)$`)

// answer is the server's script.
func (b *brain) answer(r *model.Request) modeltest.Reply {
	words := assignment.FindStringSubmatch(r.Messages[0].Text)
	if words == nil {
		return modeltest.Reply{Status: 500, Body: "no assignment"}
	}
	answers := 0
	for _, m := range r.Messages {
		if m.Role == model.RoleAssistant {
			answers++
		}
	}
	c := call(fmt.Sprintf("%s %s.%s after %d", words[1], words[3], words[2], answers))
	b.mu.Lock()
	b.asks = append(b.asks, asking{c, time.Now()})
	g := b.wait[c]
	delete(b.wait, c)
	b.mu.Unlock()
	if g != nil {
		close(g.arrived)
		<-g.opened
	}
	return modeltest.Reply{Calls: []*loomv1.ToolCall{thought(words[1], words[3], answers)}}
}

// thought is what the model answers: plans, and phases that deliver.
func thought(node, visit string, answers int) *loomv1.ToolCall {
	id := fmt.Sprint("c", answers)
	done := func(fields string) *loomv1.ToolCall {
		return modeltest.Call(id, turn.FinishName, `{"status": "success", "summary": "done", "notes": ""`+fields+`}`)
	}
	plan := func(text string) *loomv1.ToolCall { return done(`, "fields": {"plan": ` + text + `}`) }
	switch {
	case node == "planner" && answers == 0:
		return modeltest.Call(id, "directory_list", `{"path": "."}`)
	case node == "planner" && visit == "1":
		return plan(`{"why": "nobody to ask", "phases": [{"id": "facts"}, {"id": "bid"}], "left_out": [{"phase": "survey", "reason": "nobody to ask"}]}`)
	case node == "planner":
		return plan(`{"phases": [{"id": "more", "description": "More facts.", "depends_on": ["facts"], "deliverables": ["more.md"]}, {"id": "bid", "depends_on": ["more"]}], "left_out": [{"phase": "survey", "reason": "still nobody"}]}`)
	case node == "verify":
		return done(`, "fields": {"fault": ""}`)
	case answers == 0:
		return modeltest.Call(id, "file_write", fmt.Sprintf(`{"path": "%s.md", "content": "# %[1]s\n"}`, node))
	case node == "facts":
		return done(`, "fields": {"go": false}`)
	}
	return done("")
}

// planLife is one life of the host: it gets no further than a call, which is kept
// open, and is killed when that is asked, or when an event comes before it.
type planLife struct {
	what  string
	until call
	event func([]*loomv1.Event) bool
}

// planned says whether the planner has answered so often.
func planned(answers int) func([]*loomv1.Event) bool {
	return func(all []*loomv1.Event) bool {
		n := 0
		for _, e := range all {
			if e.GetModelAnswered() != nil && e.Node == "planner" {
				n++
			}
		}
		return n >= answers
	}
}

// TestPROC04_PlanningOutlivesKillNine kills a host while its planner's call is
// open, when the plan was answered, and when it was adopted, at the first plan and
// at the one that a gate asks for: each is adopted once, what was answered is not
// asked again, and what was done stays.
func TestPROC04_PlanningOutlivesKillNine(t *testing.T) {
	c := newChaos(t)
	c.answer = func(*loomv1.Approval) loomv1.ApprovalDecision {
		return loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE
	}
	j := c.job(crowd)
	b := &brain{wait: map[call]*kept{}}
	server := modeltest.OpenAI(t, b.answer)
	c.place.env = append(c.place.env, "OPENAI_BASE_URL="+server.URL, "OPENAI_API_KEY=none")
	c.place.flags = []string{"--model", "openai:fake"}
	h := c.place.start(t)
	h.define("offer")
	h.stop(syscall.SIGTERM)
	facts, more := callOf("facts", 1, 1, 0), callOf("more", 1, 1, 0)
	for _, l := range []planLife{
		{"the planner's call is open", callOf("planner", 1, 1, 0), nil},
		{"the planner's second call is open", callOf("planner", 1, 1, 1), nil},
		{"the plan was answered", facts, planned(2)},
		{"the plan was adopted", facts, nil},
		{"the planner's call is open again", callOf("planner", 2, 1, 0), nil},
		{"the second plan was answered", more, planned(4)},
		{"the second plan was adopted", more, nil},
	} {
		c.planLife(b, j, l)
	}
	h = c.place.begin(t)
	leave := c.attendTo(h, j, offered)
	c.record.await(t, h, j.project, theirs)
	leave()
	h.serves()
	all := c.record.history(t, h.client())
	h.stop(syscall.SIGTERM)
	t.Logf("%d requests; killed when %v", len(b.asked()), c.marks)
	judgePlans(t, b, all)
	c.inspectOffer(j)
}

var offered = &loomv1.Submission{Project: crowd, Goal: "an offer", Process: "offer", IdempotencyKey: "offer"}

// planLife has a host live, and kills it.
func (c *chaos) planLife(b *brain, j *job, l planLife) {
	c.t.Helper()
	g := b.keep(l.until)
	defer close(g.opened) // the server answers one request at a time
	h := c.place.begin(c.t)
	leave := c.attendTo(h, j, offered)
	defer leave()
	ctx := deadline(c.t)
	for skip, seen := 0, []*loomv1.Event(nil); ; {
		list, all, more := c.record.from(skip, j.project)
		for _, n := range list {
			seen = append(seen, n.Event)
		}
		if skip = all; l.event != nil && l.event(seen) {
			break
		}
		select {
		case <-g.arrived:
		case <-more:
			continue
		case <-h.ended:
			c.t.Fatalf("%s: the host ended\n%s", l.what, h.text())
		case <-ctx.Done():
			c.t.Fatalf("%s: that does not come; the last events:\n%s\nthe host says:\n%s", l.what, c.record.tail(j.project, 40), h.text())
		}
		break
	}
	c.die(h, l.what)
}

// judgePlans looks for what was adopted, asked or done twice, or not at all.
func judgePlans(t *testing.T, b *brain, all []*loomv1.Notice) {
	t.Helper()
	a, counts, answered := newAuditor(), map[string]int{}, newAnswers()
	for _, n := range all {
		if n.Event.Project != crowd { // what hosts say of themselves
			continue
		}
		a.add(n.Event)
		answered.add(n.Event)
		switch f := n.Event.Fact.(type) {
		case *loomv1.Event_PlanAdopted:
			counts[fmt.Sprint("plan ", f.PlanAdopted.Plan.Number)]++
		case *loomv1.Event_AttemptDispatched:
			counts["attempt at "+n.Event.Node]++
		case *loomv1.Event_Landed:
			counts["landed"]++
		}
	}
	a.end()
	for _, problem := range a.told() {
		t.Error(problem)
	}
	for what, want := range map[string]int{
		"plan 1": 1, "plan 2": 1, "plan 3": 0, "attempt at planner": 2, "attempt at facts": 1, "attempt at more": 1, "attempt at bid": 1, "attempt at survey": 0, "landed": 1,
	} {
		if counts[what] != want {
			t.Errorf("%s: %d times, want %d", what, counts[what], want)
		}
	}
	for _, ask := range b.asked() {
		if at, is := answered.at[ask.call]; !is {
			t.Errorf("%s was asked and never answered", ask.call)
		} else if ask.at.After(at) {
			t.Errorf("%s was asked at %s, and its answer was durable at %s", ask.call, ask.at, at)
		}
	}
}

// answers are the calls that events say were answered, and when.
type answers struct {
	at       map[call]time.Time
	attempts map[string]*loomv1.AttemptDispatched
	count    map[string]int // by attempt
}

func newAnswers() *answers {
	return &answers{map[call]time.Time{}, map[string]*loomv1.AttemptDispatched{}, map[string]int{}}
}

func (a *answers) add(e *loomv1.Event) {
	if f := e.GetAttemptDispatched(); f != nil {
		a.attempts[e.Attempt] = f
	}
	if e.GetModelAnswered() == nil {
		return
	}
	f := a.attempts[e.Attempt]
	a.at[callOf(e.Node, f.GetVisit(), f.GetNumber(), a.count[e.Attempt])] = e.Time.AsTime()
	a.count[e.Attempt]++
}

func (c *chaos) inspectOffer(j *job) {
	c.t.Helper()
	if n := git(c.t, j.repository, "rev-list", "--count", j.base+"..main"); n != "1" {
		c.t.Errorf("%s commits landed, want 1", n)
	}
	sound(c.t, j.repository)
	files := strings.Fields(git(c.t, j.repository, "diff", "--name-only", j.base, "main"))
	if got := strings.Join(files, " "); got != "bid.md facts.md more.md" {
		c.t.Errorf("what landed is %s", got)
	}
}
