package host_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/core/notice"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/internal/net/broker"
	"github.com/loomrun/loom/internal/net/broker/brokertest"
	"github.com/loomrun/loom/internal/net/ceokey"
	"github.com/loomrun/loom/internal/net/client"
	"github.com/loomrun/loom/internal/store/datadir"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// patience bounds what hosts of a cluster are waited for.
const patience = 2 * time.Minute

// cluster is three hosts of one deployment in this process.
type cluster struct {
	t       *testing.T
	configs []host.Config
	hosts   []*host.Host
	left    atomic.Uint64 // space that host 0 has
}

func newCluster(t *testing.T, p model.Provider) *cluster {
	t.Helper()
	one := config(t, p)
	key, _, err := ceokey.OpenOrCreate(one.CEOKey)
	if err != nil {
		t.Fatal(err)
	}
	join, err := datadir.NewJoin("test", 3, 0, 2, key.Public())
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{t: t, hosts: make([]*host.Host, 3)}
	addresses := brokertest.Addresses(3)
	for i := range 3 {
		mine := one
		mine.Data, mine.Join = t.TempDir(), &join
		mine.Cluster = &broker.Cluster{Listen: addresses[i], Routes: addresses}
		mine.Labels = map[string]string{"zone": fmt.Sprintf("z%d", i)}
		if i == 0 {
			c.left.Store(1 << 40)
			mine.Free = func(string) (uint64, uint64, error) { return c.left.Load(), 1 << 41, nil }
		}
		c.configs = append(c.configs, mine)
	}
	var group sync.WaitGroup
	for i := range 3 {
		group.Go(func() { c.start(i) })
	}
	group.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return c
}

func (c *cluster) start(i int) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	h, err := host.Start(ctx, c.configs[i])
	if err != nil {
		c.t.Errorf("host %d: %v", i, err)
		return
	}
	c.hosts[i] = h
	c.t.Cleanup(func() { h.Stop(context.Background()) })
}

// fleet returns what a host knows of the hosts.
func (c *cluster) fleet(i int) *loomv1.HostsReply {
	c.t.Helper()
	reply, err := connect(c.t, c.hosts[i], "operator").Hosts(c.t.Context(), &loomv1.HostsRequest{})
	if err != nil {
		c.t.Fatal(err)
	}
	return reply
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for deadline := time.After(patience); !holds(); {
		select {
		case <-look.C:
		case <-deadline:
			t.Fatalf("never: %s", what)
		}
	}
}

