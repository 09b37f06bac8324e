package vault

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/durable"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/store/blob"
	"github.com/loomrun/loom/internal/store/journal"
	"github.com/loomrun/loom/internal/store/natsjournal"
	"github.com/loomrun/loom/internal/store/streamfile"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// files are those of a data directory that a backup takes along, beside the
// manifest: who may come in, by hashes and public keys. Private keys stay.
var files = []string{"identities.json", "tokens.json"}

// Backup writes a backup of the directory to the file at path, whole or not at
// all, reads it back from its first batch to its last, and says what is in it.
// A host may run meanwhile: the backup is a prefix of each journal, with every
// blob that it names, and with every task that no event of it has taken up.
//
// Damage is refused, unless salvage says to take what is sound before it; what
// is left out then is in [End.Lost]. now is written into the backup.
func (s *Store) Backup(ctx context.Context, path string, salvage bool, now time.Time) (*Contents, error) {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New("data/not-empty", "there is something at that path").At(path).Want("name a file that is not there yet, or a directory")
	}
	file, err := os.OpenFile(path+".tmp", os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, unwritable(path, err)
	}
	defer func() { _ = os.Remove(path + ".tmp") }()
	b := &backup{Store: s, salvage: salvage, named: map[string]bool{}}
	if b.out, err = newWriter(file); err == nil {
		err = errors.Join(b.write(ctx, now), b.out.close())
	}
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return nil, unwritable(path, err)
	}
	s.say("reading the backup back")
	found, err := Read(ctx, path+".tmp")
	if err != nil {
		return nil, err
	}
	if err := durable.Rename(path+".tmp", path); err != nil {
		return nil, unwritable(path, err)
	}
	return found, nil
}

// unwritable names the file that could not be written, unless err says more.
func unwritable(path string, err error) error {
	if fault.Code(err) != "" || errors.Is(err, context.Canceled) {
		return err
	}
	return fault.New("data/permissions", "the backup cannot be written").At(path).Because(err)
}

// backup is one backup that is being written.
type backup struct {
	*Store
	out     *writer
	salvage bool
	named   map[string]bool // blobs
	parts   parts           // of what journals that were cut begin with
	end     End
}

// write writes the entries. The order makes it consistent beside a host: a
// task that is gone from its stream is in the journals that are read later, and
// so are the anchors of snapshots; blobs are there before what names them.
func (b *backup) write(ctx context.Context, now time.Time) error {
	about := About{Format: format, MadeAt: now.UTC().Truncate(time.Second), Manifest: b.Manifest}
	if err := b.out.putJSON(beginName, about); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{b.messages, b.snapshots, b.journals, b.blobs, b.files} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return b.out.putJSON(endName, b.end)
}

// leave decides about damage: with salvage it is noted, else it ends the
// backup.
func (b *backup) leave(err error) error {
	if err == nil || !b.salvage || fault.Status(err) != fault.Integrity {
		return err
	}
	b.end.Lost = append(b.end.Lost, fault.From(err).Error())
	return nil
}

// messages writes what waits in the streams that are neither journals nor
// blobs.
func (b *backup) messages(ctx context.Context) error {
	for _, name := range b.Manifest.Truth {
		if _, isJournal := b.partitionOf(name); isJournal || name == "OBJ_"+blob.Bucket {
			continue
		}
		b.say("reading " + name)
		err := b.records(name, func(r streamfile.Record) error {
			b.end.Messages++
			m := message{Subject: r.Subject, Header: r.Header, Data: r.Data, Time: r.Time}
			return firstOf(ctx.Err(), b.out.putJSON(fmt.Sprintf("message/%s/%020d", name, r.Sequence), m))
		})
		if err := b.leave(err); err != nil {
			return err
		}
	}
	return nil
}

