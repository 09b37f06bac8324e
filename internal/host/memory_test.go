package host_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/core/turn"
	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/internal/place/git"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// remembers is a model that finds a report sound only where its prompt tells what was
// remembered, and that keeps an entry the first time it is asked.
type remembers struct {
	mu      sync.Mutex
	prompts []string
	kept    bool
}

func (r *remembers) ask(q *model.Request) (*model.Response, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	finish := func(summary string) (*model.Response, error) {
		return &model.Response{Text: summary, Stop: model.StopTools, Calls: []*loomv1.ToolCall{{
			Tool: turn.FinishName, Arguments: fmt.Sprintf(`{"status":"success","summary":%q,"notes":"","fields":{"severity":"none","specialist":"","check":""}}`, summary),
		}}}, nil
	}
	if len(q.Messages) == 1 {
		r.prompts = append(r.prompts, q.Messages[0].Text)
		if !r.kept {
			r.kept = true
			return &model.Response{Stop: model.StopTools, Calls: []*loomv1.ToolCall{{
				Tool: "memory_keep", Arguments: `{"type":"discovery","text":"The cart rounds each line and not the total","confidence":90,"tags":["cart"]}`,
			}}}, nil
		}
	}
	if strings.Contains(q.Messages[0].Text, "The cart rounds each line and not the total") {
		return finish("known from before")
	}
	return finish("looked into it")
}

func (r *remembers) asked() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.prompts)
}

