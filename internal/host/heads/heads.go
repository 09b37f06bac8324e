// Package heads refuses journals that do not reach what is known of them from elsewhere:
// from the tables, from the marks in the data directory, and from the repositories. A
// journal that ends earlier has lost events, or an old one was put back.
package heads

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/commitlock"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/host/journals"
	"github.com/loomrun/loom/internal/place/git"
	"github.com/loomrun/loom/internal/store/datadir"
	"github.com/loomrun/loom/internal/store/headmark"
	"github.com/loomrun/loom/internal/store/journal"
	"github.com/loomrun/loom/internal/store/natsjournal"
	"github.com/loomrun/loom/internal/store/projection"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Config says from where it is known how far journals reach. All but Renew is needed.
type Config struct {
	Dir      *datadir.Dir
	Journals *journals.Set
	Marks    *headmark.Keeper
	Tables   *projection.DB
	// Renew makes a journal anew. It is nil where there are several hosts: those that
	// could write have the journal.
	Renew func(ctx context.Context, partition int) error
	Log   *slog.Logger
}

// Checks refuse journals, at the start of a host.
type Checks struct{ config Config }

// New returns checks.
func New(c Config) *Checks { return &Checks{config: c} }

// Projects say how projects are registered, and what their commit locks have granted.
type Projects interface {
	Look(ctx context.Context, v project.View, q *loomv1.Query) (*loomv1.View, error)
}

// Journal refuses a journal that does not reach what is known of it from
// elsewhere: from the tables, and from the marks in the data directory.
func (c *Checks) Journal(ctx context.Context, log journal.Log) error {
	stream := natsjournal.Stream(log.Partition())
	if err := c.checkAge(ctx, log, stream); err != nil {
		return err
	}
	cut, err := c.checkCut(ctx, log)
	if err != nil {
		return fault.From(err).At(stream)
	}
	seen, hash, err := c.config.Tables.Position(ctx, log.Partition())
	if err != nil {
		return err
	}
	if err := headmark.Check(ctx, log, stream, cut, journal.Head{Sequence: seen, Hash: hash}); err != nil {
		return err
	}
	return headmark.Check(ctx, log, stream, cut, c.config.Marks.Known(log.Partition()).Head)
}

// Unwritten makes a journal anew whose first write of all found the disk full: its
// server counts that batch, holds nothing, and refuses another first one for good. It
// does so only if neither a mark nor the tables have ever seen a batch of it. Where there
// are several hosts, those that could write have the journal.
func (c *Checks) Unwritten(ctx context.Context, log *natsjournal.Log) error {
	known := c.config.Marks.Known(log.Partition())
	if c.config.Renew == nil || known.Head.Sequence > 0 || known.Cut.Sequence > 0 {
		return nil
	}
	seen, _, err := c.config.Tables.Position(ctx, log.Partition())
	if err != nil || seen > 0 {
		return err
	}
	unwritten, err := log.Unwritten(ctx)
	if err != nil || !unwritten {
		return err
	}
	c.config.Log.Warn("the first write of a journal had failed; it begins anew", "partition", log.Partition())
	return c.config.Renew(ctx, log.Partition())
}

// checkCut refuses a journal whose beginning is gone without a cut that says so,
// and notes the cut that does.
func (c *Checks) checkCut(ctx context.Context, log journal.Log) (journal.Head, error) {
	cut, err := c.config.Journals.Cut(ctx, log.Partition())
	if err != nil || cut == nil {
		return journal.Head{}, err
	}
	head := journal.HeadOf(cut)
	if c.config.Marks.Known(log.Partition()).Cut.Sequence >= head.Sequence {
		return head, nil
	}
	return head, c.config.Marks.Cut(log.Partition(), head)
}

// Fences refuses to go on when a repository has seen a grant of the commit
// lock that its project's journal does not have: a grant is durable before git
// hears of it, so the journal has lost its end, or an old one was put back.
func (c *Checks) Fences(ctx context.Context, projects Projects, ids []string) error {
	for _, id := range ids {
		if err := c.checkFence(ctx, projects, id); err != nil {
			return err
		}
	}
	return nil
}

// checkAge refuses a manifest that is older than the journal: its epoch and its
// count of starts would be given out twice. This start has written nothing yet.
func (c *Checks) checkAge(ctx context.Context, log journal.Log, stream string) error {
	_, newest, err := log.Last(ctx)
	if err != nil {
		return err
	}
	before := c.config.Dir.Manifest()
	before.Starts--
	if err := before.Older(newest); err != nil {
		return fault.From(err).At(stream)
	}
	return nil
}

func (c *Checks) checkFence(ctx context.Context, projects Projects, id string) error {
	registered, err := projects.Look(ctx, project.Projects, &loomv1.Query{Project: id})
	if err != nil || len(registered.Projects) != 1 {
		return nil //nolint:nilerr // a project in quarantine is named elsewhere
	}
	// The fence first: what another host is granted meanwhile is in the locks.
	fence, err := c.fence(ctx, registered.Projects[0].Repository)
	if err != nil {
		c.config.Log.Warn("the repository cannot tell which grants it has seen", "project", id, "error", err)
		return nil
	}
	locks, err := projects.Look(ctx, project.Lock, &loomv1.Query{Project: id})
	if err != nil {
		return err
	}
	last := newestToken(locks.Locks)
	if fence <= last || commitlock.Epoch(fence) < c.config.Dir.Manifest().Epoch {
		return nil
	}
	stream := natsjournal.Stream(c.config.Journals.Partition(id))
	return fault.New("journal/behind", "stream %s has no grant of the commit lock of project %q after token %d, but the repository has seen %d",
		stream, id, last, fence).At(stream).Want("the journal has lost its end; keep this directory, and restore a backup into another")
}

// newestToken returns the newest token that the journal knows of: of a grant, or of
// a place in a train.
func newestToken(locks []*loomv1.CommitLock) (last uint64) {
	for _, l := range locks {
		last = max(last, l.LastToken, l.LastCar)
	}
	return last
}

// fence returns the newest token that a repository has seen of this
// deployment, 0 when the project has none.
func (c *Checks) fence(ctx context.Context, path string) (uint64, error) {
	if path == "" {
		return 0, nil
	}
	repo, err := git.Open(ctx, path)
	if err != nil {
		return 0, fmt.Errorf("fence of %s: %w", path, err)
	}
	return repo.Fence(ctx, c.config.Dir.Manifest().Deployment)
}
