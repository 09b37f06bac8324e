package wire

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Line asks one server. It is safe for concurrent use.
type Line struct {
	server Server
	limits Limits
	client *http.Client
	gate   *Gate

	// Time and chance, which tests replace.
	now    func() time.Time
	pause  func(context.Context, time.Duration) error
	chance func() float64
}

// NewLine returns a line to s.
func NewLine(s Server) *Line {
	return &Line{
		server: s, limits: s.Limits.WithDefaults(s.Loopback()), client: client(s.Client), gate: s.Gates.Of(s),
		now: time.Now, pause: pause, chance: rand.Float64,
	}
}

// Server is where the line leads.
func (l *Line) Server() Server { return l.server }

// Name is documented at [model.Provider]: that of the model.
func (l *Line) Name() string { return l.server.Spec }

// Scripted is documented at [model.Provider]: a server is none.
func (l *Line) Scripted() bool { return false }

// Window is documented at [model.Windowed].
func (l *Line) Window() int { return l.server.Window }

// TakesPictures is documented at [model.Sighted].
func (l *Line) TakesPictures() bool { return l.server.Pictures }

// MostCost is documented at [model.Priced].
func (l *Line) MostCost(input, output uint64) (microUSD uint64, known bool) {
	return l.server.MostCost(input, output)
}

