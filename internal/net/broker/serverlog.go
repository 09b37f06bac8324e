package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

// serverLog hands the server's log lines on, and keeps its reason for giving
// up instead of ending the process.
type serverLog struct {
	log *slog.Logger
	// strange bounds what clients without credentials have written.
	strange *budget

	mu    sync.Mutex
	fatal string

	end   sync.Once
	ended chan struct{} // closed when the server said that it writes no more
}

// How much clients without credentials have written, together.
const (
	strangeLines = 20
	strangeEvery = time.Minute
)

func newServerLog(log *slog.Logger, ended chan struct{}) *serverLog {
	return &serverLog{log: log, ended: ended, strange: newBudget(strangeLines, strangeEvery)}
}

// ofStranger says whether a line is about a client that has no credentials, or
// has not shown them: it begins with where the client is, and names the account
// once there is one.
func ofStranger(line string) bool {
	_, rest, isClient := strings.Cut(line, " - cid:")
	if !isClient {
		return false
	}
	return strings.Contains(rest, `"`+strangers+`/`) || !strings.Contains(rest, "/user:")
}

// final are the words, in small letters, with which the server says that it
// will not write a stream again, whatever the disk does later.
var final = []string{"critical write error", "will be disabled", "disabling jetstream"}

// heed notes when a line says that the server writes no more.
func (l *serverLog) heed(format string, v []any) {
	line := strings.ToLower(fmt.Sprintf(format, v...))
	if slices.ContainsFunc(final, func(words string) bool { return strings.Contains(line, words) }) {
		l.end.Do(func() { close(l.ended) })
	}
}

func (l *serverLog) say(level slog.Level, format string, v []any) {
	line, held := fmt.Sprintf(format, v...), 0
	if level > slog.LevelDebug && ofStranger(line) {
		var ok bool
		if held, ok = l.strange.take(); !ok {
			return
		}
	}
	if held > 0 {
		l.log.Warn("nats: more about clients without credentials was left out", "lines", held)
	}
	l.log.Log(context.Background(), level, "nats: "+line)
}

func (l *serverLog) Noticef(format string, v ...any) { l.say(slog.LevelDebug, format, v) }
func (l *serverLog) Debugf(format string, v ...any)  { l.say(slog.LevelDebug, format, v) }
func (l *serverLog) Tracef(format string, v ...any)  { l.say(slog.LevelDebug, format, v) }

// Errorf says what a client was refused as a warning: nothing is wrong here.
func (l *serverLog) Errorf(format string, v ...any) {
	level := slog.LevelError
	if line := fmt.Sprintf(format, v...); strings.Contains(line, "authentication error") || strings.Contains(line, "Violation") {
		level = slog.LevelWarn
	}
	l.heed(format, v)
	l.say(quiet(level, format, v), format, v)
}

func (l *serverLog) Warnf(format string, v ...any) {
	l.heed(format, v)
	l.say(quiet(slog.LevelWarn, format, v), format, v)
}

// expected begin lines that mean nothing to an operator.
var expected = []string{
	"Plaintext passwords detected", // it means the user without credentials, who has none
	// The broker says itself what it waits for.
	"Error trying to connect to route", "Waiting for routing to be established", "JetStream has not established contact",
	"TLS certificate chain and hostname of solicited routes will not be verified", // they are, see datadir.Member
	"Metalayer blocking snapshot", "Failed to install snapshot for",
}

// rebuilt are the words with which the server says that it makes the index of a stream
// anew, as after every kill: the index is derived, and what is stored was checked before.
var rebuilt = []string{"Stream state outdated", "Recovering stream state from index errored"}

// quiet returns the level of a line that is of the given one for the server.
func quiet(level slog.Level, format string, v []any) slog.Level {
	line := fmt.Sprintf(format, v...)
	if strings.Contains(line, "TLS route handshake error") {
		return slog.LevelDebug // who is refused, and why, is said by the broker
	}
	if strings.HasPrefix(line, "Filestore [") && slices.ContainsFunc(rebuilt, func(words string) bool { return strings.Contains(line, words) }) {
		return slog.LevelDebug
	}
	if slices.ContainsFunc(expected, func(begin string) bool { return strings.HasPrefix(line, begin) }) {
		return slog.LevelDebug
	}
	return level
}

func (l *serverLog) Fatalf(format string, v ...any) {
	l.say(slog.LevelError, format, v)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fatal = fmt.Sprintf(format, v...)
}

// reason returns why the server gave up, or nil.
func (l *serverLog) reason() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fatal == "" {
		return nil
	}
	return errors.New(l.fatal)
}
