package actors

import (
	"context"
	"fmt"

	"github.com/asynkron/protoactor-go/actor"
	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Elsewhere asks whichever host serves a partition.
type Elsewhere interface {
	// Ask sends a request once, or again while nobody answers, until ctx ends.
	Ask(ctx context.Context, partition int, r *loomv1.CellRequest) (*loomv1.CellReply, error)
}

// send asks a cell of a project once: here, or on the host that serves it. local is
// what its actor is sent, and remote asks the same of another host.
func (p *Projects) send(ctx context.Context, id string, local any, remote *loomv1.CellRequest, reply func(*loomv1.CellReply)) {
	n := p.of(id)
	p.ask(ctx, n, p.cell(n, id, local), local, remote, reply)
}

// cell returns where a message for a project goes: to its cell, or to the partition
// while none of its cells is known.
func (p *Projects) cell(n int, id string, message any) *actor.PID {
	if at := p.addresses[n].find(id); at != nil {
		if pid := at.of(cellOf(message)).Load(); pid != nil {
			return pid
		}
	}
	return p.partitions[n]
}

// ask sends a message to an actor here, or asks the host that serves the partition.
func (p *Projects) ask(ctx context.Context, n int, to *actor.PID, local any, remote *loomv1.CellRequest, reply func(*loomv1.CellReply)) {
	if p.elsewhere == nil || p.here[n].Load() {
		p.sys.sys.Root.Send(to, local)
		return
	}
	go func() {
		ctx, cancel := context.WithTimeout(ctx, tryFor)
		defer cancel()
		r, err := p.elsewhere.Ask(ctx, n, remote)
		if err != nil {
			r = &loomv1.CellReply{Error: fault.From(err).Proto()}
		}
		reply(r)
	}()
}

// Serve answers for a partition of this host what another host asks. It asks
// once: whoever asks tries again.
func (p *Projects) Serve(ctx context.Context, n int, r *loomv1.CellRequest) *loomv1.CellReply {
	got := make(chan *loomv1.CellReply, 1)
	to, local, err := p.local(n, r, func(r *loomv1.CellReply) { got <- r })
	if err != nil {
		return &loomv1.CellReply{Error: fault.From(err).Proto()}
	}
	ctx, cancel := context.WithTimeout(ctx, tryFor)
	defer cancel()
	p.sys.sys.Root.Send(to, local)
	select {
	case reply := <-got:
		return reply
	case <-ctx.Done(): // its mail was lost in a recovery
		return &loomv1.CellReply{Error: unavailable(n).Because(ctx.Err()).Proto()}
	}
}

// local makes of a request what an actor here understands, and returns which. A project
// of another partition is refused: hosts that disagree about that are not of
// one deployment.
func (p *Projects) local(n int, r *loomv1.CellRequest, reply func(*loomv1.CellReply)) (*actor.PID, any, error) {
	id, message := "", any(nil)
	switch b := r.GetBody().(type) {
	case *loomv1.CellRequest_Command:
		cmd, err := p.cleaned(b.Command) // the other host may know fewer secrets
		if err != nil {
			return nil, nil, err
		}
		id = cmd.GetProject()
		message = &request{cmd: cmd, reply: func(a *loomv1.Answer) { reply(answered(a)) }}
	case *loomv1.CellRequest_View:
		id = b.View.GetQuery().GetProject()
		message = &look{view: project.View(b.View.GetView()), query: b.View.GetQuery(), reply: func(v *loomv1.View) { reply(viewed(v)) }}
	case *loomv1.CellRequest_Graph:
		id = b.Graph.GetProject()
		message = &consult{question: b.Graph, reply: func(g *loomv1.GraphReply) { reply(consulted(g)) }}
	case *loomv1.CellRequest_List:
		return p.partitions[n], &list{reply}, nil
	default:
		return nil, nil, fault.New("command/malformed", "a cell understands no %T", b)
	}
	if of := p.of(id); of != n {
		return nil, nil, fault.New("command/malformed", "project %q is of partition %d, and partition %d was asked", id, of, n)
	}
	return p.cell(n, id, message), message, nil
}

func answered(a *loomv1.Answer) *loomv1.CellReply {
	return &loomv1.CellReply{Body: &loomv1.CellReply_Answer{Answer: a}}
}

func viewed(v *loomv1.View) *loomv1.CellReply {
	return &loomv1.CellReply{Body: &loomv1.CellReply_View{View: v}}
}

func consulted(g *loomv1.GraphReply) *loomv1.CellReply {
	return &loomv1.CellReply{Body: &loomv1.CellReply_Graph{Graph: g}}
}

func listed(ids []string) *loomv1.CellReply {
	return &loomv1.CellReply{Body: &loomv1.CellReply_Projects{Projects: &loomv1.ProjectIds{Ids: ids}}}
}

// unwrap makes of a reply its part, with the reply's own error in its place.
func unwrap[T interface {
	comparable
	proto.Message
}](part func(*loomv1.CellReply) T, refuse func(*loomv1.Error) T, reply func(T)) func(*loomv1.CellReply) {
	return func(r *loomv1.CellReply) {
		var none T
		switch v := part(r); {
		case r.GetError() != nil:
			reply(refuse(r.Error))
		case v == none:
			reply(refuse(fault.New("host/unavailable", "another host answered with %s", fmt.Sprintf("%T", r.GetBody())).Proto()))
		default:
			reply(v)
		}
	}
}
