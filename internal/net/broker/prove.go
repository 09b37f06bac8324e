package broker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/loomrun/loom/internal/base/fault"
)

// proveSync returns data/sync unless acknowledged writes are on the disk. It
// asks the server whether it syncs always, as it is configured now; and, where
// the system can tell, it looks: a message is written to a stream of its own,
// and once it is acknowledged the stream's files must have no page that waits
// to be written back. A server that acknowledges first and syncs later would
// have one. Linux since 6.5 can tell (cachestat), unless the file system has
// no disk behind it; elsewhere the server's word stands alone.
func (b *Broker) proveSync(ctx context.Context) error {
	if b.config.External != nil {
		return b.askSync(ctx)
	}
	config := b.server.JetStreamConfig()
	if config == nil || !config.SyncAlways {
		return fault.New("data/sync", "the server does not sync each write before it acknowledges it")
	}
	row := b.config.proof()
	if err := b.ensureStream(ctx, row, false); err != nil {
		return err
	}
	err := b.patiently(ctx, "the proof that writes are synced is not acknowledged", func(ctx context.Context) error {
		_, err := b.js[core].Publish(ctx, row.config.Subjects[0], []byte("proof"), jetstream.WithRetryAttempts(0))
		return err
	})
	if err != nil {
		return fault.New("data/sync", "the write that would prove it is not acknowledged").Because(err)
	}
	seen, err := observe(filepath.Join(config.StoreDir, core, "streams", row.config.Name, "msgs"))
	if err == nil && !seen {
		b.log.Debug("this system cannot tell whether a write is on the disk; the server says that it syncs always")
	}
	return err
}

// errBlind says that the system cannot tell what is on the disk.
var errBlind = errors.New("unknown whether written")

// observe returns data/sync when a file of dir has pages that are not on the
// disk, and whether it could see that at all.
func observe(dir string) (seen bool, err error) {
	if sighted, err := calibrate(dir); err != nil || !sighted {
		return false, err
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.blk"))
	if err != nil || len(files) == 0 {
		return false, fault.New("data/sync", "the store holds no file of a stream that has a message").At(dir).Because(err)
	}
	for _, name := range files {
		dirty, err := unwritten(name)
		if errors.Is(err, errBlind) {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("broker: proof of sync: %w", err)
		}
		if dirty {
			return true, fault.New("data/sync", "an acknowledged write is not on the disk").At(name)
		}
	}
	return true, nil
}

// calibrate says whether a write that was not synced is seen as such in dir.
func calibrate(dir string) (bool, error) {
	f, err := os.CreateTemp(dir, "calibrate-*")
	if err != nil {
		return false, fault.New("data/sync", "the store has no place where the stream should be").At(dir).Because(err)
	}
	defer func() { _ = os.Remove(f.Name()) }()
	_, err = f.WriteString("x")
	if err := errors.Join(err, f.Close()); err != nil {
		return false, fmt.Errorf("broker: proof of sync: %w", err)
	}
	dirty, err := unwritten(f.Name())
	return dirty && err == nil, nil
}
