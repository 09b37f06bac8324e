package host

import (
	"context"

	"github.com/loomrun/loom/internal/host/seat"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// seats returns what answers agents of leaf hosts.
func (h *Host) seats() *seat.Server {
	return seat.New(seat.Config{
		Way: h.memories().Way(h.projects), Look: h.projects.Look, Registered: h.known.Has, Repository: h.repos.Open, Blobs: h.blobs, Roles: h.roles,
		Leaf: h.fleet.Leaf, IsHost: h.fleet.IsHost, Prepare: h.broker.PrepareWork, Welcome: h.welcome, Running: h.ctx, Log: h.log,
	})
}

// welcome says what a leaf host has joined, and what is wanted of it.
func (h *Host) welcome(ctx context.Context, hello *loomv1.LeafHello, roles []string) (*loomv1.LeafWelcome, error) {
	p := hello.GetPresence()
	wanted, err := h.staff.Wanted(ctx)
	if err != nil {
		return nil, err
	}
	h.notes.leaf(ctx, p)
	ended := map[string]string{}
	if ends, err := h.projection.Ends(ctx, hello.Worktrees[:min(len(hello.Worktrees), helloWorktrees)]); err == nil {
		for id, e := range ends {
			if !e.At.IsZero() {
				ended[id] = e.Project
			}
		}
	}
	return &loomv1.LeafWelcome{
		Deployment: h.dir.Manifest().Deployment, Drained: wanted.GetDrained()[p.Host], Roles: roles, Staff: h.staff.Leaf(wanted, p, roles), Ended: ended,
	}, nil
}
