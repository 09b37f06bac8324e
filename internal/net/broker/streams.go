package broker

import (
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/loomrun/loom/internal/store/blob"
	"github.com/loomrun/loom/internal/store/natsjournal"
	"github.com/loomrun/loom/proto/subject"
)

// The names of the streams that are not a journal's.
const (
	tasksStream  = "TASKS"
	workStream   = "WORK"
	dlqStream    = "DLQ"
	proofStream  = "LOOM_PROOF"
	proofSubject = "loom-proof"
)

const (
	taskBytes = 1 << 30
	dlqBytes  = 1 << 30
	snapBytes = 8 << 30
	// otherBytes is what all file streams but journals and blobs may need.
	otherBytes = taskBytes + dlqBytes + snapBytes + 1<<30
	workBytes  = 256 << 20
	// memoryBytes is what all streams in memory may take.
	memoryBytes = workBytes + 256<<20
	headers     = 16 << 10
)

// stream is a row of the table of streams.
type stream struct {
	account string
	// truth streams hold what is nowhere else: a missing one is damage. The
	// others are derived, and made anew when they are missing or different.
	truth  bool
	config jetstream.StreamConfig
}

// streams is the table of all streams of a deployment.
func (c Config) streams() []stream {
	partitions := c.Dir.Manifest().Partitions
	all := []stream{
		{tasked, true, tasks()},
		{core, true, sealed(dlqStream, dlqBytes, subject.DLQs())},
		{core, true, objects(blob.Bucket, c.BlobBytes)},
		{core, false, objects(natsjournal.SnapshotBucket, snapBytes)},
		{core, false, work()},
	}
	for p := range partitions {
		all = append(all, stream{core, true, journalOf(p, c.JournalBytes/int64(partitions))})
	}
	if c.clustered() {
		for i := range all {
			all[i].config = jointly(all[i].config, c.replicas())
		}
		all = append(all, c.identities())
	}
	if c.External != nil { // its disks cannot be looked at
		return all
	}
	return append(all, c.proof())
}

// row returns the row of the table with a stream's name.
func (c Config) row(name string) stream {
	all := c.streams()
	return all[slices.IndexFunc(all, func(s stream) bool { return s.config.Name == name })]
}

// jointly returns a stream as several hosts keep it. None of them may answer
// for its leader, which alone knows what was acknowledged last. Nothing is compressed: a
// replica that comes back after a crash cuts the end of its stream, and the server then
// compresses, beside that, the block to which it goes on writing as if it were not.
func jointly(c jetstream.StreamConfig, replicas int) jetstream.StreamConfig {
	c.Replicas, c.AllowDirect, c.Compression = replicas, false, jetstream.NoCompression
	return c
}

// base has the values that the server would fill in, so that a difference is
// one.
func base(name string, subjects ...string) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: name, Subjects: subjects, Replicas: 1, Discard: jetstream.DiscardNew,
		MaxConsumers: -1, MaxMsgs: -1, MaxBytes: -1, MaxMsgsPerSubject: -1, MaxMsgSize: -1,
		// De-duplication is by message id and for all publishers of a stream
		// together, so one could swallow another's message. It cannot be
		// turned off; this is the shortest window.
		Duplicates: 100 * time.Millisecond,
	}
}

// sealed returns a stream on disk that refuses new messages when it is full
// and lets none be deleted or purged by request.
func sealed(name string, bytes int64, subjects ...string) jetstream.StreamConfig {
	c := base(name, subjects...)
	c.Storage, c.MaxBytes, c.DenyDelete, c.DenyPurge = jetstream.FileStorage, bytes, true, true
	return c
}

func journalOf(partition int, bytes int64) jetstream.StreamConfig {
	c := sealed(natsjournal.Stream(partition), bytes, subject.Journal(partition))
	// The beginning of a journal may be purged once it is in an archive. Only
	// hosts may ask for it, as for everything in their account.
	c.MaxMsgSize, c.DenyPurge = 1<<20+headers, false
	// The server compresses a block when it is full, after all that is in it was
	// acknowledged. See jointly.
	c.Compression = jetstream.S2Compression
	return c
}

// tasks is a work queue, because there an acknowledgement deletes the message:
// of a stream that only counts them, those of the last tenth of a second are
// forgotten when the process is killed.
func tasks() jetstream.StreamConfig {
	c := sealed(tasksStream, taskBytes, subject.Tasks(), subject.Errors())
	c.Retention, c.MaxMsgSize = jetstream.WorkQueuePolicy, edgePayload
	return c
}

// work holds at most one message a subject, which is an attempt's, and refuses
// another while that is there.
func work() jetstream.StreamConfig {
	c := base(workStream, subject.Works())
	c.Retention, c.Storage, c.MaxBytes = jetstream.WorkQueuePolicy, jetstream.MemoryStorage, workBytes
	c.MaxMsgsPerSubject, c.DiscardNewPerSubject = 1, true
	return c
}

// objects is the stream that an object store of the client library keeps.
func objects(bucket string, bytes int64) jetstream.StreamConfig {
	c := base("OBJ_"+bucket, "$O."+bucket+".C.>", "$O."+bucket+".M.>")
	c.Storage, c.MaxBytes, c.AllowRollup, c.AllowDirect = jetstream.FileStorage, bytes, true, true
	return c
}

// proof holds the message that shows whether writes are synced.
func proof() jetstream.StreamConfig {
	c := base(proofStream, proofSubject)
	c.Storage, c.Discard, c.MaxMsgs, c.MaxBytes = jetstream.FileStorage, jetstream.DiscardOld, 1, 1<<20
	return c
}

// proof is the row of this host's proof. In a cluster each host has its own,
// which it alone keeps.
func (c Config) proof() stream {
	own := proof()
	if c.clustered() {
		host := c.Dir.Manifest().Host
		own.Name, own.Subjects = proofStream+"_"+host, []string{proofSubject + "-" + host}
		own.Placement = &jetstream.Placement{Tags: []string{host}}
	}
	return stream{core, false, own}
}
