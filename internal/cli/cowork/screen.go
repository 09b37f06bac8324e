package cowork

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"

	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/core/conversation"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// prompt is what a person types behind.
const prompt = "> "

// screen is a terminal with a line that is edited at its end, and what happens above it.
type screen struct {
	in     *os.File
	before *term.State
	line   *term.Terminal
	stops  chan struct{} // Ctrl-C was pressed
}

// keys passes on what is typed, but for Ctrl-C: that is told, and is no end.
type keys struct {
	io.Reader
	stops chan struct{}
}

// ctrlC is what a terminal sends for that key.
const ctrlC = 3

func (k keys) Read(p []byte) (int, error) {
	for {
		n, err := k.Reader.Read(p)
		kept := p[:0]
		for _, b := range p[:n] {
			if b != ctrlC {
				kept = append(kept, b)
				continue
			}
			select {
			case k.stops <- struct{}{}:
			default:
			}
		}
		if len(kept) > 0 || err != nil {
			return len(kept), err
		}
	}
}

// openScreen has a terminal edit lines: with the arrow keys, a history, and what is pasted
// as it is.
func openScreen(in *os.File, out io.Writer) (*screen, error) {
	before, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return nil, err
	}
	s := &screen{in: in, before: before, stops: make(chan struct{}, 1)}
	s.line = term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{keys{in, s.stops}, out}, prompt)
	s.line.AutoCompleteCallback = complete
	s.line.SetBracketedPasteMode(true)
	if w, h, err := term.GetSize(int(in.Fd())); err == nil && w > 0 && h > 0 {
		_ = s.line.SetSize(w, h)
	}
	return s, nil
}

func (s *screen) close() {
	s.line.SetBracketedPasteMode(false)
	_ = term.Restore(int(s.in.Fd()), s.before)
}

// complete completes the name of a command at Tab.
func complete(line string, pos int, key rune) (string, int, bool) {
	name, isCommand := strings.CutPrefix(line[:pos], "/")
	if key != '\t' || !isCommand || strings.Contains(name, " ") {
		return "", 0, false
	}
	for _, s := range slashes() {
		if strings.HasPrefix(s.name, name) {
			whole := "/" + s.name + " "
			return whole + line[pos:], len(whole), true
		}
	}
	return "", 0, false
}

// read reads a line, and with it the rest of what was pasted.
func (s *screen) read() (string, error) {
	return nextText(func() (string, error) {
		text, err := s.line.ReadLine()
		if errors.Is(err, term.ErrPasteIndicator) { // the next line belongs to it
			return text + `\`, nil
		}
		return text, err
	})
}

// atTerminal talks at a terminal: what the lead writes is shown above the line that is
// typed, as it is written.
func (t *talk) atTerminal(ctx context.Context) error {
	s, err := openScreen(t.a.In.(*os.File), t.out)
	if err != nil {
		return err
	}
	defer func() { s.close() }()
	below := t.out
	t.mu.Lock()
	t.out, t.terminal = s.line, true
	t.mu.Unlock()
	defer func() {
		t.mu.Lock()
		t.out, t.terminal = below, false
		t.mu.Unlock()
	}()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	t.cooked = func(f func() error) error {
		s.close()
		t.out = below
		defer func() {
			if again, err := openScreen(s.in, below); err == nil {
				*s = *again
			}
			t.out = s.line
		}()
		return f()
	}
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel(nil)
	all.Go(func() {
		if err := t.watch(ctx); err != nil && ctx.Err() == nil {
			cancel(err)
		}
	})
	stop, err := t.c.Live(t.project, t.hear)
	if err == nil {
		defer stop()
	}
	all.Go(func() {
		for {
			select {
			case <-s.stops:
				if err := t.stop(ctx, ""); err != nil && ctx.Err() == nil {
					fmt.Fprintf(t.out, "%v\n", err)
				}
			case <-ctx.Done():
				return
			}
		}
	})
	for t.goesOn() {
		text, err := s.read()
		if err != nil {
			return cause(ctx, err)
		}
		if strings.TrimSpace(text) == "" {
			continue
		}
		if err := t.take(ctx, text); err != nil {
			return cause(ctx, err)
		}
	}
	return nil
}

// cause is why a conversation at a terminal ended.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// watch shows what happens in the conversation as it happens, and goes on with another one
// where the person does.
func (t *talk) watch(ctx context.Context) error {
	for ctx.Err() == nil {
		here, leave := context.WithCancel(ctx)
		t.mu.Lock()
		v, project := t.v, t.project
		t.leave = leave
		t.mu.Unlock()
		err := t.c.Follow(here, &loomv1.NoticesRequest{Project: project, Team: v.Id, Since: v.ChangedAt}, true, func(n *loomv1.Notice) error {
			if here.Err() != nil {
				return here.Err()
			}
			return t.happened(here, v.Id, n.Event)
		})
		left := here.Err() != nil
		leave()
		if err != nil && !left {
			return err
		}
	}
	return nil
}

// happened shows what an event of the conversation, or of work begun in it, means to people.
func (t *talk) happened(ctx context.Context, id string, e *loomv1.Event) error {
	switch f := e.GetFact().(type) {
	case *loomv1.Event_ModelAnswered, *loomv1.Event_ToolFinished, *loomv1.Event_MessageHeard, *loomv1.Event_TurnStopped:
		if e.Bead == id {
			return t.show(ctx)
		}
	case *loomv1.Event_AttemptParked:
		if e.Bead == id && f.AttemptParked.GetWaitsFor() == "people" {
			if err := t.look(ctx, id); err != nil {
				return err
			}
			t.tell(console.Faint, fmt.Sprintf("  [%s; %s]", modeWord(t.v), costText(t.v)))
		}
	case *loomv1.Event_ExecutionEnded:
		if e.Bead == id {
			t.tell(console.Waits, "  · the conversation is closed: Ctrl-D leaves it")
			return t.look(ctx, id)
		}
	case *loomv1.Event_ApprovalRequested:
		if p := f.ApprovalRequested.GetApproval(); e.Bead != id {
			t.tell(console.Waits, fmt.Sprintf("  · %s waits for your answer: %s (/approve)", p.Id, console.Line(p.Question, 120)))
		}
	}
	return nil
}

func (t *talk) tell(ink console.Ink, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintf(t.out, "%s\n", t.a.Paint(ink, text))
}

// hear shows what the lead is writing, a line at a time.
func (t *talk) hear(l *loomv1.Writing) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if l.Bead != t.v.GetId() {
		return
	}
	lines := strings.Split(t.begun+strings.ToValidUTF8(l.Text, "\uFFFD"), "\n")
	last := len(lines) - 1
	for _, line := range lines[:last] {
		who := ""
		if t.words == "" {
			who = "lead: "
		}
		fmt.Fprintf(t.out, "%s%s\n", who, console.Printable(line))
		t.words += line + "\n"
	}
	t.begun = lines[last]
}

func modeWord(v *loomv1.Conversation) string { return conversation.Word(v.GetSettings().GetMode()) }