// TestOPS01_ThreeHostsAreOneDeployment files beads over every host, has a role
// scaled, drains a host, and stops one: work goes on.
func TestOPS01_ThreeHostsAreOneDeployment(t *testing.T) {
	c := newCluster(t, scripted.New("nothing", nothing))
	done := func(from int, beads ...string) {
		t.Helper()
		eventually(t, fmt.Sprintf("beads %v are closed", beads), func() bool {
			view, err := connect(t, c.hosts[from], "operator").Bead(t.Context(), &loomv1.Query{Project: "shop"})
			if err != nil {
				return false
			}
			closed := 0
			for _, b := range view.Beads {
				if slices.Contains(beads, b.Id) && b.Status == loomv1.BeadStatus_BEAD_STATUS_CLOSED {
					closed++
				}
			}
			return closed == len(beads)
		})
	}
	filed := 0
	file := func(from int) (bead string) {
		t.Helper()
		filed++
		q := &loomv1.Submission{Project: "shop", Goal: "look at it", Process: project.AutoBug, IdempotencyKey: fmt.Sprint("look ", filed)}
		ops := connect(t, c.hosts[from], "operator")
		eventually(t, "a bead is filed", func() bool { // an election may take longer than a client waits
			reply, err := ops.Submit(t.Context(), q)
			if err != nil {
				t.Logf("filed again: %v", err)
				return false
			}
			bead = reply.Bead
			return true
		})
		return bead
	}
	beads := []string{file(0), file(1), file(2)}
	done(1, beads...)

	t.Run("ROLE02 desired and actual are known everywhere", func(t *testing.T) {
		n := uint32(7)
		if _, err := connect(t, c.hosts[2], "operator").Scale(t.Context(), &loomv1.ScaleRole{Role: "researcher", Agents: &n}); err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			eventually(t, "seven researchers", func() bool {
				total := 0
				for _, p := range c.fleet(i).Hosts {
					for _, r := range p.Roles {
						if r.Role == "researcher" {
							total += int(r.Actual)
						}
					}
				}
				return total == 7
			})
		}
	})

	t.Run("ROLE03 a role is confined by a label", func(t *testing.T) {
		scale := &loomv1.ScaleRole{Role: "researcher", Confine: &loomv1.Confinement{Labels: map[string]string{"zone": "z1"}}}
		if _, err := connect(t, c.hosts[0], "operator").Scale(t.Context(), scale); err != nil {
			t.Fatal(err)
		}
		eventually(t, "all researchers are in zone z1", func() bool {
			for _, p := range c.fleet(0).Hosts {
				for _, r := range p.Roles {
					if want := p.Labels["zone"] == "z1"; r.Role == "researcher" && want != (r.Actual == 7) {
						return false
					}
				}
			}
			return true
		})
	})

	t.Run("GRAPH02 who writes over one host reads it over every other", func(t *testing.T) {
		for i := range 3 {
			title := fmt.Sprint("written over host ", i)
			answer, err := connect(t, c.hosts[i], "operator").Decide(t.Context(), &loomv1.DecisionRequest{Project: "shop", Verb: &loomv1.DecisionRequest_Add{
				Add: &loomv1.AddDecision{Node: &loomv1.DecisionNode{Type: loomv1.DecisionType_DECISION_TYPE_DECISION, Title: title}, Request: title},
			}})
			if err != nil {
				t.Fatal(err)
			}
			for j := range 3 {
				reply, err := connect(t, c.hosts[j], "operator").Ask(t.Context(), &loomv1.GraphRequest{
					Project: "shop", Question: loomv1.GraphQuestion_GRAPH_QUESTION_RECENT, Limit: 5, AtLeast: &answer.Number,
				})
				if err != nil || reply.Number < answer.Number || !slices.ContainsFunc(reply.Graph.Nodes, func(n *loomv1.DecisionNode) bool { return n.Title == title }) {
					t.Errorf("%q over host %d: %v, %v", title, j, reply, err)
				}
			}
		}
	})

	t.Run("SEC02 who joined is journaled", func(t *testing.T) {
		eventually(t, "three hosts have joined, each once", func() bool {
			joined := map[string]int{}
			for _, e := range c.changes(1) {
				if e.Actor.GetKind() == loomv1.IdentityKind_IDENTITY_KIND_HOST && e.Actor.Name == e.GetMembersChanged().Joined {
					joined[e.Actor.Name]++
				}
			}
			return maps.Equal(joined, map[string]int{c.name(0): 1, c.name(1): 1, c.name(2): 1})
		})
	})

	t.Run("P5 who is cut off from one of the others leaves partitions to who hears all", func(t *testing.T) {
		at := c.leastServing() // and stands between the two others
		one, other := (at+1)%3, (at+2)%3
		c.hosts[one].Deafen(c.name(other))
		cutOff := func(i int) bool { return strings.Contains(c.missing(i), "do not hear each other") }
		eventually(t, "all partitions are served in between", func() bool { return c.serves(at, at) == 2 })
		eventually(t, "and all streams led", func() bool { return c.leads(at, one) == 0 && c.leads(at, other) == 0 && c.leads(at, at) > 0 })
		done(one, file(one), file(other))
		eventually(t, "the status says so", func() bool { return cutOff(at) })
		c.hosts[one].Deafen()
		eventually(t, "all hear each other", func() bool { return !cutOff(0) && !cutOff(1) && !cutOff(2) })
	})

	t.Run("OPS01 a host that stops is missed by nobody", func(t *testing.T) {
		c.hosts[0].Stop(context.Background())
		more := []string{file(1), file(2)}
		done(2, more...)
		eventually(t, "the others know", func() bool {
			alive := 0
			for _, p := range c.fleet(1).Hosts {
				if p.Alive {
					alive++
				}
			}
			return alive == 2
		})
		// OPS03: journals are cut while it is away, and it goes on from their bases.
		before := c.told(1, beads[0])
		eventually(t, "the journals are cut", func() bool { return c.cut(1) })
		c.start(0)
		done(0, file(0))
		for i := range 3 {
			if got := c.told(i, beads[0]); got != before {
				t.Errorf("over host %d: %s, want %s", i, got, before)
			}
		}
	})

	t.Run("P24 a host that cannot write leaves its work to others at once", func(t *testing.T) {
		h := c.hosts[0]
		c.left.Store(0)
		h.Unwritable()
		<-h.Spent() // though there is no space
		h.Stop(context.Background())
		done(2, file(1))
		away, cancel := context.WithCancel(t.Context())
		cancel()
		if err := h.AwaitSpace(away); err == nil {
			t.Error("it would begin anew on a full disk")
		}
		c.left.Store(1 << 40)
		if err := h.AwaitSpace(t.Context()); err != nil {
			t.Error(err)
		}
	})

	t.Run("SEC02 who removed a host is journaled, once", func(t *testing.T) {
		gone := c.name(0) // it has stopped
		for _, over := range []int{1, 2} {
			c.remove(over, gone)
		}
		for _, over := range []int{2, 1} {
			var told []string
			eventually(t, "it is journaled", func() bool {
				told = nil
				for _, e := range c.changes(over) {
					if e.GetMembersChanged().Removed != "" {
						told = append(told, notice.Summary(e))
					}
				}
				return len(told) > 0
			})
			want := fmt.Sprintf("system: the list of hosts was changed by operator: host %s removed: its disk is gone", gone)
			if len(told) != 1 || told[0] != want {
				t.Errorf("host %d tells %q, want %q", over, told, want)
			}
		}
	})
}

