package commitlock

import (
	"slices"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// What follows changes one lock. Deciders try it on a copy, Apply does it to
// the table; neither changes a claim that is already there.

// copyOf returns a lock that can change without changing l.
func copyOf(l *loomv1.CommitLock) *loomv1.CommitLock {
	return &loomv1.CommitLock{
		Repository: l.Repository, Holder: l.Holder, Queue: slices.Clone(l.Queue), LastToken: l.LastToken, LastCar: l.LastCar,
	}
}

// place returns where in the queue a request waits, or -1.
func place(l *loomv1.CommitLock, request string) int {
	return slices.IndexFunc(l.GetQueue(), func(c *loomv1.LockClaim) bool { return c.GetRequest() == request })
}

// newest returns the claim that a request was last asked by, or nil: the one
// that waits, else the one that holds.
func newest(l *loomv1.CommitLock, request string) *loomv1.LockClaim {
	if i := place(l, request); i >= 0 {
		return l.Queue[i]
	}
	if l.Holder.GetRequest() == request {
		return l.Holder
	}
	return nil
}

// enqueue lets a claim wait: in the place that its request has already, in
// front of all when its request is the holder's (it has had its turn, and
// keeps it), else behind all.
func enqueue(l *loomv1.CommitLock, c *loomv1.LockClaim) {
	i := place(l, c.Request)
	switch {
	case i >= 0:
		c.AskedAt = l.Queue[i].AskedAt
		l.Queue[i] = c
	case l.Holder.GetRequest() == c.Request:
		c.AskedAt = l.Holder.AskedAt
		l.Queue = slices.Insert(l.Queue, 0, c)
	default:
		l.Queue = append(l.Queue, c)
	}
}

// leave takes the claim at a place out of the queue.
func leave(l *loomv1.CommitLock, at int) {
	l.Queue = slices.Delete(l.Queue, at, at+1)
}

// grant gives a free lock to the first of its queue.
func grant(l *loomv1.CommitLock, token uint64, at, until *timestamppb.Timestamp) {
	h := proto.CloneOf(l.Queue[0])
	h.Token, h.GrantedAt, h.Until = token, at, until
	l.Holder, l.LastToken = h, token
	leave(l, 0)
}

// newestToken returns the newest token of a grant, or of a place in a train.
func newestToken(l *loomv1.CommitLock) uint64 { return max(l.LastToken, l.LastCar) }

// couple gives the claim at a place of the queue a place in the holder's train.
func couple(l *loomv1.CommitLock, at int, token uint64) {
	c := proto.CloneOf(l.Queue[at])
	c.Car, l.LastCar = token, token
	l.Queue[at] = c
}

// vacate ends the holder's grant, and the train that it drove.
func vacate(l *loomv1.CommitLock) {
	l.Holder = nil
	for i, c := range l.Queue {
		if c.Car != 0 {
			c = proto.CloneOf(c)
			c.Car = 0
			l.Queue[i] = c
		}
	}
}

// renew moves the end of the holder's grant.
func renew(l *loomv1.CommitLock, until *timestamppb.Timestamp) {
	h := proto.CloneOf(l.Holder)
	h.Until = until
	l.Holder = h
}

// lapsed reports whether the holder's grant has ended by now.
func lapsed(l *loomv1.CommitLock, now time.Time) bool {
	return l.GetHolder() != nil && !now.Before(l.Holder.Until.AsTime())
}

// holds reports whether a token is that of the present grant.
func holds(l *loomv1.CommitLock, token uint64) bool {
	return l.GetHolder() != nil && l.Holder.Token == token
}
