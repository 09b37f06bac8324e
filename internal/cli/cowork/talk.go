package cowork

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/core/workflow"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// talk is a conversation being held. What it shows is what the host has: it keeps nothing,
// so that it can be left at any moment and taken up by another one.
type talk struct {
	a       *Commands
	c       *client.Client
	project string
	out     io.Writer

	mu    sync.Mutex
	v     *loomv1.Conversation
	after *loomv1.Cursor // what was shown of the transcript

	words string   // of the answer that is being written: the lines that were shown
	begun string   // the line that the lead has begun to write
	typed []string // here, and not heard yet

	terminal bool                     // a line is edited below what is shown
	cooked   func(func() error) error // at a terminal: does something without the line
	leave    func()                   // ends what watches the conversation that is left
}

// errLeft ends a conversation at the person's wish: it waits on the host.
var errLeft = errors.New("left")

// run talks until the person leaves, or the conversation is closed.
func (t *talk) run(ctx context.Context) error {
	if err := t.past(ctx); err != nil {
		return err
	}
	fmt.Fprintf(t.out, "%s\n", standing(t.v))
	if !t.goesOn() {
		return t.end(nil)
	}
	if console.Terminal(t.a.In) && console.Terminal(t.out) {
		return t.end(t.atTerminal(ctx))
	}
	return t.end(t.lines(ctx))
}

// end says how the conversation stands. An interruption is one of the command, and leaves
// the conversation as it is.
func (t *talk) end(err error) error {
	interrupted := errors.Is(err, context.Canceled)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, errLeft) && !interrupted {
		return err
	}
	if t.goesOn() {
		fmt.Fprintf(t.out, "%s goes on: loom cowork --resume %s\n", t.v.Id, t.v.Id)
	} else {
		fmt.Fprintf(t.out, "%s is closed\n", t.v.Id)
	}
	if interrupted {
		return err
	}
	if t.a.JSON {
		return t.a.Print(t.v, nil)
	}
	return nil
}

// lines says each line of the input when the lead has answered the one before.
func (t *talk) lines(ctx context.Context) error {
	in := bufio.NewScanner(t.a.In)
	in.Buffer(nil, 1<<20)
	if err := t.settled(ctx); err != nil {
		return err
	}
	for {
		text, err := nextText(func() (string, error) {
			switch {
			case in.Scan():
				return in.Text(), nil
			case in.Err() != nil:
				return "", fault.New("usage/argument", "the input cannot be read: %s", in.Err())
			}
			return "", io.EOF
		})
		if err != nil {
			return err
		}
		if strings.TrimSpace(text) == "" {
			continue
		}
		fmt.Fprintf(t.out, "> %s\n", strings.ReplaceAll(console.Printable(text), "\n", "\n> "))
		if err := t.take(ctx, text); err != nil {
			return err
		}
		if !t.goesOn() {
			return nil
		}
		if err := t.settled(ctx); err != nil {
			return err
		}
	}
}