// serves is how many partitions host i serves, as another says.
func (c *cluster) serves(over, i int) int {
	c.t.Helper()
	for _, p := range c.fleet(over).Hosts {
		if p.Host == c.name(i) {
			return len(p.Partitions)
		}
	}
	return 0
}

// leads is how many streams host i leads, as another says.
func (c *cluster) leads(over, i int) int {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), within)
	defer cancel()
	status, err := connect(c.t, c.hosts[over], "operator").Cluster(ctx, &loomv1.ClusterRequest{})
	for _, h := range status.GetStatus().GetHosts() {
		if err == nil && h.Host == c.name(i) {
			return int(h.Leads)
		}
	}
	return -1 // not known
}

// leastServing is a host that serves not more partitions than any other.
func (c *cluster) leastServing() (least int) {
	for i := range 3 {
		if c.serves(0, i) < c.serves(0, least) {
			least = i
		}
	}
	return least
}

// missing is what keeps the deployment from being whole, as host i has it.
func (c *cluster) missing(i int) string {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), within)
	defer cancel()
	status, err := connect(c.t, c.hosts[i], "operator").Cluster(ctx, &loomv1.ClusterRequest{})
	if err != nil {
		return err.Error()
	}
	return strings.Join(status.Status.Waiting, "; ")
}

// name is how host i is called.
func (c *cluster) name(i int) string {
	c.t.Helper()
	m, err := datadir.Peek(c.configs[i].Data)
	if err != nil {
		c.t.Fatal(err)
	}
	return m.Host
}

// remove has a host over another one removed for good, once that bears it.
func (c *cluster) remove(over int, host string) {
	c.t.Helper()
	eventually(c.t, "the host is removed", func() bool {
		ctx, cancel := context.WithTimeout(c.t.Context(), within)
		defer cancel()
		_, err := connect(c.t, c.hosts[over], "operator").Members(ctx, &loomv1.MembersRequest{Remove: host, Reason: "its disk is gone"})
		return err == nil
	})
}

// changes are the changes of the list of hosts, as a host tells them; none when
// it does not know just now.
func (c *cluster) changes(over int) (list []*loomv1.Event) {
	ctx, cancel := context.WithTimeout(c.t.Context(), within)
	defer cancel()
	q := &loomv1.NoticesRequest{Project: project.System, Kinds: []string{"members-changed"}}
	err := connect(c.t, c.hosts[over], "operator").Follow(ctx, q, false, func(n *loomv1.Notice) error {
		list = append(list, n.Event)
		return nil
	})
	if err != nil {
		return nil
	}
	return list
}

