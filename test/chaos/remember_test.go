package chaos

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/modeltest"
	"github.com/loomrun/loom/internal/core/turn"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

var remembers = flag.Int("chaos.remembers", 0, "moments of a model saying what is worth remembering at which its host is killed; 0 is two")

// Moments of the work after an end, as events tell them, at which the host is killed.
var rememberMoments = []string{"begun", "claimed", "asked", "answered", "kept", "ended"}

// rememberer is the model: it writes a file, and says of each bead what is worth
// remembering. It counts who asks, and tells when it is asked.
type rememberer struct {
	mu    sync.Mutex
	asked map[string]chan struct{} // by name of the file, closed when it is asked
}

func (r *rememberer) answer(q *model.Request) modeltest.Reply {
	text := q.Messages[0].Text
	words := assignment.FindStringSubmatch(text)
	_, name, ok := strings.Cut(text, "write file-")
	if words == nil || !ok && words[1] != "verify" {
		return modeltest.Reply{Status: 500, Body: "no assignment of a file"}
	}
	name, _, _ = strings.Cut(name, "\n")
	done := func(fields string) modeltest.Reply {
		return modeltest.Reply{Calls: []*loomv1.ToolCall{modeltest.Call(fmt.Sprint("c", len(q.Messages)), turn.FinishName,
			`{"status": "success", "summary": "done", "notes": "", "fields": `+fields+`}`)}}
	}
	switch {
	case words[1] == "verify":
		return done(`{"fault": ""}`)
	case words[1] == "write-memory":
		r.mu.Lock()
		defer r.mu.Unlock()
		if c := r.asked[name]; c != nil {
			close(c)
			r.asked[name] = nil
		}
		return done(fmt.Sprintf(`{"memory": {"entries": [{"type": "discovery", "text": "The first of file-%[1]s.", "confidence": 90}, {"type": "risk", "text": "The second of file-%[1]s.", "confidence": 80}]}}`, name))
	case len(q.Messages) == 1:
		return modeltest.Reply{Calls: []*loomv1.ToolCall{modeltest.Call("w", "file_write", fmt.Sprintf(`{"path": "file-%[1]s.md", "content": "It is file %[1]s.\n"}`, name))}}
	}
	return done(`{}`)
}

// TestMEM01_WhatWorkHasFoundIsKeptOnceOverKillNine kills a host while a model says what of a
// phase is worth remembering: when that begins, when it is claimed, when the model is asked,
// when it has answered, when the first entry is kept and when the work after the end has
// ended. Each entry is kept once, is said once, and the work before is as it was.
func TestMEM01_WhatWorkHasFoundIsKeptOnceOverKillNine(t *testing.T) {
	moments := []string{"asked", "kept"}
	wait := func() time.Duration { return 0 }
	if *remembers > 0 {
		if *seed == 0 {
			*seed = uint64(time.Now().UnixNano())
		}
		t.Logf("seed %d (-chaos.seed)", *seed)
		draw := rand.New(rand.NewPCG(*seed, 3))
		moments = nil
		for i := range *remembers {
			moments = append(moments, rememberMoments[i%len(rememberMoments)])
		}
		draw.Shuffle(len(moments), func(i, j int) { moments[i], moments[j] = moments[j], moments[i] })
		wait = func() time.Duration { return time.Duration(draw.Int64N(int64(15 * time.Millisecond))) }
	}
	m := &rememberer{asked: map[string]chan struct{}{}}
	server := modeltest.Anthropic(t, m.answer)
	s := lone{t: t, place: newPlace(t)}
	s.place.repository(t, crowd)
	s.place.flags = []string{"--model", "anthropic:claude-rememberer", "--bead-usd", "5", "--day-usd", "1000"}
	s.place.env = append(s.place.env, "ANTHROPIC_BASE_URL="+server.URL)
	s.host = s.place.start(t)
	s.host.define("told")
	for n, moment := range moments {
		s.rememberThrough(m, fmt.Sprint(n), moment, wait())
	}
	s.judgeRemembered(len(moments))
	s.host.stop(syscall.SIGTERM)
}

