package vault

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/net/broker"
	"github.com/loomrun/loom/internal/store/datadir"
	"github.com/loomrun/loom/internal/store/journal"
	"github.com/loomrun/loom/internal/store/natsjournal"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Seed is a backup that a deployment of several hosts begins with.
type Seed struct {
	// File is the backup.
	File string
	// Progress is told what is being done, a line each time. Nil tells nobody.
	Progress func(line string)
}

// Name returns what a backup is called in a join file: the SHA-256 of it.
func (s Seed) Name() (string, error) {
	file, err := os.Open(s.File)
	if err != nil {
		return "", fault.New("backup/invalid", "the backup cannot be read").At(s.File).Because(err)
	}
	defer func() { _ = file.Close() }()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", fault.New("backup/invalid", "the backup cannot be read").At(s.File).Because(err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// Epoch returns the epoch in which a deployment goes on after a backup: above
// the backup's, and above that of every token that a repository has seen. It
// also returns what is known to have happened after the backup.
func (s Seed) Epoch(ctx context.Context, contents *Contents, fence func(ctx context.Context, repository, deployment string) (uint64, error)) (uint64, []string) {
	m := contents.About.Manifest
	out := &Restored{Deployment: m.Deployment, Before: m.Epoch, Lost: append([]string{}, contents.End.Lost...)}
	return Restoring{Fence: fence}.epoch(ctx, contents, out), out.Lost
}

// Plant puts the backup into the empty streams of a cluster, through b, and
// into dir what a host keeps beside them. What an interrupted call has put in
// stays, and is not put in twice. It returns backup/invalid when the backup is
// not the one that the directory's deployment begins with.
func (s Seed) Plant(ctx context.Context, b *broker.Broker, dir *datadir.Dir) error {
	name, err := s.Name()
	if err != nil {
		return err
	}
	if want := dir.Manifest().Seed; name != want {
		return fault.New("backup/invalid", "the deployment begins with the backup %.12s, and this is %.12s", want, name).At(s.File)
	}
	say := s.Progress
	if say == nil {
		say = func(string) {}
	}
	f := &filling{dir: dir, broker: b, say: say, heads: map[int]journal.Head{}, logs: map[int]journal.Log{}, there: map[string]map[[32]byte]int{}, begun: map[int]journal.Head{}}
	if err := f.fill(ctx, s.File); err != nil {
		return err
	}
	return b.AdoptIdentities(ctx)
}

// known says whether a batch is in its journal already, put there by an
// interrupted call.
func (f *filling) known(ctx context.Context, log journal.Log, p int, seq uint64, b *loomv1.Batch) (bool, error) {
	if f.begun == nil {
		return false, nil
	}
	head, looked := f.begun[p]
	if !looked {
		last, batch, err := log.Last(ctx)
		if err != nil {
			return false, err
		}
		head = journal.Head{Sequence: last, Hash: batch.GetHash()}
		f.begun[p] = head
	}
	if seq == head.Sequence && !bytes.Equal(b.Hash, head.Hash) {
		return false, fault.New("journal/chain", "stream %s has another batch at %d than the backup", natsjournal.Stream(p), seq).At(natsjournal.Stream(p))
	}
	return seq <= head.Sequence, nil
}

// told says whether a message is in its stream already, put there by an
// interrupted call; of messages that are alike each counts once.
func (f *filling) told(ctx context.Context, js jetstream.JetStream, stream string, m message) (bool, error) {
	if f.there == nil {
		return false, nil
	}
	if f.there[stream] == nil {
		have, err := contentsOf(ctx, js, stream)
		if err != nil {
			return false, err
		}
		f.there[stream] = have
	}
	key, err := m.digest()
	if err != nil || f.there[stream][key] == 0 {
		return false, err
	}
	f.there[stream][key]--
	return true, nil
}

// digest names a message by what it says.
func (m message) digest() (key [32]byte, err error) {
	header, err := headers(m.Header)
	if err != nil {
		return key, err
	}
	return sha256.Sum256(fmt.Appendf(nil, "%q %q %q", m.Subject, header, m.Data)), nil
}

// contentsOf counts the messages of a stream by what they say.
func contentsOf(ctx context.Context, js jetstream.JetStream, name string) (map[[32]byte]int, error) {
	have := map[[32]byte]int{}
	stream, err := js.Stream(ctx, name)
	if err != nil {
		return nil, fault.New("host/unavailable", "stream %s does not answer", name).Because(err)
	}
	state := stream.CachedInfo().State
	for seq := state.FirstSeq; seq <= state.LastSeq && state.Msgs > 0; seq++ {
		raw, err := stream.GetMsg(ctx, seq)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue
		}
		if err != nil {
			return nil, fault.New("host/unavailable", "message %d of stream %s cannot be read", seq, name).Because(err)
		}
		have[sha256.Sum256(fmt.Appendf(nil, "%q %q %q", raw.Subject, raw.Header, raw.Data))]++
	}
	return have, nil
}

// Move records that the deployment of the store goes on in a cluster that
// begins with the named backup: no host starts on it any more. The store must
// hold the directory's lock.
func (s *Store) Move(seed string) error { return datadir.Move(s.path, s.Manifest, seed) }
