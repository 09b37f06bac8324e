package host

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/host/fleet"
	"github.com/loomrun/loom/internal/host/staff"
	"github.com/loomrun/loom/internal/net/lease"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/proto/subject"
)

// Leases of a deployment.
const (
	leaseBucket = "LOOM_LEASES"
	// leaseTTL is how long a host that died is thought to live. With what it
	// takes to recover a partition it makes less than 5 s.
	leaseTTL = 2500 * time.Millisecond
)

// startFleet makes this host known to the others and learns of them.
func (h *Host) startFleet(ctx context.Context) error {
	m, nc := h.dir.Manifest(), h.broker.Core()
	c := fleet.Config{
		Host: m.Host, Epoch: m.Starts, Version: Version, Format: h.config.Format, Self: h.self, Agents: h.crew.live, Do: h.do,
		Registered: h.known.All, Projects: h.way, Broker: h.broker, Blobs: h.blobs, Wire: h.wire, LeavesChanged: h.share, Running: h.ctx, Log: h.log,
		Changed: func() { h.staff.Wake() },
		Say:     func(data []byte) { _ = nc.Publish(subject.Hears(), data) }, // again in a moment
		Listen: func(hear func([]byte)) error {
			_, err := nc.Subscribe(subject.Hears(), func(m *nats.Msg) { hear(m.Data) })
			return err
		},
	}
	if h.broker.Clustered() {
		js, err := jetstream.New(nc)
		if err != nil {
			return fmt.Errorf("host: %w", err)
		}
		c.Leases, err = lease.Open(ctx, js, lease.Config{
			Bucket: leaseBucket, Replicas: h.broker.Replicas(), TTL: leaseTTL, Renew: leaseTTL / 5, Logger: h.log,
		})
		if err != nil {
			return err
		}
	}
	h.fleet = fleet.New(c)
	h.staff = staff.New(staff.Config{
		Host: m.Host, Format: h.config.Format, Fleet: h.fleet, Broker: h.broker, Roles: h.roles, Projects: h.way, Learn: h.learn, Log: h.log,
		Resize: h.crew.resize,
	})
	return h.fleet.Start(ctx)
}

// share has leaf hosts come to the work that waits here, when one came or went.
func (h *Host) share() {
	if err := h.handover.Share(h.ctx); err != nil {
		h.log.Warn("work that waits is not shared with leaf hosts at once", "error", err)
	}
}

// startReports begins to tell the projects which agents there are.
func (h *Host) startReports(context.Context) error {
	h.fleet.Reports.Start()
	return nil
}

// startStaff begins to bring this host's agents to what is wanted of them.
func (h *Host) startStaff(context.Context) error {
	h.background.Go(func() { h.staff.Run(h.ctx) })
	return nil
}

// self is what this host is now.
func (h *Host) self() *loomv1.HostPresence {
	m := h.dir.Manifest()
	p := &loomv1.HostPresence{
		Host: m.Host, Epoch: m.Starts, Version: Version, StartedAt: timestamppb.New(h.started), Labels: h.config.Labels, Own: h.crew.own(),
		Url: h.broker.URL(), Alive: true, Format: h.config.Format.Number(), Unsandboxed: h.config.Unsandboxed, Roles: h.crew.counts(), Lacks: h.tools.lacks(),
	}
	h.mu.Lock()
	web := h.web
	h.mu.Unlock()
	projects := h.way()
	if projects != nil {
		for _, n := range projects.Here() {
			p.Partitions = append(p.Partitions, uint32(n))
		}
	}
	if web != nil {
		p.Http = web.URL()
	}
	return p
}

// alone says that no other host takes part in the deployment, and that nobody has
// credentials of a leaf host.
func (h *Host) alone() bool {
	return !h.broker.Clustered() && h.config.External == nil && len(h.broker.Workers()) == 0
}

// shared says whether other hosts may go on with what is begun here; on a leaf
// host they always may.
func (h *Host) shared() bool {
	return h.broker == nil || h.broker.Clustered() || len(h.broker.Workers()) > 0
}

// learnWithin bounds one look at what other hosts have registered.
const learnWithin = 5 * time.Second

// learn learns of the projects that other hosts have registered.
func (h *Host) learn(ctx context.Context) {
	if !h.broker.Clustered() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, learnWithin)
	defer cancel()
	if err := h.registrar.Learn(ctx); err != nil {
		h.log.Debug("it is not known which projects other hosts have registered and removed", "error", err)
	}
}
