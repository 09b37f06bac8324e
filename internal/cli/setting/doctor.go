package setting

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/cli/means"
	"github.com/loomrun/loom/internal/cli/models"
	cliproject "github.com/loomrun/loom/internal/cli/project"
	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/internal/host/isolation"
	"github.com/loomrun/loom/internal/net/client"
	"github.com/loomrun/loom/internal/ops/doctor"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// Doctor returns the command of that name.
func (a *Commands) Doctor() *cobra.Command {
	var online bool
	cmd := &cobra.Command{
		Use: "doctor [flags]", Short: "is this machine fit for a host, and what to do if not", Args: console.Takes(),
		Long: `Doctor looks at the machine as "loom up" would use it: configuration, git,
projects, the data directory and its disk (fsync is measured), ports, clock,
memory, the sandbox, keys of models. It tries to get out of the real sandbox in
about a hundred ways. What is not good comes with something to do; it exits 1
when something failed, 0 with warnings alone. It takes the flags of "loom up".

It changes nothing and contacts nobody but a host that runs here. With --online
it asks each model for one word, which costs a few tokens, and the search engine
and other sources for something small.`,
		Example: "  loom doctor\n  loom doctor --json --data /var/lib/loom\n  loom doctor --online --model openai:gpt-5",
	}
	cmd.Flags().BoolVar(&online, "online", false, "ask each model and source for something small")
	a.hostFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		m, err := a.machine(cmd.Flags())
		if err != nil {
			return err
		}
		if online {
			m.Ask, m.Online = a.askOneWord, true
		}
		return a.examine(cmd.Context(), m)
	}
	return cmd
}

// machine is what the flags of "up", and the configuration, would have a host
// use.
func (a *Commands) machine(flags *pflag.FlagSet) (doctor.Machine, error) {
	text := func(name string) string { return flags.Lookup(name).Value.String() }
	m := doctor.Machine{
		Data: a.Data, Listen: text("listen"), HTTP: text("http"), HTTPIfFree: !flags.Changed("http"),
		Unsandboxed: text("unsandboxed") == "true", Configuration: a.Mistakes, Ignored: a.Config.Ignored,
	}
	providers, err := a.Providers()
	if err != nil {
		m.Configuration = cmp.Or(m.Configuration, err)
	}
	m.Open = func(spec string) ([]string, error) {
		if _, err := providers.Open(spec); err != nil {
			return nil, err
		}
		terms, err := providers.Terms(spec)
		var said []string
		for _, t := range terms {
			said = append(said, t.Model+" is asked at "+t.String())
		}
		return said, err
	}
	asks, err := means.Sources(a.Console, console.Slice(flags, flags.Lookup("source")))
	if err == nil {
		m.Sources, err = listed(asks)
	}
	if err != nil {
		m.Configuration = cmp.Or(m.Configuration, err)
	}
	m.Roles, m.Openings = a.RoleSet(), means.Openings(asks, m.Unsandboxed)
	limits, err := flags.GetStringToString("sandbox-limit")
	if err != nil {
		return m, err
	}
	if m.Openings.Sandbox, err = roles.ParseSandbox(limits); err != nil {
		return m, err
	}
	m.Cluster, m.Insecure = text("cluster-listen"), text("insecure-network") == "true"
	_, err = os.Stat(cmp.Or(text("tls-cert"), filepath.Join(a.Data, "tls", "server.pem")))
	m.Certificate = err == nil
	for _, k := range a.Secrets() {
		if k.From != "" {
			m.Secrets = append(m.Secrets, doctor.Secret{Name: k.Name, From: k.From, File: a.SecretFile(k.Name), Problem: k.Err})
		}
	}
	m.Hosts, m.Host = a.hostsHere, a.hostHere
	read, err := flags.GetStringArray("sandbox-read")
	if err != nil {
		return m, err
	}
	m.Workspace = func(ctx context.Context) (all []doctor.Trial, err error) {
		trials, err := isolation.TryWorkspace(ctx, read)
		for _, t := range trials {
			all = append(all, doctor.Trial(t))
		}
		return all, err
	}
	if text("no-listen") == "true" {
		m.Listen = ""
	}
	if m.HTTP == "off" {
		m.HTTP = ""
	}
	registered, err := means.ProjectsOf(flags)
	if err != nil {
		return m, err
	}
	m.Registered = func(ctx context.Context) (all []doctor.Lack) {
		for _, r := range cliproject.New(a.Console).Registered(ctx) {
			if notice := r.Notice(); notice != "" {
				all = append(all, doctor.Lack{What: notice, Do: r.TakeOver() + " takes the file over"})
			}
		}
		return all
	}
	for _, p := range registered {
		m.Projects = append(m.Projects, doctor.Project{ID: p.ID, Path: p.Repository, Branch: p.Branch})
	}
	m.Setup = func(ctx context.Context, id string) (all []doctor.SetupStep, err error) {
		i := slices.IndexFunc(registered, func(p host.Project) bool { return p.ID == id })
		steps, err := isolation.LookAtSetup(ctx, registered[i].Registration())
		for _, s := range steps {
			step := doctor.SetupStep{Command: s.Command, For: s.For, Keeps: s.Keeps}
			for _, l := range s.Lacks {
				step.Lacks = append(step.Lacks, doctor.Lack(l))
			}
			all = append(all, step)
		}
		return all, err
	}
	err = a.modelsOf(flags, &m)
	return m, err
}

