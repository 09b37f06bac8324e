// Package fault is the one shape of a refusal: a stable code from a closed
// list, a sentence, a place, and what would be right. Every surface (command
// line, NATS, journal) carries the same [Error]. It never holds a stack trace,
// a secret, or more than 80 bytes of the input.
package fault

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Exit is a process exit status of the command line.
type Exit int

// The exit statuses. A code's area decides which one it gives, see [Status]; that
// work waits for a person, or was delivered with gaps, is no error.
const (
	Done        Exit = 0
	WorkFailed  Exit = 1
	Usage       Exit = 2
	Invalid     Exit = 3
	Refused     Exit = 4
	Conflict    Exit = 5
	Unavailable Exit = 6
	Integrity   Exit = 7
	Limit       Exit = 8
	Waits       Exit = 10
	Gaps        Exit = 11
	Interrupted Exit = 130 // by a signal, as shells have it
	Unread      Exit = 141 // nobody read on, as shells have it of a pipe
)

// Error is a refusal. The zero value is not an error; use [New].
type Error struct {
	Code    string // "area/kebab", from the list in codes.go
	Message string // what, whose, and since or until when; lower case, no full stop
	Where   string // FILE:LINE:COL, JSON pointer, argument or subject
	Value   string // the offending value, already escaped and cut by [Echo]
	Hint    string // what would be right
	More    []*Error
	cause   error
}

// New returns an error with a code that must be listed in codes.go; an
// unlisted one panics, because callers choose by code.
func New(code, format string, args ...any) *Error {
	if _, ok := codes[code]; !ok {
		panic(fmt.Sprintf("fault: code %q is not listed in codes.go", code))
	}
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// At returns e with its place set.
func (e *Error) At(where string) *Error { e.Where = where; return e }

// Got returns e with the offending value, echoed by [Echo].
func (e *Error) Got(value string) *Error { e.Value = Echo(value); return e }

// Want returns e with a hint of what would be right.
func (e *Error) Want(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// Because returns e wrapping cause, whose text is appended when e is printed
// locally; it is not sent to others.
func (e *Error) Because(cause error) *Error { e.cause = cause; return e }

// Error prints the place, the sentence, the value and the hint in one line.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Where != "" {
		b.WriteString(e.Where + ": ")
	}
	b.WriteString(e.Message)
	if e.Value != "" {
		b.WriteString(" (got " + e.Value + ")")
	}
	if e.Hint != "" {
		b.WriteString("; " + e.Hint)
	}
	if e.cause != nil {
		b.WriteString(": " + e.cause.Error())
	}
	return b.String()
}

// Lines prints e and all that it tells of besides, one a line.
func (e *Error) Lines() string {
	lines := []string{e.Error()}
	for _, m := range e.More {
		lines = append(lines, m.Error())
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns what Because was given.
func (e *Error) Unwrap() error { return e.cause }

// Is makes errors.Is(err, fault.New(code, "")) compare by code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

// Proto returns e as it goes over the wire, without its cause.
func (e *Error) Proto() *loomv1.Error {
	p := &loomv1.Error{Code: e.Code, Message: text(e.Message), Where: text(e.Where), Value: text(e.Value), Hint: text(e.Hint)}
	for _, m := range e.More {
		p.More = append(p.More, m.Proto())
	}
	return p
}

// text is s as a message can carry it.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// FromProto returns the error that p carries, or nil when p is nil. A code
// that this build does not know is kept as it is.
func FromProto(p *loomv1.Error) error {
	if p == nil {
		return nil
	}
	return fromProto(p)
}

func fromProto(p *loomv1.Error) *Error {
	e := &Error{Code: p.Code, Message: p.Message, Where: p.Where, Value: p.Value, Hint: p.Hint}
	for _, m := range p.More {
		e.More = append(e.More, fromProto(m))
	}
	return e
}

// From returns err as an Error: itself if it is one, else "internal/error"
// with no more than its text.
func From(err error) *Error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return New("internal/error", "%s", err)
}

// Code returns the code of err, or "" when it carries none.
func Code(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return ""
}

// Status returns the exit status for err: Done for nil, WorkFailed for an
// error without a code.
func Status(err error) Exit {
	if err == nil {
		return Done
	}
	if s, ok := codes[Code(err)]; ok {
		return s
	}
	return WorkFailed
}

// All are the errors that err has put together, each by itself; none for nil.
func All(err error) []*Error {
	f := From(err)
	if f == nil {
		return nil
	}
	first := *f
	first.More = nil
	return append([]*Error{&first}, f.More...)
}

// Join returns nil for no errors, the first with the others in More otherwise,
// at most 50 in all.
func Join(errs []*Error) error {
	if len(errs) == 0 {
		return nil
	}
	const most = 50
	if len(errs) > most {
		errs = errs[:most]
	}
	first := *errs[0]
	first.More = append(first.More, errs[1:]...)
	return &first
}

// Echo quotes a value for a message, at most 80 bytes: what is no sign that can be seen is
// escaped, letters of any script are not.
func Echo(s string) string {
	const most = 80
	q := strconv.Quote(s)
	if len(q) <= most {
		return q
	}
	for n := min(len(s), most); n > 0; n-- {
		if n < len(s) && !utf8.RuneStart(s[n]) {
			continue
		}
		if q = strconv.Quote(s[:n]) + "..."; len(q) <= most {
			return q
		}
	}
	return `"..."`
}

// Count is a number with its noun, for what is told: "1 bead", "2 beads".
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
