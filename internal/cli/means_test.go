package cli

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// onlyUp and onlyRun are the flags that one of the two commands has no use for, with the
// reason; ofOneProject are those that "loom up" takes for a project by its name, and "loom
// run" for the only one that it has.
var (
	onlyUp = map[string]string{
		"project":          "an errand has one project, its --workspace",
		"process-for":      "an errand names its process, --process",
		"operators-answer": "nobody but the user can connect to the host of an errand",
		"route-file":       "an errand takes no error reports",
		"listen":           "the host of an errand opens no port", "no-listen": "the same", "http": "the same", "http-host": "the same",
		"tls-cert": "the same", "tls-key": "the same", "insecure-network": "the same", "require-auth": "the same",
		"agents-only": "an errand runs the whole of a host, and alone", "label": "the same", "join": "the same", "seed": "the same", "cluster": "the same",
		"cluster-listen": "the same", "cluster-advertise": "the same", "routes": "the same",
		"board": "an errand shows its one bead anyway",
	}
	onlyRun = map[string]string{
		"workspace": "a host that serves has projects, --project", "out": "what a host that serves delivers is on branches",
		"process": "a submission, which names it: loom submit", "description": "the same", "set": "the same", "stakeholder": "the same", "idempotency-key": "the same", "plan": "the same", "planner": "the same",
		"approve": "a host that serves waits for loom approve", "allow-gaps": "a host that serves has no end that is one of its work",
	}
	ofOneProject = []string{"check", "setup", "setup-reads", "setup-makes", "setup-registry", "memory", "push", "patch"}
)

func ownFlags(t *testing.T, name string) map[string]*pflag.Flag {
	t.Helper()
	var cmd *cobra.Command
	cmd, _, err := Tree().Find([]string{name})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*pflag.Flag{}
	cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" {
			all[f.Name] = f
		}
	})
	return all
}

// "loom up" and "loom run" take the same flags with the same defaults and words, but
// for those of which it is said why not.
func TestCLI01_UpAndRunTakeTheSameMeans(t *testing.T) {
	up, run := ownFlags(t, "up"), ownFlags(t, "run")
	for _, of := range []struct {
		name         string
		flags, other map[string]*pflag.Flag
		only         map[string]string
	}{{"up", up, run, onlyUp}, {"run", run, up, onlyRun}} {
		for _, name := range slices.Sorted(maps.Keys(of.flags)) {
			if of.other[name] == nil && of.only[name] == "" {
				t.Errorf("only \"loom %s\" has --%s, and nothing says why", of.name, name)
			}
		}
		for name := range of.only {
			if of.flags[name] == nil || of.other[name] != nil {
				t.Errorf("--%s should be a flag of \"loom %s\" alone", name, of.name)
			}
		}
	}
	shared := 0
	for name, u := range up {
		r := run[name]
		if r == nil {
			continue
		}
		shared++
		usage := u.Usage
		if slices.Contains(ofOneProject, name) {
			usage = strings.Replace(usage, "`NAME=", "`", 1)
			if usage == u.Usage {
				t.Errorf("--%s of \"loom up\" takes nothing by project", name)
			}
		}
		if r.DefValue != u.DefValue || r.Usage != usage || r.Value.Type() != u.Value.Type() || r.Shorthand != u.Shorthand {
			t.Errorf("--%s: \"loom up\" has %q (%s, %q), \"loom run\" %q (%s, %q)", name, usage, u.Value.Type(), u.DefValue, r.Usage, r.Value.Type(), r.DefValue)
		}
	}
	if shared < 25 {
		t.Errorf("%d flags are the same, want all means", shared)
	}
}
