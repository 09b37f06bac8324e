// Package staff does what operators want of the hosts and agents of a deployment: which
// hosts belong to it, how many agents of each role there are, and where. It takes what
// they say, and brings the agents of this host to that.
package staff

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/format"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/core/membership"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/core/staffing"
	"github.com/loomrun/loom/internal/host/fleet"
	"github.com/loomrun/loom/internal/host/service"
	"github.com/loomrun/loom/internal/store/datadir"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// Broker is what a staff asks of this host's broker, as to which hosts belong to the
// deployment.
type Broker interface {
	Status(ctx context.Context) *loomv1.ClusterStatus
	Members() membership.List
	ChangeMembers(ctx context.Context, c membership.Change, by string) (membership.List, error)
	// Join is what a host must know to join, but for the secrets.
	Join() datadir.Join
	// Workers returns the workers that may connect now, by name, with their roles.
	Workers() map[string][]string
}

// Config says what a staff works with. All of it is needed.
type Config struct {
	Host     string // this one
	Format   format.Build
	Fleet    *fleet.Fleet
	Broker   Broker
	Roles    *roles.Set
	Projects func() *actors.Projects // not nil when a service is asked, or [Staff.Run] runs
	// Resize brings this host's agents of a role to a number.
	Resize func(role string, agents int)
	// Learn is called in each look, and learns of what other hosts have registered.
	Learn func(ctx context.Context)
	Log   *slog.Logger
}

// Staff brings the agents of a host to what is wanted of them: when somebody
// says so, when a host comes or goes, and now and then, because what others
// were told may not have come here. All methods may be called at the same time.
type Staff struct {
	config Config
	woken  chan struct{}
	noted  membership.List // the list of hosts whose changes are journaled, of Run alone
}

const (
	// LookAgain is how often a host looks at what is wanted by itself.
	LookAgain = 2 * time.Second
	// tellWithin bounds what is asked and told beside services, wantedWithin what is
	// wanted.
	tellWithin   = 5 * time.Second
	wantedWithin = 30 * time.Second
)

// New returns a staff. It changes no agents before [Staff.Run].
func New(c Config) *Staff { return &Staff{config: c, woken: make(chan struct{}, 1)} }

// Services returns the services that a staff answers, by name.
func (s *Staff) Services() map[string]service.Handler {
	return map[string]service.Handler{
		"hosts":   s.hosts,
		"cluster": s.cluster,
		"members": service.Of(s.changeMembers),
		"scale":   service.Of(s.scale),
		"drain":   service.Of(s.drain),
	}
}

// Wake has the agents looked at. It never blocks.
func (s *Staff) Wake() {
	select {
	case s.woken <- struct{}{}:
	default:
	}
}

// Run looks again and again until ctx ends.
func (s *Staff) Run(ctx context.Context) {
	look := time.NewTicker(LookAgain)
	defer look.Stop()
	for ctx.Err() == nil {
		s.resize(ctx)
		s.config.Fleet.Spread()
		s.config.Learn(ctx)
		s.noteMembers(ctx)
		select {
		case <-s.woken:
		case <-look.C:
		case <-ctx.Done():
		}
	}
}

// resize has each pool come to its share. While what is wanted cannot be
// learnt, everything stays as it is.
func (s *Staff) resize(ctx context.Context) {
	wanted, err := s.Wanted(ctx)
	if err != nil {
		return
	}
	hosts := s.sharers(wanted, s.config.Fleet.Hosts())
	for _, role := range s.config.Roles.Names() {
		if r, _ := s.config.Roles.Get(role); !r.Human {
			s.config.Resize(role, staffing.Wanted(role, wanted.GetScales()[role], hosts)[s.config.Host])
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

// Wanted is what is wanted of roles and hosts; nothing, where nobody said
// anything yet.
func (s *Staff) Wanted(ctx context.Context) (*loomv1.Staffing, error) {
	ctx, cancel := context.WithTimeout(ctx, wantedWithin)
	defer cancel()
	view, err := s.config.Projects().Look(ctx, project.Staffing, &loomv1.Query{Project: project.System})
	if fault.Code(err) == "project/unknown" {
		return &loomv1.Staffing{}, nil
	}
	if err == nil && view.Staffing == nil {
		view.Staffing = &loomv1.Staffing{}
	}
	return view.GetStaffing(), err
}

func (s *Staff) hosts(ctx context.Context, _ service.Call) proto.Message {
	ctx, cancel := context.WithTimeout(ctx, tellWithin)
	defer cancel()
	wanted, err := s.Wanted(ctx)
	reply := &loomv1.HostsReply{Hosts: s.config.Fleet.Registered(ctx), By: s.config.Host, Staffing: wanted}
	reply.Format, reply.FormatHeldBy = s.config.Fleet.Agreed().Number, s.config.Fleet.Agreed().Host
	if err != nil { // what is known of the hosts is needed most when something is wrong
		reply.Unknown, reply.Staffing = fault.From(err).Proto(), nil
	}
	for _, p := range reply.Hosts {
		p.Drained = wanted.GetDrained()[p.Host]
	}
	return reply
}

// scale changes how many agents of a role there are.
func (s *Staff) scale(ctx context.Context, scale *loomv1.ScaleRole, c service.Call) (*loomv1.StaffingReply, error) {
	if err := s.checkScale(scale); err != nil {
		return nil, err
	}
	return s.change(ctx, &loomv1.Command{Actor: c.From, Body: &loomv1.Command_ScaleRole{ScaleRole: scale}})
}

// drain has a host give its agents up, or have them again.
func (s *Staff) drain(ctx context.Context, drain *loomv1.DrainHost, c service.Call) (*loomv1.StaffingReply, error) {
	if !drain.Undo {
		if err := s.checkHost(drain.Host); err != nil {
			return nil, err
		}
	}
	return s.change(ctx, &loomv1.Command{Actor: c.From, Body: &loomv1.Command_DrainHost{DrainHost: drain}})
}

// change has what is wanted changed.
func (s *Staff) change(ctx context.Context, cmd *loomv1.Command) (*loomv1.StaffingReply, error) {
	cmd.Project = project.System
	if _, err := s.config.Projects().Do(ctx, cmd); err != nil {
		return nil, err
	}
	s.Wake()
	now, err := s.Wanted(ctx)
	return &loomv1.StaffingReply{Staffing: now}, err
}

// checkScale refuses roles that do not exist or are people, and hosts that
// nobody has seen.
func (s *Staff) checkScale(c *loomv1.ScaleRole) error {
	role, ok := s.config.Roles.Get(c.Role)
	switch {
	case !ok:
		return fault.New("scale/invalid", "there is no role %q", c.Role).At("role").Got(c.Role).Want("%s", suggest.Among(c.Role, s.config.Roles.Names()))
	case role.Human:
		return fault.New("scale/invalid", "role %q is a person's", c.Role).At("role").Got(c.Role)
	}
	c.Role = role.Name
	for _, host := range append([]string{c.Host}, c.GetConfine().GetHosts()...) {
		if host != "" && !c.Clear {
			if err := cmp.Or(s.checkHost(host), s.checkLeaf(host, role.Name)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Staff) checkHost(name string) error {
	var names []string
	for _, p := range s.config.Fleet.Hosts() {
		if p.Host == name {
			return nil
		}
		names = append(names, p.Host)
	}
	return fault.New("scale/invalid", "no host %q has been seen here", name).At("host").Got(name).Want("%s", suggest.Among(name, names))
}
