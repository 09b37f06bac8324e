package process

import (
	"cmp"
	"os"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/ops/config"
	"github.com/loomrun/loom/processes"
)

// Preferred is the process that is taken where none is named, and what says so.
type Preferred struct {
	Name string
	From config.Origin
}

// ConfiguredProcess is what a configuration says, and whether it is that of the
// workspace, of the environment or a named file, which go over what lies there.
func ConfiguredProcess(c *config.Config) (s Preferred, near bool) {
	for _, v := range c.Get(console.ProcessTableKey) {
		if v.Entry == console.ProcessDefault && v.Values[0] != "" {
			far := slices.ContainsFunc(c.Files, func(f config.Source) bool { return f.Path == v.Origin.Name && !f.Workspace })
			return Preferred{v.Values[0], v.Origin}, !far || len(c.Files) == 1
		}
	}
	return s, false
}

// StandardProcess returns the process that is taken in a workspace where none is
// named: what its loom.toml says, else the only one that it has, else what the
// user's or the machine's configuration says; "" for none.
func (a *Commands) StandardProcess(workspace string, found *processes.Catalog) (Preferred, error) {
	environ := slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, console.ProcessPath+"=") })
	c, err := a.Settings().Load(a.PlacesOf(workspace), environ)
	if err != nil {
		return Preferred{}, err
	}
	said, near := ConfiguredProcess(c)
	only := Preferred{Name: found.Default(console.WorkspaceLayer)}
	if near {
		return said, nil
	}
	return cmp.Or(only, said), nil
}

// Take finds the process. What is wrong with a name that was configured is said
// of its place.
func (s Preferred) Take(a *Commands, found *processes.Catalog) (*processes.Entry, error) {
	e, err := a.lookUp(found, s.Name)
	if fault.Code(err) == "process/unknown" {
		f := *fault.From(err)
		return nil, f.At(s.From.String()).Want("%s", cmp.Or(f.Hint, "\"loom process list\" shows what there is"))
	}
	return e, err
}
