package pattern

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/core/intent"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// talk is a conversation in a session. What it shows is what the host has: it keeps
// nothing, so that it can be left at any moment and gone on with by another one.
type talk struct {
	a       *Commands
	c       *client.Client
	project string
	given   map[loomv1.IntentField][]string // answers of a file
	keys    *console.Keyboard
	by      *signer // the CEO, where the seal is signed
	w       io.Writer
	s       *loomv1.PatternSession
	stay    bool // beside the steps, also without a terminal
}

// talk begins a conversation. With --json it is held beside the answer.
func (a *Commands) talk(c *client.Client, project string, given map[loomv1.IntentField][]string) *talk {
	t := &talk{a: a, c: c, project: project, given: given, keys: console.NewKeyboard(a.In), w: a.Out}
	if a.JSON {
		t.w = a.Err
	}
	return t
}

// act has the session do something, and notes how it stands then.
func (t *talk) act(ctx context.Context, r *loomv1.IntentRequest) error {
	r.Project, r.Session, r.Request = t.project, t.s.GetId(), rand.Text()
	answer, err := t.c.Intent(ctx, r)
	if err != nil {
		return err
	}
	t.s = answer.GetSession()
	t.project = t.s.GetProject()
	return nil
}

// look notes how a session stands.
func (t *talk) look(ctx context.Context, id string) error {
	v, err := t.c.Session(ctx, &loomv1.Query{Project: t.project, Id: id})
	if err != nil {
		return err
	}
	t.s = v.Sessions[0]
	t.project = t.s.Project
	return nil
}

// goOn talks until the session waits for nothing that a person can say here, or is left.
func (t *talk) goOn(ctx context.Context) error {
	for {
		var err error
		switch s := t.s; {
		case s.Aborted != nil || s.Ended:
			return t.end(ctx, nil)
		case s.Question != nil:
			err = t.answer(ctx)
		case asks(s):
			err = t.await(ctx)
		case s.Shown != nil:
			err = t.seal(ctx)
		case t.stays():
			if err = t.work(ctx); errors.Is(err, errWorked) {
				if t.s.Question != nil {
					err = nil // it is revised
					continue
				}
				return t.end(ctx, nil)
			}
		default:
			return t.end(ctx, nil)
		}
		if elsewhere(err) {
			fmt.Fprintf(t.w, "\nsomebody else was faster: %v\n", err)
			err = t.look(ctx, t.s.Id)
		}
		if err != nil {
			return t.end(ctx, err)
		}
	}
}

// elsewhere says whether an error means that the session stands otherwise than was shown,
// because somebody has spoken in it from another terminal: then it is looked at again.
func elsewhere(err error) bool {
	return fault.Code(err) == "intent/phase" || fault.Code(err) == "intent/digest"
}

// asks says whether it is the interviewer's turn in a session.
func asks(s *loomv1.PatternSession) bool {
	return s.Phase == intent.Primacy && s.Question == nil && s.Aborted == nil
}

// errAsked ends the wait for the interviewer.
var errAsked = errors.New("it is a person's turn")

// await waits until it is the person's turn: a model thinks of a question.
func (t *talk) await(ctx context.Context) error {
	q := &loomv1.NoticesRequest{Project: t.project, Kinds: []string{"session-advanced"}, Since: t.s.ChangedAt}
	err := t.c.Follow(ctx, q, true, func(n *loomv1.Notice) error {
		if n.Event.GetSessionAdvanced().GetSession() != t.s.Id {
			return nil
		}
		if err := t.look(ctx, t.s.Id); err != nil {
			return err
		}
		if !asks(t.s) {
			return errAsked
		}
		return nil
	})
	if errors.Is(err, errAsked) {
		return nil
	}
	return err
}

// end says how the session stands. One that was left in the middle waits: status 10.
func (t *talk) end(ctx context.Context, err error) error {
	left := errors.Is(err, io.EOF) || errors.Is(err, context.Canceled)
	if err != nil && !left {
		return err
	}
	if left {
		does := "waits"
		if t.s.Running != nil {
			does = "goes on"
		}
		fmt.Fprintf(t.w, "\nsession %s %s: loom pattern resume %s\n", t.s.Id, does, t.s.Id)
	} else {
		fmt.Fprintln(t.w)
		findingsText(t.w, t.s)
		if waitsForPerson(t.s) && !t.stays() {
			if err := t.look(context.WithoutCancel(ctx), t.s.Id); err != nil {
				return err
			}
			workText(t.w, t.s)
		}
		fmt.Fprintf(t.w, "%s\n", intent.Standing(t.s))
		nextText(t.w, t.s)
	}
	if t.a.JSON {
		if err := t.a.Print(t.s, nil); err != nil {
			return err
		}
	}
	if left || waitsForPerson(t.s) || len(t.s.Asked) > 0 {
		return console.ExitError{Status: fault.Waits}
	}
	return nil
}