// client returns a client that follows no redirect: a key goes to the address
// it was given for.
func client(given *http.Client) *http.Client {
	c := http.Client{}
	if given != nil {
		c = *given
	}
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &c
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// late is why a line gives up by itself.
type late string

func (l late) Error() string { return string(l) }

// Try sends one request with c as the HTTP client, reports what comes in to
// c, and returns when the stream has ended or an error if it was not
// understood.
type Try func(ctx context.Context, c *Call) error

// Ask tries until there is an answer: again after 408, 409, 425, 429, 5xx and
// broken connections, after the time the server asks for or else an
// exponential and jittered one. See [model.Provider] for what it returns.
func (l *Line) Ask(ctx context.Context, q *model.Request, onChunk func(model.Chunk), try Try) (*model.Response, error) {
	all, cancel := context.WithTimeoutCause(ctx, l.limits.Total, late("no answer within "+l.limits.Total.String()))
	defer cancel()
	a := &asking{Line: l, request: q, onChunk: onChunk, try: try}
	if a.onChunk == nil {
		a.onChunk = func(model.Chunk) {}
	}
	answer, err := a.run(all)
	switch {
	case err == nil:
		return answer, nil
	case ctx.Err() != nil:
		err = model.CutOff(ctx.Err(), a.cut())
		a.lost = slices.DeleteFunc(a.lost, func(c *Call) bool { return c == a.flight })
	}
	return nil, model.Spent(err, a.used())
}

// asking is one request through all its tries.
type asking struct {
	*Line
	request *model.Request
	onChunk func(model.Chunk)
	try     Try
	flight  *Call         // the try that was under way when the asking was broken off
	lost    []*Call       // tries that broke after the server had begun to answer
	paid    *loomv1.Usage // of all tries, once there is a whole answer
	waited  time.Duration // for rate limits
}

func (a *asking) run(ctx context.Context) (*model.Response, error) {
	for n := 1; ; n++ {
		if err := a.pass(ctx); err != nil {
			return nil, err
		}
		c, err := a.once(ctx)
		if err == nil {
			return a.finish(c)
		}
		if ctx.Err() != nil {
			a.flight = c
		}
		if c.begun {
			a.lost = append(a.lost, c)
		}
		if !again(c, err) {
			return nil, err
		}
		wait := a.wait(c, n)
		if c.refusal.limits() {
			a.gate.Shut(a.now().Add(wait))
		}
		if n >= a.limits.Tries || wait > a.patience(c) {
			return nil, a.giveUp(c, err, n, wait)
		}
		if c.refusal.asks() {
			a.waited += wait
		}
		if c.begun {
			a.onChunk(model.Chunk{Discard: true})
		}
		if a.pause(ctx, wait) != nil {
			return nil, a.late(ctx, err)
		}
	}
}

// once makes one try and returns what came of it.
func (a *asking) once(parent context.Context) (*Call, error) {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	silence := a.limits.First
	idle := time.AfterFunc(silence, func() { cancel(late("nothing came for " + silence.String())) })
	defer idle.Stop()
	c := &Call{
		server: a.server, client: a.client, onChunk: a.onChunk, told: func(h http.Header) { a.gate.Learn(a.now(), h) },
		id: either(a.request.ID, a.request.Digest()),
		heard: func() {
			if idle.Stop() {
				silence = a.limits.Idle
				idle.Reset(silence)
			}
		},
	}
	err := a.try(ctx, c)
	if c.done && c.refusal == nil {
		return c, nil // what follows the end of an answer does not matter
	}
	return c, a.judge(ctx, c, err)
}

// judge says why a try that is not done failed.
func (a *asking) judge(ctx context.Context, c *Call, err error) error {
	switch {
	case ctx.Err() != nil:
		return a.late(ctx, nil)
	case c.refusal != nil:
		return c.refusal.err(a.server)
	case c.broken != nil:
		return fault.New("model/unavailable", "%s: the connection broke: %s", a.server.Spec, a.server.trouble(c.broken))
	case err != nil:
		return fault.New("model/invalid-output", "%s: the answer cannot be read: %s", a.server.Spec, a.server.trouble(err))
	}
	return fault.New("model/unavailable", "%s: the answer ended early", a.server.Spec)
}

// late says which limit ended ctx, and what the last try had met.
func (a *asking) late(ctx context.Context, last error) error {
	var why late
	if !errors.As(context.Cause(ctx), &why) {
		return context.Cause(ctx)
	}
	said := ""
	if last != nil {
		said = " (" + last.Error() + ")"
	}
	return fault.New("model/timeout", "%s: %s%s", a.server.Spec, why, said)
}

// again reports whether a failed try is worth another.
func again(c *Call, err error) bool {
	if c.refusal != nil {
		return c.refusal.passes()
	}
	return fault.Code(err) == "model/unavailable"
}

// wait returns how long to wait after try n.
func (a *asking) wait(c *Call, n int) time.Duration {
	if c.refusal != nil && c.refusal.wait > 0 {
		return c.refusal.wait
	}
	step := min(time.Second<<(n-1), a.limits.Patience)
	return step/2 + time.Duration(a.chance()*float64(step/2))
}

// pass waits until the gate lets the request through: a moment longer than the
// gate asks, so that not all who wait come at once.
func (a *asking) pass(ctx context.Context) error {
	for {
		at, ok := a.gate.Pass(a.now(), model.Floor(a.request.Size()))
		if ok {
			return nil
		}
		wait := at.Sub(a.now())
		wait += time.Duration(a.chance() * float64(min(wait/10, time.Second)))
		if a.waited+wait > a.limits.Patience {
			return a.limited(wait, "other requests with this key have used it up")
		}
		a.waited += wait
		if a.pause(ctx, wait) != nil {
			return a.late(ctx, nil)
		}
	}
}

// patience is the longest that a line waits after a failed try: of what a
// server asks for, what is left of it.
func (a *asking) patience(c *Call) time.Duration {
	if c.refusal.asks() {
		return a.limits.Patience - a.waited
	}
	return a.limits.Patience
}

// giveUp returns the last error, with when to come back if it was a limit:
// after what the server asked for, or else at a quarter of our patience.
func (a *asking) giveUp(c *Call, last error, tries int, wait time.Duration) error {
	if c.refusal.limits() || c.refusal != nil && wait > a.limits.Patience {
		return a.limited(max(wait, a.limits.Patience/4), a.server.Redact(c.refusal.message))
	}
	return fault.New("model/unavailable", "%s (tried %s)", last.Error(), times(tries))
}

// limited says that the request is over a rate limit for that long.
func (a *asking) limited(wait time.Duration, why string) error {
	at := a.now().Add(wait).Add(time.Second - 1).Truncate(time.Second)
	return model.RateLimited(a.server.Spec, at, why)
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
