package vault

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/store/blob"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// diffs are the diffs that approvals showed, and of which approvals an answer is recorded.
type diffs struct {
	shown    map[string]*loomv1.BlobRef // by approval
	answered map[string]bool
}

func newDiffs() *diffs {
	return &diffs{shown: map[string]*loomv1.BlobRef{}, answered: map[string]bool{}}
}

// begin takes what was shown before a journal was cut.
func (d *diffs) begin(s *loomv1.ProjectState) {
	for id, a := range s.GetApprovals() {
		d.show(a)
		d.answered[id] = a.GetDecidedAt() != nil
	}
}

// look takes what an event says of an approval.
func (d *diffs) look(e *loomv1.Event) {
	d.show(e.GetApprovalRequested().GetApproval())
	for _, id := range []string{e.GetApprovalDecided().GetApproval(), e.GetApprovalSigned().GetApproval()} {
		if id != "" {
			d.answered[id] = true
		}
	}
}

func (d *diffs) show(a *loomv1.Approval) {
	if ref := a.GetChange().GetDiff(); ref != nil {
		d.shown[a.Id] = ref
	}
}

// damage names the answers whose diff is away, or is not the bytes that were shown: of
// these the signature holds, and nobody can see any more what it is over.
func (d *diffs) damage(ctx context.Context, s *Store) (list []*fault.Error, err error) {
	maps.DeleteFunc(d.shown, func(id string, _ *loomv1.BlobRef) bool { return !d.answered[id] })
	if name := "OBJ_" + blob.Bucket; len(d.shown) == 0 || !s.created(name) {
		return nil, nil
	}
	have, errs, err := s.blobs(ctx, nil)
	if err != nil {
		return nil, err
	}
	for _, err := range errs {
		list = append(list, fault.From(err))
	}
	for _, id := range slices.Sorted(maps.Keys(d.shown)) {
		ref := d.shown[id]
		what := fmt.Sprintf("the diff that was answered in approval %q", id)
		switch size, ok := have[ref.Sha256]; {
		case !ok:
			list = append(list, fault.New("blob/missing", "%s is missing: blob %.12s", what, ref.Sha256).At(id))
		case size != int64(ref.Size):
			list = append(list, fault.New("blob/corrupt", "%s is not the bytes that were shown: blob %.12s", what, ref.Sha256).At(id))
		}
	}
	return list, nil
}

// blobs reads the store of blobs, and returns the size of each, or -1 for bytes that are not
// what the name says, and what is wrong with the store itself. The error is ctx's.
func (s *Store) blobs(ctx context.Context, see func(name string, data []byte)) (have map[string]int64, errs []error, err error) {
	name := "OBJ_" + blob.Bucket
	stream, err := s.stream(name)
	if err != nil {
		return nil, []error{err}, nil //nolint:nilerr // it is damage, and not the end of the reading
	}
	s.say("reading " + name)
	have = map[string]int64{}
	scan, err := readObjects(stream, blob.Bucket, func(name string, data []byte) error {
		delete(have, name)
		if data != nil {
			have[name] = size(name, data)
			if see != nil {
				see(name, data)
			}
		}
		return ctx.Err()
	})
	if err != nil {
		if ctx.Err() != nil {
			return nil, nil, err
		}
		errs = append(errs, err)
	}
	if err := scan.Err(); err != nil {
		errs = append(errs, err)
	}
	return have, errs, nil
}
