package redact

import (
	"context"
	"fmt"
	"log/slog"
)

// Handler returns a handler that hands records on to next without the secrets.
func (s *Secrets) Handler(next slog.Handler) slog.Handler { return handler{s, next} }

type handler struct {
	secrets *Secrets
	next    slog.Handler
}

func (h handler) Enabled(ctx context.Context, l slog.Level) bool { return h.next.Enabled(ctx, l) }

func (h handler) Handle(ctx context.Context, r slog.Record) error {
	clean := slog.NewRecord(r.Time, r.Level, h.secrets.Text(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		clean.AddAttrs(h.attr(a))
		return true
	})
	return h.next.Handle(ctx, clean)
}

func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return handler{h.secrets, h.next.WithAttrs(h.attrs(attrs))}
}

func (h handler) WithGroup(name string) slog.Handler {
	return handler{h.secrets, h.next.WithGroup(name)}
}

func (h handler) attrs(list []slog.Attr) []slog.Attr {
	out := make([]slog.Attr, len(list))
	for i, a := range list {
		out[i] = h.attr(a)
	}
	return out
}

// attr cleans a value as it would be printed. One that has no secret stays what
// it is.
func (h handler) attr(a slog.Attr) slog.Attr {
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindGroup:
		return slog.Attr{Key: a.Key, Value: slog.GroupValue(h.attrs(v.Group())...)}
	case slog.KindString, slog.KindAny:
		text := v.String()
		if v.Kind() == slog.KindAny {
			text = fmt.Sprintf("%+v", v.Any())
		}
		if clean := h.secrets.Text(text); clean != text {
			return slog.String(a.Key, clean)
		}
	}
	return slog.Attr{Key: a.Key, Value: v}
}
