package chaos

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/modeltest"
	"github.com/loomrun/loom/internal/core/turn"
	"github.com/loomrun/loom/internal/core/workflow"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// reader is a model behind a real protocol that reads more than fits into its window,
// in one turn, and summarises that when it is asked to. It can keep a call open.
type reader struct {
	mu      sync.Mutex
	summary bool          // the call to keep is one for a summary, else the first after one
	kept    chan struct{} // closed when that call has come; nil keeps none
	goOn    chan struct{} // lets it go on
	told    bool          // a summary was answered
}

// readings is how many results the model reads.
const readings = 14

const inOwnWords = "I was asked to look, and I have counted. Nothing was found so far."

// answer is the server's script.
func (m *reader) answer(r *model.Request) modeltest.Reply {
	summary := strings.Contains(r.Messages[0].Text, "## Summarise your work so far")
	m.hold(summary)
	if summary {
		m.mu.Lock()
		m.told = true
		m.mu.Unlock()
		return modeltest.Reply{Text: inOwnWords}
	}
	n := 0
	for _, said := range r.Messages {
		if said.Call != "" {
			_, _ = fmt.Sscanf(said.Call, "c%d", &n) // calls are numbered by this script
		}
	}
	if n == readings {
		return modeltest.Reply{Calls: []*loomv1.ToolCall{modeltest.Call(fmt.Sprint("c", n+1), turn.FinishName,
			`{"status":"success","summary":"nothing is wrong","notes":"","fields":{"severity":"none","specialist":"","check":""}}`)}}
	}
	return modeltest.Reply{Calls: []*loomv1.ToolCall{modeltest.Call(fmt.Sprint("c", n+1), "shell", fmt.Sprintf(`{"command":"seq %d000 %[1]d800"}`, n+1))}}
}

// hold keeps the call that is to be kept until the host that made it is gone.
func (m *reader) hold(summary bool) {
	m.mu.Lock()
	kept := m.kept
	if kept == nil || summary != m.summary || !summary && !m.told {
		m.mu.Unlock()
		return
	}
	m.kept = nil
	m.mu.Unlock()
	close(kept)
	<-m.goOn
}

// TestAGENT03_F1_ASummaryIsNotAskedForAgain has a turn on the model of a server that
// speaks a real protocol, in which the model is asked for a summary. The host is killed
// between that and the next answer, or while the summary is made. What has an answer
// is not asked again, and no tool is run again; the call that was open is, with the
// same bytes.
func TestAGENT03_F1_ASummaryIsNotAskedForAgain(t *testing.T) {
	for _, wire := range []struct {
		spec, variable string
		serve          func(testing.TB, modeltest.Script) *modeltest.Server
	}{
		{"anthropic:claude-reader", "ANTHROPIC", modeltest.Anthropic},
		{"openai:anthropic/claude-reader", "OPENAI", modeltest.OpenAI},
	} {
		for open, summary := range map[string]bool{"the answer after a summary": false, "a summary": true} {
			t.Run("AGENT03 "+wire.variable+", killed before "+open, func(t *testing.T) {
				m := &reader{summary: summary, kept: make(chan struct{}), goOn: make(chan struct{})}
				kept, server := m.kept, wire.serve(t, m.answer)
				p := newPlace(t)
				p.repository(t, "shop")
				p.flags = []string{"--model", wire.spec, "--agents", "qa-engineer=1"}
				p.env = append(p.env, wire.variable+"_BASE_URL="+server.URL, "LOOM_CONTEXT_WINDOW=16000")
				h := p.start(t)
				s := &lone{t: t, place: p, host: h}
				if err := s.ask(func(ctx context.Context, c *client.Client) error {
					_, err := c.Submit(ctx, &loomv1.Submission{Project: "shop", Goal: "look at it", Type: loomv1.BeadType_BEAD_TYPE_BUG})
					return err
				}); err != nil {
					t.Fatal(err)
				}
				select {
				case <-kept:
				case <-deadline(t).Done():
					t.Fatalf("the call that is waited for does not come\n%s", h.text())
				}
				h.kill()
				close(m.goOn)
				before := len(server.Bodies())
				h = p.start(t)
				r := newRecord()
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				go r.follow(ctx, h.client())
				r.await(t, h, "shop", func(e *loomv1.Event) bool { return e.GetExecutionEnded() != nil })
				judgeSummaries(t, server.Bodies(), before, r)
			})
		}
	}
}

// judgeSummaries looks for what was asked or done twice. The last request before the
// kill had no answer.
func judgeSummaries(t *testing.T, bodies []string, before int, r *record) {
	t.Helper()
	times := map[string]int{}
	for i, body := range bodies {
		times[body]++
		if i == before && body != bodies[before-1] {
			t.Errorf("what was open at the kill is asked otherwise:\n%s\nthen\n%s", bodies[before-1], body)
		}
	}
	for body, n := range times {
		if n > 1 && (n > 2 || body != bodies[before-1]) {
			t.Errorf("asked %d times: %s", n, body)
		}
	}
	answers, summaries, tools := 0, 0, map[string]int{}
	list, _, _ := r.from(0, "shop")
	for _, n := range list {
		if workflow.AnswerOf(n.Event) != nil {
			answers++
		}
		if c := n.Event.GetTurnCompacted().GetCompaction(); c.GetAnswer() != nil {
			if summaries++; c.Answer.Problem != "" || c.Answer.Usage == nil {
				t.Errorf("a summary by the model is of no use: %v", c.Answer)
			}
		}
		if call := n.Event.GetToolIntended().GetTool().GetCall(); call != nil {
			tools[call.Id]++
		}
	}
	for call, n := range tools {
		if n != 1 {
			t.Errorf("call %s is made %d times", call, n)
		}
	}
	t.Logf("%d requests, %d answers, of which %d summaries by the model", len(bodies), answers, summaries)
	if summaries == 0 || len(tools) != readings || answers != readings+1+summaries || len(bodies) != answers+1 {
		t.Errorf("%d requests, %d answers, %d summaries, %d calls of tools; want %d calls, an answer for each, one to end, and one request more than answers",
			len(bodies), answers, summaries, len(tools), readings)
	}
}
