package workflow

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Crashed is the code of an attempt at which agents crashed too often.
const Crashed = "agent/crashed"

// How often agents may crash at an attempt where [Run].Crashes does not say, and
// how often the hosts of its agents may be lost before it makes a step. A host is
// lost for many reasons that are not the attempt's, and all that its agents hold
// is lost with it; what ends the whole process each time is lost without end.
const (
	DefaultCrashes = 3
	mostHostsLost  = 10
)

// crashBytes bounds what the journal keeps of a panic's text.
const crashBytes = 1 << 10

// Crash queues an attempt anew whose agent failed with an error of Loom's own. The
// crash that is one too many ends the attempt instead, as failed with
// agent/crashed, and it says so: what always fails is an outcome, and no agent
// is there to give it.
func (r Run) Crash(attempt string, c *loomv1.Claimant, text string) (ended bool, err error) {
	n, a, err := r.outstanding(attempt)
	switch {
	case err != nil:
		return false, err
	case a.Claimant == nil:
		return false, nil
	case !proto.Equal(a.Claimant, c):
		return false, claimedBy(a)
	}
	text = cut(text, crashBytes)
	if text == "" {
		text = "no reason given"
	}
	if count := a.Crashes + 1; count >= r.mostCrashes() {
		return true, r.crashed(n, a, fmt.Sprintf("its agents crashed %s: %s", times(count), text))
	}
	return false, r.queueAnew(a, &loomv1.ClaimReleased{Reason: "agent failed: " + text, Crash: text})
}

// HostLost queues an attempt anew that the agent of a lost host held. One that has
// lost too many hosts since it last made a step ends as after crashes.
func (r Run) HostLost(attempt, reason string) (ended bool, err error) {
	n, a, err := r.outstanding(attempt)
	if err != nil || a.Claimant == nil {
		return false, err
	}
	if count := a.HostsLost + 1; count >= mostHostsLost {
		return true, r.crashed(n, a, fmt.Sprintf("the hosts of its agents were lost %s, and it made no step in between; the last: %s", times(count), reason))
	}
	return false, r.queueAnew(a, &loomv1.ClaimReleased{Reason: reason, HostLost: true})
}

func (r Run) mostCrashes() uint32 {
	if r.Crashes == 0 {
		return DefaultCrashes
	}
	return r.Crashes
}

// crashed ends an attempt for want of an agent that survives it.
func (r Run) crashed(n *node, a *loomv1.Attempt, why string) error {
	out := &loomv1.Outcome{Status: failure, Code: Crashed, Summary: cut(Crashed+": "+why, SummaryBytes), Notes: why}
	if err := r.conclude(n, a, out); err != nil {
		return err
	}
	return r.advance()
}
