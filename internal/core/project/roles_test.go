package project_test

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// tell has a host report its agents.
func (d *desk) tell(host string, epoch uint64, agents map[string]uint32) {
	d.t.Helper()
	d.ok(&loomv1.Command{Body: &loomv1.Command_ReportRoles{ReportRoles: &loomv1.ReportRoles{Host: host, Roles: &loomv1.HostRoles{Epoch: epoch, Agents: agents}}}})
}

func TestWF07_WorkForARoleWithoutALiveAgentIsEscalatedAfterTheGraceTime(t *testing.T) {
	type roles = map[string]uint32
	const step = time.Minute
	for _, tt := range []struct {
		name string
		do   func(d *desk)
		want time.Duration // after noon; 0 for never
	}{
		{"no host says anything", func(d *desk) { d.wait(24 * time.Hour) }, 0},
		{"a host has the role", func(d *desk) { d.tell("h1", 1, roles{"qa-engineer": 1}); d.wait(20 * time.Minute) }, 0},
		{"never seen", func(d *desk) { d.wait(step); d.tell("h1", 1, roles{"architect": 1}); d.wait(20 * time.Minute) }, step + project.DefaultGrace},
		{"a count of none is none", func(d *desk) { d.wait(step); d.tell("h1", 1, roles{"qa-engineer": 0}); d.wait(20 * time.Minute) }, step + project.DefaultGrace},
		{"gone", func(d *desk) {
			d.tell("h1", 1, roles{"qa-engineer": 1})
			d.wait(step)
			d.tell("h1", 1, roles{})
			d.wait(20 * time.Minute)
		}, step + project.DefaultGrace},
		{"gone and back within the grace time", func(d *desk) {
			d.tell("h1", 1, roles{"qa-engineer": 1})
			d.tell("h1", 1, roles{})
			d.wait(project.DefaultGrace - time.Second)
			d.tell("h2", 1, roles{"qa-engineer": 1})
			d.wait(20 * time.Minute)
		}, 0},
		{"gone from one host of two", func(d *desk) {
			d.tell("h1", 1, roles{"qa-engineer": 1})
			d.tell("h2", 1, roles{"qa-engineer": 1})
			d.tell("h1", 1, roles{})
			d.wait(20 * time.Minute)
		}, 0},
		{"a report of an earlier start does not count", func(d *desk) {
			d.tell("h1", 2, roles{"qa-engineer": 1})
			d.tell("h1", 1, roles{})
			d.wait(20 * time.Minute)
		}, 0},
		{"a restart in between", func(d *desk) {
			d.tell("h1", 1, roles{"qa-engineer": 1})
			d.wait(step)
			d.tell("h1", 1, roles{})
			d.restart()
			d.wait(20 * time.Minute)
		}, step + project.DefaultGrace},
		{"held by an agent all the while", func(d *desk) {
			d.tell("h1", 1, roles{"qa-engineer": 1})
			d.claim("qa-engineer")
			d.tell("h1", 1, roles{})
			d.wait(20 * time.Minute)
		}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDesk(t)
			d.report()
			n := len(d.events)
			tt.do(d)
			var at time.Duration
			count := 0
			for _, e := range d.since(n) {
				if a := e.GetApprovalRequested().GetApproval(); a != nil && strings.HasPrefix(a.Reason, "agent/none-live: ") {
					at, count = e.Time.AsTime().Sub(noon), count+1
				}
			}
			if at != tt.want || count > 1 {
				t.Errorf("escalated %d times, after %s; want after %s", count, at, tt.want)
			}
		})
	}
}

func TestWF07_AProjectCanHaveAnotherGraceTime(t *testing.T) {
	d := newDesk(t)
	d.ok(&loomv1.Command{Body: &loomv1.Command_RegisterProject{RegisterProject: &loomv1.RegisterProject{
		Config: &loomv1.ProjectConfig{Id: "shop", Repository: "/src/shop", TargetBranch: "main", Grace: durationpb.New(5 * time.Second)},
	}}})
	d.tell("h1", 1, map[string]uint32{"architect": 1})
	d.report()
	d.wait(4 * time.Second)
	if v, err := d.s.Look(project.Inbox, &loomv1.Query{}); err != nil || len(v.Approvals) != 0 {
		t.Errorf("inbox after 4s: %v, %v", v, err)
	}
	d.wait(time.Second)
	d.inbox()
}

func TestROLE02_AReportThatIsNoNewsIsNoFact(t *testing.T) {
	d := newDesk(t)
	d.tell("h1", 1, map[string]uint32{"architect": 1})
	n := len(d.events)
	d.tell("h1", 1, map[string]uint32{"architect": 1})
	if len(d.since(n)) != 0 {
		t.Errorf("facts %v", d.since(n))
	}
	for name, bad := range map[string]*loomv1.ReportRoles{
		"no roles":       {Host: "h1"},
		"a bad host":     {Host: "h 1", Roles: &loomv1.HostRoles{}},
		"a bad role":     {Host: "h1", Roles: &loomv1.HostRoles{Epoch: 2, Agents: map[string]uint32{"Not A Role": 1}}},
		"roles too many": {Host: "h1", Roles: &loomv1.HostRoles{Epoch: 2, Agents: many(1000)}},
	} {
		if _, err := d.do(&loomv1.Command{Body: &loomv1.Command_ReportRoles{ReportRoles: bad}}); err == nil || fault.Status(err) != fault.Invalid {
			t.Errorf("%s: %v, want it refused", name, err)
		}
	}
}

func many(n int) map[string]uint32 {
	m := map[string]uint32{}
	for i := range n {
		m["r"+strings.Repeat("x", i%50)+time.Duration(i).String()] = 1
	}
	return m
}
