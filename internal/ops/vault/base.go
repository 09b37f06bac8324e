package vault

import (
	"bytes"
	"context"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/store/blob"
	"github.com/loomrun/loom/internal/store/natsjournal"
	"github.com/loomrun/loom/internal/store/retention"
	"github.com/loomrun/loom/internal/store/streamfile"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// parts are the parts of bases, by their names, as they are met among blobs.
type parts struct {
	cuts []*loomv1.JournalCut
	data map[string][]byte
}

// want has the parts of a cut's base kept; nil is none.
func (p *parts) want(cut *loomv1.JournalCut) {
	if cut == nil {
		return
	}
	if p.data == nil {
		p.data = map[string][]byte{}
	}
	p.cuts = append(p.cuts, cut)
	for _, ref := range cut.Base {
		p.data[ref.Sha256] = nil
	}
}

// see keeps a blob if it is a part.
func (p *parts) see(name string, data []byte) {
	if _, wanted := p.data[name]; wanted {
		p.data[name] = bytes.Clone(data)
	}
}

// bases passes every base whose parts were all met to visit. Its error is
// visit's, or says that parts together are no base.
func (p *parts) bases(visit func(cut *loomv1.JournalCut, base *loomv1.JournalBase)) error {
	for _, cut := range p.cuts {
		var data []byte
		whole := true
		for _, ref := range cut.Base {
			part := p.data[ref.Sha256]
			data, whole = append(data, part...), whole && len(part) > 0
		}
		if !whole {
			continue // who compares the blobs says so
		}
		base, err := retention.Decode(cut, data)
		if err != nil {
			return err
		}
		visit(cut, base)
	}
	return nil
}

// base returns what a partition's journal begins with, or nil when that is its first batch.
func (s *Store) base(ctx context.Context, partition int) (found *loomv1.JournalBase, err error) {
	journal, err := s.stream(natsjournal.Stream(partition))
	if err != nil {
		return nil, err
	}
	cut, err := newestCut(ctx, journal, s.marks[partition])
	if err != nil || cut == nil {
		return nil, err
	}
	p := &parts{}
	p.want(cut)
	blobs, err := s.stream("OBJ_" + blob.Bucket)
	if err != nil {
		return nil, err
	}
	if err := readParts(blobs, p); err != nil {
		return nil, err
	}
	err = p.bases(func(_ *loomv1.JournalCut, base *loomv1.JournalBase) { found = base })
	if err == nil && found == nil {
		err = fault.New("blob/missing", "what journal %d begins with is not there: its past was cut at %d", partition, cut.Sequence)
	}
	return found, err
}

// baseBlobs passes every blob that the bases of cuts name to visit.
func (s *Store) baseBlobs(p *parts, visit func(*loomv1.BlobRef)) error {
	if len(p.cuts) == 0 {
		return nil
	}
	stream, err := s.stream("OBJ_" + blob.Bucket)
	if err != nil {
		return err
	}
	if err := readParts(stream, p); err != nil {
		return err
	}
	return p.bases(func(_ *loomv1.JournalCut, base *loomv1.JournalBase) { blob.Refs(base, visit) })
}

func readParts(stream *streamfile.Stream, p *parts) error {
	_, err := readObjects(stream, blob.Bucket, func(name string, data []byte) error {
		p.see(name, data)
		return nil
	})
	return err
}
