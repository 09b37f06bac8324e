package notify

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
)

// sendMost is how long one try may take.
const sendMost = 15 * time.Second

// Target is somebody who is told.
type Target interface {
	// Name tells the target from others, without a secret of its address.
	Name() string
	// Send tells a message. An error of status [fault.Unavailable] may be gone
	// later; with any other the message will never be taken.
	Send(ctx context.Context, m Message) error
}

// forms are the ways to tell, in the order in which people are told of them.
var forms = []string{"webhook", "slack", "ntfy", "command", "desktop"}

// ParseTarget reads a target: webhook=URL, slack=URL, ntfy=URL, command=LINE or
// desktop. What is sent to a webhook is signed with the secret, if there is one.
func ParseTarget(s string, secret []byte) (Target, error) {
	form, address, _ := strings.Cut(s, "=")
	switch form {
	case "webhook", "slack", "ntfy":
		u, err := url.Parse(address)
		if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			return nil, fault.New("usage/argument", "not an address that can be told").At("--to").Got(form).Want("%s=https://HOST/PATH", form)
		}
		return &web{form: form, address: address, host: u.Host, secret: secret, client: &http.Client{
			Timeout: sendMost, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}}, nil
	case "command":
		if strings.TrimSpace(address) == "" {
			return nil, fault.New("usage/argument", "no command is named").At("--to").Want("command='notify-send Loom'")
		}
		return &command{line: address, name: []string{"/bin/sh", "-c", address}}, nil
	case "desktop":
		path, err := exec.LookPath("notify-send")
		if err != nil {
			return nil, fault.New("usage/argument", "this machine has no notify-send, which shows notifications on a desktop").At("--to").Want("install libnotify-bin, or use another target")
		}
		return &command{line: "desktop", name: []string{path, "--app-name=Loom", "--"}, words: true}, nil
	}
	return nil, fault.New("usage/argument", "no such way to tell people").At("--to").Got(form).Want("%s", suggest.Among(form, forms))
}

// web is told over HTTP.
type web struct {
	form, address, host string
	secret              []byte
	client              *http.Client
}

// Name has a digest of the address: addresses of Slack and ntfy are secrets.
func (w *web) Name() string {
	sum := sha256.Sum256([]byte(w.address))
	return fmt.Sprintf("%s:%s:%x", w.form, w.host, sum[:4])
}

// Send implements [Target].
func (w *web) Send(ctx context.Context, m Message) error {
	ctx, cancel := context.WithTimeout(ctx, sendMost)
	defer cancel()
	r, err := w.request(ctx, m)
	if err != nil {
		return fault.New("usage/argument", "nothing can be sent to %s", w.host).Because(withoutAddress(err))
	}
	reply, err := w.client.Do(r)
	if err != nil {
		return fault.New("host/unavailable", "%s does not answer", w.host).Because(withoutAddress(err))
	}
	defer func() { _ = reply.Body.Close() }()
	said, _ := io.ReadAll(io.LimitReader(reply.Body, 200))
	switch s := reply.StatusCode; {
	case s < 300:
		return nil
	case s < 400:
		return fault.New("request/denied", "%s answers %d, which points elsewhere, and is not followed: name the address itself", w.host, s)
	case s == http.StatusRequestTimeout || s == http.StatusTooManyRequests || s >= 500:
		return later(fault.New("host/unavailable", "%s answers %d", w.host, s), reply.Header.Get("Retry-After"), time.Now())
	default:
		return fault.New("request/denied", "%s answers %d: %s", w.host, s, bytes.TrimSpace(said))
	}
}

// mostLater is the most that a receiver can have a message wait.
const mostLater = 10 * time.Minute

// laterError is an error of a receiver that says when it can be asked again.
type laterError struct {
	why   *fault.Error
	after time.Duration
}

func (e *laterError) Error() string { return e.why.Error() }

// Unwrap gives the error to who asks for its code.
func (e *laterError) Unwrap() error { return e.why }

