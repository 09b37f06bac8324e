package actors

import (
	"crypto/sha256"
	"sync"
	"sync/atomic"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// mostPoison is how many commands are remembered that made a project fail.
const mostPoison = 256

// poison knows commands again that made a project fail, so that one which is
// sent again and again does not end a life of the project each time. It is safe for
// concurrent use.
type poison struct {
	mu      sync.Mutex
	any     atomic.Bool
	reasons map[[sha256.Size]byte]error
	order   [][sha256.Size]byte // oldest first
}

// add remembers cmd, and reports whether that will keep it from coming again.
func (p *poison) add(cmd *loomv1.Command, reason error) bool {
	digest, ok := digestOf(cmd)
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, known := p.reasons[digest]; !ok || known {
		return false
	}
	if p.reasons == nil {
		p.reasons = map[[sha256.Size]byte]error{}
	}
	if len(p.order) == mostPoison {
		delete(p.reasons, p.order[0])
		p.order = p.order[1:]
	}
	p.reasons[digest] = reason
	p.order = append(p.order, digest)
	p.any.Store(true)
	return true
}

// refuse returns an error for a command that made its project fail before.
func (p *poison) refuse(cmd *loomv1.Command) error {
	if !p.any.Load() {
		return nil
	}
	digest, _ := digestOf(cmd)
	p.mu.Lock()
	defer p.mu.Unlock()
	reason, bad := p.reasons[digest]
	if !bad {
		return nil
	}
	return fault.New("internal/error", "command %T made project %q fail and is set aside", cmd.Body, cmd.Project).Because(reason)
}

// digestOf is false for a tick: time passes again, whatever became of the last.
func digestOf(cmd *loomv1.Command) ([sha256.Size]byte, bool) {
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(cmd)
	return sha256.Sum256(data), err == nil && cmd.GetTick() == nil
}
