package host

import (
	"context"
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/host/disk"
	"github.com/loomrun/loom/internal/host/journals"
	"github.com/loomrun/loom/internal/host/service"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// services returns what this host answers, by name: those that only read, those
// that change something, those of the staff, and these.
func (h *Host) services() map[string]service.Handler {
	all := h.reading.Services()
	maps.Copy(all, h.writing.Services())
	maps.Copy(all, h.staff.Services())
	maps.Copy(all, map[string]service.Handler{
		"host":      h.serveHost,
		"retention": service.Asked(h.retention.Retain),
	})
	return all
}

// looksAt is how long a host's status waits for its projects.
const looksAt = 2 * time.Second

// blocks returns what the operator has to mend before work of the projects goes
// on. What a project does not tell in time is left out.
func (h *Host) blocks(ctx context.Context) (list []*loomv1.ModelBlock) {
	ctx, cancel := context.WithTimeout(ctx, looksAt)
	defer cancel()
	for _, id := range h.known.All() {
		view, err := h.projects.Look(ctx, project.Inbox, &loomv1.Query{Project: id, Limit: 1, Newest: true})
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
		Roles: h.crew.counts(), StartedAt: timestamppb.New(h.started), Ceo: m.CEO, Model: h.model.Name(),
		Unsandboxed: h.config.Unsandboxed, Sandbox: h.sandboxText(), Disk: h.disk.Use(ctx, disk.Fresh), Blocks: h.blocks(ctx), Tables: h.tables.Lag(),
		ClocksApart: h.clocks.told(), Damage: h.stored.told(), Hindrances: h.hindrances(ctx),
	}
}

// hindrances are why the host takes nothing new now.
func (h *Host) hindrances(ctx context.Context) (list []*loomv1.Error) {
	if err := h.space.Admit(); err != nil {
		list = append(list, fault.From(err).Proto())
	}
	for _, log := range h.journals.Logs {
		err := log.(*journals.Timed).Failed(ctx)
		if err != nil && !slices.ContainsFunc(list, func(e *loomv1.Error) bool { return e.Code == fault.From(err).Code }) {
			list = append(list, fault.From(err).Proto())
		}
	}
	return list
}

// sandboxText is the most that commands may use, or "" where none run in a
// sandbox.
func (h *Host) sandboxText() string {
	if !h.Sandboxed() {
		return ""
	}
	return h.commands.Limit().String()
}

// coreConfig is what the cores of a project know of their surroundings when
// they only read what was.
func (h *Host) coreConfig(id string) project.Config {
	m := h.dir.Manifest()
	return project.Config{ID: id, Deployment: m.Deployment, Epoch: m.Epoch, LockLease: h.config.LockLease, Roles: h.roles}
}

// asksModel says whether this host has a model that can ask in primacy.
func (h *Host) asksModel() bool {
	m, ok := h.config.Models[processes.Analyst]
	if !ok {
		m = h.model
	}
	_, none := m.(model.None)
	return m != nil && !none
}
