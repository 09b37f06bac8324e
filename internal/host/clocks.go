package host

import (
	"context"
	"log/slog"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/core/project"
)

// lookAtClocks is how often the journals' clocks are compared with the wall clock.
const lookAtClocks = 30 * time.Second

// clocks are what tells the time of the journals, by partition, beside the wall
// clock.
type clocks struct {
	wall     func() time.Time
	journals []actors.Clock
	log      *slog.Logger
}

func newClocks(wall func() time.Time, log *slog.Logger) *clocks {
	if wall == nil {
		wall = time.Now
	}
	return &clocks{wall: wall, log: log}
}

// journal returns the clock of the next partition.
func (c *clocks) journal() actors.Clock {
	clock := actors.NewClockAt(c.wall())
	c.journals = append(c.journals, clock)
	return clock
}

// apart returns how far the journal that differs most from the wall clock is
// ahead of it, less than zero where it is behind; 0 for no more than
// [project.ClocksApart].
func (c *clocks) apart() (most time.Duration) {
	for _, journal := range c.journals {
		if ahead := journal.Now().Sub(c.wall()); ahead.Abs() > max(project.ClocksApart, most.Abs()) {
			most = ahead
		}
	}
	return most
}

// ClocksApart says how far journal time is ahead of the wall clock, less than
// zero where it is behind, when that is more than a minute; else it returns 0.
func (h *Host) ClocksApart() time.Duration { return h.clocks.apart() }

// told is apart for an answer: nil where it is nothing.
func (c *clocks) told() *durationpb.Duration {
	if d := c.apart(); d != 0 {
		return durationpb.New(d)
	}
	return nil
}

// watch says in the log when journal time and the wall clock come apart, and when that
// changes by more than a minute, until ctx ends. said is what was said before.
func (c *clocks) watch(ctx context.Context, said time.Duration) {
	look := time.NewTicker(lookAtClocks)
	defer look.Stop()
	for {
		select {
		case <-look.C:
			said = c.say(said)
		case <-ctx.Done():
			return
		}
	}
}

// say says it unless it was said, and returns what is said by now.
func (c *clocks) say(said time.Duration) time.Duration {
	apart := c.apart()
	switch {
	case apart == 0 && said != 0:
		c.log.Info("journal time and the wall clock agree again")
		return 0
	case (apart - said).Abs() <= project.ClocksApart:
		return said
	}
	wall := c.wall()
	c.log.Warn("journal time and the wall clock are apart: this host, or one before it, ran with a wrong clock, or slept. What people date is judged by the wall clock; leases and timeouts go by the journal",
		"wall", wall.UTC().Format(time.RFC3339), "journal", wall.Add(apart).UTC().Format(time.RFC3339), "ahead", apart.Round(time.Second).String())
	return apart
}
