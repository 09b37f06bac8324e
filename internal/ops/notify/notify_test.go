package notify_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/ops/notify"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

var noon = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

// journal is a source of notices of one partition, one a minute from noon on.
type journal []*loomv1.Notice

func (j journal) Follow(ctx context.Context, q *loomv1.NoticesRequest, live bool, fn func(*loomv1.Notice) error) error {
	for _, n := range j {
		after := q.After.GetPositions()
		switch {
		case len(after) > 0 && n.Position.Sequence <= after[0].Sequence, q.Since != nil && n.Event.Time.AsTime().Before(q.Since.AsTime()), !slices.Contains(q.Kinds, n.Kind):
			continue
		}
		if err := fn(n); err != nil {
			return err
		}
	}
	if live {
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

// asks is a journal in which so many approvals are asked for.
func asks(n int) (j journal) {
	for i := range n {
		id := fmt.Sprintf("shop-%d", i+2)
		j = append(j, &loomv1.Notice{
			Kind: "approval-requested", Position: &loomv1.Position{Epoch: 1, Sequence: uint64(i + 1)},
			Event: &loomv1.Event{
				Project: "shop", Bead: "shop-1", Time: timestamppb.New(noon.Add(time.Duration(i) * time.Minute)),
				Fact: &loomv1.Event_ApprovalRequested{ApprovalRequested: &loomv1.ApprovalRequested{Approval: &loomv1.Approval{Id: id, Question: "Shall <this> be committed?", Intent: "Round half cents\n\nWhole words."}}},
			},
		}, &loomv1.Notice{Kind: "turn-started", Position: &loomv1.Position{Epoch: 1, Sequence: uint64(i + 1), Index: 1}, Event: &loomv1.Event{Project: "shop"}})
	}
	return j
}

// receiver is a server that answers with one status after another, then 200.
type receiver struct {
	*httptest.Server
	mu       sync.Mutex
	statuses []int
	requests []*http.Request
	bodies   []string
}

func newReceiver(t *testing.T, statuses ...int) *receiver {
	t.Helper()
	r := &receiver{statuses: statuses}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.requests, r.bodies = append(r.requests, req), append(r.bodies, string(body))
		if len(r.statuses) > 0 {
			w.WriteHeader(r.statuses[0])
			r.statuses = r.statuses[1:]
		}
	}))
	t.Cleanup(r.Close)
	return r
}

// ids are those that were sent, in order.
func (r *receiver) ids() (ids []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, req := range r.requests {
		ids = append(ids, req.Header.Get("Idempotency-Key"))
	}
	return ids
}