// told is what a host tells of the transitions of a bead's execution.
func (c *cluster) told(i int, bead string) (text string) {
	c.t.Helper()
	eventually(c.t, "transitions are told", func() bool {
		moves, err := connect(c.t, c.hosts[i], "operator").History(c.t.Context(), &loomv1.HistoryRequest{Execution: bead + "-x1"})
		text = ""
		for _, m := range moves.Transitions {
			text += fmt.Sprintln(m.Id, m.From, m.To, m.Outcome)
		}
		return err == nil && text != ""
	})
	return text
}

// cut cuts all journals over a host, and says whether each is cut.
func (c *cluster) cut(i int) bool {
	reply, err := connect(c.t, c.hosts[i], "operator").Retention(c.t.Context(), &loomv1.RetentionRequest{Keep: 1})
	if err != nil {
		return false
	}
	for _, j := range reply.Journals {
		if j.Error != nil {
			c.t.Logf("journal %d: %v", j.Partition, j.Error)
			return false
		}
	}
	return true
}

// TestCLI01_AProjectIsAddedToACluster: what one host of three is told all know, and take
// work for, also when that host is gone and when it comes back; and so it is with what is
// removed.
func TestCLI01_AProjectIsAddedToACluster(t *testing.T) {
	longtest.Skip(t)
	c := newCluster(t, model.None{})
	ops := func(i int) *client.Client { return connect(t, c.hosts[i], "operator") }
	store := &loomv1.ProjectConfig{Id: "store", Repository: created(t), Checks: []string{"go vet ./..."}}
	var first *loomv1.RegisterReply
	eventually(t, "a project is added over host 1", func() (ok bool) {
		r, err := register(t, ops(1), store)
		if first == nil {
			first = r
		}
		return err == nil
	})
	if !first.GetAnew() {
		t.Errorf("the first answer: %v", first)
	}
	file := func(i int, key string) (bead string) {
		t.Helper()
		eventually(t, fmt.Sprintf("a bead is filed over host %d", i), func() bool {
			r, err := ops(i).Submit(t.Context(), &loomv1.Submission{Project: "store", Goal: "look at it", Process: project.AutoBug, IdempotencyKey: key})
			bead = r.GetBead()
			return err == nil
		})
		return bead
	}
	knows := func(i int) {
		t.Helper()
		eventually(t, fmt.Sprintf("host %d knows the project", i), func() bool {
			p := listed(t, ops(i), "store")
			return p.GetRemoved() == nil && slices.Equal(p.GetChecks(), store.Checks)
		})
	}
	for i := range 3 {
		knows(i)
	}
	beads := []string{file(2, "one")}
	c.hosts[1].Stop(t.Context())
	beads = append(beads, file(0, "two"))
	if again := file(2, "two"); again != beads[1] {
		t.Errorf("the same work is %s over one host and %s over another", beads[1], again)
	}
	c.start(1)
	knows(1)
	beads = append(beads, file(1, "three"))
	if want := []string{"store-1", "store-2", "store-3"}; !slices.Equal(beads, want) {
		t.Errorf("filed are %q, want %q", beads, want)
	}
	if err := remove(t, ops(0), "store"); fault.Code(err) != "project/has-work" {
		t.Errorf("removed with open work: %v", err)
	}
	key, err := ceokey.Open(c.configs[0].CEOKey)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range beads {
		shut, err := key.Close(c.hosts[0].Deployment(), "store", &loomv1.CloseExecution{Execution: b + "-x1", Reason: "not wanted", Now: true})
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, b+" is closed", func() bool {
			_, err := ops(0).Command(t.Context(), shut)
			return err == nil
		})
	}
	eventually(t, "it is removed over host 2", func() bool { return remove(t, ops(2), "store") == nil })
	for i := range 3 {
		eventually(t, fmt.Sprintf("host %d takes no more work for it", i), func() bool {
			_, err := ops(i).Submit(t.Context(), &loomv1.Submission{Project: "store", Goal: "more", Process: project.AutoBug, IdempotencyKey: fmt.Sprint("more ", i)})
			return fault.Code(err) == "project/removed"
		})
	}
}
