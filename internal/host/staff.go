package host

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/core/membership"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/core/staffing"
	"github.com/loomrun/loom/internal/host/service"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// staff brings the pools of this host to what is wanted of them: when somebody
// says so, when a host comes or goes, and now and then, because what others
// were told may not have come here.
type staff struct {
	woken chan struct{}

	mu     sync.Mutex
	came   map[string]arrival // other hosts that live
	handed map[int]time.Time  // when a partition was handed over last

	noted membership.List // the list of hosts whose changes are journaled, of the loop alone
}

// arrival is a start of a host, and when it was first seen here.
type arrival struct {
	epoch uint64
	at    time.Time
}

// staffAgain is how often a host looks at what is wanted by itself.
const staffAgain = 2 * time.Second

// settled is how long another host must have been there before a partition is
// handed over to it.
const settled = 15 * time.Second

func newStaff() *staff {
	return &staff{woken: make(chan struct{}, 1), came: map[string]arrival{}, handed: map[int]time.Time{}}
}

// since notes when a start of another host was first seen.
func (s *staff) since(host string, epoch uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.came[host].epoch != epoch {
		s.came[host] = arrival{epoch, time.Now()}
	}
}

// stays says whether a start of another host has been there for a while.
func (s *staff) stays(host string, epoch uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.came[host]
	return a.epoch == epoch && time.Since(a.at) > settled
}

// handAgain is after how long a partition that came back is handed over again:
// whoever had it may not be able to serve it.
const handAgain = 5 * time.Minute

// may says whether a partition may be handed over.
func (s *staff) may(partition int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, was := s.handed[partition]
	return !was || time.Since(at) > handAgain
}

// hands notes that a partition is handed over.
func (s *staff) hands(partition int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handed[partition] = time.Now()
}

// spread hands a partition over that another host comes first for, one at a
// time: so each of several hosts has some, and a partition whose host went
// comes back to it.
func (h *Host) spread() {
	alive := h.takers()
	names := slices.Collect(maps.Keys(alive))
	for _, n := range h.projects.Here() {
		for _, other := range names {
			if other != h.name() && h.staff.may(n) && staffing.Rank(partitionKey(n), other, names) == 0 && h.staff.stays(other, alive[other]) {
				h.log.Info("a partition is handed over", "partition", n, "to", other)
				h.staff.hands(n)
				h.projects.HandOver(n)
				return
			}
		}
	}
}

// wake has the pools looked at. It never blocks.
func (s *staff) wake() {
	select {
	case s.woken <- struct{}{}:
	default:
	}
}

func (h *Host) startStaff(context.Context) error {
	h.background.Go(func() {
		look := time.NewTicker(staffAgain)
		defer look.Stop()
		for h.ctx.Err() == nil {
			h.resize(h.ctx)
			h.spread()
			h.learn(h.ctx)
			h.noteMembers(h.ctx)
			select {
			case <-h.staff.woken:
			case <-look.C:
			case <-h.ctx.Done():
			}
		}
	})
	return nil
}

// learn learns of the projects that other hosts have registered.
func (h *Host) learn(ctx context.Context) {
	if !h.broker.Clustered() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, tellWithin)
	defer cancel()
	if err := h.registrar.Learn(ctx); err != nil {
		h.log.Debug("it is not known which projects other hosts have registered and removed", "error", err)
	}
}

// resize has each pool come to its share. While what is wanted cannot be
// learnt, everything stays as it is.
func (h *Host) resize(ctx context.Context) {
	wanted, err := h.wanted(ctx)
	if err != nil {
		return
	}
	hosts := h.sharers(wanted, h.hosts())
	for _, role := range h.roles.Names() {
		if r, _ := h.roles.Get(role); !r.Human {
			h.pools.Resize(role, staffing.Wanted(role, wanted.GetScales()[role], hosts)[h.name()])
		}
	}
}