func target(t *testing.T, s string) notify.Target {
	t.Helper()
	made, err := notify.ParseTarget(s, []byte("a secret of the hook"))
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func config(t *testing.T, j journal, targets ...notify.Target) notify.Config {
	t.Helper()
	return notify.Config{
		Source: j, Targets: targets, State: filepath.Join(t.TempDir(), "state.json"),
		Log: slog.New(slog.DiscardHandler), Pause: func(int) time.Duration { return 0 },
	}
}

func TestHUM03_WhatWaitsIsToldOnce(t *testing.T) {
	r := newReceiver(t, 503, 429)
	c := config(t, asks(2), target(t, "webhook="+r.URL+"/hook"))
	for range 2 { // the second has nothing to tell
		if err := c.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	c.Source = asks(3)
	if err := c.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, want := r.ids(), []string{"0.1.1.0", "0.1.1.0", "0.1.1.0", "0.1.2.0", "0.1.3.0"}; !slices.Equal(got, want) {
		t.Errorf("sent are %q, want %q: the first until it is taken, each other once", got, want)
	}
	var m notify.Message
	if err := json.Unmarshal([]byte(r.bodies[4]), &m); err != nil {
		t.Fatal(err)
	}
	want := notify.Message{
		ID: "0.1.3.0", Kind: "approval-requested", Project: "shop", Bead: "shop-1", Title: "shop-4 waits for you, about shop-1",
		Text: "Shall <this> be committed? (Round half cents)", Time: noon.Add(2 * time.Minute), Command: "loom inbox shop-4",
	}
	if m != want {
		t.Errorf("told is %+v, want %+v", m, want)
	}
	mac := hmac.New(sha256.New, []byte("a secret of the hook"))
	mac.Write([]byte(r.bodies[4]))
	if got := r.requests[4].Header.Get("Loom-Signature"); got != "sha256="+hex.EncodeToString(mac.Sum(nil)) {
		t.Errorf("the signature is %q", got)
	}
}

func TestHUM03_ATargetThatRefusesHoldsUpNoOther(t *testing.T) {
	refuses, takes := newReceiver(t, 404), newReceiver(t)
	dead := httptest.NewServer(nil)
	dead.Close()
	tried := make(chan struct{}, 100)
	c := config(t, asks(2), target(t, "webhook="+refuses.URL), target(t, "slack="+takes.URL), target(t, "ntfy="+dead.URL))
	c.Pause = func(int) time.Duration { tried <- struct{}{}; return time.Millisecond }
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- c.Run(ctx) }()
	for range 3 {
		<-tried
	}
	for len(takes.ids()) < 2 || len(refuses.ids()) < 2 {
		<-tried
	}
	cancel()
	err := <-done
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "answers 404") {
		t.Errorf("Run: %v, want what was refused, and the end", err)
	}
	if strings.Contains(takes.bodies[0], "<this>") || !strings.Contains(takes.bodies[0], "&lt;this&gt;") {
		var text struct{ Text string }
		_ = json.Unmarshal([]byte(takes.bodies[0]), &text)
		if !strings.Contains(text.Text, "&lt;this&gt;") {
			t.Errorf("Slack is told %s", takes.bodies[0])
		}
	}
	again := newReceiver(t)
	c = notify.Config{Source: asks(2), Targets: []notify.Target{target(t, "webhook="+refuses.URL), target(t, "slack="+again.URL)}, State: c.State, Log: c.Log, Pause: c.Pause}
	if err := c.Run(t.Context()); err != nil || len(refuses.ids()) != 2 || len(again.ids()) != 2 {
		t.Errorf("afterwards: %v, %d and %d told; what was refused for good is not told again, a new address is told all", err, len(refuses.ids()), len(again.ids()))
	}
}

func TestHUM03_ANewTargetIsToldFromNowOn(t *testing.T) {
	r := newReceiver(t)
	c := config(t, asks(1), target(t, "ntfy="+r.URL+"/topic"))
	c.First = noon.Add(30 * time.Second)
	if err := c.Run(t.Context()); err != nil || len(r.ids()) != 0 {
		t.Fatalf("%v; told are %q of before", err, r.ids())
	}
	c.Source, c.First = asks(2), noon.Add(time.Hour) // it was away when the second was asked
	if err := c.Run(t.Context()); err != nil || !slices.Equal(r.ids(), []string{"0.1.2.0"}) {
		t.Fatalf("%v; told are %q", err, r.ids())
	}
	if r.bodies[0] != "Shall <this> be committed? (Round half cents)\nloom inbox shop-3" || r.requests[0].Header.Get("Title") != "shop-3 waits for you, about shop-1" {
		t.Errorf("ntfy is told %q, %q", r.requests[0].Header.Get("Title"), r.bodies[0])
	}
}

func TestHUM03_ACommandIsTold(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	c := config(t, asks(1), target(t, fmt.Sprintf(`command=cat > '%s'; echo "$LOOM_TITLE" >> '%s'`, out, out)))
	if err := c.Run(t.Context()); err != nil {
		t.Errorf("Run: %v", err)
	}
	data, err := os.ReadFile(out)
	if err != nil || !strings.Contains(string(data), `"command":"loom inbox shop-2"`) || !strings.HasSuffix(string(data), "shop-2 waits for you, about shop-1\n") {
		t.Errorf("the command has %q: %v", data, err)
	}
}

