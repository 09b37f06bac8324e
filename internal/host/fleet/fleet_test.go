package fleet

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/core/membership"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// lone is the broker of a host that is alone, to which workers may connect.
type lone struct {
	workers map[string][]string
	heard   func(name string, said []byte)
}

func (l *lone) Workers() map[string][]string                      { return maps.Clone(l.workers) }
func (l *lone) WatchLeaves(heard func(string, []byte)) error      { l.heard = heard; return nil }
func (l *lone) PrepareWork(context.Context, string) error         { return nil }
func (l *lone) Members() membership.List                          { return membership.List{} }
func (l *lone) Yield(context.Context, []string)                   {}
func (l *lone) Sign(context.Context, func() *loomv1.HostPresence) {}
func (l *lone) Register(context.Context) []*loomv1.HostPresence   { return nil }

// says has a leaf host say what it is.
func (l *lone) says(t *testing.T, name string, p *loomv1.HostPresence) {
	t.Helper()
	data, err := proto.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	l.heard(name, data)
}

// told are the reports that projects are told, which can be waited for.
type told struct {
	mu   sync.Mutex
	all  []*loomv1.ReportRoles
	came chan *loomv1.ReportRoles
}

func (r *told) do(_ context.Context, _ string, cmd *loomv1.Command) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, cmd.GetReportRoles())
	r.came <- cmd.GetReportRoles()
	return nil
}

// alone is the fleet of host h1 that has one agent, of one project.
func alone(t *testing.T, workers map[string][]string) (*Fleet, *lone, *told) {
	t.Helper()
	b, r := &lone{workers: workers}, &told{came: make(chan *loomv1.ReportRoles, 100)}
	f := New(Config{
		Host: "h1", Epoch: 3, Broker: b, Do: r.do, Registered: func() []string { return []string{"shop"} }, Projects: func() *actors.Projects { return nil },
		Self:   func() *loomv1.HostPresence { return &loomv1.HostPresence{Host: "h1", Epoch: 3, Alive: true} },
		Agents: func() map[string]uint32 { return map[string]uint32{"lead": 1} }, Changed: func() {}, LeavesChanged: func() {},
		Running: t.Context(), Log: slog.New(slog.DiscardHandler),
	})
	if err := f.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return f, b, r
}

// What a leaf host says counts as far as its credentials go, and of its newest start.
func TestACT05_ALeafHostIsHeardAsFarAsItsCredentialsGo(t *testing.T) {
	f, b, _ := alone(t, map[string][]string{"w1": {"researcher"}, "w2": {"lead"}})
	says := func(name string, epoch uint64) {
		b.says(t, name, &loomv1.HostPresence{
			Host: "w1", Epoch: epoch, Alive: true, Partitions: []uint32{1}, Own: map[string]uint32{"lead": 1, "researcher": 1},
			Roles: []*loomv1.RoleCount{{Role: "researcher", Desired: 2}, {Role: "lead", Desired: 1}},
		})
	}
	says("w2", 9) // of another
	says("w1", 7)
	says("w1", 6) // of an earlier start
	if f.Leaf("w1") != 7 || f.Leaf("w2") != 0 {
		t.Errorf("the starts are %d and %d, want 7 and 0", f.Leaf("w1"), f.Leaf("w2"))
	}
	hosts := f.Hosts()
	if len(hosts) != 2 || !hosts[1].Leaf || len(hosts[1].Partitions) != 0 || len(hosts[1].Roles) != 1 || len(hosts[1].Own) != 1 {
		t.Errorf("hosts are %v", hosts)
	}
	// w2 may live, and not have been heard of yet.
	if got, want := f.Members(), (actors.Members{"w1": 7, "w2": 0}); !maps.Equal(got, want) {
		t.Errorf("members are %v, want %v", got, want)
	}
	if f.IsHost("w1") || !f.IsHost("h1") {
		t.Error("a leaf host is a host, or this host is none")
	}
}

// Projects are told of this host's agents and of those of leaf hosts, once for each
// start, and of this host's that there are none when it goes.
func TestWF07_ProjectsAreToldOfAllAgentsOnce(t *testing.T) {
	f, b, r := alone(t, map[string][]string{"w1": {"researcher"}})
	await := func(host string, epoch uint64, agents map[string]uint32) {
		t.Helper()
		got := <-r.came
		if got.Host != host || got.Roles.Epoch != epoch || !maps.Equal(got.Roles.Agents, agents) {
			t.Errorf("told %v, want %s %d %v", got, host, epoch, agents)
		}
	}
	leaf := func(epoch uint64) {
		b.says(t, "w1", &loomv1.HostPresence{Host: "w1", Epoch: epoch, Alive: true, Roles: []*loomv1.RoleCount{{Role: "researcher", Desired: 2}}})
	}
	f.Reports.Start()
	await("h1", 3, map[string]uint32{"lead": 1})
	leaf(7)
	await("w1", 7, map[string]uint32{"researcher": 2})
	leaf(7)
	leaf(8)
	await("w1", 8, map[string]uint32{"researcher": 2})
	f.Reports.Leave(t.Context())
	await("h1", 3, nil)
	if len(r.all) != 4 {
		t.Errorf("projects were told %d times, want 4: %v", len(r.all), r.all)
	}
}