// snapshots writes the newest of each project, and the indexes. They are
// derived: those that cannot be read are left out.
func (b *backup) snapshots(ctx context.Context) error {
	stream, err := b.stream("OBJ_" + natsjournal.SnapshotBucket)
	if err != nil {
		return nil //nolint:nilerr // they can be made again
	}
	b.say("reading " + stream.Name())
	puts := map[string]int{}
	if _, err := readObjects(stream, natsjournal.SnapshotBucket, func(name string, _ []byte) error {
		puts[name]++
		return nil
	}); err != nil {
		return nil //nolint:nilerr // they can be made again
	}
	_, err = readObjects(stream, natsjournal.SnapshotBucket, func(name string, data []byte) error {
		if puts[name]--; puts[name] != 0 || len(data) == 0 {
			return ctx.Err()
		}
		if s := new(loomv1.Snapshot); isSnapshot(name) && proto.Unmarshal(data, s) == nil {
			blob.Refs(s, func(ref *loomv1.BlobRef) { b.named[ref.Sha256] = true })
		}
		return firstOf(ctx.Err(), b.out.put(name, data))
	})
	return err
}

// journals writes every journal, as far as its chain holds.
func (b *backup) journals(ctx context.Context) error {
	for p := range b.Manifest.Partitions {
		if !b.created(natsjournal.Stream(p)) {
			continue
		}
		b.say("reading " + natsjournal.Stream(p))
		found, err := b.journal(ctx, p)
		if err := b.leave(err); err != nil {
			return err
		}
		b.end.Journals = append(b.end.Journals, found)
		b.parts.want(found.cut)
	}
	return nil
}

func (b *backup) journal(ctx context.Context, p int) (Journal, error) {
	var entry []byte
	var first uint64
	flush := func() error {
		if len(entry) == 0 {
			return nil
		}
		err := b.out.put(fmt.Sprintf("journal/%02d/%020d", p, first), entry)
		entry, first = entry[:0], 0
		return err
	}
	found, damage := b.walk(ctx, p, func(seq uint64, batch *loomv1.Batch) error {
		for _, e := range batch.Events {
			blob.Refs(e, func(ref *loomv1.BlobRef) { b.named[ref.Sha256] = true })
		}
		if first == 0 {
			first = seq
		}
		if entry = appendBatch(entry, seq, journal.Encode(batch)); len(entry) < entryBytes {
			return nil
		}
		return flush()
	})
	if err := flush(); err != nil {
		return found, err
	}
	return found, damage
}

// blobs writes the blobs that were named.
func (b *backup) blobs(ctx context.Context) error {
	if len(b.named) == 0 {
		return nil
	}
	err := b.baseBlobs(&b.parts, func(ref *loomv1.BlobRef) { b.named[ref.Sha256] = true })
	if err := b.leave(err); err != nil {
		return err
	}
	stream, err := b.stream("OBJ_" + blob.Bucket)
	if err != nil {
		return b.leave(err)
	}
	b.say("reading " + stream.Name())
	scan, err := readObjects(stream, blob.Bucket, func(name string, data []byte) error {
		if !b.named[name] || data == nil || size(name, data) < 0 {
			return ctx.Err()
		}
		delete(b.named, name)
		b.end.Blobs++
		return firstOf(ctx.Err(), b.out.put("blob/"+name, data))
	})
	if err != nil {
		return err
	}
	for name := range b.named {
		if err := b.leave(fault.New("blob/missing", "blob %.12s is named, and missing or damaged", name)); err != nil {
			return err
		}
	}
	return b.leave(scan.Err())
}

// files writes the files of the directory that go along.
func (b *backup) files(context.Context) error {
	for _, name := range files {
		data, err := os.ReadFile(filepath.Join(b.path, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fault.New("data/permissions", "a file of the data directory cannot be read").At(name).Because(err)
		}
		if err := b.out.put("file/"+name, data); err != nil {
			return err
		}
	}
	return nil
}

// known says whether a file may be in a backup.
func known(name string) bool { return slices.Contains(files, name) }
