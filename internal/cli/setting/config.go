package setting

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/loomrun/loom/internal/agents/model/provider"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/cli/hosting"
	"github.com/loomrun/loom/internal/cli/means"
	"github.com/loomrun/loom/internal/cli/process"
	cliproject "github.com/loomrun/loom/internal/cli/project"
	"github.com/loomrun/loom/internal/host/isolation"
	"github.com/loomrun/loom/internal/ops/config"
	"github.com/loomrun/loom/internal/ops/doctor"
)

// Configuration returns the command of that name.
func (a *Commands) Configuration() *cobra.Command {
	return console.Group("config", "what a host is configured with, and from where",
		"  loom config show\n  loom config validate loom.toml", a.showConfig(), a.validateConfig())
}

func (a *Commands) showConfig() *cobra.Command {
	cmd := &cobra.Command{
		Use: "show [flags]", Short: "the values that hold, and where each came from", Args: console.Takes(),
		Long: `Show prints what "loom up" would work with here: every value, and the file and
line, variable or flag that it came from. It takes the flags of "loom up", too.

Values stand in loom.toml of the workspace, over the user's, over the machine's
/etc/loom/loom.toml; flags of earlier starts (remembered.toml of the data
directory) go over files, LOOM_* variables over these, flags over all. With
--config FILE, or LOOM_CONFIG, that file is read in the place of all three. Of a
secret it is told whether it is set, and by what. A project that "loom project
add" registered is shown as it is registered. Below stands what holds for each
model that is asked over HTTP (address, price, cache marks, time-outs), and the
setup of each project, with what it lacks.`,
		Example: "  loom config show\n  loom config show --json\n  LOOM_LOCK_LEASE=2m loom config show",
	}
	a.hostFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return a.printConfig(cmd.Context(), cmd.Flags()) }
	return cmd
}

// hostFlags lets a command take the flags of "up" without showing them.
func (a *Commands) hostFlags(cmd *cobra.Command) {
	hosting.New(a.Console).Up().LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" {
			f.Hidden = true
			cmd.Flags().AddFlag(f)
		}
	})
}

// effective is one value that holds.
type effective struct {
	Key    string        `json:"key"`
	Value  any           `json:"value"`
	Origin config.Origin `json:"origin"`
}

func (a *Commands) printConfig(ctx context.Context, flags *pflag.FlagSet) error {
	registered := cliproject.New(a.Console).Registered(ctx)
	values, secrets := withRegistered(a.effective(flags), registered), a.Secrets()
	terms, err := a.terms(flags)
	if err != nil {
		return err
	}
	setups, err := a.setups(ctx, flags)
	if err != nil {
		return err
	}
	if a.JSON {
		return json.NewEncoder(a.Out).Encode(map[string]any{
			"settings": values, "secrets": secrets, "models": terms, "setups": setups, "files": a.Config.Files, "ignored": append([]string{}, a.Config.Ignored...),
		})
	}
	rows := make([][]string, 0, len(values)+len(secrets))
	for _, v := range values {
		rows = append(rows, []string{v.Key, console.Dash(console.Line(shown(v.Value), 80)), v.Origin.String()})
	}
	for _, s := range secrets {
		rows = append(rows, []string{s.Name, s.State(), console.Dash(s.From)})
	}
	console.Table(a.Out, []string{"key", "value", "from"}, rows)
	for _, t := range terms {
		fmt.Fprintf(a.Out, "%s: %s\n", t.Model, t)
	}
	for _, s := range setups {
		s.print(a.Out)
	}
	for _, r := range registered {
		if notice := r.Notice(); notice != "" {
			fmt.Fprintf(a.Out, "%s; to have it: %s\n", notice, r.TakeOver())
		}
	}
	a.printFiles(a.Err)
	return nil
}