// waitsForPerson says whether a session waits for somebody to say something in it.
func waitsForPerson(s *loomv1.PatternSession) bool {
	return !s.Ended && s.Aborted == nil && s.Running == nil && (s.Question != nil || s.Phase == intent.Capture || s.Stopped || len(s.Unmet) > 0 || s.Phase == intent.Meta)
}

// answer asks the question that waits, with what was understood so far.
func (t *talk) answer(ctx context.Context) error {
	q := t.s.Question
	t.keys.Drop() // the rest of what was pasted is no answer to this one
	understood(t.w, t.s)
	fmt.Fprintf(t.w, "\n%d. About %s: %s\n", q.Number, intent.FieldName(q.About), console.Printable(q.Text))
	if len(t.given[q.About]) > 0 { // the file answers by field, and not this question
		return t.answerFromFile(ctx, q)
	}
	said := slices.ContainsFunc(t.s.Answers, func(a *loomv1.IntentAnswer) bool { return a.About == q.About })
	if said {
		fmt.Fprintln(t.w, "(an empty line: nothing to add, what you have said about it stands)")
	}
	for {
		fmt.Fprint(t.w, "> ")
		text, err := t.keys.Line(ctx)
		switch {
		case err != nil:
			return err
		case text != "":
			return t.reply(ctx, &loomv1.AnswerQuestion{Question: q.Number, Text: text})
		case said:
			return t.reply(ctx, &loomv1.AnswerQuestion{Question: q.Number, Pass: true})
		}
		fmt.Fprintln(t.w, `say it in your words; "I don't know" is an answer too`)
	}
}

// answerFromFile says what a file has about the field of a question, and has nothing to add.
func (t *talk) answerFromFile(ctx context.Context, q *loomv1.QuestionAsked) error {
	for {
		text, ok := t.fromFile(q.About)
		if !ok {
			return t.reply(ctx, &loomv1.AnswerQuestion{Question: q.Number, Pass: true})
		}
		if err := t.say(ctx, q.About, text); err != nil {
			return err
		}
	}
}

func (t *talk) reply(ctx context.Context, a *loomv1.AnswerQuestion) error {
	return t.act(ctx, &loomv1.IntentRequest{Verb: &loomv1.IntentRequest_Answer{Answer: a}})
}

// fromFile returns the next text of the file about a field that was not said yet, and
// shows it.
func (t *talk) fromFile(about loomv1.IntentField) (string, bool) {
	for _, text := range t.given[about] {
		if !slices.ContainsFunc(t.s.Answers, func(a *loomv1.IntentAnswer) bool { return a.About == about && a.Text == text }) {
			fmt.Fprintf(t.w, "> %s\n", console.Printable(text))
			return text, true
		}
	}
	return "", false
}

// understood shows what was said so far and holds, by field, and then what was struck.
func understood(w io.Writer, s *loomv1.PatternSession) {
	if len(s.Answers) > 0 {
		fmt.Fprintln(w, "\nunderstood so far:")
		answersText(w, s.Answers)
	}
	struckText(w, s.Struck)
}

func struckText(w io.Writer, struck []*loomv1.IntentAnswer) {
	if len(struck) > 0 {
		fmt.Fprintln(w, "struck, and held no more:")
		answersText(w, struck)
	}
}

func answersText(w io.Writer, answers []*loomv1.IntentAnswer) {
	for _, f := range intent.Fields {
		for _, a := range answers {
			if a.About == f {
				fmt.Fprintf(w, "  %-11s  %d. %s\n", intent.FieldName(f), a.Number, console.Line(a.Text, 200))
			}
		}
	}
}

// seal shows the envelope whole, and asks for the seal. What a file says beside the
// answers is added before.
func (t *talk) seal(ctx context.Context) error {
	for _, f := range intent.Fields {
		if text, ok := t.fromFile(f); ok {
			return t.say(ctx, f, text)
		}
	}
	t.keys.Drop()
	fmt.Fprintln(t.w)
	envelopeText(t.w, t.s.Shown.Envelope)
	struckText(t.w, t.s.Struck)
	parts := cropped(t.s.Shown.Envelope)
	for _, p := range parts {
		fmt.Fprintf(t.w, "!  %s\n", console.Printable(p))
	}
	fmt.Fprintf(t.w, "digest %s\n", t.s.Shown.Digest)
	if t.by.signs() && t.allGiven() {
		return t.ready(ctx)
	}
	whole := ""
	if len(parts) > 0 {
		whole = "w: take all answers whole; "
	}
	for {
		key, err := t.keys.Key(ctx, t.w, "\nSeal it? y: yes, work begins for this; a: add something;\n"+whole+"s: strike an answer, or take that back; l: leave it for now\n> ")
		if err != nil {
			return err
		}
		fmt.Fprintln(t.w)
		switch strings.ToLower(key) {
		case "y", "yes":
			return t.ready(ctx)
		case "a", "add":
			return t.add(ctx)
		case "s", "strike":
			return t.strike(ctx)
		case "w", "whole":
			return t.act(ctx, &loomv1.IntentRequest{Verb: &loomv1.IntentRequest_Draft{Draft: &loomv1.DraftIntent{}}})
		case "l", "leave":
			return io.EOF
		}
	}
}

