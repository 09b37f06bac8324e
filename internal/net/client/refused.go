package client

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"

	"github.com/loomrun/loom/internal/base/fault"
)

// refusals end requests that the server has not passed on: it says so beside
// them, naming the subject, and nobody will answer.
type refusals struct {
	mu      sync.Mutex
	waiting map[string]map[*context.CancelCauseFunc]bool // by subject
}

// listen makes the connection tell r what is refused.
func (r *refusals) listen(nc *nats.Conn) {
	nc.SetErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
		if errors.Is(err, nats.ErrPermissionViolation) {
			r.refused(err.Error())
		}
	})
}

// refused ends the requests to the subject that words name.
func (r *refusals) refused(words string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for subj, all := range r.waiting {
		if !strings.Contains(words, `"`+subj+`"`) {
			continue
		}
		for cancel := range all {
			(*cancel)(fault.New("request/denied", "the host does not permit this to these credentials").At(subj))
		}
	}
}

// watch returns a context for a request to a subject that ends when the server
// refuses it, and what gives that up.
func (r *refusals) watch(ctx context.Context, subj string) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiting == nil {
		r.waiting = map[string]map[*context.CancelCauseFunc]bool{}
	}
	if r.waiting[subj] == nil {
		r.waiting[subj] = map[*context.CancelCauseFunc]bool{}
	}
	r.waiting[subj][&cancel] = true
	return ctx, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.waiting[subj], &cancel)
		if len(r.waiting[subj]) == 0 {
			delete(r.waiting, subj)
		}
		cancel(nil)
	}
}

// because returns why a request failed: what the server said, if it refused.
func because(ctx context.Context, err error) error {
	if denied, ok := errors.AsType[*fault.Error](context.Cause(ctx)); ok {
		return denied
	}
	return fault.New("host/unavailable", "no answer from the host").Because(err)
}
