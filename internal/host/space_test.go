package host_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// TestP24_ANearlyFullDiskStopsAdmissionAndNothingElse fills the disk under a
// host, as it is told. What was there is answered, what is new is refused by
// name, and taken once there is space, with no hand laid on.
func TestP24_ANearlyFullDiskStopsAdmissionAndNothingElse(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	var left atomic.Uint64
	left.Store(1 << 40)
	c := config(t, scripted.New("quick", nothing))
	c.Agents = map[string]int{"qa-engineer": 0}
	c.Free = func(string) (uint64, uint64, error) { return left.Load(), 1 << 41, nil }
	h := start(t, c)
	ops := connect(t, h, "operator")
	submit := func(goal string) error {
		_, err := ops.Submit(ctx, &loomv1.Submission{Project: "shop", Process: "auto-bug-workflow", Goal: goal})
		return err
	}
	if err := submit("before"); err != nil {
		t.Fatal(err)
	}
	until := func(goal string, want bool) error {
		for ctx.Err() == nil {
			if err := submit(goal); (err == nil) == want {
				return err
			}
		}
		t.Fatalf("submitting never went well: %t", want)
		return nil
	}
	left.Store(100 << 20)
	if err := until("full", false); fault.Code(err) != "data/disk-full" || fault.Status(err) != fault.Unavailable {
		t.Errorf("on a full disk: %v", err)
	}
	if v, err := ops.Bead(ctx, &loomv1.Query{Project: "shop"}); err != nil || len(v.Beads) == 0 {
		t.Errorf("reading on a full disk: %v, %v", v.GetBeads(), err)
	}
	about, err := ops.Host(ctx, &loomv1.HostRequest{})
	if err != nil || len(about.Hindrances) != 1 || about.Hindrances[0].Code != "data/disk-full" || about.Hindrances[0].Hint == "" {
		t.Errorf("the status of a host on a full disk: %v, %v", about.GetHindrances(), err)
	}
	left.Store(1 << 40)
	if err := until("again", true); err != nil {
		t.Error(err)
	}
	if about, err := ops.Host(ctx, &loomv1.HostRequest{}); err != nil || len(about.Hindrances) != 0 {
		t.Errorf("the status of a host with space again: %v, %v", about.GetHindrances(), err)
	}
}
