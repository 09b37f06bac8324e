package project

import (
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// TestROLE02_StaffingIsOfTheSystemAndOfOperators covers who may, where, and
// that the state is what a replay gives.
func TestROLE02_StaffingIsOfTheSystemAndOfOperators(t *testing.T) {
	cfg := Config{ID: System, Deployment: "dp-1", Epoch: 1}
	s, replayed := New(cfg), New(cfg)
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	do := func(kind loomv1.IdentityKind, cmd *loomv1.Command) (int, string) {
		t.Helper()
		cmd.Actor = &loomv1.Identity{Kind: kind, Name: "somebody"}
		events, answer, err := s.Do(now, cmd)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			if err := replayed.Apply(proto.CloneOf(e)); err != nil {
				t.Fatal(err)
			}
		}
		return len(events), fault.Code(fault.FromProto(answer.GetError()))
	}
	eight := uint32(8)
	scale := func() *loomv1.Command {
		return &loomv1.Command{Body: &loomv1.Command_ScaleRole{ScaleRole: &loomv1.ScaleRole{Role: "researcher", Agents: &eight}}}
	}
	drain := func(undo bool) *loomv1.Command {
		return &loomv1.Command{Body: &loomv1.Command_DrainHost{DrainHost: &loomv1.DrainHost{Host: "h-1", Undo: undo}}}
	}
	operator := loomv1.IdentityKind_IDENTITY_KIND_OPERATOR
	for i, c := range []struct {
		kind   loomv1.IdentityKind
		cmd    *loomv1.Command
		events int
		code   string
	}{
		{loomv1.IdentityKind_IDENTITY_KIND_PUBLISHER, scale(), 0, "scale/identity"},
		{loomv1.IdentityKind_IDENTITY_KIND_AGENT, drain(false), 0, "scale/identity"},
		{operator, scale(), 1, ""},
		{operator, scale(), 0, ""},
		{operator, drain(true), 0, ""},
		{operator, drain(false), 1, ""},
		{operator, drain(false), 0, ""},
		{operator, drain(true), 1, ""},
		{operator, &loomv1.Command{Body: &loomv1.Command_DrainHost{DrainHost: &loomv1.DrainHost{Host: "*"}}}, 0, "id/malformed"},
	} {
		if n, code := do(c.kind, c.cmd); n != c.events || code != c.code {
			t.Errorf("%d: %d events and %q, want %d and %q", i, n, code, c.events, c.code)
		}
	}
	view, err := s.Look(Staffing, &loomv1.Query{Project: System})
	if err != nil || view.GetStaffing().GetScales()["researcher"].GetAgents() != 8 || len(view.Staffing.Drained) != 0 {
		t.Errorf("the view: %v, %v", view, err)
	}
	again, err := replayed.Look(Staffing, &loomv1.Query{Project: System})
	if err != nil || !proto.Equal(view, again) {
		t.Errorf("replayed: %v, %v", again, err)
	}
	members := func(lineage string, generation uint64) *loomv1.Command {
		return &loomv1.Command{Body: &loomv1.Command_RecordMembers{RecordMembers: &loomv1.RecordMembers{Change: &loomv1.MembersChanged{
			Lineage: lineage, Generation: generation, Removed: "h-1", Reason: "its disk is gone",
		}}}}
	}
	for i, c := range []struct {
		kind   loomv1.IdentityKind
		cmd    *loomv1.Command
		events int
		code   string
	}{
		{loomv1.IdentityKind_IDENTITY_KIND_AGENT, members("l", 2), 0, "command/unauthorized"},
		{operator, members("", 2), 0, "command/malformed"},
		{operator, members("l", 0), 0, "command/malformed"},
		{operator, members("l", 2), 1, ""},
		{operator, members("l", 2), 0, ""},
		{loomv1.IdentityKind_IDENTITY_KIND_HOST, members("l", 4), 1, ""},
		{operator, members("l", 3), 0, ""},
		{operator, members("of another deployment that went on from a backup", 2), 1, ""},
	} {
		if n, code := do(c.kind, c.cmd); n != c.events || code != c.code {
			t.Errorf("change %d: %d events and %q, want %d and %q", i, n, code, c.events, c.code)
		}
	}
	if s.p.Staffing.GetScales()["researcher"].GetAgents() != 8 || !proto.Equal(s.p.Staffing, replayed.p.Staffing) {
		t.Errorf("%v, replayed %v", s.p.Staffing, replayed.p.Staffing)
	}
	other := New(Config{ID: "shop", Deployment: "dp-1", Epoch: 1})
	cmd := scale()
	cmd.Actor = &loomv1.Identity{Kind: operator}
	if _, answer, _ := other.Do(now, cmd); answer.GetError().GetCode() != "command/malformed" {
		t.Errorf("another project takes it: %v", answer)
	}
}

