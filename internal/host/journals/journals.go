// Package journals is what a host does with the journals that it has, beside reading them:
// it times appends, knows where journals were cut, and cuts them.
package journals

import (
	"context"
	"hash/fnv"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/store/blob"
	"github.com/loomrun/loom/internal/store/journal"
	"github.com/loomrun/loom/internal/store/retention"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Set is the journals of a deployment, one for each partition, and what they begin with.
// Nothing of it changes once it is used, and all methods may be called at the same time.
type Set struct {
	Logs  []journal.Log
	Blobs blob.Store // has the bases of cuts
	// Hint returns the newest cut that is noted beside the journal of a partition, or nil:
	// with it, a cut is found without reading. Nil at rest, where nothing is noted.
	Hint func(ctx context.Context, partition int) (*loomv1.JournalCut, error)
}

// Partition returns the partition that a project belongs to.
func (s *Set) Partition(project string) int { return PartitionOf(project, len(s.Logs)) }

// PartitionOf returns the partition of n that a project belongs to.
func PartitionOf(project string, n int) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(project)) // it never fails
	return int(h.Sum32() % uint32(n))
}

// Of returns the journals that have what happens in a project: its own, or for "" all.
func (s *Set) Of(project string) []journal.Log {
	if project == "" {
		return s.Logs
	}
	p := s.Partition(project)
	return s.Logs[p : p+1]
}

// Cut returns the newest cut of a partition's journal that has an effect, or nil.
func (s *Set) Cut(ctx context.Context, partition int) (*loomv1.JournalCut, error) {
	var hint *loomv1.JournalCut
	if s.Hint != nil {
		var err error
		if hint, err = s.Hint(ctx, partition); err != nil {
			return nil, err
		}
	}
	return journal.Cut(ctx, s.Logs[partition], hint)
}

// Base returns what a partition's journal begins with, or nil when it begins with its
// first batch.
func (s *Set) Base(ctx context.Context, partition int) (*loomv1.JournalBase, error) {
	cut, err := s.Cut(ctx, partition)
	if err != nil || cut == nil {
		return nil, err
	}
	return retention.Base(ctx, s.Blobs, cut)
}

// BaseBefore is Base for who needs the batch at a sequence: nil if it is there.
func (s *Set) BaseBefore(ctx context.Context, partition int, sequence uint64) (*loomv1.JournalBase, error) {
	first, _, err := journal.First(ctx, s.Logs[partition])
	if err != nil || first <= sequence {
		return nil, err
	}
	return s.Base(ctx, partition)
}

// Each calls fn for what the journals have of a project, or with "" of any: for what they
// begin with, if they were cut, and every event. It ends with the first error.
func (s *Set) Each(ctx context.Context, project string, fn func(proto.Message) error) error {
	for _, log := range s.Of(project) {
		if err := s.each(ctx, log, project, fn); err != nil {
			return err
		}
	}
	return nil
}

func (s *Set) each(ctx context.Context, log journal.Log, project string, fn func(proto.Message) error) error {
	base, err := s.Base(ctx, log.Partition())
	if err != nil {
		return err
	}
	for _, b := range base.GetProjects() {
		if project != "" && b.Project != project {
			continue
		}
		if err := fn(b.State); err != nil {
			return err
		}
	}
	return log.Read(ctx, 1, func(_ uint64, b *loomv1.Batch) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		for _, e := range b.Events {
			if project != "" && e.Project != project {
				continue
			}
			if err := fn(e); err != nil {
				return err
			}
		}
		return nil
	})
}

// Archived refuses a position that lies before a cut: what was there is in an archive,
// and not lost. It returns nil where there is no such cut.
func Archived(cut *loomv1.JournalCut, sequence uint64) *fault.Error {
	if sequence > cut.GetSequence() {
		return nil
	}
	return fault.New("position/cut", "the journal of partition %d was cut at %d; what was before is in archive %s of host %s", cut.Partition, cut.Sequence, cut.Archive, cut.Host)
}
