package host

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/store/journal"
	"github.com/loomrun/loom/internal/store/natsjournal"
	"github.com/loomrun/loom/internal/store/projection"
	"github.com/loomrun/loom/internal/store/retention"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// archives is the directory of archives in a data directory.
const archives = "archive"

// keeping is what the host needs to cut journals, and to go on from cuts.
type keeping struct {
	streams   []*natsjournal.Log // of the partitions
	snapshots *natsjournal.Snapshots
	// one is held while journals are cut.
	one sync.Mutex
	// step is called before each step of a cut, by tests.
	step func(step string) error
}

// cutOf returns the newest cut of a partition's journal that has an effect, or
// nil.
func (h *Host) cutOf(ctx context.Context, partition int) (*loomv1.JournalCut, error) {
	var hint *loomv1.JournalCut
	if h.keeping.snapshots != nil { // not at rest
		var err error
		if hint, err = h.keeping.snapshots.Cut(ctx, partition); err != nil {
			return nil, err
		}
	}
	return journal.Cut(ctx, h.logs[partition], hint)
}

// baseOf returns what a partition's journal begins with, or nil when it begins
// with its first batch.
func (h *Host) baseOf(ctx context.Context, partition int) (*loomv1.JournalBase, error) {
	cut, err := h.cutOf(ctx, partition)
	if err != nil || cut == nil {
		return nil, err
	}
	return retention.Base(ctx, h.blobs, cut)
}

// baseBefore is baseOf for who needs the batch at a sequence: nil if it is there.
func (h *Host) baseBefore(ctx context.Context, partition int, sequence uint64) (*loomv1.JournalBase, error) {
	first, _, err := journal.First(ctx, h.logs[partition])
	if err != nil || first <= sequence {
		return nil, err
	}
	return h.baseOf(ctx, partition)
}

// cutter cuts a partition's journal.
func (h *Host) cutter(partition int) *retention.Cutter {
	m := h.dir.Manifest()
	return &retention.Cutter{
		Deployment: m.Deployment, Log: h.logs[partition], Blobs: h.blobs, Dir: h.dir.Path(archives), Config: h.coreConfig, Tables: h.emptyTables,
		Known: func(ctx context.Context) (*loomv1.JournalCut, error) { return h.cutOf(ctx, partition) },
		Record: func(ctx context.Context, project string, cut *loomv1.JournalCut) error {
			cut.Host = m.Host
			return h.do(ctx, project, &loomv1.Command{Body: &loomv1.Command_NoteCut{NoteCut: &loomv1.NoteCut{Cut: cut}}})
		},
		Note:  h.noteCut,
		Purge: h.keeping.streams[partition].Purge,
		Step:  h.keeping.step,
	}
}

// noteCut remembers a cut beside the journal.
func (h *Host) noteCut(ctx context.Context, cut *loomv1.JournalCut) error {
	if err := h.keeping.snapshots.SaveCut(ctx, cut); err != nil {
		return err
	}
	return h.heads.Cut(int(cut.Partition), journal.HeadOf(cut))
}

// scratchTables are tables in a file that goes away with them.
type scratchTables struct {
	*projection.DB
	dir string
}

// Close closes the tables and removes their file.
func (t scratchTables) Close() error { return errors.Join(t.DB.Close(), os.RemoveAll(t.dir)) }

func (h *Host) emptyTables(ctx context.Context) (retention.Tables, error) {
	scratch := h.dir.Path("scratch")
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

// finishCuts finishes cuts that were recorded when this host stopped.
func (h *Host) finishCuts(ctx context.Context) error {
	for p := range h.logs {
		if err := h.cutter(p).Finish(ctx); err != nil {
			return err
		}
	}
	return nil
}

// serveRetention cuts the beginnings of journals into archives, one request at
// a time.
func (h *Host) serveRetention(ctx context.Context, c call) proto.Message {
	q := &loomv1.RetentionRequest{}
	err := actors.Decode(c.contentType, c.data, q)
	if err == nil {
		var reply *loomv1.RetentionReply
		if reply, err = h.retain(ctx, q); err == nil {
			return reply
		}
	}
	return &loomv1.RetentionReply{Error: fault.From(err).Proto()}
}

// retain cuts, or says what would be cut. It goes on when ctx ends, until the
// host stops.
func (h *Host) retain(ctx context.Context, q *loomv1.RetentionRequest) (*loomv1.RetentionReply, error) {
	rule, err := ruleOf(q)
	if err != nil {
		return nil, err
	}
	if !h.keeping.one.TryLock() {
		return nil, fault.New("retention/refused", "this host is cutting journals already").Want("ask again when it has")
	}
	done := make(chan *loomv1.RetentionReply, 1)
	go func() {
		defer h.keeping.one.Unlock()
		done <- h.retainAll(h.ctx, rule, q.DryRun)
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

func (h *Host) retainAll(ctx context.Context, rule retention.Rule, dry bool) *loomv1.RetentionReply {
	reply := &loomv1.RetentionReply{Host: h.dir.Manifest().Host}
	for p := range h.logs {
		cut, err := h.retainOf(ctx, p, rule, dry)
		if err != nil {
			cut = &loomv1.CutJournal{Partition: uint32(p), Error: fault.From(err).Proto()}
		}
		reply.Journals = append(reply.Journals, cut)
	}
	return reply
}

func (h *Host) retainOf(ctx context.Context, partition int, rule retention.Rule, dry bool) (*loomv1.CutJournal, error) {
	if err := h.keeping.streams[partition].Purgeable(ctx); err != nil {
		return nil, err
	}
	c := h.cutter(partition)
	if dry {
		return c.Plan(ctx, rule)
	}
	cut, err := c.Cut(ctx, rule)
	if err == nil && cut.Cut != nil {
		h.log.Info("journal cut", "partition", partition, "up to", cut.Cut.Sequence, "archive", cut.Cut.Archive, "events", cut.Cut.Events)
	}
	return cut, err
}

// archived refuses a position that lies before a cut: what was there is in an
// archive, and not lost. It returns nil where there is no such cut.
func archived(cut *loomv1.JournalCut, sequence uint64) *fault.Error {
	if sequence > cut.GetSequence() {
		return nil
	}
	return fault.New("position/cut", "the journal of partition %d was cut at %d; what was before is in archive %s of host %s", cut.Partition, cut.Sequence, cut.Archive, cut.Host)
}
