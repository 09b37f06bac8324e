package roles_test

import (
	"slices"
	"testing"

	"github.com/loomrun/loom/roles"
)

// TestF39_NoRoleHasAllThree looks at every role on a host that opens nothing, and
// at some on hosts that open something.
func TestF39_NoRoleHasAllThree(t *testing.T) {
	set := roles.Builtin()
	for _, name := range set.Names() {
		if r := set.Reach(name, roles.Openings{}); r.All() || r.Out {
			t.Errorf("%s reaches %+v on a host that opens nothing", name, r)
		}
	}
	web, bare := roles.Openings{Web: true}, roles.Openings{Unsandboxed: true}
	all, files, none := roles.Reach{Private: true, Strangers: true, Out: true}, roles.Reach{Private: true}, roles.Reach{}
	for _, tt := range []struct {
		role string
		o    roles.Openings
		want roles.Reach
	}{
		{"analyst", roles.Openings{}, files},
		{"analyst", web, all},
		{"analyst", roles.Openings{Data: true}, all},
		{"analyst", bare, all},    // it has no shell, and can write to one who has
		{"researcher", web, all},  // it can write to an analyst of its team
		{"implementer", web, all}, // likewise
		{"implementer", bare, all},
		{"lead", roles.Openings{}, files},
		{"lead", web, all}, // it can give a task to the analyst
		{"lead", bare, all},
		{"ceo", web, none},
		{"nobody", web, none},
	} {
		if got := set.Reach(tt.role, tt.o); got != tt.want {
			t.Errorf("Reach(%s, %+v) = %+v, want %+v", tt.role, tt.o, got, tt.want)
		}
	}
}

// apart are the tools that reach nothing of the three by themselves: they tell
// names of files at most, write into the workspace, count, or speak to the team
// and the CEO. Whom a team's tools reach is counted apart.
var apart = []string{
	"agent_list", "agent_stop", "agent_watch", "ask_user", "calculator", "chart_data", "comparison_matrix",
	"decision_ballot", "decision_log", "decision_query", "decision_vote", "delegate_task", "directory_list", "document_write", "file_remove", "file_search",
	"file_write", "git_status", "memory_keep", "memory_search", "process", "reference_data", "spawn_agent", "sub_agent", "task_assign", "team_write", "todo",
}

// TestF39_EveryToolIsLookedAt holds that each tool has a place: one that reads
// files or strangers' texts must not be forgotten.
func TestF39_EveryToolIsLookedAt(t *testing.T) {
	reading := 0
	for _, tool := range roles.KnownTools() {
		o := roles.Openings{Web: true, Data: true, Servers: true, Unsandboxed: true}
		r := roles.Role{Name: "one", Tools: roles.Tools{Allow: []string{tool}}}
		if got := r.Own(o); got != (roles.Reach{}) {
			reading++
			continue
		}
		if !slices.Contains(apart, tool) {
			t.Errorf("%s has no place: does it read files, or what strangers write, or send something out?", tool)
		}
	}
	if reading < 10 {
		t.Errorf("%d tools reach something", reading)
	}
}