// A command that fails is tried again, as a server is that does not answer.
func TestHUM03_ACommandThatFailsIsTriedAgain(t *testing.T) {
	dir := t.TempDir()
	line := fmt.Sprintf(`command=cd '%s'; echo "$LOOM_ID" >> told; if [ ! -e failed ]; then touch failed; echo no; exit 3; fi`, dir)
	var said strings.Builder
	c := config(t, asks(2), target(t, line))
	c.Log = slog.New(slog.NewTextHandler(&said, nil))
	if err := c.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	told, err := os.ReadFile(filepath.Join(dir, "told"))
	if want := "0.1.1.0\n0.1.1.0\n0.1.2.0\n"; err != nil || string(told) != want {
		t.Errorf("told are %q, %v, want %q", told, err, want)
	}
	if !strings.Contains(said.String(), "the command fails: no") {
		t.Errorf("the log says\n%s", said.String())
	}
}

// A command that fails each time is broken: after five tries it misses what it was to
// tell, and the next is tried. A run that tells what there is ends then, and the
// notice is told once the command is mended.
func TestHUM03_ABrokenCommandIsNotTriedForEver(t *testing.T) {
	for name, c := range map[string]struct {
		end   string
		code  string
		tries int
		want  string
	}{
		"fails":          {"echo no >&2; exit 3", "host/unavailable", 5, "tried 5 times: the command fails: no"},
		"no program":     {"no-such-program-anywhere", "usage/argument", 1, "the command cannot be run: "},
		"not executable": {"./told", "usage/argument", 1, "the command cannot be run: "},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			told := func() string {
				data, err := os.ReadFile(filepath.Join(dir, "told"))
				if err != nil {
					t.Fatal(err)
				}
				return string(data)
			}
			line := fmt.Sprintf("command=cd '%s'; echo \"$LOOM_ID\" >> told; [ -e mended ] || { %s; }", dir, c.end)
			once := config(t, asks(2), target(t, line))
			var pauses []int
			once.Pause = func(try int) time.Duration { pauses = append(pauses, try); return 0 }
			err := once.Run(t.Context())
			if fault.Code(err) != c.code || !strings.Contains(err.Error(), c.want) {
				t.Errorf("once: %v, want %q of code %s", err, c.want, c.code)
			}
			if want := strings.Repeat("0.1.1.0\n", c.tries); told() != want || len(pauses) != c.tries-1 {
				t.Errorf("told is\n%swant\n%sand a pause before each try but the first: %v", told(), want, pauses)
			}

			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			live := config(t, asks(2), target(t, line))
			live.Live = true
			live.Log = slog.New(slog.NewTextHandler(lines(func(line string) {
				if strings.Contains(line, "level=ERROR") && strings.Contains(line, "id=0.1.2.0") {
					cancel()
				}
			}), nil))
			if err := live.Run(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("live: %v, want that it goes on until it is ended", err)
			}

			before := told()
			if err := os.WriteFile(filepath.Join(dir, "mended"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := once.Run(t.Context()); err != nil || strings.TrimPrefix(told(), before) != "0.1.1.0\n0.1.2.0\n" {
				t.Errorf("mended, it is told %q: %v", strings.TrimPrefix(told(), before), err)
			}
		})
	}
}

// lines is called with each line that is written.
type lines func(string)

func (l lines) Write(b []byte) (int, error) {
	l(string(b))
	return len(b), nil
}

// A receiver says when it can be asked again, up to ten minutes.
func TestHUM03_AReceiverSaysWhenItCanBeAskedAgain(t *testing.T) {
	for said, want := range map[string]time.Duration{"7": 7 * time.Second, "86400": 10 * time.Minute, "-3": 0, "": 0, "soon": 0, "Thu, 01 Jan 1970 00:00:00 GMT": 0} {
		if got := notify.After(said); got != want {
			t.Errorf("Retry-After %q waits %s, want %s", said, got, want)
		}
	}
	r := newReceiver(t, 301)
	err := config(t, asks(1), target(t, "webhook="+r.URL)).Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "answers 301, which points elsewhere, and is not followed") {
		t.Errorf("a redirect: %v", err)
	}
}

