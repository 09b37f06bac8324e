package lease

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/proto/subject"
)

// store is the stream under the bucket. The client's own key-value type reads
// from any replica and loses what an update must keep; this one decides by
// compare-and-set and reads from the leader.
type store struct {
	config Config
	js     jetstream.JetStream
	stream jetstream.Stream
	prefix string // of a key's subject
	told   string // of the subject where its records are republished
	within time.Duration
}

// streamConfig is what the bucket's stream must be.
func (c Config) streamConfig() jetstream.StreamConfig {
	bucket := subject.Must(strings.ToLower(c.Bucket))
	return jetstream.StreamConfig{
		Name: "KV_" + c.Bucket, Subjects: []string{"$KV." + c.Bucket + ".>"}, Description: "leases of Loom",
		Storage: c.Storage, Replicas: c.Replicas, Discard: jetstream.DiscardNew, MaxMsgsPerSubject: 1,
		MaxMsgSize: MaxValue + 4096, Duplicates: 100 * time.Millisecond, DenyDelete: true, DenyPurge: true,
		RePublish: &jetstream.RePublish{Source: "$KV." + c.Bucket + ".>", Destination: subject.Leases(bucket)},
		// Terms rise also if the bucket is ever made anew.
		FirstSeq: uint64(time.Now().UnixMilli()),
	}
}

// openStore opens or makes the stream, trying again until ctx ends.
func openStore(ctx context.Context, js jetstream.JetStream, c Config) (*store, error) {
	for {
		stream, err := ensure(ctx, js, c.streamConfig())
		if err == nil {
			return &store{
				config: c, js: js, stream: stream, within: c.Renew, prefix: "$KV." + c.Bucket + ".",
				told: strings.TrimSuffix(subject.Leases(subject.Must(strings.ToLower(c.Bucket))), ">"),
			}, nil
		}
		c.Logger.Debug("the bucket cannot be opened yet", "bucket", c.Bucket, "reason", err)
		if !pause(ctx, c.Renew) {
			return nil, fault.New("host/unavailable", "the bucket of leases %s cannot be opened", c.Bucket).Because(err)
		}
	}
}

// ensure returns the stream as it must be, made or changed if need be.
func ensure(ctx context.Context, js jetstream.JetStream, want jetstream.StreamConfig) (jetstream.Stream, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	stream, err := js.Stream(ctx, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		stream, err = js.CreateStream(ctx, want)
	}
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another host was faster
		stream, err = js.Stream(ctx, want.Name)
	}
	if err != nil {
		return nil, err
	}
	have := stream.CachedInfo().Config
	same := have.RePublish != nil && *have.RePublish == *want.RePublish && have.MaxMsgsPerSubject == 1 && !have.AllowDirect
	if same && have.Replicas >= want.Replicas {
		return stream, nil
	}
	want.Storage, want.FirstSeq, want.Replicas = have.Storage, have.FirstSeq, max(have.Replicas, want.Replicas)
	return js.UpdateStream(ctx, want)
}

// What the server answers to a write, by its error code.
const (
	wrongLast jetstream.ErrorCode = 10071
	inProcess jetstream.ErrorCode = 10164 // an earlier write of the key is not settled yet
)

// errMoved says that the key has a newer record than was thought.
var errMoved = errors.New("the key has a newer record")

// write stores data for key if last is its newest revision (0: it has none).
// It returns errMoved when it is not; after any other error the outcome is
// unknown.
func (s *store) write(ctx context.Context, key string, last uint64, r record) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, s.within)
	defer cancel()
	msg := &nats.Msg{Subject: s.prefix + key, Data: r.encode()}
	for {
		ack, err := s.js.PublishMsg(ctx, msg, jetstream.WithExpectLastSequencePerSubject(last), jetstream.WithRetryAttempts(0))
		if err == nil {
			return ack.Sequence, nil
		}
		var api *jetstream.APIError
		switch {
		case errors.As(err, &api) && api.ErrorCode == wrongLast:
			return 0, errMoved
		case !errors.As(err, &api) || api.ErrorCode != inProcess || !pause(ctx, time.Millisecond):
			return 0, err
		}
	}
}

// read returns the newest record of key that the stream's leader has; the zero
// record if there is none.
func (s *store) read(ctx context.Context, key string) (record, error) {
	ctx, cancel := context.WithTimeout(ctx, s.within)
	defer cancel()
	msg, err := s.stream.GetLastMsgForSubject(ctx, s.prefix+key)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return record{}, nil
	}
	if err != nil {
		return record{}, err
	}
	return decode(msg.Data, msg.Sequence), nil
}

// keys returns all keys that have a record. Where the bucket is gone (in
// memory it ends with its server), it is made anew.
func (s *store) keys(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, s.within)
	defer cancel()
	info, err := s.stream.Info(ctx, jetstream.WithSubjectFilter(s.prefix+">"))
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		_, err = ensure(ctx, s.js, s.config.streamConfig())
		return nil, err
	}
	if err != nil {
		return nil, err
	}
	var keys []string
	for subj := range info.State.Subjects {
		keys = append(keys, strings.TrimPrefix(subj, s.prefix))
	}
	return keys, nil
}

// listen calls f with each record that is stored from now on, as long as
// messages come through: they may be lost, late or doubled.
func (s *store) listen(f func(key string, r record)) (*nats.Subscription, error) {
	return s.js.Conn().Subscribe(s.told+">", func(m *nats.Msg) {
		revision, err := strconv.ParseUint(m.Header.Get(jetstream.SequenceHeader), 10, 64)
		if err == nil {
			f(strings.TrimPrefix(m.Subject, s.told), decode(m.Data, revision))
		}
	})
}

// pause waits for d and reports whether ctx lasts.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
