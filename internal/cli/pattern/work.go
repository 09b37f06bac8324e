package pattern

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/intent"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// After the seal the conversation goes on beside the work: steps are told as they go, and a
// key says something meanwhile, or between them.

// keysOfWork says what can be said while steps are done.
const keysOfWork = `keys: p proceed, d do a step again, g accept what is not met, c comment, r redirect,
t tempo, a abort and keep the draft (again: cancel the step), v revise, l leave, ? this
`

// beside is the work of a session with a person beside it.
type beside struct {
	*talk
	told    int         // facts that were shown
	keyed   chan string // what was pressed or typed; closed when there is no more
	err     error       // why there is no more
	reading bool
	waiting string // a line that counts at the next stop
}

// stays says whether the conversation goes on after the seal.
func (t *talk) stays() bool {
	return !t.a.JSON && (t.stay || t.keys.Single())
}

// work tells how the session goes on, and takes what the person says, until it has ended,
// waits for something that is not said here, or is left.
func (t *talk) work(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	if t.keys.Single() { // which is raw while a key is waited for
		plain := t.w
		t.w = returning{plain}
		defer func() { t.w = plain }()
	}
	b := &beside{talk: t, keyed: make(chan string)}
	defer func() {
		stop()
		if b.reading { // it gives the terminal back
			<-b.keyed
		}
	}()
	fmt.Fprint(t.w, "\n"+keysOfWork)
	moved, lost := t.follow(ctx)
	for {
		if err := b.show(ctx); err != nil {
			return err
		}
		switch {
		case t.s.Ended || t.s.Aborted != nil || t.s.Question != nil || t.s.Phase < intent.Meta:
			return errWorked
		case waitsForPerson(t.s) && b.waiting != "":
			line := b.waiting
			b.waiting = ""
			if err := b.take(ctx, line); err != nil {
				return err
			}
			continue
		case waitsForPerson(t.s) && b.keyed == nil:
			return errWorked
		}
		b.read(ctx)
		select {
		case <-moved:
		case err := <-lost:
			return err
		case line, ok := <-b.keyed:
			b.reading = false
			if !ok {
				if t.keys.Single() || !errors.Is(b.err, io.EOF) {
					return b.err
				}
				b.keyed = nil // who has typed all beforehand is told how it goes on
				continue
			}
			if err := b.take(ctx, line); err != nil {
				return err
			}
		}
	}
}

// errWorked ends the conversation beside the work: nothing more is said there.
var errWorked = errors.New("the session waits for nothing that is said beside its work")

// follow says when something happens in the session.
func (t *talk) follow(ctx context.Context) (moved chan struct{}, lost chan error) {
	moved, lost = make(chan struct{}, 1), make(chan error, 1)
	q, id := &loomv1.NoticesRequest{Project: t.project, Kinds: []string{"session-advanced"}, Since: t.s.ChangedAt}, t.s.Id
	go func() {
		lost <- t.c.Follow(ctx, q, true, func(n *loomv1.Notice) error {
			if n.Event.GetSessionAdvanced().GetSession() == id {
				select {
				case moved <- struct{}{}:
				default: // that it has moved is known
				}
			}
			return nil
		})
	}()
	return moved, lost
}

// read waits for a key, or a line where there is no terminal, one at a time.
func (b *beside) read(ctx context.Context) {
	if b.reading || b.keyed == nil || b.waiting != "" {
		return
	}
	b.reading = true
	keyed := b.keyed
	go func() {
		line, err := b.keys.Key(ctx, io.Discard, "")
		if err != nil {
			b.err = err
			close(keyed)
			return
		}
		select {
		case keyed <- line:
		case <-ctx.Done():
			close(keyed)
		}
	}()
}

// show tells what has happened since, and what can be said where the session waits.
func (b *beside) show(ctx context.Context) error {
	if err := b.look(ctx, b.s.Id); err != nil {
		return err
	}
	from := min(b.told, len(b.s.Facts))
	for _, f := range b.s.Facts[from:] {
		if run := f.GetStepStarted(); run != nil {
			step := b.s.Definition.GetSteps()[run.Step-1]
			fmt.Fprintf(b.w, "step %d, %s, by %s, at %s\n", run.Step, step.Name, step.Role, processes.TempoName(run.Limits.GetTempo()))
		}
		factText(b.w, b.s, f)
	}
	if b.told = len(b.s.Facts); b.told > from && waitsForPerson(b.s) {
		fmt.Fprintf(b.w, "%s\n", intent.Standing(b.s))
	}
	return nil
}

