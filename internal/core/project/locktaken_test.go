package project_test

import (
	"testing"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// toLock brings a bug to where its candidate is being made: the lock is held, or
// waited for.
func (d *desk) toLock(report func() *loomv1.SubmitReply, digest, agent string) (request string, who *loomv1.Claimant, claim *loomv1.LockClaim) {
	d.t.Helper()
	report()
	d.work("qa-engineer", triaged())
	d.work("backend-engineer", outcome(more, nil))
	d.work("backend-engineer", proposed(digest))
	d.approve()
	queued := d.s.Queued()
	a := queued[len(queued)-1]
	who = &loomv1.Claimant{Agent: agent, Host: "h1", Epoch: 1}
	d.ok(&loomv1.Command{Body: &loomv1.Command_ClaimAttempt{ClaimAttempt: &loomv1.ClaimAttempt{Attempt: a.Attempt, Generation: a.Generation, Claimant: who}}})
	claim = d.ok(&loomv1.Command{Body: &loomv1.Command_AcquireLock{AcquireLock: &loomv1.AcquireLock{Request: a.Attempt, Holder: who}}}).GetLock()
	return a.Attempt, who, claim
}

func (d *desk) held() *loomv1.CommitLock {
	d.t.Helper()
	v, err := d.s.Look(project.Lock, &loomv1.Query{})
	if err != nil || len(v.Locks) != 1 {
		d.t.Fatalf("locks %v, %v", v, err)
	}
	return v.Locks[0]
}

func TestLOCK01_WF09_TheCEOTakesTheLock(t *testing.T) {
	d := newDesk(t)
	_, first, held := d.toLock(d.report, "p1", "engineering-manager/1")
	waiting, _, claim := d.toLock(d.report2, "p2", "engineering-manager/2")
	if held.GetToken() == 0 || claim.GetToken() != 0 {
		t.Fatalf("the first has token %d, the second %d", held.GetToken(), claim.GetToken())
	}
	n := len(d.events)
	taken := d.order(releases(held.Token, "the host is gone"))
	if err := d.present(ceo, taken); err != nil {
		t.Fatal(err)
	}
	facts := d.since(n)
	o := facts[0].GetOverrideGiven()
	if o.GetVerb() != "release" || o.GetReason() != "the host is gone" || facts[1].GetLockReleased().GetToken() != held.Token {
		t.Errorf("recorded as %v", facts)
	}
	now := d.held()
	if now.Holder.GetRequest() != waiting || now.Holder.GetToken() <= held.Token || len(now.Queue) != 0 {
		t.Errorf("the lock is %v, want it granted to %s", now, waiting)
	}
	if _, err := d.do(&loomv1.Command{Body: &loomv1.Command_RenewLock{RenewLock: &loomv1.RenewLock{Token: held.Token}}}); fault.Code(err) != "lock/stale" {
		t.Errorf("the old holder renews: %v", err)
	}
	// It may ask again, and gets its turn under another token.
	again := d.ok(&loomv1.Command{Body: &loomv1.Command_AcquireLock{AcquireLock: &loomv1.AcquireLock{Request: held.Request, Holder: first}}}).GetLock()
	if again.GetToken() != 0 {
		t.Errorf("asked again: %v", again)
	}
	// The same command again is done; another one for a token that is gone is
	// refused and recorded.
	n = len(d.events)
	if err := d.present(ceo, taken); err != nil || len(d.since(n)) != 0 {
		t.Errorf("again: %v, %v", err, d.since(n))
	}
	if err := d.present(ceo, d.order(releases(held.Token, "again"))); fault.Code(err) != "lock/stale" {
		t.Errorf("a token that holds no longer: %v", err)
	}
	if r := d.since(n); len(r) != 1 || r[0].GetCommandRefused().GetVerb() != "release" {
		t.Errorf("recorded %v", r)
	}
}