// listed are the sources of a host, as they are looked at.
func listed(s host.Sources) (list []doctor.Source, err error) {
	open, err := s.List()
	for _, o := range open {
		list = append(list, doctor.Source(o))
	}
	return list, err
}

// hostsHere asks the host that runs on the data directory.
func (a *Commands) hostsHere(ctx context.Context) (*loomv1.HostsReply, error) {
	c, err := client.Dial(a.Data)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.Hosts(ctx, &loomv1.HostsRequest{})
}

// hostHere asks the host that runs on the data directory about itself.
func (a *Commands) hostHere(ctx context.Context) (*loomv1.HostReply, error) {
	c, err := client.Dial(a.Data)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.Host(ctx, &loomv1.HostRequest{})
}

// modelsOf adds each model that a role would have, once.
func (a *Commands) modelsOf(flags *pflag.FlagSet, m *doctor.Machine) error {
	set := a.RoleSet()
	chosen := models.Models{
		Console: a.Console, Spec: flags.Lookup("model").Value.String(), Tiers: console.Slice(flags, flags.Lookup("tier")), Own: console.Slice(flags, flags.Lookup("role-model")),
	}
	if errs := chosen.Read(set); len(errs) > 0 {
		return fault.Join(errs)
	}
	for _, name := range set.Names() {
		r, _ := set.Get(name)
		spec, from := chosen.Of(r)
		if spec != "" && !slices.ContainsFunc(m.Models, func(o doctor.Model) bool { return o.Spec == spec }) {
			m.Models = append(m.Models, doctor.Model{Spec: spec, From: from})
		}
	}
	return nil
}

// askOneWord asks a model for something short, once.
func (a *Commands) askOneWord(ctx context.Context, spec string) error {
	c, err := a.Providers()
	if err != nil {
		return err
	}
	c.Limits.Tries = 1
	p, err := c.Open(spec)
	if err != nil || p.Scripted() {
		return err
	}
	_, err = p.Ask(ctx, &model.Request{
		Messages: []model.Message{{Role: model.RoleUser, Text: "Answer with the word: ready"}}, MaxTokens: 512,
	}, nil)
	return err
}

// examine reports what is found while it is found.
func (a *Commands) examine(ctx context.Context, m doctor.Machine) error {
	spin := console.NewSpinner(a.Console)
	defer spin.Stop()
	const busy = "looking at this machine; trying to get out of the sandbox takes a while"
	spin.Say(busy)
	all := m.Examine(ctx, func(f doctor.Finding) {
		if !a.JSON {
			spin.Stop()
			a.finding(f)
			spin.Say(busy)
		}
	})
	spin.Stop()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	failed, warned := doctor.Count(all, doctor.Failed), doctor.Count(all, doctor.Warned)
	if a.JSON {
		if err := json.NewEncoder(a.Out).Encode(map[string]any{"findings": all, "failed": failed, "warnings": warned}); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(a.Out, "\n%d failed, %d to look at, %d good\n", failed, warned, len(all)-failed-warned)
	}
	if failed > 0 {
		return console.ExitError{Status: fault.WorkFailed}
	}
	return nil
}

func (a *Commands) finding(f doctor.Finding) {
	w := console.Prose(a.Out, 25)
	fmt.Fprintf(w, "%-8s %-15s %s\n", f.Status, f.Check, console.Line(f.Text, 400))
	if f.Do != "" {
		fmt.Fprintf(w, "%-24s do this: %s\n", "", console.Line(f.Do, 400))
	}
}