// Two that tell with one file would tell everything twice.
func TestHUM03_OneTellsWithAFileOfState(t *testing.T) {
	inside, goOn := make(chan struct{}), make(chan struct{})
	c := config(t, asks(1), blocking{inside, goOn})
	done := make(chan error)
	go func() { done <- c.Run(t.Context()) }()
	<-inside
	if err := c.Run(t.Context()); fault.Code(err) != "data/locked" {
		t.Errorf("a second: %v, want data/locked", err)
	}
	close(goOn)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := c.Run(t.Context()); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// blocking is a target that says when it is told, and goes on when it may.
type blocking struct{ inside, goOn chan struct{} }

func (blocking) Name() string { return "blocking" }

func (b blocking) Send(context.Context, notify.Message) error {
	b.inside <- struct{}{}
	<-b.goOn
	return nil
}

// What was answered before it could be told does not wait any more, and is not told.
func TestHUM03_WhatWaitsNoMoreIsNotTold(t *testing.T) {
	r := newReceiver(t)
	c := config(t, asks(3), target(t, "webhook="+r.URL))
	c.Waits = func(_ context.Context, project, id string) bool { return project == "shop" && id == "shop-3" }
	if err := c.Run(t.Context()); err != nil || !slices.Equal(r.ids(), []string{"0.1.2.0"}) {
		t.Errorf("%v; told are %q, want what waits", err, r.ids())
	}
}

// A desktop is told by notify-send: title and text are arguments, and none is an option.
func TestHUM03_ADesktopIsTold(t *testing.T) {
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	if _, err := notify.ParseTarget("desktop", nil); fault.Code(err) != "usage/argument" || !strings.Contains(err.Error(), "libnotify-bin") {
		t.Errorf("without notify-send: %v", err)
	}
	out := filepath.Join(bin, "out")
	script := fmt.Sprintf("#!/bin/sh\nfor a; do echo \"[$a]\"; done > '%s'\n", out)
	if err := os.WriteFile(filepath.Join(bin, "notify-send"), []byte(script), 0o700); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
	if err := config(t, asks(1), target(t, "desktop")).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(out)
	if want := "[--app-name=Loom]\n[--]\n[shop-2 waits for you, about shop-1]\n[Shall <this> be committed? (Round half cents)]\n"; err != nil || string(data) != want {
		t.Errorf("notify-send has %q, %v, want %q", data, err, want)
	}
}

// Whatever waits for a person reaches her: a commit, an escalation, a question in words, a
// permission, a vote, and a limit that is reached.
func TestHUM03_WhateverWaitsIsTold(t *testing.T) {
	r := newReceiver(t)
	var j journal
	var want []string
	for number, name := range loomv1.ApprovalKind_name {
		n := asks(1)[0]
		id := fmt.Sprintf("shop-%d", number+2)
		n.Position.Sequence = uint64(len(j) + 1)
		a := n.Event.GetApprovalRequested().Approval
		a.Id, a.Kind, a.Reason = id, loomv1.ApprovalKind(number), "budget/exhausted: "+name
		j, want = append(j, n), append(want, "loom inbox "+id)
	}
	if err := config(t, j, target(t, "webhook="+r.URL)).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, body := range r.bodies {
		var m notify.Message
		if err := json.Unmarshal([]byte(body), &m); err != nil || m.Command != want[i] {
			t.Errorf("told is %q, %v, want %q", body, err, want[i])
		}
	}
	if len(r.bodies) != len(want) || len(want) < 4 {
		t.Errorf("%d of %d are told", len(r.bodies), len(want))
	}
}

func TestHUM03_TargetsAreChecked(t *testing.T) {
	for _, s := range []string{"", "pigeon=x", "webhook", "webhook=/path", "slack=ftp://x/y", "command= "} {
		if _, err := notify.ParseTarget(s, nil); fault.Code(err) != "usage/argument" {
			t.Errorf("%q: %v, want usage/argument", s, err)
		}
	}
	secret := target(t, "slack=https://hooks.example.com/T0/B0/XYZ")
	if name := secret.Name(); strings.Contains(name, "XYZ") || !strings.Contains(name, "hooks.example.com") {
		t.Errorf("a target is called %q", name)
	}
	dead := httptest.NewServer(nil)
	dead.Close()
	err := target(t, "webhook="+dead.URL+"/SECRET").Send(t.Context(), notify.Message{})
	if fault.Status(err) != fault.Unavailable || strings.Contains(err.Error(), "SECRET") {
		t.Errorf("a server that is away: %v", err)
	}
	path := filepath.Join(t.TempDir(), "state")
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := config(t, asks(1), secret)
	c.State = path
	if err := c.Run(t.Context()); fault.Code(err) != "data/damaged" {
		t.Errorf("damaged state: %v", err)
	}
}

// Of a session of a pattern those facts are told from which it waits for a person, each with
// the command that goes on with it, and no others.
func TestHUM01_ASessionThatWaitsIsTold(t *testing.T) {
	r := newReceiver(t)
	var j journal
	for _, f := range []*loomv1.IntentFact{
		{Fact: &loomv1.IntentFact_Asked{Asked: &loomv1.QuestionAsked{Number: 1, Text: "What for?"}}},
		{Fact: &loomv1.IntentFact_Answered{Answered: &loomv1.IntentAnswer{Number: 1, Text: "For fun"}}},
		{Fact: &loomv1.IntentFact_Entered{Entered: &loomv1.LifecycleEntered{Phase: loomv1.LifecyclePhase_LIFECYCLE_PHASE_STEERING_HOOKS, Step: 1}}},
		{Fact: &loomv1.IntentFact_Entered{Entered: &loomv1.LifecycleEntered{Phase: loomv1.LifecyclePhase_LIFECYCLE_PHASE_STEERING_HOOKS, Step: 2, Waits: true}}},
		{Fact: &loomv1.IntentFact_Judged{Judged: &loomv1.JudgeCompletion{Verdicts: []*loomv1.CompletionVerdict{{Item: "success/1", Met: true, Evidence: "words"}}}}},
		{Fact: &loomv1.IntentFact_Judged{Judged: &loomv1.JudgeCompletion{Verdicts: []*loomv1.CompletionVerdict{{Item: "success/1"}}}}},
		{Fact: &loomv1.IntentFact_Aborted{Aborted: &loomv1.PatternAborted{Record: &loomv1.PatternAbort{}}}},
	} {
		j = append(j, &loomv1.Notice{
			Kind: "session-advanced", Position: &loomv1.Position{Epoch: 1, Sequence: uint64(len(j) + 1)},
			Event: &loomv1.Event{Project: "shop", Time: timestamppb.New(noon), Fact: &loomv1.Event_SessionAdvanced{SessionAdvanced: &loomv1.SessionAdvanced{Session: "s1", Fact: f}}},
		})
	}
	if err := config(t, j, target(t, "webhook="+r.URL)).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, want := r.ids(), []string{"0.1.1.0", "0.1.4.0", "0.1.6.0"}; !slices.Equal(got, want) {
		t.Errorf("told are %q, want %q: a question, a stop and a choice", got, want)
	}
	for _, body := range r.bodies {
		var m notify.Message
		if err := json.Unmarshal([]byte(body), &m); err != nil || m.Title != "Loom waits for you: session s1" || m.Command != "loom pattern resume s1" {
			t.Errorf("told is %q, %v", body, err)
		}
	}
}
