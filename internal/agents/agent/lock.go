package agent

import (
	"context"
	"time"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// renewals says when a holder first renews the commit lock, and how often after
// that: well within what is left of the grant, and within its lease. An agent that
// asks again for what it holds may have little left, and a grant that was renewed
// says nothing of its lease by its times.
func renewals(c *loomv1.LockClaim) (first, every time.Duration) {
	lease, left := c.GetLease().AsDuration(), c.GetLeft().AsDuration()
	if c.Lease == nil { // of a host of an earlier release
		lease = c.Until.AsTime().Sub(c.GrantedAt.AsTime())
		left = lease
	}
	within := func(d time.Duration) time.Duration { return min(max(d/3, 100*time.Millisecond), time.Minute) }
	return within(min(left, lease)), within(lease)
}

// grants is how many grants of the commit lock an attempt may lose: a host that
// slept, or was too busy to renew, begins again, because nothing is wrong with
// the work.
const grants = 3

// guarded is work that needs the commit lock's token.
type guarded func(ctx context.Context, token uint64) (*loomv1.Outcome, error)

// underLock carries out do with the commit lock's token, or parks the attempt
// until the lock is granted.
func (j *job) underLock(ctx context.Context, do guarded) (*loomv1.Outcome, error) {
	defer j.reserve(ctx)()
	for n := 1; ; n++ {
		claim, err := j.seat.AcquireLock(ctx)
		if err != nil {
			return nil, err
		}
		if claim.Token == 0 {
			if err := j.seat.Park(ctx); err != nil {
				return nil, err
			}
			return nil, actors.ErrParked
		}
		out, err := j.hold(ctx, claim, do)
		if n == grants || !overtaken(out, err) {
			return out, err
		}
		j.Logger.Info("the commit lock was lost; asking for it again", "attempt", j.brief.Attempt.Id, "token", claim.Token)
	}
}

// reserve has a checkout ready for the hooks before the lock is asked for, and what is
// kept of its setup, so that nobody waits for them to be made while it is held.
func (j *job) reserve(ctx context.Context) (done func()) {
	if !j.contained() {
		return func() {}
	}
	hooks, err := j.repo.Source.HasHooks(ctx)
	if err == nil && hooks {
		if err := j.prepareKept(ctx); err != nil && ctx.Err() == nil {
			j.Logger.Warn("the result of a setup is not kept", "attempt", j.brief.Attempt.Id, "error", err)
		}
		if done, err = j.kept().Reserve(ctx, j.repo.Workspaces.Sparse(j.cone())); err == nil {
			return done
		}
	}
	if err != nil && ctx.Err() == nil {
		j.Logger.Warn("no checkout is ready for the hooks", "attempt", j.brief.Attempt.Id, "error", err)
	}
	return func() {}
}

// hold carries out do under a grant and gives the grant back.
func (j *job) hold(ctx context.Context, claim *loomv1.LockClaim, do guarded) (*loomv1.Outcome, error) {
	held, stop := j.keep(ctx, claim)
	out, err := j.settleTrains(held, claim)
	if out == nil && err == nil {
		out, err = j.settleLandings(held, claim)
	}
	if out == nil && err == nil {
		out, err = do(held, claim.Token)
	}
	stop()
	if ctx.Err() != nil { // the grant ends with the claim
		if err == nil && out.GetLanding() != nil {
			return out, nil // what has landed is told, whoever has ended the attempt meanwhile
		}
		return nil, ctx.Err()
	}
	if rerr := j.seat.ReleaseLock(ctx, claim.Token); rerr != nil && !overtaken(out, err) {
		j.Logger.Warn("commit lock not released", "token", claim.Token, "error", rerr)
	}
	return out, err
}

// overtaken reports whether work ended because its grant did.
func overtaken(out *loomv1.Outcome, err error) bool {
	code := fault.Code(err)
	if err == nil {
		code = out.GetCode()
	}
	return code == "lock/stale" || code == "git/fenced"
}

// keep renews the grant until stop is called; its context ends when the grant
// is lost. That is for politeness: what keeps a late holder out is the fence.
func (j *job) keep(ctx context.Context, claim *loomv1.LockClaim) (held context.Context, stop func()) {
	held, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		first, every := renewals(claim)
		t := time.NewTimer(first)
		defer t.Stop()
		for {
			select {
			case <-held.Done():
				return
			case <-t.C:
				if err := j.seat.RenewLock(held, claim.Token); err != nil {
					cancel(err)
				}
				t.Reset(every)
			}
		}
	}()
	return held, func() { cancel(context.Canceled); <-done }
}
