package actors

import (
	"crypto/sha256"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// mostPoison is how many commands are remembered that made a project fail.
const mostPoison = 256

// poison knows commands again that made a project fail, so that one which is
// sent again and again does not take its partition down each time.
type poison struct {
	reasons map[[sha256.Size]byte]error
	order   [][sha256.Size]byte // oldest first
}

// add remembers cmd, and reports whether that will keep it from coming again.
func (p *poison) add(cmd *loomv1.Command, reason error) bool {
	digest, ok := digestOf(cmd)
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
	return true
}

// refuse returns an error for a command that made its project fail before.
func (p *poison) refuse(cmd *loomv1.Command) error {
	if len(p.order) == 0 {
		return nil
	}
	digest, _ := digestOf(cmd)
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
