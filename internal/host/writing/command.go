package writing

import (
	"context"
	"sync"

	"golang.org/x/time/rate"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/host/service"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// command takes a signed command from anybody who may ask at all: they knock, and the
// signature is the authority. It is the same door as the CEO's account has.
func (w *Writer) command(ctx context.Context, cmd *loomv1.SignedCommand, c service.Call) (*loomv1.Answer, error) {
	if !w.knocks.allow(c.From.GetName()) { // a refusal is on record, and must not fill the journal
		return nil, fault.New("request/too-many", "more than %d commands a second, and %d at once", knocksPerSecond, knocksAtOnce)
	}
	return w.config.Projects.Decide(ctx, &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_CEO, Name: c.From.GetName()}, cmd), nil
}

// How many signed commands somebody may present who has no way in of the CEO's, for
// each name.
const (
	knocksPerSecond = 2
	knocksAtOnce    = 30
	mostKnocking    = 1000 // names that are kept
)

// knocks bounds who presents signed commands.
type knocks struct {
	mu     sync.Mutex
	limits map[string]*rate.Limiter
}

func (k *knocks) allow(who string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.limits == nil || len(k.limits) >= mostKnocking {
		k.limits = map[string]*rate.Limiter{}
	}
	if k.limits[who] == nil {
		k.limits[who] = rate.NewLimiter(knocksPerSecond, knocksAtOnce)
	}
	return k.limits[who].Allow()
}

// respond takes an operator's answer, which the project accepts where it leaves that to
// operators.
func (w *Writer) respond(ctx context.Context, v *loomv1.DecideApproval, c service.Call) (*loomv1.SubmitReply, error) {
	cmd := &loomv1.Command{Project: project.Of(v.Approval), Actor: c.From, Body: &loomv1.Command_AnswerApproval{AnswerApproval: v}}
	answer, err := w.config.Projects.Do(ctx, cmd)
	return answer.GetSubmit(), err
}
