package execution

import (
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/core/notice"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// momentUsage says what the flag --at takes.
const momentUsage = "as of this `MOMENT`: a position, an event's number, a time, or how long ago (10m)"

// moment is a place in history as somebody names it; the zero moment is now.
type moment struct {
	At     *loomv1.Position
	Time   *timestamppb.Timestamp
	Number uint64
}

// ParseMoment reads what --at takes: "PARTITION.EPOCH.SEQUENCE.INDEX" as events
// prints it, the number of an event of the project, a time as RFC 3339 has it,
// or how long before now; nothing means now.
func ParseMoment(flag, s string, now time.Time) (m moment, err error) {
	if s == "" {
		return m, nil
	}
	if strings.Count(s, ".") == 3 && !strings.Contains(s, ":") {
		m.At, err = notice.ParsePosition(s)
		return m, atFlag(flag, err)
	}
	if n, err := strconv.ParseUint(s, 10, 64); err == nil && n > 0 {
		return moment{Number: n}, nil
	}
	t, err := console.ParseTime(flag, s, now)
	return moment{Time: t}, err
}

func atFlag(flag string, err error) error {
	if err == nil {
		return nil
	}
	return fault.From(err).At(flag)
}
