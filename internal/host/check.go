package host

import (
	"context"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/host/registry"
	"github.com/loomrun/loom/internal/net/certificate"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// Check reports all that [Start] would refuse of a configuration whatever the data
// directory holds, at once. It starts nothing, changes nothing and asks no remote.
func (c Config) Check(ctx context.Context) error {
	errs := fault.All(c.check())
	var named []*loomv1.ProjectConfig
	for _, p := range c.Projects {
		named = append(named, p.Registration())
	}
	errs = append(errs, registry.Locate(ctx, named)...)
	if c.Certificate != "" || c.Key != "" {
		_, err := certificate.Open(c.Certificate, c.Key)
		errs = append(errs, fault.All(err)...)
	}
	return fault.Join(errs)
}

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

// checkNamed refuses what is named and cannot be: names of HTTP that no client could ask
// for, and files of servers that are not there.
func (c Config) checkNamed() (errs []*fault.Error) {
	for _, name := range c.HTTPHosts {
		at, err := url.Parse("http://" + name)
		if err != nil || at.Host != name || at.Hostname() == "" || strings.ContainsAny(name, " *") {
			errs = append(errs, fault.New("usage/argument", "not the name of a host").At("http-host").Got(name).Want("NAME or NAME:PORT, as clients ask for it"))
		}
	}
	for _, file := range c.MCP {
		if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
			errs = append(errs, fault.New("mcp/config", "no file that names servers of tools").At("mcp").Got(file).Want("a file as .mcp.json is"))
		}
	}
	return errs
}