func counted(own map[string]uint32) map[string]int {
	m := map[string]int{}
	for role, n := range own {
		m[role] = int(n)
	}
	return m
}

// wanted is what is wanted of roles and hosts; nothing, where nobody said
// anything yet.
func (h *Host) wanted(ctx context.Context) (*loomv1.Staffing, error) {
	ctx, cancel := context.WithTimeout(ctx, serveWithin)
	defer cancel()
	view, err := h.projects.Look(ctx, project.Staffing, &loomv1.Query{Project: project.System})
	if fault.Code(err) == "project/unknown" {
		return &loomv1.Staffing{}, nil
	}
	if err == nil && view.Staffing == nil {
		view.Staffing = &loomv1.Staffing{}
	}
	return view.GetStaffing(), err
}

func (h *Host) serveHosts(ctx context.Context, _ service.Call) proto.Message {
	ctx, cancel := context.WithTimeout(ctx, tellWithin)
	defer cancel()
	wanted, err := h.wanted(ctx)
	reply := &loomv1.HostsReply{Hosts: h.registeredHosts(ctx), By: h.name(), Staffing: wanted}
	reply.Format, reply.FormatHeldBy = h.agreed().Number, h.agreed().Host
	if err != nil { // what is known of the hosts is needed most when something is wrong
		reply.Unknown, reply.Staffing = fault.From(err).Proto(), nil
	}
	for _, p := range reply.Hosts {
		p.Drained = wanted.GetDrained()[p.Host]
	}
	return reply
}

// scale changes how many agents of a role there are.
func (h *Host) scale(ctx context.Context, scale *loomv1.ScaleRole, c service.Call) (*loomv1.StaffingReply, error) {
	if err := h.checkScale(scale); err != nil {
		return nil, err
	}
	return h.change(ctx, &loomv1.Command{Actor: c.From, Body: &loomv1.Command_ScaleRole{ScaleRole: scale}})
}

// drain has a host give its agents up, or have them again.
func (h *Host) drain(ctx context.Context, drain *loomv1.DrainHost, c service.Call) (*loomv1.StaffingReply, error) {
	if !drain.Undo {
		if err := h.checkHost(drain.Host); err != nil {
			return nil, err
		}
	}
	return h.change(ctx, &loomv1.Command{Actor: c.From, Body: &loomv1.Command_DrainHost{DrainHost: drain}})
}

// change has what is wanted changed.
func (h *Host) change(ctx context.Context, cmd *loomv1.Command) (*loomv1.StaffingReply, error) {
	cmd.Project = project.System
	if _, err := h.projects.Do(ctx, cmd); err != nil {
		return nil, err
	}
	h.staff.wake()
	now, err := h.wanted(ctx)
	return &loomv1.StaffingReply{Staffing: now}, err
}

// checkScale refuses roles that do not exist or are people, and hosts that
// nobody has seen.
func (h *Host) checkScale(c *loomv1.ScaleRole) error {
	role, ok := h.roles.Get(c.Role)
	switch {
	case !ok:
		return fault.New("scale/invalid", "there is no role %q", c.Role).At("role").Got(c.Role).Want("%s", suggest.Among(c.Role, h.roles.Names()))
	case role.Human:
		return fault.New("scale/invalid", "role %q is a person's", c.Role).At("role").Got(c.Role)
	}
	c.Role = role.Name
	for _, host := range append([]string{c.Host}, c.GetConfine().GetHosts()...) {
		if host != "" && !c.Clear {
			if err := cmp.Or(h.checkHost(host), h.checkLeaf(host, role.Name)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (h *Host) checkHost(name string) error {
	var names []string
	for _, p := range h.hosts() {
		if p.Host == name {
			return nil
		}
		names = append(names, p.Host)
	}
	return fault.New("scale/invalid", "no host %q has been seen here", name).At("host").Got(name).Want("%s", suggest.Among(name, names))
}