// withRegistered puts what projects are registered with by "loom project add" in the place
// of what files, variables and earlier starts say of them, which does not hold.
func withRegistered(list []effective, registered []cliproject.Registered) []effective {
	for _, r := range registered {
		before := config.ProjectKey + "." + r.Id + "."
		list = slices.DeleteFunc(list, func(e effective) bool {
			return (e.Key == strings.TrimSuffix(before, ".") || strings.HasPrefix(e.Key, before)) && e.Origin.From != config.FromFlag
		})
		add := func(key string, value any, set bool) {
			if set && !slices.ContainsFunc(list, func(e effective) bool { return e.Key == before+key }) {
				list = append(list, effective{before + key, value, config.Origin{From: config.FromRegistered, Name: "loom project add"}})
			}
		}
		add("repository", r.Repository, true)
		add("branch", r.TargetBranch, true)
		add("check", r.Checks, len(r.Checks) > 0)
		add("setup", r.Setup, len(r.Setup) > 0)
		add("memory", r.Memory, len(r.Memory) > 0)
		add("push", config.Shown(r.Remote), r.Remote != "")
	}
	slices.SortStableFunc(list, func(x, y effective) int { return cmp.Compare(x.Key, y.Key) })
	return list
}

// foundSetup is what makes checkouts of a project ready.
type foundSetup struct {
	Project string                `json:"project"`
	Steps   []isolation.SetupStep `json:"steps"`
	Why     string                `json:"why,omitempty"` // it cannot be looked at
}

// setups looks at the setup of each project.
func (a *Commands) setups(ctx context.Context, flags *pflag.FlagSet) ([]foundSetup, error) {
	registered, err := means.ProjectsOf(flags)
	all := []foundSetup{}
	for _, p := range registered {
		found := foundSetup{Project: p.ID}
		if steps, err := isolation.LookAtSetup(ctx, p.Registration()); err != nil {
			found.Why = err.Error()
		} else {
			found.Steps = steps
		}
		all = append(all, found)
	}
	return all, err
}

// print says it in a line for each command.
func (s foundSetup) print(w io.Writer) {
	switch {
	case s.Why != "":
		fmt.Fprintf(w, "setup of %s: %s\n", s.Project, s.Why)
	case len(s.Steps) == 0:
		fmt.Fprintf(w, "setup of %s: none\n", s.Project)
	}
	for _, step := range s.Steps {
		fmt.Fprintf(w, "setup of %s: %s", s.Project, console.Line(step.Command, 200))
		if step.For != "" {
			fmt.Fprintf(w, " (%s)", step.For)
		}
		if len(step.Keeps) > 0 {
			fmt.Fprintf(w, ", keeps %s", strings.Join(step.Keeps, ", "))
		}
		for _, l := range step.Lacks {
			fmt.Fprintf(w, "; %s", l.What)
		}
		fmt.Fprintln(w)
	}
}

func shown(v any) string {
	if list, ok := v.([]string); ok {
		return strings.Join(list, ", ")
	}
	return fmt.Sprint(v)
}

// printFiles tells which files were looked at, and what was not understood.
func (a *Commands) printFiles(w io.Writer) {
	for _, f := range a.Config.Files {
		state := "absent"
		if f.Read {
			state = "read"
		}
		fmt.Fprintf(w, "%s: %s\n", f.Path, state)
	}
	for _, name := range a.Config.Ignored {
		fmt.Fprintf(w, "%s sets nothing\n", name)
	}
}

// effective lists all values, the tables entry by entry.
func (a *Commands) effective(flags *pflag.FlagSet) []effective {
	var list []effective
	flags.VisitAll(func(f *pflag.Flag) {
		if slices.Contains(console.Unset, f.Name) {
			return
		}
		k := console.KeyOf(f)
		if k.Keyed || k.Project {
			list = append(list, a.tableOf(flags, f, k)...)
			return
		}
		var value any = config.Shown(f.Value.String())
		if s, ok := f.Value.(pflag.SliceValue); ok {
			value = append([]string{}, s.GetSlice()...)
		}
		list = append(list, effective{f.Name, value, a.origin(f, "")})
	})
	if s, _ := process.ConfiguredProcess(a.Config); s.Name != "" {
		list = append(list, effective{console.ProcessTableKey + "." + console.ProcessDefault, s.Name, s.From})
	}
	list = append(list, a.providerValues()...)
	slices.SortStableFunc(list, func(x, y effective) int { return cmp.Compare(x.Key, y.Key) })
	return list
}

