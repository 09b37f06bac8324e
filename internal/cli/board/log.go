package board

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/loomrun/loom/internal/cli/console"
)

// Logger writes what an operator should know as the board's own lines where there is a
// board, and as next does elsewhere, where programs read it.
func (b *Board) Logger(next *slog.Logger) *slog.Logger {
	if b.tty == nil {
		return next
	}
	return slog.New(said{say: b.say})
}

// said is a log in lines for a person: the time, how grave it is, what is said, and of
// what in parentheses.
type said struct {
	say   func(line string)
	attrs []string // that all lines have
	group string   // before the names of those to come
}

// Enabled is so from [slog.LevelInfo] on.
func (s said) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelInfo }

// Handle says a record.
func (s said) Handle(_ context.Context, r slog.Record) error {
	attrs := s.attrs[:len(s.attrs):len(s.attrs)]
	r.Attrs(func(a slog.Attr) bool {
		attrs = append(attrs, s.words(a)...)
		return true
	})
	grave := ""
	switch {
	case r.Level >= slog.LevelError:
		grave = "error: "
	case r.Level >= slog.LevelWarn:
		grave = "warning: "
	}
	of := ""
	if len(attrs) > 0 {
		of = " (" + strings.Join(attrs, ", ") + ")"
	}
	s.say(fmt.Sprintf("%s  %s%s%s\n", r.Time.Local().Format("15:04:05.000"), grave, console.Plainly(r.Message), of))
	return nil
}

// WithAttrs has all lines say more.
func (s said) WithAttrs(list []slog.Attr) slog.Handler {
	s.attrs = s.attrs[:len(s.attrs):len(s.attrs)]
	for _, a := range list {
		s.attrs = append(s.attrs, s.words(a)...)
	}
	return s
}

// WithGroup has the names of what is said from now on begin with another.
func (s said) WithGroup(name string) slog.Handler {
	s.group += name + "."
	return s
}

// words is an attribute as a person reads it.
func (s said) words(a slog.Attr) (list []string) {
	v := a.Value.Resolve()
	if v.Kind() == slog.KindGroup {
		s.group += a.Key + "."
		for _, part := range v.Group() {
			list = append(list, s.words(part)...)
		}
		return list
	}
	if a.Key == "" && v.Any() == nil {
		return nil
	}
	return []string{s.group + a.Key + ": " + console.Plainly(v.String())}
}
