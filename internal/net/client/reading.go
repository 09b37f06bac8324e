package client

import (
	"context"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/proto/subject"
)

// Live calls fn with what models write just now in a project, or in any where that is
// empty, until stop is called. Nothing of it is kept: what was written while the
// connection was lost is not told.
func (c *Client) Live(project string, fn func(*loomv1.Writing)) (stop func(), err error) {
	if c.nc == nil {
		return nil, c.off
	}
	return Live(c.nc, project, fn)
}

// Live is [Client.Live] over a connection.
func Live(nc *nats.Conn, project string, fn func(*loomv1.Writing)) (stop func(), err error) {
	about := subject.Lives()
	if project != "" {
		p, err := subject.Parse("project", project)
		if err != nil {
			return nil, err
		}
		about = subject.LivesOf(p)
	}
	sub, err := nc.Subscribe(about, func(m *nats.Msg) {
		if project, bead, role, agent, ok := subject.Lived(m.Subject); ok {
			fn(&loomv1.Writing{Project: project, Bead: bead, Role: role, Agent: agent, Text: string(m.Data)})
		}
	})
	return func() { _ = sub.Unsubscribe() }, err
}

// FollowTranscript calls fn for every entry that q asks for, from its cursor on, each
// once and in order, until fn or ctx ends it. With live it waits for more at the end
// of the journal, until the execution has ended; else it returns there. A host that
// is away for a while is waited for, as in [Client.Follow].
func (c *Client) FollowTranscript(ctx context.Context, q *loomv1.TranscriptRequest, live bool, fn func(*loomv1.TranscriptEntry) error) error {
	q = proto.CloneOf(q)
	return c.follow(ctx, live, nil, func() (followed, error) {
		page, err := c.Transcript(ctx, q)
		if page.GetNext() != nil {
			q.After = page.Next
		}
		return followed{cuts: page.GetCuts(), end: page.GetEnd(), over: page.GetEnded(), pass: func() error { return each(page.GetEntries(), fn) }}, err
	})
}

// ReadBlob returns a blob that events of a project name, or of any project where that
// is empty, by its name or the beginning of it: the bytes of all parts, and the last
// answer, which tells what was read.
func (c *Client) ReadBlob(ctx context.Context, project, sum string) ([]byte, *loomv1.BlobReply, error) {
	var data []byte
	for {
		reply, err := c.Blobs(ctx, &loomv1.BlobRequest{Project: project, Sha256: sum, Offset: uint64(len(data))})
		if err != nil {
			return nil, nil, err
		}
		data = append(data, reply.Data...)
		if uint64(len(data)) >= reply.Size {
			return data, reply, nil
		}
		if len(reply.Data) == 0 {
			return nil, nil, fault.New("host/unavailable", "the answer ends after %d of %d bytes", len(data), reply.Size)
		}
		sum = reply.Blob.GetSha256()
	}
}