// later adds what a receiver says of when it can be asked again: in seconds, or at a
// time. What says neither, or what has passed, adds nothing.
func later(e *fault.Error, said string, now time.Time) error {
	after := time.Duration(0)
	if seconds, err := strconv.ParseUint(said, 10, 31); err == nil {
		after = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(said); err == nil {
		after = at.Sub(now)
	}
	if after <= 0 {
		return e
	}
	return &laterError{e, min(after, mostLater)}
}

// withoutAddress is an error of the HTTP client without the address that it names.
func withoutAddress(err error) error {
	var named *url.Error
	if errors.As(err, &named) {
		return named.Err
	}
	return err
}

// request is a message in the form that its receiver reads.
func (w *web) request(ctx context.Context, m Message) (*http.Request, error) {
	var body []byte
	var err error
	kind := "application/json"
	switch w.form {
	case "slack":
		text := "*" + slackText.Replace(m.Title) + "*\n" + slackText.Replace(m.Text)
		if m.Command != "" {
			text += "\n`" + slackText.Replace(m.Command) + "`"
		}
		body, err = json.Marshal(map[string]string{"text": text})
	case "ntfy":
		kind = "text/plain; charset=utf-8"
		body = []byte(strings.TrimSpace(m.Text + "\n" + m.Command))
	default:
		body, err = json.Marshal(m)
	}
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.address, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", kind)
	r.Header.Set("Idempotency-Key", m.ID)
	if w.form == "ntfy" {
		r.Header.Set("Title", strings.Map(header, m.Title))
		r.Header.Set("Tags", m.Kind)
	}
	if w.form == "webhook" && len(w.secret) > 0 {
		mac := hmac.New(sha256.New, w.secret)
		mac.Write(body)
		r.Header.Set("Loom-Signature", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	}
	return r, nil
}

// slackText is what Slack's markup takes for itself.
var slackText = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// header keeps what may stand in a header.
func header(r rune) rune {
	if r < ' ' || r > '~' {
		return -1
	}
	return r
}

// command is told by a program of the person's own.
type command struct {
	line string
	name []string
	// words says that the program takes title and text as arguments; else it has
	// the message as JSON on its standard input, and in LOOM_... variables.
	words bool
}

// Name implements [Target].
func (c *command) Name() string {
	sum := sha256.Sum256([]byte(c.line))
	return fmt.Sprintf("command:%x", sum[:4])
}

// Send implements [Target].
func (c *command) Send(ctx context.Context, m Message) error {
	ctx, cancel := context.WithTimeout(ctx, sendMost)
	defer cancel()
	args := c.name[1:]
	if c.words {
		args = append(append([]string(nil), args...), m.Title, m.Text)
	}
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, c.name[0], args...)
	ownGroup(cmd) // what it has started ends with it
	cmd.Stdin = bytes.NewReader(append(body, '\n'))
	cmd.Env = append(os.Environ(), "LOOM_ID="+m.ID, "LOOM_KIND="+m.Kind, "LOOM_PROJECT="+m.Project, "LOOM_BEAD="+m.Bead, "LOOM_TITLE="+m.Title, "LOOM_TEXT="+m.Text, "LOOM_COMMAND="+m.Command)
	cmd.WaitDelay = time.Second
	switch said, err := cmd.CombinedOutput(); {
	case ctx.Err() != nil:
		return &commandError{fault.New("host/unavailable", "the command does not end, and was killed after %s", sendMost)}
	case err != nil && cannotRun(err):
		return &commandError{fault.New("usage/argument", "the command cannot be run: %.200s", bytes.TrimSpace(said)).At("--to").Because(err)}
	case err != nil:
		return &commandError{fault.New("host/unavailable", "the command fails: %.200s", bytes.TrimSpace(said)).Because(err)}
	}
	return nil
}

// mostTries is how often a command has a message that it fails with: what fails as often
// is broken, where a server is away.
const mostTries = 5

// commandError is an error of a command.
type commandError struct{ why *fault.Error }

func (e *commandError) Error() string { return e.why.Error() }

// Unwrap gives the error to who asks for its code.
func (e *commandError) Unwrap() error { return e.why }

// cannotRun reports whether an error means that there is no such program, or none that may
// be run; a shell says so with 127 and 126.
func cannotRun(err error) bool {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode() == 126 || exit.ExitCode() == 127
	}
	return errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)
}