// take does what a key or a line says. What is refused is told, and the conversation goes on.
func (b *beside) take(ctx context.Context, line string) error {
	key, text, _ := strings.Cut(line, " ")
	if (key == "p" || key == "d" || key == "g") && !waitsForPerson(b.s) && !b.keys.Single() {
		b.waiting = line
		return nil
	}
	err := b.obey(ctx, key, strings.TrimSpace(text))
	if err == nil || errors.Is(err, io.EOF) || ctx.Err() != nil || fault.From(err).Code == "host/unavailable" {
		return err
	}
	fmt.Fprintf(b.w, "%s [%s]\n", fault.From(err).Error(), fault.Code(err))
	return nil
}

// obey carries out a key, with the text behind it; at a terminal that is asked for.
func (b *beside) obey(ctx context.Context, key, text string) error {
	switch key {
	case "":
		return nil
	case "l":
		return io.EOF
	case "p":
		return b.act(ctx, &loomv1.IntentRequest{Verb: &loomv1.IntentRequest_Proceed{Proceed: &loomv1.Proceed{}}})
	case "g":
		return b.act(ctx, &loomv1.IntentRequest{Verb: &loomv1.IntentRequest_Choose{Choose: &loomv1.ChooseCompletion{Choice: loomv1.CompletionChoice_COMPLETION_CHOICE_GAP}}})
	case "t":
		return b.changeTempo(ctx, text)
	}
	asks := map[string]string{"d": "number of the step", "c": "comment", "r": "constraint", "a": "why it is aborted", "v": "why it is revised"}[key]
	if asks == "" {
		fmt.Fprint(b.w, keysOfWork)
		return nil
	}
	if b.keys.Single() && text == "" && (key != "a" || !b.abortAsked()) {
		fmt.Fprint(b.w, asks+" > ")
		var err error
		if text, err = b.keys.Line(ctx); err != nil {
			return err
		}
	}
	return b.say(ctx, key, text)
}

// abortAsked says whether an abort waits for the end of the step that runs.
func (b *beside) abortAsked() (asked bool) {
	for _, f := range b.s.Facts {
		asked = (asked || f.GetAbortAsked() != nil) && f.GetAborted() == nil
	}
	return asked
}

// say is a key with its text.
func (b *beside) say(ctx context.Context, key, text string) error {
	if text == "" && key != "a" {
		return nil // thought better of
	}
	switch key {
	case "d":
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil || n == 0 {
			return fault.New("usage/argument", "no number of a step").Got(text)
		}
		if len(b.s.Unmet) > 0 {
			return b.act(ctx, &loomv1.IntentRequest{Verb: &loomv1.IntentRequest_Choose{Choose: &loomv1.ChooseCompletion{Choice: loomv1.CompletionChoice_COMPLETION_CHOICE_STEP, Step: uint32(n)}}})
		}
		return b.act(ctx, &loomv1.IntentRequest{Verb: &loomv1.IntentRequest_Proceed{Proceed: &loomv1.Proceed{Step: uint32(n)}}})
	case "a":
		return b.act(ctx, &loomv1.IntentRequest{Verb: &loomv1.IntentRequest_Abort{Abort: &loomv1.AbortPattern{Reason: text, SaveDraft: true}}})
	case "v":
		return b.act(ctx, &loomv1.IntentRequest{Verb: &loomv1.IntentRequest_Revise{Revise: &loomv1.ReviseIntent{Reason: text}}})
	}
	return b.act(ctx, &loomv1.IntentRequest{Verb: &loomv1.IntentRequest_Steer{Steer: &loomv1.Steer{Text: text, Redirect: key == "r"}}})
}

// changeTempo sets the tempo that is named, or the one after that which holds.
func (b *beside) changeTempo(ctx context.Context, name string) error {
	next := map[loomv1.Tempo]loomv1.Tempo{0: intent.Allegro, intent.Allegro: intent.Andante, intent.Andante: intent.Adagio, intent.Adagio: 0}[b.s.Tempo]
	if name != "" {
		if next = processes.TempoNamed(name); next == 0 && name != "pattern" {
			return fault.New("usage/argument", "no tempo").Got(name).Want("allegro, andante, adagio or pattern")
		}
	}
	if err := b.act(ctx, &loomv1.IntentRequest{Verb: &loomv1.IntentRequest_Tempo{Tempo: &loomv1.SetTempo{Tempo: next}}}); err != nil {
		return err
	}
	name = "as the pattern says"
	if next != 0 {
		name = processes.TempoName(next)
	}
	fmt.Fprintf(b.w, "the tempo from the next step on: %s\n", name)
	return nil
}

// returning begins each line at the left of a terminal that is raw.
type returning struct{ w io.Writer }

func (r returning) Write(p []byte) (int, error) {
	_, err := io.WriteString(r.w, strings.ReplaceAll(string(p), "\n", "\r\n"))
	return len(p), err
}
