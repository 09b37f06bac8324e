package journals

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/store/datadir"
	"github.com/loomrun/loom/internal/store/headmark"
	"github.com/loomrun/loom/internal/store/journal"
	"github.com/loomrun/loom/internal/store/natsjournal"
	"github.com/loomrun/loom/internal/store/projection"
	"github.com/loomrun/loom/internal/store/retention"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// archives is the directory of archives in a data directory.
const archives = "archive"

// Retention cuts the beginnings of journals into archives, for one request at a time, and
// finishes cuts that were interrupted. All but Step is needed.
type Retention struct {
	*Set
	Dir       *datadir.Dir
	Streams   []*natsjournal.Log // of the partitions
	Snapshots *natsjournal.Snapshots
	Heads     *headmark.Keeper
	// Core is what the cores of a project know when they only read.
	Core func(project string) project.Config
	// Do sends a command in the name of this host.
	Do  func(ctx context.Context, project string, cmd *loomv1.Command) error
	Log *slog.Logger
	// Running is done when the host stops: a cut outlives the request for it, and not the
	// host.
	Running context.Context
	// Step is called before each step of a cut, by tests.
	Step func(step string) error

	one sync.Mutex // held while journals are cut
}

// Close waits until nothing is cut, and lets nothing be cut after.
func (r *Retention) Close() { r.one.Lock() }

// cutter cuts a partition's journal.
func (r *Retention) cutter(partition int) *retention.Cutter {
	m := r.Dir.Manifest()
	return &retention.Cutter{
		Deployment: m.Deployment, Log: r.Logs[partition], Blobs: r.Blobs, Dir: r.Dir.Path(archives), Config: r.Core, Tables: r.emptyTables,
		Known: func(ctx context.Context) (*loomv1.JournalCut, error) { return r.Cut(ctx, partition) },
		Record: func(ctx context.Context, project string, cut *loomv1.JournalCut) error {
			cut.Host = m.Host
			return r.Do(ctx, project, &loomv1.Command{Body: &loomv1.Command_NoteCut{NoteCut: &loomv1.NoteCut{Cut: cut}}})
		},
		Note:  r.note,
		Purge: r.Streams[partition].Purge,
		Step:  r.Step,
	}
}

// note remembers a cut beside the journal.
func (r *Retention) note(ctx context.Context, cut *loomv1.JournalCut) error {
	if err := r.Snapshots.SaveCut(ctx, cut); err != nil {
		return err
	}
	return r.Heads.Cut(int(cut.Partition), journal.HeadOf(cut))
}

// scratchTables are tables in a file that goes away with them.
type scratchTables struct {
	*projection.DB
	dir string
}

// Close closes the tables and removes their file.
func (t scratchTables) Close() error { return errors.Join(t.DB.Close(), os.RemoveAll(t.dir)) }

func (r *Retention) emptyTables(ctx context.Context) (retention.Tables, error) {
	scratch := r.Dir.Path("scratch")
	err := os.MkdirAll(scratch, 0o700)
	var dir string
	if err == nil {
		dir, err = os.MkdirTemp(scratch, "retention-")
	}
	if err != nil {
		return nil, fault.New("data/permissions", "no directory for scratch files").At(scratch).Because(err)
	}
	db, _, err := projection.Open(ctx, filepath.Join(dir, "projection.db"))
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return scratchTables{db, dir}, nil
}

// Finish finishes cuts that were recorded when this host stopped.
func (r *Retention) Finish(ctx context.Context) error {
	for p := range r.Logs {
		if err := r.cutter(p).Finish(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Retain cuts, or says what would be cut. It goes on when ctx ends, until the host stops.
// It returns retention/refused while it is at it already.
func (r *Retention) Retain(ctx context.Context, q *loomv1.RetentionRequest) (*loomv1.RetentionReply, error) {
	rule, err := ruleOf(q)
	if err != nil {
		return nil, err
	}
	if !r.one.TryLock() {
		return nil, fault.New("retention/refused", "this host is cutting journals already").Want("ask again when it has")
	}
	done := make(chan *loomv1.RetentionReply, 1)
	go func() {
		defer r.one.Unlock()
		done <- r.cutAll(r.Running, rule, q.DryRun)
	}()
	select {
	case reply := <-done:
		return reply, nil
	case <-ctx.Done():
		return nil, fault.New("host/unavailable", "it takes longer than a request may; the host goes on").Want("ask again later: what is cut is not cut again")
	}
}

// ruleOf reads what is to be kept.
func ruleOf(q *loomv1.RetentionRequest) (retention.Rule, error) {
	rule := retention.Rule{Before: time.Now(), Keep: q.Keep}
	if q.Before == nil && q.Keep == 0 {
		return rule, fault.New("usage/argument", "nothing says what to keep").At("before").Want("a time, or a number of batches to keep")
	}
	if q.Before != nil {
		if err := q.Before.CheckValid(); err != nil {
			return rule, fault.New("usage/argument", "not a time").At("before")
		}
		rule.Before = q.Before.AsTime()
	}
	return rule, nil
}

func (r *Retention) cutAll(ctx context.Context, rule retention.Rule, dry bool) *loomv1.RetentionReply {
	reply := &loomv1.RetentionReply{Host: r.Dir.Manifest().Host}
	for p := range r.Logs {
		cut, err := r.cutOne(ctx, p, rule, dry)
		if err != nil {
			cut = &loomv1.CutJournal{Partition: uint32(p), Error: fault.From(err).Proto()}
		}
		reply.Journals = append(reply.Journals, cut)
	}
	return reply
}

func (r *Retention) cutOne(ctx context.Context, partition int, rule retention.Rule, dry bool) (*loomv1.CutJournal, error) {
	if err := r.Streams[partition].Purgeable(ctx); err != nil {
		return nil, err
	}
	c := r.cutter(partition)
	if dry {
		return c.Plan(ctx, rule)
	}
	cut, err := c.Cut(ctx, rule)
	if err == nil && cut.Cut != nil {
		r.Log.Info("journal cut", "partition", partition, "up to", cut.Cut.Sequence, "archive", cut.Cut.Archive, "events", cut.Cut.Events)
	}
	return cut, err
}
