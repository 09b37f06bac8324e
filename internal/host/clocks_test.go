package host_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/host"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// shifted is a wall clock that is wrong by so much.
type shifted struct{ by atomic.Int64 }

func (s *shifted) now() time.Time { return time.Now().Add(time.Duration(s.by.Load())) }

// lines is a log that is kept.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *lines) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// landed files a report and approves what is asked, until it has landed.
func landed(ctx context.Context, t *testing.T, c host.Config, h *host.Host, key string) {
	t.Helper()
	o := newOwner(t, c, h)
	r := report()
	r.IdempotencyKey, r.Message = key, "total is wrong: "+key
	filed, err := connect(t, h, "anonymous").Report(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	followUntil(ctx, t, o.inbox, "the end", func(e *loomv1.Event) bool {
		a := e.GetApprovalRequested().GetApproval()
		if a == nil || a.Bead != filed.Bead {
			return e.Bead == filed.Bead && e.GetExecutionEnded() != nil
		}
		if err := o.decide(ctx, a, loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE, "go on"); err != nil {
			t.Errorf("the approval: %v", err)
			return true
		}
		return false
	})
}

// TestF51_AHostThatOnceHadAWrongClockTakesApprovals starts a host whose clock is
// two hours ahead, has a bead filed, and starts it again with the right clock.
func TestF51_AHostThatOnceHadAWrongClockTakesApprovals(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	ahead := new(shifted)
	ahead.by.Store(int64(2 * time.Hour))
	c := config(t, scripted.New("quick", nothing))
	c.Now = ahead.now
	h := start(t, c)
	if _, err := connect(t, h, "anonymous").Report(ctx, report()); err != nil {
		t.Fatal(err)
	}
	if reply, err := connect(t, h, "operator").Host(ctx, &loomv1.HostRequest{}); err != nil || reply.ClocksApart != nil {
		t.Errorf("while both are wrong alike: %v apart, %v", reply.GetClocksApart(), err)
	}
	h.Stop(ctx)

	said := new(lines)
	c.Now, c.Model, c.Logger = nil, scripted.New("team", (&mender{}).answer), said.logger()
	h = start(t, c)
	landed(ctx, t, c, h, "after")
	reply, err := connect(t, h, "operator").Host(ctx, &loomv1.HostRequest{})
	if err != nil || (reply.ClocksApart.AsDuration()-2*time.Hour).Abs() > 5*time.Minute {
		t.Errorf("status tells %v, %v, want two hours", reply.GetClocksApart().AsDuration(), err)
	}
	if text := said.String(); strings.Count(text, "journal time and the wall clock are apart") != 1 || !strings.Contains(text, "ahead=2h0m0s") && !strings.Contains(text, "ahead=1h59m") {
		t.Errorf("the log does not say once what is wrong:\n%s", text)
	}
	refusedWithBothTimes(ctx, t, c, h)
}

// refusedWithBothTimes presents a command that has expired.
func refusedWithBothTimes(ctx context.Context, t *testing.T, c host.Config, h *host.Host) {
	t.Helper()
	o := newOwner(t, c, h)
	old := time.Now().Add(-time.Hour)
	cmd, err := o.key.SignAt(old, o.deployment, "shop", &loomv1.CeoCommand{Verb: &loomv1.CeoCommand_Pause{Pause: &loomv1.PauseWork{Reason: "r"}}})
	if err != nil {
		t.Fatal(err)
	}
	err = o.ceo.Present(ctx, "decide", cmd)
	if fault.Code(err) != "approval/expired" || !strings.Contains(err.Error(), "by the clock of the host") || !strings.Contains(err.Error(), "in the journal") {
		t.Errorf("an order that expired: %v, want a refusal with both times", err)
	}
}

// TestF51_AMachineThatSleptTakesApprovals has the wall clock go on by ten
// minutes while the monotonic clock, which journal time advances by, stands
// still: so it is when a machine is suspended.
func TestF51_AMachineThatSleptTakesApprovals(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	clock := new(shifted)
	clock.by.Store(-int64(10 * time.Minute))
	c := config(t, scripted.New("team", (&mender{}).answer))
	c.Now = clock.now
	h := start(t, c)
	ops := connect(t, h, "operator")
	if reply, err := ops.Host(ctx, &loomv1.HostRequest{}); err != nil || reply.ClocksApart != nil {
		t.Errorf("before it sleeps: %v apart, %v", reply.GetClocksApart(), err)
	}
	clock.by.Store(0)
	landed(ctx, t, c, h, "slept") // signed by the clock of now
	reply, err := ops.Host(ctx, &loomv1.HostRequest{})
	if err != nil || (reply.ClocksApart.AsDuration()+10*time.Minute).Abs() > project.ClocksApart {
		t.Errorf("status tells %v, %v, want ten minutes behind", reply.GetClocksApart().AsDuration(), err)
	}
	clock.by.Store(int64(time.Minute)) // a minute more of sleep
	if again := h.ClocksApart(); again >= reply.ClocksApart.AsDuration() {
		t.Errorf("after another minute it is %v, was %v", again, fmt.Sprint(reply.ClocksApart.AsDuration()))
	}
}
