package model

import (
	"errors"
	"time"

	"github.com/loomrun/loom/internal/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// limited is a refusal with the moment that it ends.
type limited struct {
	refusal *fault.Error
	until   time.Time
}

func (l *limited) Error() string { return l.refusal.Error() }
func (l *limited) Unwrap() error { return l.refusal }

// RateLimited returns the refusal by who's rate limit until at, for the
// reason that who gave, which may be empty.
func RateLimited(who string, at time.Time, why string) error {
	if why != "" {
		why = ": " + why
	}
	return &limited{fault.New("model/rate-limited", "%s: over its rate limit until %s%s",
		who, at.UTC().Format(time.RFC3339), why), at}
}

// RetryAt returns when a refused request may be asked again, and false for an
// error that names no time.
func RetryAt(err error) (time.Time, bool) {
	l, ok := errors.AsType[*limited](err)
	if !ok {
		return time.Time{}, false
	}
	return l.until, true
}

// keyRefused is a refusal of the key.
type keyRefused struct{ error }

func (k keyRefused) Unwrap() error { return k.error }

// RefusedKey returns err as one that is about the key.
func RefusedKey(err error) error { return keyRefused{err} }

// KeyRefused reports whether the server refused the key and not the request.
func KeyRefused(err error) bool {
	_, ok := errors.AsType[keyRefused](err)
	return ok
}

// spent is an error that cost something.
type spent struct {
	cause error
	usage *loomv1.Usage
}

func (s *spent) Error() string { return s.cause.Error() }
func (s *spent) Unwrap() error { return s.cause }

// Spent returns err with what was used before it came to that.
func Spent(err error, u *loomv1.Usage) error { return &spent{err, u} }

// UsageOf returns what a request used that ended in err: nothing, known, for
// an error that came before anything was sent.
func UsageOf(err error) *loomv1.Usage {
	if s, ok := errors.AsType[*spent](err); ok {
		return s.usage
	}
	return &loomv1.Usage{CostKnown: true}
}