// nextText reads a line, and those that it goes on with behind a backslash.
func nextText(line func() (string, error)) (string, error) {
	var all []string
	for {
		text, err := line()
		if errors.Is(err, io.EOF) && len(all) > 0 {
			return strings.Join(all, "\n"), nil
		}
		if err != nil {
			return "", err
		}
		rest, more := strings.CutSuffix(text, `\`)
		if all = append(all, rest); !more {
			return strings.Join(all, "\n"), nil
		}
	}
}

// take says a text, or carries out the command that it is. What is refused is told, and
// the conversation goes on.
func (t *talk) take(ctx context.Context, text string) error {
	err := func() error {
		if name, isCommand := strings.CutPrefix(text, "/"); isCommand {
			return t.command(ctx, name)
		}
		t.mu.Lock()
		t.typed = append(t.typed, strings.TrimSpace(text))
		t.mu.Unlock()
		return t.act(ctx, &loomv1.ConverseRequest{Verb: &loomv1.ConverseRequest_Say{Say: &loomv1.SayInConversation{Text: text}}})
	}()
	if err == nil || errors.Is(err, errLeft) || errors.Is(err, io.EOF) || ctx.Err() != nil || fault.From(err).Code == "host/unavailable" {
		return err
	}
	fmt.Fprintf(t.out, "%s\n", t.a.Paint(console.Bad, fault.From(err).Error()))
	return nil
}

// settled shows what the lead says and does until it rests, or waits for somebody.
func (t *talk) settled(ctx context.Context) error {
	done := errors.New("settled")
	look := func() error {
		if err := t.look(ctx, t.v.Id); err != nil {
			return err
		}
		switch t.v.State {
		case loomv1.ConversationState_CONVERSATION_STATE_RESTS, loomv1.ConversationState_CONVERSATION_STATE_CLOSED:
			return done
		case loomv1.ConversationState_CONVERSATION_STATE_WAITS:
			if forPeople[t.v.WaitsFor] {
				t.tell(console.Waits, "  · the lead waits for a person ("+t.v.WaitsFor+"): loom inbox")
				return done
			}
		}
		return nil
	}
	if err := look(); err != nil {
		return t.caughtUp(ctx, err, done)
	}
	q := &loomv1.NoticesRequest{Project: t.project, Bead: t.v.Id, Since: t.v.ChangedAt}
	err := t.c.Follow(ctx, q, true, func(n *loomv1.Notice) error {
		switch n.Event.GetFact().(type) {
		case *loomv1.Event_ModelAnswered, *loomv1.Event_ToolFinished, *loomv1.Event_MessageHeard, *loomv1.Event_TurnStopped:
			return t.show(ctx)
		case *loomv1.Event_AttemptParked, *loomv1.Event_ExecutionEnded:
			return look()
		}
		return nil
	})
	return t.caughtUp(ctx, err, done)
}

// forPeople is what a lead waits for that nobody but a person ends.
var forPeople = map[string]bool{workflow.WaitsForPermission: true, workflow.WaitsForOperator: true, workflow.WaitsForBudget: true}

// caughtUp shows the rest of what there is, where the lead rests.
func (t *talk) caughtUp(ctx context.Context, err, done error) error {
	if !errors.Is(err, done) {
		return err
	}
	return t.show(ctx)
}

// shownBefore is how many entries of the past are shown when a conversation is taken up.
const shownBefore = 12

// past shows the end of what was said before, and notes where the transcript goes on.
func (t *talk) past(ctx context.Context) error {
	var last []*loomv1.TranscriptEntry
	err := t.entries(ctx, func(e *loomv1.TranscriptEntry) error {
		if told(e) {
			last = append(last, e)
			last = last[max(0, len(last)-shownBefore):]
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, e := range last {
		if err := t.entry(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// show prints what has come to the transcript since.
func (t *talk) show(ctx context.Context) error {
	return t.entries(ctx, func(e *loomv1.TranscriptEntry) error { return t.entry(ctx, e) })
}

// entries calls fn with what has come to the transcript since it was last read.
func (t *talk) entries(ctx context.Context, fn func(*loomv1.TranscriptEntry) error) error {
	for {
		page, err := t.c.Transcript(ctx, &loomv1.TranscriptRequest{Execution: t.v.Execution, After: t.after})
		if err != nil {
			return err
		}
		if page.Next != nil {
			t.after = page.Next
		}
		for _, e := range page.Entries {
			if err := fn(e); err != nil {
				return err
			}
		}
		if page.End {
			return nil
		}
	}
}

// told says whether an entry is shown in a conversation.
func told(e *loomv1.TranscriptEntry) bool {
	switch e.Kind {
	case loomv1.TranscriptKind_TRANSCRIPT_KIND_SAID, loomv1.TranscriptKind_TRANSCRIPT_KIND_RESULT,
		loomv1.TranscriptKind_TRANSCRIPT_KIND_TOLD, loomv1.TranscriptKind_TRANSCRIPT_KIND_STOPPED:
		return true
	}
	return false
}

// entry prints an entry: words as they are, a tool's step in a line.
func (t *talk) entry(ctx context.Context, e *loomv1.TranscriptEntry) error {
	text, err := wholeText(ctx, t.c, e)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	text = console.Printable(strings.TrimSpace(text))
	switch e.Kind {
	case loomv1.TranscriptKind_TRANSCRIPT_KIND_SAID:
		t.said(text)
	case loomv1.TranscriptKind_TRANSCRIPT_KIND_RESULT:
		fmt.Fprintf(t.out, "%s\n", t.a.Paint(console.Faint, "  · "+console.Line(resultText(e), 160)))
	case loomv1.TranscriptKind_TRANSCRIPT_KIND_TOLD:
		for i, own := range t.typed {
			if own == text {
				t.typed = append(t.typed[:i:i], t.typed[i+1:]...)
				return nil
			}
		}
		fmt.Fprintf(t.out, "%s: %s\n", console.Printable(e.Agent), text)
	case loomv1.TranscriptKind_TRANSCRIPT_KIND_STOPPED:
		t.words, t.begun = "", ""
		fmt.Fprintf(t.out, "%s\n", t.a.Paint(console.Waits, "  · "+console.Line(text, 200)))
	}
	return nil
}

// said prints words of the lead, but for the lines that were shown as they were written.
func (t *talk) said(text string) {
	shown := t.words
	t.words, t.begun = "", ""
	if rest, ok := strings.CutPrefix(text, strings.TrimRight(shown, "\n")); ok && shown != "" {
		if rest = strings.TrimLeft(rest, "\n"); rest != "" {
			fmt.Fprintf(t.out, "%s\n", rest)
		}
		return
	}
	if text != "" {
		fmt.Fprintf(t.out, "lead: %s\n", text)
	}
}

// resultText is a tool's step in a line.
func resultText(e *loomv1.TranscriptEntry) string {
	text := e.Tool
	if e.Status != loomv1.ToolStatus_TOOL_STATUS_OK {
		text += " (" + strings.ToLower(strings.TrimPrefix(e.Status.String(), "TOOL_STATUS_")) + ")"
	}
	if e.Summary != "" {
		text += ": " + e.Summary
	}
	return text
}

// wholeText is the text of an entry, whole.
func wholeText(ctx context.Context, c *client.Client, e *loomv1.TranscriptEntry) (string, error) {
	if !e.Clipped || e.Blob == nil || e.Kind == loomv1.TranscriptKind_TRANSCRIPT_KIND_RESULT {
		return e.Text, nil
	}
	data, _, err := c.ReadBlob(ctx, project.Of(e.Attempt), e.Blob.Sha256)
	if code := fault.Code(err); code == "blob/missing" || code == "blob/corrupt" {
		return e.Text, nil
	}
	return strings.ToValidUTF8(string(data), "\uFFFD"), err
}
