package main

import (
	"cmp"
	"os"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/ops/config"
	"github.com/loomrun/loom/processes"
	"github.com/loomrun/loom/proto/subject"
)

// processTableKey names, in a configuration, the process that is taken where none is
// named: [process] default = "NAME". It is no flag of a host's.
const (
	processTableKey = "process"
	processDefault  = "default"
	processPath     = "LOOM_PROCESS_PATH" // no setting: it stands in the environment alone
)

func checkProcess(entry string, values []string) error {
	if entry != processDefault {
		return fault.New("config/unknown-key", "nothing reads this key").Got(entry).
			Want("%s = \"NAME\"; directories to look in stand in %s", processDefault, processPath)
	}
	if values[0] == "" {
		return nil
	}
	_, err := subject.Parse("process", values[0])
	return err
}

// preferred is the process that is taken where none is named, and what says so.
type preferred struct {
	name string
	from config.Origin
}

// configuredProcess is what a configuration says, and whether it is that of the
// workspace, of the environment or a named file, which go over what lies there.
func configuredProcess(c *config.Config) (s preferred, near bool) {
	for _, v := range c.Get(processTableKey) {
		if v.Entry == processDefault && v.Values[0] != "" {
			far := slices.ContainsFunc(c.Files, func(f config.Source) bool { return f.Path == v.Origin.Name && !f.Workspace })
			return preferred{v.Values[0], v.Origin}, !far || len(c.Files) == 1
		}
	}
	return s, false
}

// standardProcess returns the process that is taken in a workspace where none is
// named: what its loom.toml says, else the only one that it has, else what the
// user's or the machine's configuration says; "" for none.
func (a *app) standardProcess(workspace string, found *processes.Catalog) (preferred, error) {
	environ := slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, processPath+"=") })
	c, err := settings().Load(a.placesOf(workspace), environ)
	if err != nil {
		return preferred{}, err
	}
	said, near := configuredProcess(c)
	only := preferred{name: found.Default(workspaceLayer)}
	if near {
		return said, nil
	}
	return cmp.Or(only, said), nil
}

// take finds the process. What is wrong with a name that was configured is said
// of its place.
func (s preferred) take(a *app, found *processes.Catalog) (*processes.Entry, error) {
	e, err := a.lookUp(found, s.name)
	if fault.Code(err) == "process/unknown" {
		f := *fault.From(err)
		return nil, f.At(s.from.String()).Want("%s", cmp.Or(f.Hint, "\"loom process list\" shows what there is"))
	}
	return e, err
}
