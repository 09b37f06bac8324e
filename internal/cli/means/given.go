package means

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/loomrun/loom/internal/base/redact"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/cli/models"
	"github.com/loomrun/loom/internal/ops/config"
)

// Given returns what the command line of an errand gave of these means, and of what its
// project is registered with, as arguments that a shell takes: a host that is to go on
// with the work needs them, too. Paths are absolute, and what belongs to the project has
// its name before it. Flags whose value holds a secret are named in left instead.
func (m *Means) Given(flags *pflag.FlagSet, project string) (args []string, left []string) {
	means, ofProject := pflag.NewFlagSet("means", pflag.ContinueOnError), pflag.NewFlagSet("project", pflag.ContinueOnError)
	New(m.console, true).Flags(means)
	(&Project{}).Flags(ofProject)
	if _, was := m.console.Given["data"]; was {
		args = append(args, "--data "+suggest.Arg(m.console.Data))
	}
	secrets := redact.Of(models.New(m.console).Confidential())
	for _, s := range m.console.ToRemember(flags) {
		before := ""
		switch {
		case ofProject.Lookup(s.Key) != nil:
			before = project + "="
		case means.Lookup(s.Key) == nil && s.Key != "roles":
			continue
		}
		if s.Entry != "" {
			before += s.Entry + "="
		}
		if slices.ContainsFunc(s.Values, func(v string) bool { return config.Shown(v) != v || len(secrets.In(v)) > 0 }) {
			left = append(left, "--"+s.Key)
			continue
		}
		for _, v := range s.Values {
			args = append(args, argument(flags.Lookup(s.Key), before+v))
		}
	}
	return args, slices.Compact(left)
}

// argument is a flag with a value as a shell takes it.
func argument(f *pflag.Flag, value string) string {
	if f.NoOptDefVal != "" { // its value does not stand behind a blank
		return strings.TrimSuffix("--"+f.Name+"="+suggest.Arg(value), "="+f.NoOptDefVal)
	}
	return "--" + f.Name + " " + suggest.Arg(value)
}
