package host

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/core/turn"
	"github.com/loomrun/loom/internal/net/client"
	"github.com/loomrun/loom/internal/place/git"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// TestF1_TheWorkQueueIsLostUnderWork deletes the stream of the work queue, again
// and again, while agents work: every bead is worked on all the same, once.
func TestF1_TheWorkQueueIsLostUnderWork(t *testing.T) {
	longtest.Skip(t)
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	repository := filepath.Join(t.TempDir(), "shop")
	if err := git.Create(t.Context(), repository, "main", "first", []git.File{{Path: "a.txt", Data: []byte("one\n")}}); err != nil {
		t.Fatal(err)
	}
	asked := make(chan struct{}, 100)
	h, err := Start(ctx, Config{
		Data: t.TempDir(), CEOKey: filepath.Join(t.TempDir(), "ceo.nk"), Projects: []Project{{ID: "shop", Repository: repository}},
		Model: scripted.New("quick", func(*model.Request) (*model.Response, error) {
			asked <- struct{}{}
			return &model.Response{Stop: model.StopTools, Calls: []*loomv1.ToolCall{{
				Tool: turn.FinishName, Arguments: `{"status":"success","summary":"nothing is wrong","notes":"","fields":{"severity":"none","specialist":"","check":""}}`,
			}}}, nil
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Stop(context.Background())
	js, err := jetstream.New(h.broker.Core())
	if err != nil {
		t.Fatal(err)
	}
	nc, err := h.Connect("operator")
	if err != nil {
		t.Fatal(err)
	}
	c := client.New(nc)
	defer c.Close()
	const beads = 40
	for i := range beads {
		if _, err := c.Submit(ctx, &loomv1.Submission{Project: "shop", Process: "auto-bug-workflow", Goal: fmt.Sprint("look at ", i)}); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		<-asked
		if err := js.DeleteStream(ctx, "WORK"); err != nil {
			t.Logf("the work queue is gone already: %v", err)
		}
	}
	ended, claims := 0, map[string]int{}
	err = c.Follow(ctx, &loomv1.NoticesRequest{Project: "shop"}, true, func(n *loomv1.Notice) error {
		switch e := n.Event; {
		case e.GetAttemptClaimed() != nil:
			claims[e.Attempt]++
		case e.GetExecutionEnded() != nil:
			ended++
		}
		if ended == beads {
			return context.Canceled
		}
		return nil
	})
	if ended != beads {
		t.Fatalf("%d of %d beads ended: %v", ended, beads, err)
	}
	for attempt, n := range claims {
		if n != 1 {
			t.Errorf("%s was claimed %d times, want once", attempt, n)
		}
	}
}
