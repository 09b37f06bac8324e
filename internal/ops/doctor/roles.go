package doctor

import (
	"context"
	"strings"

	"github.com/loomrun/loom/roles"
)

// roles are those that a host would have agents of.
func (m *Machine) roles() *roles.Set {
	if m.Roles != nil {
		return m.Roles
	}
	return roles.Builtin()
}

// reaches says which roles can read files, read what strangers write, and send
// something out: what they read can have them give away what else they read.
func reaches(_ context.Context, m *Machine, n *notes) {
	set := m.roles()
	var all []string
	for _, name := range set.Names() {
		if set.Reach(name, m.Openings).All() {
			all = append(all, name)
		}
	}
	if len(all) == 0 {
		n.good("none can read private files, read what strangers write, and send something out")
		return
	}
	n.warn(strings.Join(all, ", ")+" can read private files, read what strangers write, and send something out",
		"open less (--source, servers of tools, --unsandboxed), or take tools from these roles where their files are secret")
}
