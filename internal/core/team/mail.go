package team

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// AnswerWithin is how long whoever was asked has to answer, in journal time without
// that in which the asker is held. Then the runtime answers in their place.
const AnswerWithin = 30 * time.Minute

// Bounds of what members of a team write to each other.
const (
	MaxMail    = 2 << 10 // bytes of one message
	MaxWritten = 32      // messages by one attempt
	MaxUnheard = 16      // messages to one attempt that it was not told yet

	maxLog     = 32  // entries of a team's log
	logText    = 200 // bytes of one
	mailPrefix = "mail:"
)

// The kinds of mail, by their short names.
const (
	question = loomv1.MailKind_MAIL_KIND_QUESTION
	answer   = loomv1.MailKind_MAIL_KIND_ANSWER
)

// MailID returns the id of the next message of a team; t may be nil.
func MailID(root string, t *loomv1.Team) string {
	return fmt.Sprintf("%s%s:%d", mailPrefix, root, t.GetMailCount()+1)
}

// IsMailID reports whether an id is one of mail. Nobody else may give such an id.
func IsMailID(id string) bool { return strings.HasPrefix(id, mailPrefix) }

// CheckMail says all that is wrong with a message of an attempt that has written so
// many before: team/invalid, and team/limit.
func CheckMail(w *loomv1.WriteMail, written int) error {
	var errs []*fault.Error
	if strings.TrimSpace(w.GetText()) == "" {
		errs = append(errs, fault.New("team/invalid", "nothing is written").At("text"))
	} else if e := text("text", w.GetText(), MaxMail); e != nil {
		errs = append(errs, e)
	}
	switch {
	case w.GetTo() == "":
		errs = append(errs, fault.New("team/invalid", "it is written to nobody").At("to"))
	case IsMailID(w.To) && w.Ask:
		errs = append(errs, fault.New("team/invalid", "an answer is no question").At("ask").Want("answer first, then ask"))
	}
	if written >= MaxWritten {
		errs = append(errs, fault.New("team/limit", "%d messages were written already, as many as one attempt can", written).Want("decide what you can, and say what you supposed"))
	}
	return fault.Join(errs)
}

// Written returns what a call of an attempt has written, and how many messages its
// calls have written in all.
func Written(t *loomv1.Team, attempt, call string) (byCall []*loomv1.Mail, all int) {
	calls := map[string]bool{}
	for _, m := range t.GetMail() {
		if m.Attempt != attempt {
			continue
		}
		calls[m.Call] = true
		if m.Call == call {
			byCall = append(byCall, m)
		}
	}
	return byCall, len(calls)
}

// FindMail returns the message with an id, or nil.
func FindMail(t *loomv1.Team, id string) *loomv1.Mail {
	if i := slices.IndexFunc(t.GetMail(), func(m *loomv1.Mail) bool { return m.Id == id }); i >= 0 {
		return t.Mail[i]
	}
	return nil
}

// Unheard returns what an attempt was written and not told yet, oldest first. An
// answer is told by the call that asked, and a question that nobody waits for any more
// is not told.
func Unheard(t *loomv1.Team, attempt string) (list []*loomv1.Mail) {
	for _, m := range t.GetMail() {
		if m.To == attempt && !m.Heard && m.Kind != answer && (m.Kind != question || isOpen(m)) {
			list = append(list, m)
		}
	}
	return list
}

// isOpen reports whether a question waits for its answer.
func isOpen(m *loomv1.Mail) bool { return m.Kind == question && m.Answer == nil && !m.WriterEnded }

// Asked returns the questions that an attempt waits for the answer of.
func Asked(t *loomv1.Team, attempt string) []*loomv1.Mail {
	return questions(t, func(m *loomv1.Mail) bool { return m.Attempt == attempt })
}

// AskedOf returns the questions that wait for the answer of an attempt.
func AskedOf(t *loomv1.Team, attempt string) []*loomv1.Mail {
	return questions(t, func(m *loomv1.Mail) bool { return m.To == attempt })
}

func questions(t *loomv1.Team, of func(*loomv1.Mail) bool) (list []*loomv1.Mail) {
	for _, m := range t.GetMail() {
		if isOpen(m) && of(m) {
			list = append(list, m)
		}
	}
	return list
}

// Shift gives questions the time back in which their asker was held.
func Shift(open []*loomv1.Mail, from, to time.Time) {
	for _, q := range open {
		since := from
		if asked := q.Time.AsTime(); asked.After(since) {
			since = asked
		}
		if to.After(since) {
			q.Until = timestamppb.New(q.Until.AsTime().Add(to.Sub(since)))
		}
	}
}

// Said is what the reader of a message is told.
func Said(m *loomv1.Mail) *loomv1.Said {
	return &loomv1.Said{Id: m.Id, From: m.From, Text: m.Text, Time: m.Time, Kind: m.Kind, Bead: m.Bead}
}