// A host's records are journaled once, whatever comes again, and by hosts alone.
func TestSUB04_LivesAreJournaledOnce(t *testing.T) {
	cfg := Config{ID: System, Deployment: "dp-1", Epoch: 1}
	s := New(cfg)
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	record := func(sequence uint64, kind loomv1.LifeKind, agent string) *loomv1.LifeRecord {
		return &loomv1.LifeRecord{Kind: kind, Life: &loomv1.AgentLife{Agent: agent, Role: "lead", Sequence: sequence, Reason: "so\nbe it"}}
	}
	const started, crashed = loomv1.LifeKind_LIFE_KIND_STARTED, loomv1.LifeKind_LIFE_KIND_CRASHED
	host, operator := loomv1.IdentityKind_IDENTITY_KIND_HOST, loomv1.IdentityKind_IDENTITY_KIND_OPERATOR
	var many []*loomv1.LifeRecord
	for i := range uint64(maxLives + 1) {
		many = append(many, record(100+i, crashed, "lead/1"))
	}
	for _, tt := range []struct {
		what    string
		who     loomv1.IdentityKind
		host    string
		epoch   uint64
		records []*loomv1.LifeRecord
		facts   int
		code    string
	}{
		{"two starts", host, "h1", 1, []*loomv1.LifeRecord{record(1, started, "lead/1"), record(2, started, "lead/2")}, 2, ""},
		{"the same again, and one more", host, "h1", 1, []*loomv1.LifeRecord{record(2, started, "lead/2"), record(3, crashed, "lead/1")}, 1, ""},
		{"another host", host, "h2", 1, []*loomv1.LifeRecord{record(1, started, "lead/1")}, 1, ""},
		{"a new start", host, "h1", 2, []*loomv1.LifeRecord{record(1, started, "lead/1")}, 1, ""},
		{"late, of the start before", host, "h1", 1, []*loomv1.LifeRecord{record(9, crashed, "lead/1")}, 0, ""},
		{"several of a role", host, "h1", 2, []*loomv1.LifeRecord{record(2, crashed, "")}, 1, ""},
		{"an operator", operator, "h1", 2, []*loomv1.LifeRecord{record(3, crashed, "lead/1")}, 0, "command/unauthorized"},
		{"nothing", host, "h1", 2, nil, 0, "command/malformed"},
		{"too much", host, "h1", 2, many, 0, "command/malformed"},
		{"as much as can be", host, "h1", 2, many[:maxLives], maxLives, ""},
		{"of no kind", host, "h1", 2, []*loomv1.LifeRecord{record(500, 0, "lead/1")}, 0, "command/malformed"},
		{"in no order", host, "h1", 2, []*loomv1.LifeRecord{record(500, crashed, "lead/1"), record(500, crashed, "lead/1")}, 0, "command/malformed"},
		{"an agent of another role", host, "h1", 2, []*loomv1.LifeRecord{record(500, crashed, "analyst/1")}, 0, "command/malformed"},
		{"a host that is none", host, "*", 2, []*loomv1.LifeRecord{record(500, crashed, "lead/1")}, 0, "id/malformed"},
	} {
		events, answer, err := s.Do(now, &loomv1.Command{
			Actor: &loomv1.Identity{Kind: tt.who, Name: "h1"},
			Body:  &loomv1.Command_RecordLives{RecordLives: &loomv1.RecordLives{Host: tt.host, Epoch: tt.epoch, Records: tt.records}},
		})
		if code := fault.Code(fault.FromProto(answer.GetError())); err != nil || len(events) != tt.facts || code != tt.code {
			t.Errorf("%s: %d facts and %q, %v; want %d and %q", tt.what, len(events), code, err, tt.facts, tt.code)
		}
		for _, e := range events {
			if l := lifeOf(e); l.Host != tt.host || l.Epoch != tt.epoch || l.Reason != "so be it" || l.Times != 1 || l.Agents != 1 {
				t.Errorf("%s: the fact is %v", tt.what, l)
			}
		}
	}
	again, err := Restore(cfg, s.Snapshot())
	if err != nil || again.Hash() != s.Hash() {
		t.Errorf("a snapshot is another state: %v", err)
	}
}
