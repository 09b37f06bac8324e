package web_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/core/notice"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// event is one as a browser would have it.
type event struct{ id, kind, data, comment string }

// listen opens a stream; the reply is closed with the context.
func (w *site) listen(ctx context.Context, query, token, last string) (*http.Response, *bufio.Reader) {
	w.t.Helper()
	return w.stream(ctx, "/api/v1/events"+query, token, last)
}

func (w *site) stream(ctx context.Context, path, token, last string) (*http.Response, *bufio.Reader) {
	w.t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, w.s.URL()+path, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	reply, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { reply.Body.Close() })
	return reply, bufio.NewReader(reply.Body)
}

// next reads one block of a stream. What is cut off is no event.
func next(r *bufio.Reader) (e event, err error) {
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return event{}, err
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch {
		case line == "\n":
			return e, nil
		case line[0] == ':':
			e.comment = value
		case name == "id":
			e.id = value
		case name == "event":
			e.kind = value
		case name == "data":
			e.data += value
		}
	}
}

func position(t testing.TB, data string) string {
	t.Helper()
	n := &loomv1.Notice{}
	if err := protojson.Unmarshal([]byte(data), n); err != nil {
		t.Fatalf("data %q: %v", data, err)
	}
	return notice.FormatPosition(n.GetPosition())
}

// However often a reader is cut off, at whatever byte, and goes on from the id
// it has seen last, it sees every event once, each partition in its order.
func TestBYD01_NothingLostAndNothingTwiceOverDisconnections(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 1))
			w := start(t)
			w.h.happens(0, rng.IntN(20))
			w.h.happens(1, rng.IntN(20))
			const more = 60
			grown := make(chan struct{})
			go func() {
				defer close(grown)
				for range more {
					w.h.happens(uint32(len(w.keys.revoked)+rand.IntN(2)), 1)
				}
			}()
			got, last, cuts := map[string][]string{}, "", 0
			seen := func() (n int) {
				for _, list := range got {
					n += len(list)
				}
				return n
			}
			ended := func() bool {
				select {
				case <-grown:
					w.h.mu.Lock()
					defer w.h.mu.Unlock()
					return seen() >= len(w.h.journal)
				default:
					return false
				}
			}
			for !ended() {
				_, stream := w.listen(t.Context(), "", fmt.Sprintf("good-read#%d", cuts/10), last)
				cut := bufio.NewReader(io.LimitReader(stream, int64(rng.IntN(4000))))
				for !ended() {
					e, err := next(cut)
					if err != nil {
						break
					}
					if e.data != "" {
						p := position(t, e.data)
						got[p[:1]] = append(got[p[:1]], p)
					}
					if e.id != "" {
						last = e.id
					}
				}
				cuts++
			}
			want := map[string][]string{}
			for _, n := range w.h.journal {
				p := notice.FormatPosition(n.GetPosition())
				want[p[:1]] = append(want[p[:1]], p)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("after %d cuts (-journal +seen):\n%s", cuts, diff)
			}
			if cuts < 3 {
				t.Errorf("only %d cuts", cuts)
			}
		})
	}
}

func TestSUB04_AStreamHasWhatIsAndWhatComes(t *testing.T) {
	w := start(t)
	w.h.happens(0, 2)
	reply, stream := w.listen(t.Context(), "", "good-audit", "")
	if kind := reply.Header.Get("Content-Type"); reply.StatusCode != http.StatusOK || kind != "text/event-stream" {
		t.Fatalf("%d %s", reply.StatusCode, kind)
	}
	for _, want := range []string{"0.1.1.0", "0.1.2.0"} {
		if e, err := next(stream); err != nil || e.id != want || position(t, e.data) != want {
			t.Fatalf("event %+v, %v; want %s", e, err, want)
		}
	}
	w.h.happens(1, 1)
	if e, err := next(stream); err != nil || e.id != "0.1.2.0,1.1.1.0" || position(t, e.data) != "1.1.1.0" {
		t.Errorf("what comes: %+v, %v", e, err)
	}
	_, again := w.listen(t.Context(), "?after=0.1.1.0", "good-audit", "0.1.2.0") // what was seen counts, not the address
	if e, err := next(again); err != nil || position(t, e.data) != "1.1.1.0" {
		t.Errorf("with both, first: %+v, %v", e, err)
	}
	_, after := w.listen(t.Context(), "?after=0.1.1.0,1.1.1.0", "good-audit", "")
	if e, err := next(after); err != nil || position(t, e.data) != "0.1.2.0" {
		t.Errorf("with the parameter, first: %+v, %v", e, err)
	}
}

func TestSUB04_WhatCannotBeStreamedIsAProblem(t *testing.T) {
	w := start(t)
	for _, tt := range []struct {
		query, last, want string
		status            int
	}{
		{"?project=elsewhere", "", "position/elsewhere", 409},
		{"?nonsense=1", "", "request/parameter", 400},
		{"", "nonsense", "id/malformed", 400},
		{"?limit=3", "", "request/parameter", 400},
	} {
		reply, _ := w.listen(t.Context(), tt.query, "good-read", tt.last)
		body, _ := io.ReadAll(reply.Body)
		if a := (answer{reply.StatusCode, reply.Header, string(body)}); a.status != tt.status || a.code() != tt.want {
			t.Errorf("events%s, last %q: %d %s, want %s", tt.query, tt.last, a.status, a.body, tt.want)
		}
	}
	if n := w.h.watchers(); n != 0 {
		t.Errorf("%d watchers are left", n)
	}
}

