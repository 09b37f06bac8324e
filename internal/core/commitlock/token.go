package commitlock

import loomv1 "github.com/loomrun/loom/proto/loom/v1"

// numberBits is the part of a token that an event's number takes: a trillion
// events of one project, and 16 million epochs.
const numberBits = 40

// Token is the fencing token of the grant that is event number of its project
// in an epoch of the journal. A later place gives a greater token, and any
// place of a later epoch a greater one than all of an earlier epoch.
func Token(epoch, number uint64) uint64 { return epoch<<numberBits | number }

// Stamp gives a grant, or a place in a train, its token from the number that e has just been given.
// Other events it leaves as they are.
func Stamp(e *loomv1.Event, epoch uint64) {
	if g := e.GetLockGranted(); g != nil {
		g.Token = Token(epoch, e.Number)
	}
	if c := e.GetLockCoupled(); c != nil {
		c.Token = Token(epoch, e.Number)
	}
}

// Epoch returns the epoch that a token was granted in.
func Epoch(token uint64) uint64 { return token >> numberBits }
