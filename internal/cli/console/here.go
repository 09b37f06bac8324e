package console

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/loomrun/loom/internal/ops/config"
)

// commandRun starts a host for one errand: it has the configuration of its
// workspace, and nothing of what "loom up" was started with before.
const commandRun = "loom run"

// projectIn returns the project that a configuration has in a directory, or "".
func projectIn(c *config.Config, dir string) string {
	located := func(path string) string {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
		return absolute(path)
	}
	for _, s := range c.Arguments(config.ProjectKey, func(string) bool { return false }) {
		name, path, _ := strings.Cut(s, "=")
		if path, _ = CutBranch(path); located(path) == located(dir) {
			return name
		}
	}
	return ""
}

// ofOnlyProject reports whether a flag takes for the only project of a command
// what is configured by the names of projects.
func (a *Console) ofOnlyProject(f *pflag.Flag) bool {
	return !KeyOf(f).Project && slices.ContainsFunc(a.Config.Schema, func(k config.Key) bool { return k.Name == f.Name && k.Project })
}

// valuesHere are those of a key for the project in this command's workspace.
func (a *Console) valuesHere(key string) (values []string) {
	for _, s := range a.Config.Get(key) {
		if a.here != "" && s.Entry == a.here {
			values = append(values, s.Values...)
		}
	}
	return values
}