// Who leaves while a page is read is no fault of the host's, and its log is silent.
func TestSUB04_WhoLeavesLeavesNoErrorInTheLog(t *testing.T) {
	w := start(t)
	for _, path := range []string{"/api/v1/events", "/api/v1/notices"} {
		ctx, leave := context.WithCancel(t.Context())
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, w.s.URL()+path+"?project=slow", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer good-read")
		left := make(chan error, 1)
		go func() {
			reply, err := http.DefaultClient.Do(r)
			if err == nil {
				_ = reply.Body.Close()
			}
			left <- err
		}()
		<-w.h.reading
		leave()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want that it was left", path, err)
		}
	}
	w.s.Stop(context.WithoutCancel(t.Context()))
	if log := w.logs.String(); log != "" {
		t.Errorf("the log: %s", log)
	}
}

func TestSUB04_AtMost64StreamsOfAToken(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	w := start(t)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	open := 0
	for open < 64 {
		reply, _ := w.listen(ctx, "", "good-read", "")
		switch reply.StatusCode {
		case http.StatusOK:
			open++
		case http.StatusTooManyRequests: // too many a second
			<-time.After(20 * time.Millisecond)
		default:
			t.Fatalf("stream %d: %d", open, reply.StatusCode)
		}
	}
	<-time.After(100 * time.Millisecond) // so that the rate allows it
	reply, _ := w.listen(ctx, "", "good-read", "")
	body, _ := io.ReadAll(reply.Body)
	if reply.StatusCode != http.StatusTooManyRequests || !strings.Contains(string(body), "64 streams") {
		t.Errorf("the 65th: %d %s", reply.StatusCode, body)
	}
	other, _ := w.listen(ctx, "", "good-read#2", "")
	if other.StatusCode != http.StatusOK {
		t.Errorf("another token: %d", other.StatusCode)
	}
	leave()
	for w.h.watchers() > 0 {
		<-time.After(time.Millisecond)
	}
	again, _ := w.listen(t.Context(), "", "good-read", "")
	if again.StatusCode != http.StatusOK {
		t.Errorf("once they have left: %d", again.StatusCode)
	}
}

func TestSUB04_StoppingEndsStreamsCleanly(t *testing.T) {
	w := start(t)
	w.h.happens(0, 3)
	_, stream := w.listen(t.Context(), "", "good-read", "")
	for range 3 {
		if _, err := next(stream); err != nil {
			t.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	wg.Go(func() { w.s.Stop(context.WithoutCancel(t.Context())) })
	e, err := next(stream)
	if err != nil || e.comment != "the host stops" {
		t.Errorf("at the stop: %+v, %v", e, err)
	}
	if _, err := next(stream); !errors.Is(err, io.EOF) {
		t.Errorf("after that: %v, want its end", err)
	}
	wg.Wait()
	w.s.Stop(context.WithoutCancel(t.Context()))
	if _, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(w.s.URL(), "http://")); err == nil {
		t.Error("it still listens")
	}
}

// A token that is revoked ends its streams within 5 seconds, and a quiet
// stream shows meanwhile that it is alive.
func TestSEC01_ARevokedTokenEndsItsStreams(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	w := start(t)
	w.h.happens(0, 1)
	_, stream := w.listen(t.Context(), "", "good-read", "")
	if _, err := next(stream); err != nil {
		t.Fatal(err)
	}
	e, err := next(stream)
	if err != nil || e.comment != "alive" || e.id != "0.1.1.0" || e.data != "" {
		t.Errorf("on a quiet stream: %+v, %v", e, err)
	}
	w.keys.revoke("read")
	e, err = next(stream)
	if err != nil || e.kind != "problem" || !strings.Contains(e.data, `"code":"token/unknown"`) {
		t.Errorf("%+v, %v", e, err)
	}
	if _, err := next(stream); err == nil {
		t.Error("the stream goes on")
	}
}

// A reader that takes nothing is dropped, and the others do not notice.
func TestSUB04_ASlowReaderIsDroppedAlone(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	w := start(t)
	w.h.happens(0, 1)
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(w.s.URL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.(*net.TCPConn).SetReadBuffer(4096)
	fmt.Fprintf(c, "GET /api/v1/events HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer good-read#slow\r\n\r\n", strings.TrimPrefix(w.s.URL(), "http://"))
	for w.h.watchers() == 0 {
		<-time.After(time.Millisecond)
	}
	_, stream := w.listen(t.Context(), "", "good-read#quick", "")
	seen := 0
	began := time.Now()
	for w.h.watchers() > 1 {
		if time.Since(began) > 5*time.Minute {
			t.Fatal("the slow reader is still there")
		}
		w.h.happens(0, 500)
		w.h.mu.Lock()
		want := len(w.h.journal)
		w.h.mu.Unlock()
		for seen < want {
			e, err := next(stream)
			if err != nil {
				t.Fatalf("the quick reader: %v", err)
			}
			if e.data != "" {
				seen++
			}
		}
	}
	t.Logf("dropped after %v, while the other had %d events", time.Since(began).Round(time.Second), seen)
}
