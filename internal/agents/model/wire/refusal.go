package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/loomrun/loom/internal/base/fault"
)

// refusal is a server's no: before the stream with a status of its own, or
// within it with that of its kind.
type refusal struct {
	status  int
	kind    string // the server's own word
	message string
	wait    time.Duration // what the server asks for; zero if nothing
}

func (r *refusal) Error() string { return fmt.Sprintf("%d %s", r.status, r.kind) }

// maxRefusal is how much of a refusal is read.
const maxRefusal = 8 << 10

func readRefusal(resp *http.Response) *refusal {
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusal)) // what came is what there is to say
	r := refusal{message: string(text)}
	var envelope struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(text, &envelope) == nil && envelope.Error != nil {
		r = explain(envelope.Error)
	}
	r.status = resp.StatusCode
	if r.kind == badKey {
		r.status = statusOf(r.kind)
	}
	if wait := retryAfter(resp.Header, time.Now()); wait > 0 {
		r.wait = wait
	}
	return &r
}

// badKey is Google's word for a key that it does not know, which it calls an
// invalid argument otherwise.
const badKey = "API_KEY_INVALID"

// billing is Google's word for a project that does not pay.
const billing = "BILLING_DISABLED"

// explain reads an error as the servers write it: an object, or a bare text.
func explain(text json.RawMessage) refusal {
	var object struct {
		Type    string   `json:"type"`
		Code    any      `json:"code"`
		Status  string   `json:"status"`
		Message string   `json:"message"`
		Details []detail `json:"details"`
	}
	if json.Unmarshal(text, &object) != nil {
		var message string
		if json.Unmarshal(text, &message) != nil {
			message = string(text)
		}
		return refusal{message: message}
	}
	r := refusal{kind: either(object.Type, object.Status), message: object.Message}
	if code, ok := object.Code.(string); ok && code != "" {
		r.kind = code
	}
	for _, d := range object.Details {
		d.add(&r)
	}
	return r
}

// detail is what Google's servers add to an error: google.rpc.ErrorInfo and
// google.rpc.RetryInfo are of use.
type detail struct {
	Reason string `json:"reason"`
	Delay  string `json:"retryDelay"` // such as "34.5s"
}

func (d detail) add(r *refusal) {
	if d.Reason == badKey || d.Reason == billing {
		r.kind = d.Reason
	}
	if delay, err := time.ParseDuration(d.Delay); err == nil && delay > 0 {
		r.wait = bounded(delay.Seconds())
	}
}

// retryAfter reads how long a server asks us to wait: milliseconds, seconds
// or a date.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return bounded(ms / 1000)
	}
	text := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(text, 64); err == nil && s > 0 {
		return bounded(s)
	}
	if at, err := http.ParseTime(text); err == nil && at.After(now) {
		return bounded(at.Sub(now).Seconds())
	}
	return 0
}

// bounded is seconds as a duration of at most a day.
func bounded(seconds float64) time.Duration {
	const day = 24 * time.Hour
	return time.Duration(min(seconds, day.Seconds()) * float64(time.Second))
}

// statusOf is the HTTP status of an error's kind, for errors that come within
// a stream. An unknown kind is the server's own trouble.
func statusOf(kind string) int {
	switch kind {
	case "rate_limit_error", "rate_limit_exceeded", "insufficient_quota", "RESOURCE_EXHAUSTED":
		return http.StatusTooManyRequests
	case "overloaded_error":
		return statusOverloaded
	case "authentication_error", "invalid_api_key", "UNAUTHENTICATED", badKey:
		return http.StatusUnauthorized
	case "permission_error", "billing_error", "PERMISSION_DENIED":
		return http.StatusForbidden
	case "not_found_error", "model_not_found", "NOT_FOUND":
		return http.StatusNotFound
	case "request_too_large":
		return http.StatusRequestEntityTooLarge
	case "invalid_request_error", "context_length_exceeded", "content_filter", "INVALID_ARGUMENT", "FAILED_PRECONDITION":
		return http.StatusBadRequest
	}
	return http.StatusInternalServerError
}

// statusOverloaded is Anthropic's own: the server is too busy for everybody.
const statusOverloaded = 529

// limits reports whether the refusal is about how much is asked, and not about
// what. A server that is overloaded says the same.
func (r *refusal) limits() bool {
	return r != nil && r.passes() && (r.status == http.StatusTooManyRequests || r.status == statusOverloaded)
}

// ofCredit reports whether it is about an account that has nothing left. Servers say
// so with the status of a limit or of a request that makes no sense, too.
func (r *refusal) ofCredit() bool {
	switch r.kind {
	case "insufficient_quota", "billing_error", billing:
		return true
	}
	return r.status == http.StatusPaymentRequired || r.status/100 == 4 && strings.Contains(strings.ToLower(r.message), "credit balance")
}

// asks reports whether it is a limit that says when it ends.
func (r *refusal) asks() bool { return r.limits() && r.wait > 0 }

// passes reports whether the refusal may pass when asked again.
func (r *refusal) passes() bool {
	switch r.status {
	case http.StatusTooManyRequests:
		return !r.ofCredit()
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly:
		return true
	case http.StatusNotImplemented:
		return false
	}
	return r.status >= 500
}

// err returns the refusal of s as an error that people may see.
func (r *refusal) err(s Server) *fault.Error {
	said := s.say(r.message)
	switch {
	case r.status/100 == 2:
		return fault.New("model/invalid-output", "%s: the server answered without a stream%s", s.Spec, said)
	case r.ofCredit():
		return fault.New("model/no-credit", "%s: the account has no credit left (%d)%s", s.Spec, r.status, said)
	case r.passes():
		return fault.New("model/unavailable", "%s: the server answered %d%s", s.Spec, r.status, said)
	case r.status == http.StatusNotFound:
		return fault.New("model/unknown", "%s: the server knows no such model or address%s", s.Spec, said)
	case r.status == http.StatusUnauthorized, r.status == http.StatusForbidden:
		return fault.New("model/key-refused", "%s: the server refused the key (%d)%s", s.Spec, r.status, said)
	case r.status/100 == 3:
		return fault.New("model/refused", "%s: the server redirects elsewhere, which is not followed", s.Spec)
	}
	return fault.New("model/refused", "%s: the server refused the request (%d)%s", s.Spec, r.status, said)
}

// say returns ": " and what a server said, fit for an error, or nothing.
func (s Server) say(text string) string {
	if text = s.Redact(text); text == "" {
		return ""
	}
	return ": " + text
}

// secrets are the common forms of keys.
var secrets = regexp.MustCompile(`(?i)\b(?:sk|pk|rk|key|gsk|xai)-[A-Za-z0-9_*-]{6,}|\bAIza[A-Za-z0-9_-]{20,}|\bbearer\s+\S+|\bgh[pousr]_[A-Za-z0-9]{16,}`)

// Redact returns text in one line of at most 200 bytes, without the server's
// key and without anything that has the form of one.
func (s Server) Redact(text string) string {
	const most = 200
	if s.Key != "" {
		text = strings.ReplaceAll(text, s.Key, "[key]")
	}
	text = secrets.ReplaceAllString(text, "[key]")
	text = strings.Map(printable, strings.ToValidUTF8(text, "?"))
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most-3], "") + "..."
	}
	return text
}

func printable(c rune) rune {
	if unicode.IsPrint(c) {
		return c
	}
	return ' '
}

// trouble says why a connection broke, without the address it went to.
func (s Server) trouble(err error) string {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	return s.Redact(err.Error())
}