// ready seals what was shown: as the operator, or signed with the CEO's key.
func (t *talk) ready(ctx context.Context) error {
	if !t.by.signs() {
		return t.act(ctx, &loomv1.IntentRequest{Verb: &loomv1.IntentRequest_Seal{Seal: &loomv1.SealIntent{Digest: t.s.Shown.Digest}}})
	}
	if err := t.by.seal(ctx, t.a, t.c, t.s, t.s.Shown.Digest); err != nil {
		return err
	}
	return t.look(ctx, t.s.Id)
}

// allGiven says whether all of the envelope is from the file, so that whoever signs knows
// it before; it shows what is not.
func (t *talk) allGiven() bool {
	if len(t.given) == 0 {
		return false
	}
	differs := notGiven(t.s.Shown.GetEnvelope(), t.given)
	if len(differs) == 0 {
		fmt.Fprintln(t.w, "all of it is from the file: it is sealed with the CEO's key")
		return true
	}
	fmt.Fprintln(t.w, "the envelope differs from the file:")
	for _, d := range differs {
		fmt.Fprintf(t.w, "  %s\n", console.Printable(d))
	}
	return false
}

// add takes something that was not asked for.
func (t *talk) add(ctx context.Context) error {
	var names []string
	for _, f := range intent.Fields {
		names = append(names, intent.FieldName(f))
	}
	for {
		fmt.Fprintf(t.w, "about (%s) > ", strings.Join(names, ", "))
		name, err := t.keys.Line(ctx)
		if err != nil {
			return err
		}
		i := slices.Index(names, name)
		if i < 0 {
			continue
		}
		fmt.Fprint(t.w, "> ")
		text, err := t.keys.Line(ctx)
		if err != nil || text == "" {
			return err
		}
		return t.say(ctx, intent.Fields[i], text)
	}
}

// strike takes an answer out of the envelope, or one that was struck back into it.
func (t *talk) strike(ctx context.Context) error {
	fmt.Fprint(t.w, "number of the answer > ")
	line, err := t.keys.Line(ctx)
	if err != nil {
		return err
	}
	n, err := strconv.ParseUint(line, 10, 32)
	if err != nil {
		n = 0 // answers begin with 1
	}
	known := func(list []*loomv1.IntentAnswer) bool {
		return slices.ContainsFunc(list, func(a *loomv1.IntentAnswer) bool { return uint64(a.Number) == n })
	}
	if !known(t.s.Answers) && !known(t.s.Struck) {
		fmt.Fprintln(t.w, "there is no such answer")
		return nil
	}
	return t.act(ctx, &loomv1.IntentRequest{Verb: &loomv1.IntentRequest_Strike{Strike: &loomv1.StrikeAnswer{Number: uint32(n), Restore: known(t.s.Struck)}}})
}

func (t *talk) say(ctx context.Context, about loomv1.IntentField, text string) error {
	return t.act(ctx, &loomv1.IntentRequest{Verb: &loomv1.IntentRequest_Answer{Answer: &loomv1.AnswerQuestion{About: about, Text: text}}})
}

// envelopeText writes an envelope: each field in the words of the person.
func envelopeText(w io.Writer, e *loomv1.IntentEnvelope) {
	fmt.Fprintf(w, "envelope %s for pattern %s\n", e.GetId(), e.GetPattern())
	for _, f := range intent.Fields {
		quotes := intent.Quotations(e, f)
		if len(quotes) == 0 {
			fmt.Fprintf(w, "  %-11s  nothing was said\n", intent.FieldName(f))
		}
		for i, q := range quotes {
			name := intent.FieldName(f)
			if i > 0 {
				name = ""
			}
			fmt.Fprintf(w, "  %-11s  %q (answer %d)\n", name, console.Printable(q.Text), q.Answer)
		}
	}
	if e.GetSupersedes() != "" {
		fmt.Fprintf(w, "  it takes the place of %s\n", e.Supersedes)
	}
	fmt.Fprintf(w, "  made of these answers, with pattern %s\n", e.GetPatternDigest())
	for _, a := range e.GetAnswers() {
		asked := "unasked"
		if a.Question != "" {
			asked = fmt.Sprintf("%q", console.Printable(a.Question))
		}
		fmt.Fprintf(w, "  %d. about %s, %s, by %s at %s:\n     %s\n", a.Number, intent.FieldName(a.About), asked, a.GetBy().GetName(), console.Stamp(a.Time), console.Printable(a.Text))
	}
}
