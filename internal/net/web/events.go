package web

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/endpoint"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/notice"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// eventsPattern is the route of streams.
const eventsPattern = "/api/v1/events"

// events streams notices as server-sent events, read from the journals: what
// wakes it up never brings anything itself, so nothing is lost and nothing
// comes twice. The id of each is the cursor to go on from, which a client gives
// as Last-Event-ID or as the parameter after. A reader that takes no more for
// writeWithin is dropped, and may go on where it was.
func (s *Server) events(w http.ResponseWriter, r *http.Request, c caller) {
	q, err := s.follow(r)
	if err != nil {
		s.problem(w, r, err)
		return
	}
	ended, err := s.streaming(c)
	if err != nil {
		s.problem(w, r, err)
		return
	}
	defer ended()
	wake, stop := s.config.Services.Watch()
	defer stop()
	page, err := s.page(r.Context(), q)
	if err != nil { // as long as it can be told as every refusal is
		s.problem(w, r, err)
		return
	}
	st := s.stream(w, c, endpoint.Of("notices").Scopes)
	st.q, st.cursor = q, q.After
	st.run(r.Context(), page, wake)
}

// streaming takes one of the streams that somebody may have, until it has ended.
func (s *Server) streaming(c caller) (ended func(), err error) {
	slots := c.quota.streams
	select {
	case slots <- struct{}{}:
	default:
		return nil, fault.New("request/too-many", "%s has %d streams open, the most there can be", c.name, maxStreams)
	}
	s.config.Meters.streams.Inc()
	return func() {
		s.config.Meters.streams.Dec()
		<-slots
	}, nil
}

// stream begins the answer of a stream, for as long as who asks has one of the scopes.
func (s *Server) stream(w http.ResponseWriter, c caller, scopes []string) *stream {
	w.Header().Set("Content-Type", "text/event-stream")
	st := &stream{s: s, w: w, control: http.NewResponseController(w), caller: c, scopes: scopes}
	_ = st.control.SetReadDeadline(time.Time{}) // nothing more is read, and that is fine
	return st
}

// follow reads what is to be streamed.
func (s *Server) follow(r *http.Request) (*loomv1.NoticesRequest, error) {
	m, err := question(r, byPattern(routes())[eventsPattern][0])
	if err != nil {
		return nil, err
	}
	q := m.(*loomv1.NoticesRequest)
	if last := r.Header.Get("Last-Event-ID"); last != "" { // newer than the address
		if q.After, err = notice.ParseCursor(last); err != nil {
			return nil, fault.From(err).At("Last-Event-ID")
		}
	}
	return q, nil
}

// page reads what comes after q's cursor.
func (s *Server) page(ctx context.Context, q *loomv1.NoticesRequest) (*loomv1.NoticesReply, error) {
	body, err := proto.Marshal(q)
	if err != nil {
		return nil, err
	}
	reply, ok := s.config.Services.Call(ctx, "notices", nil, "", body).(*loomv1.NoticesReply)
	if !ok {
		return nil, fault.New("host/unavailable", "the host does not serve this just now")
	}
	return reply, fault.FromProto(reply.GetError())
}

// stream is one reader.
type stream struct {
	s       *Server
	w       http.ResponseWriter
	control *http.ResponseController
	caller  caller
	scopes  []string
	q       *loomv1.NoticesRequest
	cursor  *loomv1.Cursor // of what was sent
	out     bytes.Buffer
}

// run sends pages until the reader leaves, is dropped, or may not read any more.
func (st *stream) run(ctx context.Context, page *loomv1.NoticesReply, wake <-chan struct{}) {
	heart := time.NewTicker(beat)
	defer heart.Stop()
	fmt.Fprint(&st.out, "retry: 1000\n")
	for {
		st.put(page)
		if st.flush() != nil {
			return
		}
		if page.GetEnd() && !st.wait(ctx, wake, heart.C) || !page.GetEnd() && !st.due(heart.C) || st.stopped() {
			return
		}
		var err error
		if page, err = st.s.page(ctx, st.q); err != nil {
			if ctx.Err() == nil { // else the reader has left in the middle of a page
				st.end(err)
			}
			return
		}
	}
}

// put writes the events of a page.
func (st *stream) put(page *loomv1.NoticesReply) {
	for _, n := range page.GetNotices() {
		st.cursor = notice.Advance(st.cursor, n.GetPosition())
		fmt.Fprintf(&st.out, "id: %s\ndata: %s\n\n", notice.FormatCursor(st.cursor), marshal(n))
	}
	if page.GetNext() != nil {
		st.q.After = page.Next
	}
}

// wait waits for more, and looks after the stream meanwhile: what woke nobody
// is found all the same. It returns false when the stream is over.
func (st *stream) wait(ctx context.Context, wake <-chan struct{}, heart <-chan time.Time) bool {
	select {
	case <-wake:
		return true
	case <-heart:
		return st.beat()
	case <-st.s.streams.Done():
		return true // see stopped
	case <-ctx.Done():
		return false
	}
}

// due looks after a stream that has not come to the end yet, when it is time to. It
// returns false when the stream is over.
func (st *stream) due(heart <-chan time.Time) bool {
	select {
	case <-heart:
		return st.beat()
	default:
		return true
	}
}

// stopped ends the stream when the host stops.
func (st *stream) stopped() bool {
	if st.s.streams.Err() == nil {
		return false
	}
	fmt.Fprint(&st.out, ": the host stops\n\n")
	_ = st.flush()
	return true
}

// beat shows that the stream is alive, with the cursor of what was looked at,
// and ends it when its token or session does not hold any more.
func (st *stream) beat() bool {
	if _, err := st.caller.check(st.scopes...); err != nil {
		st.end(err)
		return false
	}
	fmt.Fprint(&st.out, ": alive\n")
	if st.q.After != nil {
		st.cursor = st.q.After
		fmt.Fprintf(&st.out, "id: %s\n", notice.FormatCursor(st.cursor))
	}
	fmt.Fprint(&st.out, "\n")
	return st.flush() == nil
}

// end tells why a stream ends.
func (st *stream) end(err error) {
	if fault.Code(err) == "" || fault.Code(err) == "internal/error" {
		st.s.log.Error("a stream broke off", "of", st.caller.name, "error", err)
		err = fault.New("internal/error", "something went wrong inside; the host's log says what")
	}
	fmt.Fprintf(&st.out, "event: problem\ndata: %s\n\n", marshal(fault.From(err).Proto()))
	_ = st.flush()
}

// flush sends what was written, or gives up on a reader that takes nothing.
func (st *stream) flush() error {
	if st.out.Len() == 0 {
		return nil
	}
	_ = st.control.SetWriteDeadline(deadline(writeWithin))
	_, err := st.w.Write(st.out.Bytes())
	st.out.Reset()
	if err != nil {
		return err
	}
	return st.control.Flush()
}
