package host

import (
	"maps"
	"slices"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/roles"
)

// maxAgents is how many agents of a role a host can be asked to run.
const maxAgents = 1000

// checkAgents refuses roles that do not exist or are people, and numbers that
// make no sense.
func checkAgents(agents map[string]int, set *roles.Set) []*fault.Error {
	var errs []*fault.Error
	for _, name := range slices.Sorted(maps.Keys(agents)) {
		role, known := set.Get(name)
		switch n := agents[name]; {
		case !known:
			errs = append(errs, fault.New("role/unknown", "no such role").At("agents").Got(name).Want("%s", suggest.Among(name, set.Names())))
		case role.Human:
			errs = append(errs, fault.New("usage/argument", "role %q is a person", name).At("agents"))
		case n < 0 || n > maxAgents:
			errs = append(errs, fault.New("usage/argument", "%d agents of role %q; there can be 0 to %d", n, name, maxAgents).At("agents"))
		}
	}
	return errs
}
