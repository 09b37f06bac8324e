// Package notify tells people, where they are, that something waits for them: by
// a webhook, a message in Slack or of ntfy, a command of theirs, or a notification
// of the desktop.
//
// It promises that what is told comes from the journal, so that nothing is missed
// while it, the host or the receiver is away; that each target has a place of its
// own in it, kept on the disk, so that one that does not answer holds up no other;
// and that a notice is told once, but for one whose target had it when this process
// was killed: that is told again, under the same id. It answers nothing and signs
// nothing, and tells no text of an agent but the question that waits.
package notify

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/intent"
	"github.com/loomrun/loom/internal/core/notice"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Kinds are the notices that are told unless others are asked for: those that
// wait for a person, and those that stop work. Of sessions of patterns these are the facts
// from which on one waits.
var Kinds = []string{"approval-requested", "work-paused", "governor-tripped", "session-advanced"}

// Message is what is told.
type Message struct {
	// ID is the notice's position in the journal: equal for every delivery.
	ID      string `json:"id"`
	Kind    string `json:"kind"`
	Project string `json:"project"`
	// Bead is what it is about, or "".
	Bead  string    `json:"bead,omitempty"`
	Title string    `json:"title"`
	Text  string    `json:"text"`
	Time  time.Time `json:"time"`
	// Command shows more of it and takes an answer, or is "".
	Command string `json:"command,omitempty"`
}

// shownGoal is the most bytes of a bead's goal that a message has.
const shownGoal = 300

// cut is at most so many bytes of a text, in whole letters.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// messageOf says in words what a notice is about.
func messageOf(n *loomv1.Notice) Message {
	e := n.GetEvent()
	m := Message{
		ID: notice.FormatPosition(n.GetPosition()), Kind: n.GetKind(), Project: e.GetProject(), Bead: e.GetBead(),
		Title: "Loom: " + n.GetKind(), Text: n.GetSummary(), Time: e.GetTime().AsTime(),
	}
	if a := e.GetApprovalRequested().GetApproval(); a != nil {
		m.Title, m.Text = a.GetId()+" waits for you", a.GetQuestion()
		if m.Bead != "" {
			m.Title += ", about " + m.Bead
		}
		if goal, _, _ := strings.Cut(strings.TrimSpace(a.GetIntent()), "\n"); goal != "" {
			m.Text += " (" + cut(goal, shownGoal) + ")"
		}
		m.Command = "loom inbox " + a.GetId()
	}
	if s := e.GetSessionAdvanced(); intent.AsksPerson(s.GetFact()) {
		m.Title, m.Command = "Loom waits for you: session "+s.GetSession(), "loom pattern resume "+s.GetSession()
	}
	return m
}

// Source is where notices come from; [client.Client] is one.
type Source interface {
	Follow(ctx context.Context, q *loomv1.NoticesRequest, live bool, fn func(*loomv1.Notice) error) error
}

// Config says what is told, and to whom.
type Config struct {
	Source  Source
	Targets []Target
	// Query says which notices. Without kinds they are [Kinds].
	Query *loomv1.NoticesRequest
	// State is a file, made if absent, of how far each target has been told.
	State string
	// Live goes on with what happens; else all that there is now is told.
	Live bool
	// First is whence a target is told that is new; the zero time is the
	// journal's beginning.
	First time.Time
	Log   *slog.Logger
	// Waits reports whether an approval of a project still waits for its answer: one
	// that does not is told to nobody. Nil says that all do.
	Waits func(ctx context.Context, project, approval string) bool
	// Pause returns how long is waited before the given try, from 2 on. Nil is a
	// second, doubled each time, a minute at most.
	Pause func(try int) time.Duration
}

// Run tells until ctx ends, or without Live until all is told. A target that
// refuses a message for good (a status of 3xx or 4xx) misses that one, which is
// logged and in the error at the end; any other failure is tried again until it
// succeeds, but of a command five times, and once where there is no such program. Then
// the command misses the message, or without Live is told no more, and goes on with
// that message at the next start. Two runs with one file of state tell one after the
// other: the second is refused with data/locked.
func (c Config) Run(ctx context.Context) error {
	if len(c.Targets) == 0 {
		return fault.New("usage/argument", "nobody is to be told").At("--to").Want("for example --to ntfy=https://ntfy.sh/my-topic")
	}
	if c.Pause == nil {
		c.Pause = func(try int) time.Duration { return min(time.Second<<min(try-2, 6), time.Minute) }
	}
	state, err := openState(c.State)
	if err != nil {
		return err
	}
	defer state.close()
	var wg sync.WaitGroup
	errs := make([]error, len(c.Targets))
	for i, t := range c.Targets {
		wg.Go(func() { errs[i] = c.tell(ctx, t, state) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// tell follows the journal for one target.
func (c Config) tell(ctx context.Context, t Target, state *state) error {
	q := &loomv1.NoticesRequest{Kinds: Kinds}
	asked := len(c.Query.GetKinds()) > 0
	if c.Query != nil {
		q.Project, q.Team, q.Bead = c.Query.Project, c.Query.Team, c.Query.Bead
		if asked {
			q.Kinds = c.Query.Kinds
		}
	}
	var err, missed error
	if q.After, q.Since, err = state.begin(t.Name(), c.First); err != nil {
		return err
	}
	err = c.Source.Follow(ctx, q, c.Live, func(n *loomv1.Notice) error {
		if s := n.GetEvent().GetSessionAdvanced(); s != nil && !asked && !intent.AsksPerson(s.GetFact()) {
			return state.told(t.Name(), n.GetPosition())
		}
		m := messageOf(n)
		if a := n.GetEvent().GetApprovalRequested().GetApproval(); a != nil && c.Waits != nil && !c.Waits(ctx, m.Project, a.Id) {
			c.Log.Info("not told: it waits no more", "target", t.Name(), "id", m.ID, "approval", a.Id)
			return state.told(t.Name(), n.GetPosition())
		}
		if err := c.deliver(ctx, t, m); err != nil {
			if ctx.Err() != nil {
				return ctx.Err() // it is told at the next start
			}
			c.Log.Error("a notice is not told", "target", t.Name(), "id", m.ID, "error", err)
			if _, ok := errors.AsType[*commandError](err); ok && !c.Live {
				return err // whoever mends the command starts it again
			}
			missed = errors.Join(missed, err)
		} else {
			c.Log.Info("told", "target", t.Name(), "id", m.ID, "kind", m.Kind, "bead", m.Bead)
		}
		return state.told(t.Name(), n.GetPosition())
	})
	return errors.Join(missed, err)
}

// deliver tries until a target has a message, refuses it for good or has failed with it too
// often, or ctx ends.
func (c Config) deliver(ctx context.Context, t Target, m Message) error {
	for try := 1; ; try++ {
		err := send(ctx, t, m)
		if err == nil || fault.Status(err) != fault.Unavailable {
			return err
		}
		if _, ok := errors.AsType[*commandError](err); ok && try == mostTries {
			return fmt.Errorf("tried %d times: %w", try, err)
		}
		wait := c.Pause(try + 1)
		if asked, ok := errors.AsType[*laterError](err); ok {
			wait = max(wait, asked.after)
		}
		c.Log.Warn("a notice is not told yet", "target", t.Name(), "id", m.ID, "error", err, "again_in", wait)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// graceful is how long a message that is being sent may take when ctx has ended, so
// that it is not told again at the next start.
const graceful = 2 * time.Second

func send(ctx context.Context, t Target, m Message) error {
	sending, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(graceful, cancel) })()
	return t.Send(sending, m)
}
