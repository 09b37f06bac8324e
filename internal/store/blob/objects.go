package blob

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/transient"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

const (
	// Bucket is the object store that blobs are kept in.
	Bucket = "LOOM_BLOB"
	// chunk is the largest piece of a blob that is one message; nearly all
	// blobs are one.
	chunk        = 1 << 20
	answerWithin = 5 * time.Second
)

// Objects is a Store on a JetStream object store.
type Objects struct {
	stream jetstream.Stream
	store  jetstream.ObjectStore
	// joint says that several hosts keep the blobs.
	joint bool
	// putting keeps two puts of the same bytes apart, by their first byte:
	// the client would store both and then drop the first.
	putting [256]sync.Mutex
}

var _ Store = (*Objects)(nil)

// New returns the store over a connection of the core account, whose bucket is
// there already.
func New(ctx context.Context, nc *nats.Conn) (*Objects, error) {
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(answerWithin))
	if err != nil {
		return nil, fmt.Errorf("blobs: %w", err)
	}
	o := new(Objects)
	if o.stream, err = transient.Find(ctx, nc, js, "OBJ_"+Bucket); err == nil {
		o.store, err = js.ObjectStore(ctx, Bucket)
	}
	if err != nil {
		return nil, fault.New("host/unavailable", "blobs cannot be opened").Because(err)
	}
	o.joint = o.stream.CachedInfo().Config.Replicas > 1
	return o, nil
}

// Put is that of [Store].
func (o *Objects) Put(ctx context.Context, data []byte, mediaType string) (*loomv1.BlobRef, error) {
	if len(data) > MaxBytes {
		return nil, tooLarge(len(data))
	}
	ref := Ref(data, mediaType)
	sum := sha256.Sum256(data)
	o.putting[sum[0]].Lock()
	defer o.putting[sum[0]].Unlock()
	err := o.patiently(ctx, func(ctx context.Context) error {
		if _, err := o.store.GetInfo(ctx, ref.Sha256); err == nil {
			return nil
		}
		meta := jetstream.ObjectMeta{Name: ref.Sha256, Opts: &jetstream.ObjectMetaOptions{ChunkSize: chunk}}
		_, err := o.store.Put(ctx, meta, bytes.NewReader(data))
		return err
	})
	if err != nil {
		return nil, unavailable(ref, "kept", err)
	}
	return ref, nil
}

// patiently calls f, which is harmless to repeat, through an election where
// several hosts keep the blobs.
func (o *Objects) patiently(ctx context.Context, f func(context.Context) error) error {
	if !o.joint {
		return f(ctx)
	}
	return transient.Retry(ctx, transient.Election, f)
}

// Get is that of [Store].
func (o *Objects) Get(ctx context.Context, ref *loomv1.BlobRef) (data []byte, err error) {
	err = o.patiently(ctx, func(ctx context.Context) error {
		data, err = o.get(ctx, ref)
		return err
	})
	return data, err
}

func (o *Objects) get(ctx context.Context, ref *loomv1.BlobRef) ([]byte, error) {
	for stored := ""; ; {
		info, err := o.store.GetInfo(ctx, ref.GetSha256())
		if errors.Is(err, jetstream.ErrObjectNotFound) || errors.Is(err, jetstream.ErrNameRequired) {
			return nil, missing(ref)
		}
		if err != nil {
			return nil, unavailable(ref, "read", err)
		}
		data, err := o.chunks(ctx, ref, info)
		if fault.Code(err) == "blob/corrupt" && info.NUID != stored {
			stored = info.NUID // another host may just have put it again: look once more
			continue
		}
		if err != nil {
			return nil, err
		}
		return data, verify(ref, data)
	}
}

// chunks reads the messages of an object one after the other. The client's own
// way waits for those that are missing until its time is up.
func (o *Objects) chunks(ctx context.Context, ref *loomv1.BlobRef, info *jetstream.ObjectInfo) ([]byte, error) {
	data := make([]byte, 0, min(info.Size, MaxBytes))
	subj := "$O." + Bucket + ".C." + info.NUID
	for next := uint64(1); uint64(len(data)) < info.Size; {
		msg, err := o.stream.GetMsg(ctx, next, jetstream.WithGetMsgSubject(subj))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil, fault.New("blob/corrupt", "blob %s ends after %d of %d bytes", short(ref), len(data), info.Size)
		}
		if err != nil {
			return nil, unavailable(ref, "read", err)
		}
		data, next = append(data, msg.Data...), msg.Sequence+1
	}
	return data, nil
}

func unavailable(ref *loomv1.BlobRef, what string, err error) error {
	return fault.New("host/unavailable", "blob %s cannot be %s", short(ref), what).Because(err)
}