// terms lists what holds for each model that a role would have and that is asked
// over HTTP, once.
func (a *Commands) terms(flags *pflag.FlagSet) ([]provider.Terms, error) {
	var m doctor.Machine
	if err := a.modelsOf(flags, &m); err != nil {
		return nil, err
	}
	c, err := a.Providers()
	if err != nil {
		return nil, err
	}
	all := []provider.Terms{}
	for _, one := range m.Models {
		terms, err := c.Terms(one.Spec)
		if err != nil {
			return nil, err
		}
		for _, t := range terms {
			if !slices.ContainsFunc(all, func(o provider.Terms) bool { return o.Model == t.Model }) {
				all = append(all, t)
			}
		}
	}
	return all, nil
}

// tableOf lists the entries of a flag that is a table.
func (a *Commands) tableOf(flags *pflag.FlagSet, f *pflag.Flag, k config.Key) []effective {
	var list []effective
	for _, v := range console.Slice(flags, f) {
		name, value, ok := strings.Cut(v, "=")
		if !ok {
			name, value = "", v
		}
		key := config.Setting{Key: f.Name, Entry: name}.Name(config.Schema{k})
		if n := len(list); n > 0 && list[n-1].Key == key {
			list[n-1].Value = append(list[n-1].Value.([]string), config.Shown(value))
			continue
		}
		list = append(list, effective{key, []string{config.Shown(value)}, a.origin(f, name)})
	}
	for i := range list {
		if one := list[i].Value.([]string); len(one) == 1 && (k.Kind != config.List || !k.Project) {
			list[i].Value = one[0]
		}
	}
	return list
}

// origin returns where the value of a flag, or of an entry of it, came from.
func (a *Commands) origin(f *pflag.Flag, entry string) config.Origin {
	if entries, was := a.Given[f.Name]; was && slices.Contains(entries, entry) {
		return config.Origin{From: config.FromFlag, Name: "--" + f.Name}
	}
	for _, s := range a.Config.Settings {
		if s.Entry == entry && (s.Key == f.Name || f.Name == config.ProjectKey && s.Key == "repository") && !a.Overruled(f.Name) {
			return s.Origin
		}
	}
	return config.Origin{From: config.FromDefault}
}

func (a *Commands) validateConfig() *cobra.Command {
	var foreign bool
	cmd := &cobra.Command{
		Use: "validate FILE [flags]", Short: "print everything that is wrong with a file", Args: console.Takes("FILE"),
		Long: `Validate reads one configuration file as "loom up" would and prints what is
wrong with it, all at once, one FILE:LINE:COL: CODE: sentence a line; it exits 3
then, or 4 if the file sets what it may not. It refuses what a start with this
file alone ("loom up --config FILE") refuses: values, projects and their
branches, files that are named. Ports that would be open to the network without
TLS and keys that others may read are told. It asks no host, no remote of a
repository and no model, and changes nothing.`,
		Example: "  loom config validate loom.toml\n  loom config validate --workspace shop/loom.toml",
		RunE: func(cmd *cobra.Command, args []string) error {
			data, err := a.Read(args[0])
			if err != nil {
				return err
			}
			layer, err := a.Settings().File(absolute(args[0]), data, foreign)
			if err == nil {
				open := fault.All(refused(layer))
				err = console.InOrder(fault.Join(append(open, fault.All(hosting.New(a.Console).Refused(cmd.Context(), layer))...)))
			}
			return a.Validated(console.All(relative(err, args[0])), 1)
		},
	}
	cmd.Flags().BoolVar(&foreign, "workspace", false, "hold it to what the file of a workspace may set")
	return cmd
}

func absolute(file string) string {
	if abs, err := filepath.Abs(file); err == nil {
		return abs
	}
	return file
}

// relative names a file in errors as it was named on the command line.
func relative(err error, file string) error {
	if err == nil {
		return nil
	}
	first := fault.From(err)
	for _, e := range append([]*fault.Error{first}, first.More...) {
		if rest, ok := strings.CutPrefix(e.Where, absolute(file)+":"); ok {
			e.Where = file + ":" + rest
		}
	}
	return first
}

// providerValues lists the table's entries, also those that nobody has set.
func (a *Commands) providerValues() []effective {
	var list []effective
	for name, s := range console.ProviderSettings {
		one := effective{console.ProviderTable + "." + name, s.Usual, config.Origin{From: config.FromDefault}}
		for _, said := range a.Config.Get(console.ProviderTable) {
			if said.Entry == name {
				one.Value, one.Origin = said.Values[0], said.Origin
			}
		}
		list = append(list, one)
	}
	return list
}
