package staff

import (
	"context"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/membership"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/host/service"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func (s *Staff) cluster(ctx context.Context, _ service.Call) proto.Message {
	status, agreed := s.config.Broker.Status(ctx), s.config.Fleet.Agreed()
	status.Format, status.FormatHeldBy, status.FormatRead = agreed.Number, agreed.Host, s.config.Format.Number()
	for _, p := range s.config.Fleet.Hearing().Broken {
		status.Waiting, status.Whole = append(status.Waiting, fmt.Sprintf("hosts %s and %s do not hear each other", p.One, p.Other)), false
	}
	return &loomv1.ClusterReply{Status: status}
}

// changeMembers changes which hosts belong to the deployment, for operators, and keeps a
// note of it.
func (s *Staff) changeMembers(ctx context.Context, q *loomv1.MembersRequest, c service.Call) (*loomv1.MembersReply, error) {
	if c.From.GetKind() != loomv1.IdentityKind_IDENTITY_KIND_OPERATOR {
		return nil, fault.New("request/denied", "only operators change which hosts belong to the deployment").At("svc.members")
	}
	if q.Remove != "" && slices.ContainsFunc(s.config.Fleet.Hosts(), func(p *loomv1.HostPresence) bool { return p.Host == q.Remove && p.Alive }) {
		return nil, fault.New("cluster/running", "host %s lives, or did until a moment ago", q.Remove).At(q.Remove).Want("stop it first; then wait for some seconds")
	}
	before := s.config.Broker.Members().Generation
	change := membership.Change{Remove: q.Remove, Authority: q.Authority, Hosts: int(q.Hosts), Reason: q.Reason}
	list, err := s.config.Broker.ChangeMembers(ctx, change, c.From.GetName())
	if err != nil {
		return nil, err
	}
	if list.Generation != before {
		s.config.Log.Info("the deployment's hosts were changed", "by", c.From.GetName(), "removed", q.Remove, "wanted", list.Hosts, "reason", q.Reason)
		s.config.Fleet.Forget(q.Remove)
		s.Wake() // and have it journaled
	}
	return s.membersReply(), nil
}

// membersReply says which hosts belong to the deployment, and what others need to join.
func (s *Staff) membersReply() *loomv1.MembersReply {
	list, j := s.config.Broker.Members(), s.config.Broker.Join()
	return &loomv1.MembersReply{
		Deployment: j.Deployment, Cluster: j.Cluster, Lineage: list.Lineage, Generation: list.Generation, Hosts: uint32(j.Hosts), Replicas: uint32(j.Replicas),
		Partitions: uint32(j.Partitions), Epoch: j.Epoch, Ceo: j.CEO, Routes: j.Routes, Places: uint32(list.Places()), List: list.Encode(),
	}
}

// noteMembers has the changes of the list of hosts journaled that are not yet.
// Every host does so, because who changed the list may be gone; the journal takes
// each change once. What fails is tried again with the next look.
func (s *Staff) noteMembers(ctx context.Context) {
	list := s.config.Broker.Members()
	if !list.Newer(s.noted) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, tellWithin)
	defer cancel()
	wanted, err := s.Wanted(ctx)
	if err != nil {
		return
	}
	noted := wanted.GetMembersGeneration()
	if wanted.GetMembersLineage() != list.Lineage {
		noted = 0
	}
	for _, d := range list.Since(noted) {
		if err := s.noteChange(ctx, list, d); err != nil {
			s.config.Log.Debug("a change of the list of hosts is not journaled yet", "generation", d.Generation, "error", err)
			return
		}
	}
	s.noted = list
}

// noteChange has a change journaled in the name of who made it. It is not tried
// while a host is there that could not read it.
func (s *Staff) noteChange(ctx context.Context, l membership.List, d membership.Done) error {
	change := l.Event(d)
	if err := s.config.Format.Check(&loomv1.Event{Fact: &loomv1.Event_MembersChanged{MembersChanged: change}}, s.config.Fleet.Agreed()); err != nil {
		return err
	}
	by := &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_OPERATOR, Name: d.By}
	if d.Joined != "" {
		by.Kind = loomv1.IdentityKind_IDENTITY_KIND_HOST
	}
	_, err := s.config.Projects().Do(ctx, &loomv1.Command{
		Project: project.System, Actor: by, Body: &loomv1.Command_RecordMembers{RecordMembers: &loomv1.RecordMembers{Change: change}},
	})
	return err
}