// Apply folds a fact of a team into t, or reports why it cannot be one that follows
// from what t has. A message is kept as long as somebody may ask for it again: its
// writer, who may repeat the call, or its reader, who has not heard it.
func Apply(t *loomv1.Team, e *loomv1.Event) error {
	switch f := e.Fact.(type) {
	case *loomv1.Event_MailSent:
		return sent(t, e.Time, f.MailSent.GetMail())
	case *loomv1.Event_MessageHeard:
		return heard(t, e.Attempt, f.MessageHeard.GetSaid().GetId())
	case *loomv1.Event_AttemptEnded:
		ended(t, e.Attempt)
		if o := f.AttemptEnded.Outcome; o.GetStatus() == loomv1.OutcomeStatus_OUTCOME_STATUS_FAILURE {
			note(t, e.Time, "%s at %s failed: %s", e.Node, e.Bead, cmp.Or(o.Summary, o.Code))
		}
	case *loomv1.Event_TaskGiven:
		note(t, e.Time, "task %s given to %s: %s", f.TaskGiven.GetTask().GetBead(), f.TaskGiven.GetTask().GetRole(), f.TaskGiven.GetTask().GetGoal())
	case *loomv1.Event_TaskEnded:
		verb := "failed"
		if f.TaskEnded.GetOutcome().GetStatus() == loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS {
			verb = "is done"
		}
		note(t, e.Time, "task %s %s: %s", f.TaskEnded.GetBead(), verb, f.TaskEnded.GetOutcome().GetSummary())
	case *loomv1.Event_ClaimReleased:
		if f.ClaimReleased.Crash != "" || f.ClaimReleased.HostLost {
			note(t, e.Time, "%s at %s is begun again: %s", e.Node, e.Bead, f.ClaimReleased.Reason)
		}
	default:
		return fmt.Errorf("%T is no fact of a team", e.Fact)
	}
	return nil
}

func sent(t *loomv1.Team, at *timestamppb.Timestamp, m *loomv1.Mail) error {
	if m.GetId() == "" || FindMail(t, m.Id) != nil {
		return fmt.Errorf("mail %q is sent, which is there already", m.GetId())
	}
	if (m.Kind == question) != (m.Until != nil) {
		return fmt.Errorf("mail %q, a %s, waits until %v", m.Id, Word(m.Kind), m.Until)
	}
	m = proto.CloneOf(m)
	m.Time = at
	who := cmp.Or(m.From.GetName(), "Loom")
	if m.Kind == answer {
		q := FindMail(t, m.Re)
		if q == nil || q.Answer != nil {
			return fmt.Errorf("mail %q answers %q, which nobody waits for", m.Id, m.Re)
		}
		q.Answer, q.Answered = proto.CloneOf(m), m.Attempt != ""
		m.Heard = true // by the call that asked
	}
	t.Mail = append(t.Mail, m)
	t.MailCount++
	t.Mail = slices.DeleteFunc(t.Mail, spent)
	if m.Kind != loomv1.MailKind_MAIL_KIND_NEWS { // what those are about is an entry of its own
		note(t, at, "%s to %s, %s: %s", who, m.Role, Word(m.Kind), m.Text)
	}
	return nil
}

// Word is a kind of mail in a word.
func Word(k loomv1.MailKind) string {
	return strings.ToLower(strings.TrimPrefix(k.String(), "MAIL_KIND_"))
}

func heard(t *loomv1.Team, attempt, id string) error {
	m := FindMail(t, id)
	switch {
	case !IsMailID(id):
		return nil // a person said it
	case m == nil || m.To != attempt || m.Heard:
		return fmt.Errorf("attempt %q hears mail %q, which is not to it or was heard", attempt, id)
	}
	m.Heard = true
	t.Mail = slices.DeleteFunc(t.Mail, spent)
	return nil
}

func ended(t *loomv1.Team, attempt string) {
	for _, m := range t.Mail {
		m.WriterEnded = m.WriterEnded || m.Attempt == attempt || m.Attempt == ""
		m.ReaderEnded = m.ReaderEnded || m.To == attempt
	}
	t.Mail = slices.DeleteFunc(t.Mail, spent)
}

// spent reports whether nobody will ask for a message again: its writer has ended or
// is the runtime, and its reader has heard it or has ended.
func spent(m *loomv1.Mail) bool {
	return (m.WriterEnded || m.Attempt == "") && (m.Heard || m.ReaderEnded)
}

// note adds a line to the log, and drops the oldest where there are too many.
func note(t *loomv1.Team, at *timestamppb.Timestamp, format string, args ...any) {
	line := strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " ")
	if len(line) > logText {
		line = strings.ToValidUTF8(line[:logText-3], "") + "..."
	}
	t.Log = append(t.Log, &loomv1.TeamEntry{Time: at, Text: line})
	t.Log = t.Log[max(len(t.Log)-maxLog, 0):]
}
