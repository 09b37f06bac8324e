package actors

import (
	"cmp"
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Projects is the way to every project of a deployment.
type Projects struct {
	sys        *System
	partitions []*actor.PID
	here       []*atomic.Bool // which of them this host serves
	addresses  []*addresses   // of the projects of each, while this host serves it
	of         func(project string) int
	elsewhere  Elsewhere  // nil on a host that is alone
	replicas   []*replica // that answer reads of graphs which others serve
	clean      func(*loomv1.Command) (*loomv1.Command, error)
}

// StartPartitions starts the partition actors of this host. of says which
// partition a project belongs to; elsewhere asks those that other hosts serve,
// and is nil on a host that is alone.
func (s *System) StartPartitions(ctx context.Context, list []Partition, of func(project string) int, elsewhere Elsewhere) *Projects {
	p := &Projects{sys: s, of: of, elsewhere: elsewhere}
	for i, part := range list {
		part.here, part.addresses = new(atomic.Bool), &addresses{}
		p.clean = part.Clean
		p.here, p.addresses = append(p.here, part.here), append(p.addresses, part.addresses)
		p.replicas = append(p.replicas, newReplica(ctx, s, part))
		p.partitions = append(p.partitions, s.start(fmt.Sprintf("partition-%02d", i), s.partitionProps(ctx, part)))
	}
	return p
}

// Here returns the partitions that this host serves.
func (p *Projects) Here() []int {
	var all []int
	for n, here := range p.here {
		if here.Load() {
			all = append(all, n)
		}
	}
	return all
}

// Ready waits until every partition is served, here or on another host, and
// returns what is wrong with the journal of one that this host cannot recover.
func (p *Projects) Ready(ctx context.Context) error {
	if p.elsewhere != nil {
		_, err := p.List(ctx)
		return err
	}
	for i, pid := range p.partitions {
		done := make(chan error, 1)
		p.sys.sys.Root.Send(pid, &awaitReady{done})
		select {
		case err := <-done:
			if err != nil {
				return err
			}
		case <-ctx.Done():
			return unavailable(i).Because(ctx.Err())
		}
	}
	return nil
}

// Damaged has a partition of this host answer everything with err, which is of
// status [fault.Integrity], and write nothing, until the host starts anew.
func (p *Projects) Damaged(partition int, err error) {
	p.sys.sys.Root.Send(p.partitions[partition], &damaged{err})
}

// tryFor is how long one try of a command may take before it is sent again.
// Mail can be lost when a partition recovers; commands may be repeated.
const tryFor = 3 * time.Second

// Do sends a command to its project and returns the answer once what it says
// is durable. While the project's partition is away it tries again until ctx
// ends. A refusal is returned as an error.
func (p *Projects) Do(ctx context.Context, cmd *loomv1.Command) (*loomv1.Answer, error) {
	if _, err := proto.Marshal(cmd); err != nil { // what has no encoding could never be made durable
		return nil, fault.New("command/malformed", "command %T cannot be encoded: %s", cmd.Body, err)
	}
	cmd, err := p.cleaned(once(ctx, cmd))
	if err != nil {
		return nil, err
	}
	remote := &loomv1.CellRequest{Body: &loomv1.CellRequest_Command{Command: cmd}}
	refuse := func(e *loomv1.Error) *loomv1.Answer { return &loomv1.Answer{Error: e} }
	return retry(ctx, p, func(reply func(*loomv1.Answer)) {
		p.send(ctx, cmd.Project, &request{cmd: cmd, reply: reply}, remote, unwrap((*loomv1.CellReply).GetAnswer, refuse, reply))
	}, (*loomv1.Answer).GetError)
}

// cleaned is a command as it may be told and kept.
func (p *Projects) cleaned(cmd *loomv1.Command) (*loomv1.Command, error) {
	if p.clean == nil {
		return cmd, nil
	}
	return p.clean(cmd)
}

// OfferAgain has every project put into the work queue again what should be
// there: for a queue that was lost.
func (p *Projects) OfferAgain() {
	for _, pid := range p.partitions {
		p.sys.sys.Root.Send(pid, &offerAgain{})
	}
}

// Look asks a project for a view; it sees everything that was acknowledged
// before.
func (p *Projects) Look(ctx context.Context, v project.View, q *loomv1.Query) (*loomv1.View, error) {
	if v == project.Graph && p.far(q.GetProject()) {
		return p.replicas[p.of(q.Project)].look(ctx, q)
	}
	remote := &loomv1.CellRequest{Body: &loomv1.CellRequest_View{View: &loomv1.ViewRequest{View: string(v), Query: q}}}
	refuse := func(e *loomv1.Error) *loomv1.View { return &loomv1.View{Error: e} }
	return retry(ctx, p, func(reply func(*loomv1.View)) {
		p.send(ctx, q.Project, &look{view: v, query: q, reply: reply}, remote, unwrap((*loomv1.CellReply).GetView, refuse, reply))
	}, (*loomv1.View).GetError)
}

// List returns the ids of all projects, unsorted.
func (p *Projects) List(ctx context.Context) ([]string, error) {
	var all []string
	remote := &loomv1.CellRequest{Body: &loomv1.CellRequest_List{List: &loomv1.ListProjects{}}}
	for n := range p.partitions {
		r, err := retry(ctx, p, func(reply func(*loomv1.CellReply)) {
			p.ask(ctx, n, p.partitions[n], &list{reply}, remote, reply)
		}, (*loomv1.CellReply).GetError)
		if err != nil {
			return nil, err
		}
		all = append(all, r.GetProjects().GetIds()...)
	}
	return all, nil
}

// once gives a command that would have its effect again each time it is sent a
// key of its own, the same for every try, so that the project knows it again.
// All others are known by what they say: an attempt, a token, a nonce.
func once(ctx context.Context, cmd *loomv1.Command) *loomv1.Command {
	switch b := cmd.Body.(type) {
	case *loomv1.Command_FileBead:
		if s := b.FileBead.GetSubmission(); s != nil && s.IdempotencyKey == "" {
			cmd = proto.CloneOf(cmd)
			cmd.GetFileBead().Submission.IdempotencyKey = OnceKey(ctx)
		}
	case *loomv1.Command_FileError:
		if r := b.FileError.GetReport(); r != nil && r.IdempotencyKey == "" {
			cmd = proto.CloneOf(cmd)
			cmd.GetFileError().Report.IdempotencyKey = OnceKey(ctx)
		}
	case *loomv1.Command_ReopenBead:
		if b.ReopenBead.GetRequest() == "" {
			cmd = proto.CloneOf(cmd)
			cmd.GetReopenBead().Request = OnceKey(ctx)
		}
	case *loomv1.Command_AddDecision:
		if b.AddDecision.GetRequest() == "" {
			cmd = proto.CloneOf(cmd)
			cmd.GetAddDecision().Request = OnceKey(ctx)
		}
	}
	return cmd
}

// retry sends until it is answered with something else than "unavailable".
func retry[T any](ctx context.Context, p *Projects, send func(reply func(T)), refusal func(T) *loomv1.Error) (T, error) {
	wait := 5 * time.Millisecond
	over, done := p.patience(ctx)
	var answered time.Time // when the try began that was answered
	defer func() { done(cmp.Or(answered, time.Now())) }()
	for {
		began := time.Now()
		got := make(chan T, 1)
		send(func(v T) {
			select {
			case got <- v:
			default:
			}
		})
		select {
		case v := <-got:
			err := fault.FromProto(refusal(v))
			if fault.Status(err) != fault.Unavailable {
				answered = began
				return v, err
			}
		case <-time.After(tryFor):
		case <-over:
			var none T
			return none, unheard()
		case <-ctx.Done():
			var none T
			return none, fault.New("host/unavailable", "no answer in time").Because(ctx.Err())
		}
		select {
		case <-time.After(wait):
			wait = min(2*wait, time.Second)
		case <-over:
			var none T
			return none, unheard()
		case <-ctx.Done():
		}
	}
}
