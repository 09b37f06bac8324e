package roles

import (
	"slices"
	"strings"
)

// Openings are the ways between a host's agents and the world outside that its
// operator has opened. The zero value opens nothing.
type Openings struct {
	// Web says that hosts of the web, or a search engine, may be asked; Data that
	// services with figures may.
	Web, Data bool
	// Servers says that tools of external servers are there.
	Servers bool
	// Unsandboxed says that commands of agents run without a sandbox.
	Unsandboxed bool
	// Sandbox is the most that the host gives to commands. What is not said is as
	// in [DefaultSandbox].
	Sandbox Sandbox
}

// Most is all that commands in the sandbox can have.
func (o Openings) Most() Sandbox { return o.Sandbox.Over(DefaultSandbox()) }

// Reach is what a role's tools can get at. A role with all three can be made, by
// what it reads, to give away what else it reads.
type Reach struct {
	// Private are files that may be nobody else's.
	Private bool
	// Strangers are texts of whoever publishes them.
	Strangers bool
	// Out is a way by which what it writes leaves the host.
	Out bool
}

// All says whether a role can get at all three.
func (r Reach) All() bool { return r.Private && r.Strangers && r.Out }

func (r Reach) with(o Reach) Reach {
	return Reach{r.Private || o.Private, r.Strangers || o.Strangers, r.Out || o.Out}
}

// asked is the role that sub_agent asks.
const asked = "researcher"

// private are the tools that read files, or what files say.
var private = []string{
	"apply_patch", "content_search", "data_analysis", "file_edit", "file_read", "git_blame", "git_diff", "git_log", "git_show",
	"lsp_diagnostics", "shell", "spreadsheet", "template_fill",
}

// services are the tools that ask services with data.
var services = []string{"alpha_vantage", "arxiv", "fred", "openalex", "sec_edgar", "wikipedia", "world_bank"}

// Reach says what a role of the set can get at on a host with these openings: by
// its own tools, and by the roles that it can give tasks or questions to or write to
// in a team, for they are told what it writes and it is told what they do.
func (s *Set) Reach(name string, o Openings) Reach {
	r, seen := Reach{}, map[string]bool{}
	var add func(name string)
	add = func(name string) {
		role, ok := s.Get(name)
		if !ok || seen[role.Name] {
			return
		}
		seen[role.Name] = true
		r = r.with(role.reach(o))
		for _, to := range s.gives(role) {
			add(to)
		}
	}
	add(name)
	return r
}

// gives returns the roles that a role can have do something, or write to.
func (s *Set) gives(r Role) []string {
	all := r.Tools.All()
	switch {
	case slices.ContainsFunc([]string{"delegate_task", "spawn_agent", "task_assign", "team_write"}, func(t string) bool { return slices.Contains(all, t) }):
		return s.Names()
	case slices.Contains(all, "sub_agent"):
		return []string{asked}
	}
	return nil
}

// reach is what a role's own tools can get at.
func (r Role) reach(o Openings) (reach Reach) {
	for _, tool := range r.Tools.All() {
		outside := false
		switch {
		case tool == "web_fetch", tool == "web_feed", tool == "web_search":
			outside = o.Web
		case slices.Contains(services, tool):
			outside = o.Data
		case tool == "shell", tool == "lsp_diagnostics":
			outside = o.Unsandboxed || r.Sandbox.Within(o.Most()).Network == NetworkHost
		case strings.HasPrefix(tool, "mcp_"):
			outside = o.Servers
		}
		reach = reach.with(Reach{slices.Contains(private, tool), outside, outside})
	}
	return reach
}
