package web

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/loomrun/loom/internal/base/endpoint"
	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/proto/subject"
)

// livePattern is the route of what models write.
const livePattern = "/api/v1/live"

// maxUnsent is how many pieces wait for a reader. Those beyond are not told to it, which
// it is told: the transcript has all of them once the answer is whole.
const maxUnsent = 1024

// live streams what models write just now, as server-sent events without ids: there is
// nothing to go on from. An event "lost" says that a reader was too slow for some of it.
func (s *Server) live(w http.ResponseWriter, r *http.Request, c caller) {
	m, err := question(r, byPattern(routes())[livePattern][0])
	if err != nil {
		s.problem(w, r, err)
		return
	}
	q := m.(*loomv1.LiveRequest)
	if err := checkLive(q); err != nil {
		s.problem(w, r, err)
		return
	}
	ended, err := s.streaming(c)
	if err != nil {
		s.problem(w, r, err)
		return
	}
	defer ended()
	l := &listener{q: q, pieces: make(chan *loomv1.Writing, maxUnsent)}
	stop, err := s.config.Services.Live(q.Project, l.hear)
	if err != nil {
		s.problem(w, r, err)
		return
	}
	defer stop()
	l.stream = s.stream(w, c, endpoint.Of("transcript").Scopes)
	l.run(r.Context())
}

// checkLive refuses what can be no name: nothing would ever be heard of it.
func checkLive(q *loomv1.LiveRequest) error {
	for _, one := range []struct{ kind, name string }{{"project", q.Project}, {"bead", q.Bead}, {"role", q.Role}} {
		if one.name == "" {
			continue
		}
		if _, err := subject.Parse(one.kind, one.name); err != nil {
			return err
		}
	}
	if q.Agent != "" {
		if _, _, err := subject.Agent(q.Agent); err != nil {
			return fault.From(err).At("agent").Want("ROLE/N, for example qa-engineer/1")
		}
	}
	return nil
}

// listener is one reader of what models write.
type listener struct {
	*stream
	q      *loomv1.LiveRequest
	pieces chan *loomv1.Writing
	lost   atomic.Bool
}

// hear keeps a piece that is asked for, until it is sent.
func (l *listener) hear(p *loomv1.Writing) {
	for _, wanted := range [][2]string{{l.q.Bead, p.Bead}, {l.q.Role, p.Role}, {l.q.Agent, p.Agent}} {
		if wanted[0] != "" && wanted[0] != wanted[1] {
			return
		}
	}
	select {
	case l.pieces <- p:
	default:
		l.lost.Store(true)
	}
}

// run sends pieces until the reader leaves, is dropped, or may not read any more.
func (l *listener) run(ctx context.Context) {
	heart := time.NewTicker(beat)
	defer heart.Stop()
	fmt.Fprint(&l.out, "retry: 1000\n: listening\n\n")
	for l.flush() == nil {
		select {
		case p := <-l.pieces:
			l.put(p)
		case <-heart.C:
			if !l.beat() {
				return
			}
		case <-l.s.streams.Done():
			l.stopped()
			return
		case <-ctx.Done():
			return
		}
	}
}

// put writes a piece, and those that wait behind it.
func (l *listener) put(p *loomv1.Writing) {
	for more := true; more; {
		fmt.Fprintf(&l.out, "data: %s\n\n", marshal(p))
		select {
		case p = <-l.pieces:
		default:
			more = false
		}
	}
	if l.lost.Swap(false) {
		fmt.Fprint(&l.out, "event: lost\ndata: {}\n\n")
	}
}
