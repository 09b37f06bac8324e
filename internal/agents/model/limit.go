package model

import (
	"errors"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
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

// Remedy says what the operator of a host can do about a model that cannot be
// asked, and is "" for an error that is not the operator's matter: who works is not
// at fault when the provider refuses the key, the account is empty, or there is no
// such model.
func Remedy(err error) string {
	switch fault.Code(err) {
	case "model/key-refused":
		return "give a key that the provider accepts (in the environment, or its file below [secret-files]) and start the host again"
	case "model/no-credit":
		return "add credit to the account at the provider, or start the host with another key or model"
	case "model/unknown":
		return "start the host with a model that the provider has (--model, --tier, --role-model)"
	case "model/no-thinking":
		return "say below thinking in the role's file what its model takes, or start the host with another model for it"
	case "model/none":
		return "start the host with a model: loom up --model anthropic:MODEL, google:MODEL or openai:MODEL"
	case "model/no-key":
		return "set the key in the environment, or name its file below [secret-files]"
	}
	return ""
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