// TestMEM01_MEM02_ASecondRunKnowsWhatTheFirstFound files three reports. The first run's
// agent keeps what it found; the second is offered it, and goes another way by it;
// forgetting it takes that away from the third.
func TestMEM01_MEM02_ASecondRunKnowsWhatTheFirstFound(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	m := &remembers{}
	h := start(t, config(t, scripted.New("remembers", m.ask)))
	anybody, ops := connect(t, h, "anonymous"), connect(t, h, "operator")
	run := func(goal string) (execution, summary string) {
		t.Helper()
		reply, err := anybody.Submit(ctx, &loomv1.Submission{Project: "shop", Process: "auto-bug-workflow", Goal: goal})
		if err != nil {
			t.Fatal(err)
		}
		followUntil(ctx, t, ops, "the end of "+goal, func(e *loomv1.Event) bool {
			if o := e.GetAttemptEnded().GetOutcome(); o != nil && e.Bead == reply.Bead {
				summary, execution = o.Summary, e.Execution
			}
			return e.Bead == reply.Bead && e.GetExecutionEnded() != nil
		})
		return execution, summary
	}
	if _, got := run("the total of the cart is wrong"); got != "looked into it" {
		t.Fatalf("the first run: %q", got)
	}
	list := func(q *loomv1.Query) *loomv1.View {
		t.Helper()
		q.Project = "shop"
		v, err := ops.Memory(ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	kept := list(&loomv1.Query{Type: "discovery"}).Memories
	if len(kept) != 1 || kept[0].Layer != loomv1.MemoryLayer_MEMORY_LAYER_DURABLE || kept[0].Node == "" || !strings.HasPrefix(kept[0].Author.GetName(), "qa-engineer/") {
		t.Fatalf("after the first run there is %v", kept)
	}
	second, got := run("another total of the cart is wrong")
	if got != "known from before" {
		t.Errorf("the second run: %q; its prompt was\n%s", got, m.prompts[len(m.prompts)-1])
	}
	offers := list(&loomv1.Query{Filter: project.OfOffers, Id: second}).Offers
	if len(offers) != 1 || offers[0].Entries[0] != kept[0].Id {
		t.Errorf("offered to %s: %v", second, offers)
	}
	if _, err := ops.Remember(ctx, &loomv1.MemoryRequest{Project: "shop", Verb: &loomv1.MemoryRequest_Forget{Forget: &loomv1.ForgetMemory{Id: kept[0].Id, Reason: "mended"}}}); err != nil {
		t.Fatal(err)
	}
	if _, got := run("one more total of the cart is wrong"); got != "looked into it" {
		t.Errorf("after it is forgotten: %q", got)
	}
	if n := m.asked(); n != 3 {
		t.Errorf("%d turns were begun, want 3", n)
	}
}

// TestMEM01_ProjectsShareWhatTheyBothName keeps an entry in one project and has work in
// another, in a third that does not name the namespace not.
func TestMEM01_ProjectsShareWhatTheyBothName(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	m := &remembers{kept: true}
	c := config(t, scripted.New("remembers", m.ask))
	c.Projects[0].Memory = []string{"shared/carts"}
	for _, id := range []string{"till", "apart"} {
		repository := filepath.Join(t.TempDir(), id)
		if err := git.Create(ctx, repository, "main", "first", []git.File{{Path: "a.txt", Data: []byte("one\n")}}); err != nil {
			t.Fatal(err)
		}
		p := host.Project{ID: id, Repository: repository}
		if id == "till" {
			p.Memory = []string{"shared/carts", "shared/other"}
		}
		c.Projects = append(c.Projects, p)
	}
	h := start(t, c)
	ops := connect(t, h, "operator")
	keep := func(e *loomv1.MemoryEntry) {
		t.Helper()
		if _, err := ops.Remember(ctx, &loomv1.MemoryRequest{Project: "shop", Verb: &loomv1.MemoryRequest_Keep{Keep: &loomv1.KeepMemory{Entry: e}}}); err != nil {
			t.Fatal(err)
		}
	}
	keep(&loomv1.MemoryEntry{Type: "discovery", Namespace: "shared/carts", Text: "The cart rounds each line and not the total"})
	keep(&loomv1.MemoryEntry{Type: "discovery", Text: "The cart of the shop is nobody's business"})
	for id, want := range map[string]bool{"till": true, "apart": false} {
		reply, err := connect(t, h, "anonymous").Submit(ctx, &loomv1.Submission{Project: id, Process: "auto-bug-workflow", Goal: "the total of the cart is wrong"})
		if err != nil {
			t.Fatal(err)
		}
		err = ops.Follow(ctx, &loomv1.NoticesRequest{Project: id}, true, func(n *loomv1.Notice) error {
			if n.Event.GetExecutionEnded() != nil && n.Event.Bead == reply.Bead {
				return context.Canceled
			}
			return nil
		})
		if err != nil && ctx.Err() != nil {
			t.Fatal(err)
		}
		m.mu.Lock()
		prompt := m.prompts[len(m.prompts)-1]
		m.mu.Unlock()
		if got := strings.Contains(prompt, "shop/m1 discovery"); got != want {
			t.Errorf("the prompt in %s has the shared entry: %t, want %t", id, got, want)
		}
		if strings.Contains(prompt, "nobody's business") {
			t.Errorf("the prompt in %s has what is not shared", id)
		}
	}
}

// TestMEM01_SecretsAreNotRemembered keeps short and long texts that hold what the host
// knows to be secret.
func TestMEM01_SecretsAreNotRemembered(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	const secret = "hunter2-hunter2-hunter2"
	c := config(t, scripted.New("quick", nothing))
	c.Secrets = []string{"SHOP_TOKEN=" + secret}
	h := start(t, c)
	ops := connect(t, h, "operator")
	for _, text := range []string{"the token is " + secret, strings.Repeat("a line of a long text\n", 400) + secret} {
		answer, err := ops.Remember(ctx, &loomv1.MemoryRequest{Project: "shop", Verb: &loomv1.MemoryRequest_Keep{Keep: &loomv1.KeepMemory{
			Entry: &loomv1.MemoryEntry{Type: "context", Text: text},
		}}})
		if err != nil {
			t.Fatal(err)
		}
		v, err := ops.Memory(ctx, &loomv1.Query{Project: "shop", Id: answer.GetMemory().GetId()})
		if err != nil {
			t.Fatal(err)
		}
		long := len(text) > 4096
		if whole := v.Text; strings.Contains(whole+v.Memories[0].Text, secret) || long && len(whole) < 8000 || long != (v.Memories[0].Detail != nil) {
			t.Errorf("of %d bytes %d and %d are kept, with the secret: %t", len(text), len(v.Memories[0].Text), len(whole), strings.Contains(whole, secret))
		}
	}
	if v, err := ops.Memory(ctx, &loomv1.Query{Project: "shop", Text: "hunter2"}); err != nil || len(v.Memories) != 0 {
		t.Errorf("the secret finds %v, %v", v.GetMemories(), err)
	}
}
