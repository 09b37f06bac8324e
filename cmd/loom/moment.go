package main

import (
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/notice"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// momentUsage says what the flag --at takes.
const momentUsage = "as of this `MOMENT`: a position, an event's number, a time, or how long ago (10m)"

// moment is a place in history as somebody names it; the zero moment is now.
type moment struct {
	at     *loomv1.Position
	time   *timestamppb.Timestamp
	number uint64
}

// parseMoment reads what --at takes: "PARTITION.EPOCH.SEQUENCE.INDEX" as events
// prints it, the number of an event of the project, a time as RFC 3339 has it,
// or how long before now; nothing means now.
func parseMoment(flag, s string, now time.Time) (m moment, err error) {
	if s == "" {
		return m, nil
	}
	if strings.Count(s, ".") == 3 && !strings.Contains(s, ":") {
		m.at, err = notice.ParsePosition(s)
		return m, atFlag(flag, err)
	}
	if n, err := strconv.ParseUint(s, 10, 64); err == nil && n > 0 {
		return moment{number: n}, nil
	}
	t, err := parseTime(flag, s, now)
	return moment{time: t}, err
}

// parseTime reads a time as RFC 3339 has it, or how long before now.
func parseTime(flag, s string, now time.Time) (*timestamppb.Timestamp, error) {
	if ago, err := time.ParseDuration(s); err == nil && ago >= 0 {
		return timestamppb.New(now.Add(-ago)), nil
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil || timestamppb.New(t).CheckValid() != nil {
		return nil, fault.New("usage/argument", "not a moment").At(flag).Got(s).
			Want("for example 2026-01-02T12:00:00Z, or 10m for ten minutes ago")
	}
	return timestamppb.New(t), nil
}

func atFlag(flag string, err error) error {
	if err == nil {
		return nil
	}
	return fault.From(err).At(flag)
}
