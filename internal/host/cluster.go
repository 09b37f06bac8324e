package host

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

func (h *Host) serveCluster(ctx context.Context, _ service.Call) proto.Message {
	s, agreed := h.broker.Status(ctx), h.agreed()
	s.Format, s.FormatHeldBy, s.FormatRead = agreed.Number, agreed.Host, h.config.Format.Number()
	for _, p := range h.hearing.now().Broken {
		s.Waiting, s.Whole = append(s.Waiting, fmt.Sprintf("hosts %s and %s do not hear each other", p.One, p.Other)), false
	}
	return &loomv1.ClusterReply{Status: s}
}

// changeMembers changes which hosts belong to the deployment, for operators, and keeps a
// note of it.
func (h *Host) changeMembers(ctx context.Context, q *loomv1.MembersRequest, c service.Call) (*loomv1.MembersReply, error) {
	if c.From.GetKind() != loomv1.IdentityKind_IDENTITY_KIND_OPERATOR {
		return nil, fault.New("request/denied", "only operators change which hosts belong to the deployment").At("svc.members")
	}
	if q.Remove != "" && slices.ContainsFunc(h.hosts(), func(p *loomv1.HostPresence) bool { return p.Host == q.Remove && p.Alive }) {
		return nil, fault.New("cluster/running", "host %s lives, or did until a moment ago", q.Remove).At(q.Remove).Want("stop it first; then wait for some seconds")
	}
	before := h.broker.Members().Generation
	change := membership.Change{Remove: q.Remove, Authority: q.Authority, Hosts: int(q.Hosts), Reason: q.Reason}
	list, err := h.broker.ChangeMembers(ctx, change, c.From.GetName())
	if err != nil {
		return nil, err
	}
	if list.Generation != before {
		h.log.Info("the deployment's hosts were changed", "by", c.From.GetName(), "removed", q.Remove, "wanted", list.Hosts, "reason", q.Reason)
		h.forget(q.Remove)
		h.staff.wake() // and have it journaled
	}
	return h.membersReply(), nil
}

// membersReply says which hosts belong to the deployment, and what others need to join.
func (h *Host) membersReply() *loomv1.MembersReply {
	list, j := h.broker.Members(), h.broker.Join()
	return &loomv1.MembersReply{
		Deployment: j.Deployment, Cluster: j.Cluster, Lineage: list.Lineage, Generation: list.Generation, Hosts: uint32(j.Hosts), Replicas: uint32(j.Replicas),
		Partitions: uint32(j.Partitions), Epoch: j.Epoch, Ceo: j.CEO, Routes: j.Routes, Places: uint32(list.Places()), List: list.Encode(),
	}
}

// noteMembers has the changes of the list of hosts journaled that are not yet.
// Every host does so, because who changed the list may be gone; the journal takes
// each change once. What fails is tried again with the next look.
func (h *Host) noteMembers(ctx context.Context) {
	list := h.broker.Members()
	if !list.Newer(h.staff.noted) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, tellWithin)
	defer cancel()
	wanted, err := h.wanted(ctx)
	if err != nil {
		return
	}
	noted := wanted.GetMembersGeneration()
	if wanted.GetMembersLineage() != list.Lineage {
		noted = 0
	}
	for _, d := range list.Since(noted) {
		if err := h.noteChange(ctx, list, d); err != nil {
			h.log.Debug("a change of the list of hosts is not journaled yet", "generation", d.Generation, "error", err)
			return
		}
	}
	h.staff.noted = list
}

// noteChange has a change journaled in the name of who made it. It is not tried
// while a host is there that could not read it.
func (h *Host) noteChange(ctx context.Context, l membership.List, d membership.Done) error {
	change := l.Event(d)
	if err := h.config.Format.Check(&loomv1.Event{Fact: &loomv1.Event_MembersChanged{MembersChanged: change}}, h.agreed()); err != nil {
		return err
	}
	by := &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_OPERATOR, Name: d.By}
	if d.Joined != "" {
		by.Kind = loomv1.IdentityKind_IDENTITY_KIND_HOST
	}
	_, err := h.projects.Do(ctx, &loomv1.Command{
		Project: project.System, Actor: by, Body: &loomv1.Command_RecordMembers{RecordMembers: &loomv1.RecordMembers{Change: change}},
	})
	return err
}
