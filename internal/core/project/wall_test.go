package project_test

import (
	"crypto/ed25519"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// TestF51_SignedCommandsGoByTheWallClock has journal time two hours ahead of the
// wall clock, and two behind: what counts of a signature is the wall clock alone,
// at the very instants at which it begins and ends to hold.
func TestF51_SignedCommandsGoByTheWallClock(t *testing.T) {
	const minute = time.Minute
	for _, tt := range []struct {
		ahead            time.Duration // of journal time
		issued, notAfter time.Duration // from the wall clock
		code             string
	}{
		{2 * time.Hour, 0, 5 * minute, ""},
		{-2 * time.Hour, 0, 5 * minute, ""},
		{2 * time.Hour, 5 * minute, 10 * minute, ""}, // the signer's clock may be 5 minutes ahead
		{2 * time.Hour, 5*minute + 1, 10 * minute, "approval/expired"},
		{2 * time.Hour, -5 * minute, 1, ""},
		{2 * time.Hour, -5 * minute, 0, "approval/expired"},
		{2 * time.Hour, 2 * time.Hour, 3 * time.Hour, "approval/expired"}, // right by journal time
		{0, 2 * time.Hour, 3 * time.Hour, "approval/expired"},
	} {
		d := newDesk(t)
		d.s.Ahead(tt.ahead)
		wall := d.now.Add(-tt.ahead)
		f := d.file(&loomv1.Submission{})
		signed := d.order(func(c *loomv1.CeoCommand) {
			pauses(allWork, "", "r")(c)
			c.IssuedAt, c.NotAfter = timestamppb.New(wall.Add(tt.issued)), timestamppb.New(wall.Add(tt.notAfter))
		})
		before := len(d.events)
		err := d.present(ceo, signed)
		if fault.Code(err) != tt.code {
			t.Errorf("%v ahead, signed from %v to %v: %v, want %q", tt.ahead, tt.issued, tt.notAfter, err, tt.code)
		}
		if tt.code != "" {
			both := []string{wall.Format(time.RFC3339) + " by the clock of the host"}
			if tt.ahead != 0 {
				both = append(both, d.now.Format(time.RFC3339)+" in the journal")
			}
			for _, said := range both {
				if !strings.Contains(err.Error(), said) {
					t.Errorf("%v does not say %q", err, said)
				}
			}
			continue
		}
		if d.execution(f.Execution).HeldSince == nil {
			t.Errorf("%v ahead: the order has no effect", tt.ahead)
		}
		for _, e := range d.since(before) {
			if e.Wall == nil || !e.Wall.AsTime().Equal(wall) || !e.Time.AsTime().Equal(d.now) {
				t.Errorf("%v ahead: event %d has time %v and wall %v", tt.ahead, e.Number, e.Time.AsTime(), e.Wall.AsTime())
			}
		}
	}
}

// TestF51_DeadlinesGoByTheWallClock files a bead that is to be done within an
// hour, in journals that are ahead and behind. It is asked about when the hour
// has passed by the wall clock, and the next tick is due then and not before.
func TestF51_DeadlinesGoByTheWallClock(t *testing.T) {
	for _, ahead := range []time.Duration{0, 2 * time.Hour, -2 * time.Hour} {
		d := newDesk(t)
		d.store(line("long", "1.0", &loomv1.NodeDefinition{Id: "ok", Type: loomv1.NodeType_NODE_TYPE_APPROVAL, Role: "ceo"}))
		d.s.Ahead(ahead)
		deadline := d.now.Add(-ahead).Add(time.Hour)
		d.file(&loomv1.Submission{Process: "long", Deadline: timestamppb.New(deadline)})
		d.tick()
		if due, ok := d.s.Next(); !ok || !due.Equal(d.now.Add(time.Hour)) {
			t.Errorf("%v ahead: the next tick is due at %v, want an hour from %v", ahead, due, d.now)
		}
		d.wait(time.Hour - 1)
		if d.limits() != 0 {
			t.Errorf("%v ahead: asked before the deadline", ahead)
		}
		d.wait(1)
		if d.limits() != 1 {
			t.Errorf("%v ahead: asked %d times at the deadline", ahead, d.limits())
		}
	}
}

// TestF51_AClockThatIsSetMovesDeadlines puts the wall clock forward, as a machine
// does that has slept, and back, while work has a deadline.
func TestF51_AClockThatIsSetMovesDeadlines(t *testing.T) {
	d := newDesk(t)
	d.store(line("long", "1.0", &loomv1.NodeDefinition{Id: "ok", Type: loomv1.NodeType_NODE_TYPE_APPROVAL, Role: "ceo"}))
	d.file(&loomv1.Submission{Process: "long", Deadline: timestamppb.New(d.now.Add(time.Hour))})
	for _, tt := range []struct{ ahead, due time.Duration }{
		{0, time.Hour}, {-10 * time.Minute, 50 * time.Minute}, {3 * time.Hour, 4 * time.Hour}, {-10 * time.Minute, 50 * time.Minute},
	} {
		d.s.Ahead(tt.ahead)
		d.tick()
		if due, ok := d.s.Next(); !ok || !due.Equal(d.now.Add(tt.due)) {
			t.Errorf("%v ahead: due at %v, want %v from %v", tt.ahead, due, tt.due, d.now)
		}
	}
	d.wait(50 * time.Minute)
	if d.limits() != 1 {
		t.Errorf("asked %d times at the deadline", d.limits())
	}
	if err := fault.Code(func() error {
		_, err := d.do(&loomv1.Command{Body: &loomv1.Command_FileBead{FileBead: &loomv1.FileBead{Submission: &loomv1.Submission{
			Goal: "late", Deadline: timestamppb.New(d.now.Add(10 * time.Minute)), // which is now
		}}}})
		return err
	}()); err != "submit/past-deadline" {
		t.Errorf("a deadline that is now by the wall clock: %q", err)
	}
}

// TestF51_AuditGoesByTheWallClock looks at an act in a journal that was two hours
// ahead: its event says what the wall clock said.
func TestF51_AuditGoesByTheWallClock(t *testing.T) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name       string
		time, wall time.Duration // moved
		has        bool
		code       string
	}{
		{"the journal is ahead", 2 * time.Hour, 0, true, ""},
		{"the journal is ahead, and does not say so", 2 * time.Hour, 0, false, "approval/expired"},
		{"it was too late by the wall clock", 0, time.Hour, true, "approval/expired"},
	} {
		e := approved(private, 7)
		at := e.Time.AsTime()
		if e.Time = timestamppb.New(at.Add(tt.time)); tt.has {
			e.Wall = timestamppb.New(at.Add(tt.wall))
		}
		a := &project.Auditor{Deployment: "dp-1", Roots: []ed25519.PublicKey{public}}
		if act := a.Look(e); fault.Code(act.Err) != tt.code {
			t.Errorf("%s: %v, want %q", tt.name, act.Err, tt.code)
		}
	}
}
