package host

import (
	"context"
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/host/disk"
	"github.com/loomrun/loom/internal/host/service"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// services returns what this host answers, by name: those that only read, those
// of the staff, and these.
func (h *Host) services() map[string]service.Handler {
	all := h.reading.Services()
	maps.Copy(all, h.staff.Services())
	maps.Copy(all, map[string]service.Handler{
		"submit":    h.serveSubmit,
		"report":    h.serveSubmit,
		"update":    service.Of(h.update),
		"fork":      service.Of(h.fork),
		"say":       service.Of(h.say),
		"command":   service.Of(h.command),
		"respond":   service.Of(h.respond),
		"decide":    service.Of(h.decideGraph),
		"remember":  service.Of(h.writeMemory),
		"intent":    service.Of(h.actInSession),
		"host":      h.serveHost,
		"retention": service.Asked(h.retention.Retain),
		"toolkit":   service.Of(h.keepTools),
		"register":  service.Of(h.changeProjects),
	})
	return all
}

func (h *Host) serveSubmit(ctx context.Context, c service.Call) proto.Message {
	if err := h.space.Admit(); err != nil {
		return &loomv1.SubmitReply{Error: fault.From(err).Proto()}
	}
	reply := h.intake.Submit(ctx, actors.Letter{Subject: c.Subject, ContentType: c.ContentType, Data: c.Data, From: c.From})
	if reply.Error != nil {
		reply.Error = fault.From(h.known.Suggest(fault.FromProto(reply.Error))).Proto()
	}
	return reply
}

// looksAt is how long a host's status waits for its projects.
const looksAt = 2 * time.Second

// blocks returns what the operator has to mend before work of the projects goes
// on. What a project does not tell in time is left out.
func (h *Host) blocks(ctx context.Context) (list []*loomv1.ModelBlock) {
	ctx, cancel := context.WithTimeout(ctx, looksAt)
	defer cancel()
	for _, id := range h.known.All() {
		view, err := h.projects.Look(ctx, project.Inbox, &loomv1.Query{Project: id, Limit: 1})
		if err != nil {
			h.log.Warn("a project tells nothing of its models", "project", id, "error", err)
			continue
		}
		for _, b := range view.Blocks {
			if !slices.ContainsFunc(list, func(known *loomv1.ModelBlock) bool { return known.Model == b.Model && known.Code == b.Code }) {
				list = append(list, b)
			}
		}
	}
	return list
}

func (h *Host) serveHost(ctx context.Context, _ service.Call) proto.Message {
	m := h.dir.Manifest()
	return &loomv1.HostReply{
		Deployment: m.Deployment, Host: m.Host, Epoch: m.Starts, Version: Version, Projects: h.known.Served(),
		Roles: h.counts(), StartedAt: timestamppb.New(h.started), Ceo: m.CEO, Model: h.model.Name(),
		Unsandboxed: h.config.Unsandboxed, Sandbox: h.sandboxText(), Disk: h.disk.Use(ctx, disk.Fresh), Blocks: h.blocks(ctx), Tables: h.tables.Lag(),
		ClocksApart: h.clocks.told(), Damage: h.stored.told(),
	}
}

// sandboxText is the most that commands may use, or "" where none run in a
// sandbox.
func (h *Host) sandboxText() string {
	if !h.Sandboxed() {
		return ""
	}
	return h.commands.Limit().String()
}

// counts returns how many agents of each role run here, and what answers for
// them.
func (h *Host) counts() []*loomv1.RoleCount {
	list := h.pools.Counts()
	for _, c := range list {
		c.Model = h.model.Name()
		if m, ok := h.config.Models[c.Role]; ok {
			c.Model = m.Name()
		}
	}
	return list
}