// rememberThrough has a file written, kills the host a while after a moment of the work
// after its end, and waits until that is done.
func (s *lone) rememberThrough(m *rememberer, name, moment string, after time.Duration) {
	s.t.Helper()
	asked := make(chan struct{})
	m.mu.Lock()
	m.asked[name] = asked
	m.mu.Unlock()
	named, err := structpb.NewStruct(map[string]any{"name": "file-" + name})
	if err != nil {
		s.t.Fatal(err)
	}
	var bead string
	s.await("file-"+name+" is taken", func() bool {
		return s.ask(func(ctx context.Context, c *client.Client) error {
			r, err := c.Submit(ctx, &loomv1.Submission{
				Project: crowd, Goal: "write file-" + name, Process: "told", IdempotencyKey: "file-" + name, Context: named,
			})
			bead = r.GetBead()
			return err
		}) == nil
	})
	begun := ""
	s.happens(bead+": "+moment, func(e *loomv1.Event) bool {
		if e.GetExecutionStarted().GetAfter() == bead+"-x1" {
			begun = e.Bead
		}
		return begun != "" && e.Bead == begun && isMoment(moment, e)
	})
	if moment == "asked" {
		select {
		case <-asked:
		case <-deadline(s.t).Done():
			s.t.Fatalf("the model is not asked about file-%s\n%s", name, s.host.text())
		}
	}
	<-time.After(after)
	s.host.kill()
	s.host = s.place.start(s.t)
	s.happens("the end of "+begun, func(e *loomv1.Event) bool { return e.Bead == begun && e.GetExecutionEnded() != nil })
}

func isMoment(moment string, e *loomv1.Event) bool {
	switch moment {
	case "begun":
		return e.GetExecutionStarted() != nil
	case "claimed", "asked":
		return e.GetAttemptClaimed() != nil
	case "answered":
		return e.GetModelAnswered() != nil
	case "kept":
		return e.GetMemoryKept() != nil
	}
	return e.GetExecutionEnded() != nil
}

// happens waits for an event, of those that were or are to come.
func (s *lone) happens(what string, is func(*loomv1.Event) bool) {
	s.t.Helper()
	c := s.host.client()
	defer c.Close()
	ctx, cancel := context.WithCancel(deadline(s.t))
	defer cancel()
	found := false
	err := c.Follow(ctx, &loomv1.NoticesRequest{}, true, func(n *loomv1.Notice) error {
		if !found && is(n.Event) {
			found = true
			cancel()
		}
		return nil
	})
	if !found {
		s.t.Fatalf("not: %s (%v)\n%s", what, err, s.host.text())
	}
}

// judgeRemembered looks for each entry of each file once, in the journal and in the memory.
func (s *lone) judgeRemembered(files int) {
	s.t.Helper()
	c := s.host.client()
	defer c.Close()
	kept, landed, ends := map[string]int{}, 0, 0
	for _, n := range newRecord().history(s.t, c) {
		switch f := n.Event.Fact.(type) {
		case *loomv1.Event_MemoryKept:
			kept[f.MemoryKept.Entry.Text]++
		case *loomv1.Event_MemoryMerged:
			s.t.Errorf("something is said again: %v", n.Event)
		case *loomv1.Event_Landed:
			landed++
		case *loomv1.Event_ExecutionEnded:
			ends++
			if f.ExecutionEnded.Status != loomv1.ExecutionStatus_EXECUTION_STATUS_COMPLETED {
				s.t.Errorf("%v", n.Event)
			}
		}
	}
	v, err := c.Memory(deadline(s.t), &loomv1.Query{Project: crowd, Limit: 1000})
	if err != nil {
		s.t.Fatal(err)
	}
	counts := map[string]uint32{}
	for _, e := range v.Memories {
		counts[e.Text] += e.Count
	}
	for n := range files {
		for _, which := range []string{"first", "second"} {
			text := fmt.Sprintf("The %s of file-%d.", which, n)
			if kept[text] != 1 || counts[text] != 1 {
				s.t.Errorf("%q is kept %d times and counts %d", text, kept[text], counts[text])
			}
		}
	}
	if landed != files || ends != 2*files {
		s.t.Errorf("%d files: %d landed, %d executions ended", files, landed, ends)
	}
}
