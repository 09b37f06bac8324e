package means

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/core/patchscan"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/internal/ops/config"
)

// setting is something that a project is registered with, beside its place.
type setting struct {
	flag, value, usage string
	shown              bool // in help
	served             bool // only a host that serves has a use for it
	opens              bool // whoever starts a host says it, and nobody else
	take               func(p *host.Project, values []string) error
}

var settings = []setting{
	{flag: "check", value: "COMMAND", usage: "`%s` that a project's work must pass", shown: true, take: into(func(p *host.Project) *[]string { return &p.Checks })},
	{flag: "setup", value: "COMMAND", usage: "`%s` that makes a checkout ready for its own code", take: into(func(p *host.Project) *[]string { return &p.Setup })},
	{flag: "setup-reads", value: "PATH", usage: "`%s` that the result of a project's setup depends on", take: into(func(p *host.Project) *[]string { return &p.SetupReads })},
	{flag: "setup-makes", value: "PATH", usage: "`%s` of a directory that a project's setup makes, to be kept", take: into(func(p *host.Project) *[]string { return &p.SetupMakes })},
	{flag: "setup-registry", value: "HOST", usage: "`%s` that a project's setup may reach", opens: true, take: into(func(p *host.Project) *[]string { return &p.Registries })},
	{flag: "memory", value: "NAMESPACE", usage: "`%s` shared/NAME that a project shares its memory under", take: into(func(p *host.Project) *[]string { return &p.Memory })},
	{flag: "push", value: "REMOTE", usage: "remote or URL that work lands on first, `%s`", shown: true, take: remote},
	{flag: "patch", value: "KIND=LEVEL", usage: "what a change may contain, `%s`", take: patch},
	{flag: "process-for", value: "[RULE=]PROCESS", usage: "process of what names none, `%s`", served: true, take: processFor},
	{flag: "operators-answer", value: "WHAT", usage: "`%s` a project leaves to operators: questions, permissions or none", served: true, opens: true, take: into(func(p *host.Project) *[]string { return &p.OperatorsAnswer })},
}

// into adds values to a list of a project.
func into(list func(*host.Project) *[]string) func(*host.Project, []string) error {
	return func(p *host.Project, values []string) error {
		*list(p) = append(*list(p), values...)
		return nil
	}
}

// remote takes the last that is named.
func remote(p *host.Project, values []string) error {
	p.Remote = values[len(values)-1]
	return nil
}

func patch(p *host.Project, values []string) (err error) {
	p.Patch, err = patchscan.ParsePolicy(values)
	return err
}

func processFor(p *host.Project, values []string) error {
	for _, rule := range values {
		r, err := project.ParseProcess(rule)
		if err != nil {
			return fault.From(err).Want("NAME=PROCESS, NAME=task=PROCESS, NAME=bug=PROCESS or NAME=label:LABEL=PROCESS")
		}
		p.Processes = append(p.Processes, r)
	}
	return nil
}

// Projects reads the flags that say which projects a host serves, and what is
// said of each: NAME=VALUE.
type Projects struct {
	named []string
	said  map[string]*[]string
}

// Flags adds the flags.
func (p *Projects) Flags(f *pflag.FlagSet) {
	f.StringArrayVar(&p.named, config.ProjectKey, nil, "project, `NAME=PATH` or NAME=PATH@BRANCH, repeatable")
	p.said = add(f, settings, "NAME=")
}

// ProjectsOf are the projects that flags name which [Projects.Flags] has added, with
// what is said of their checkouts: the rest may be wrong when it is only looked at.
func ProjectsOf(f *pflag.FlagSet) ([]host.Project, error) {
	p := Projects{named: console.Slice(f, f.Lookup(config.ProjectKey)), said: map[string]*[]string{}}
	for _, s := range settings {
		var values []string
		if !slices.Contains([]string{"push", "patch", "process-for"}, s.flag) {
			values = console.Slice(f, f.Lookup(s.flag))
		}
		p.said[s.flag] = &values
	}
	return p.All()
}

// All returns the projects, and all that is wrong.
func (p *Projects) All() (all []host.Project, err error) {
	var errs []*fault.Error
	for _, s := range p.named {
		name, path, ok := strings.Cut(s, "=")
		if !ok || path == "" {
			errs = append(errs, fault.New("usage/argument", "not NAME=PATH").At("--project").Got(s))
			continue
		}
		path, branch := console.CutBranch(path)
		all = append(all, host.Project{ID: name, Repository: path, Branch: branch})
	}
	for _, s := range settings {
		if p.said[s.flag] == nil {
			continue
		}
		of, wrong := s.byProject(*p.said[s.flag], all)
		errs = append(errs, wrong...)
		for i := range all {
			errs = append(errs, fault.All(s.give(&all[i], of[i]))...)
		}
	}
	return all, fault.Join(errs)
}

// MarkStanding tells the projects of which a command line says nothing, and those whose
// place it does not name, by the entries of its flags that were given.
func MarkStanding(all []host.Project, given map[string][]string) {
	for i, p := range all {
		all[i].Kept = !slices.Contains(given[config.ProjectKey], p.ID)
		named := !all[i].Kept || slices.Contains(given["route-file"], p.ID) ||
			slices.ContainsFunc(settings, func(s setting) bool { return slices.Contains(given[s.flag], p.ID) })
		all[i].Standing = !named
	}
}

// FlagsOfOne adds the flags of a command that says something of one project to a host
// that runs: those of [Projects.Flags] that an operator may say there.
func (p *Projects) FlagsOfOne(f *pflag.FlagSet) {
	open := slices.DeleteFunc(slices.Clone(settings), func(s setting) bool { return s.opens })
	for i := range open {
		open[i].shown = true
	}
	p.said = add(f, open, "NAME=")
}

// One returns the project that an argument, NAME=PATH or NAME=PATH@BRANCH, and the flags
// of [Projects.FlagsOfOne] say.
func (p *Projects) One(arg string) (host.Project, error) {
	name, path, ok := strings.Cut(arg, "=")
	if !ok || name == "" || path == "" {
		return host.Project{}, fault.New("usage/argument", "not NAME=PATH").Got(arg).Want("as in shop=../shop, or shop=../shop@main")
	}
	for _, s := range settings {
		if p.said[s.flag] == nil {
			continue
		}
		for _, v := range *p.said[s.flag] {
			if of, _, _ := strings.Cut(v, "="); of != name {
				return host.Project{}, fault.New("usage/argument", "not said of project %q, which is the one to add", name).At("--"+s.flag).
					Got(config.Shown(v)).Want("%s=%s", name, s.value)
			}
		}
	}
	p.named = []string{arg}
	all, err := p.All()
	if err != nil {
		return host.Project{}, err
	}
	return all[0], nil
}

// Fill adds what a repository's own file says of a project, for the flags of
// [Projects.FlagsOfOne] that were not given, and returns which those are.
func (p *Projects) Fill(name string, c *config.Config, given func(flag string) bool) (filled []string) {
	for _, s := range settings {
		if p.said[s.flag] == nil || given(s.flag) {
			continue
		}
		if values := c.Arguments(s.flag, func(entry string) bool { return entry != name }); len(values) > 0 {
			*p.said[s.flag] = values
			filled = append(filled, s.flag)
		}
	}
	return filled
}

// byProject sorts NAME=VALUE by the places of the projects, and returns all that is wrong.
func (s *setting) byProject(given []string, projects []host.Project) (map[int][]string, []*fault.Error) {
	of := map[int][]string{}
	var errs []*fault.Error
	for _, g := range given {
		name, value, ok := strings.Cut(g, "=")
		i := slices.IndexFunc(projects, func(p host.Project) bool { return p.ID == name })
		switch {
		case !ok:
			errs = append(errs, fault.New("usage/argument", "not NAME=%s", s.value).At("--"+s.flag).Got(config.Shown(g)).
				Want("NAME is that of a --project, as in --%s shop=%s", s.flag, s.value))
		case value == "":
			errs = append(errs, fault.New("usage/argument", "an empty value for project %q", name).At("--"+s.flag).Want("%s=%s", name, s.value))
		case i < 0:
			errs = append(errs, fault.New("usage/argument", "a value for project %q, which no --project names", name).At("--"+s.flag).Got(config.Shown(value)))
		default:
			of[i] = append(of[i], value)
		}
	}
	return of, errs
}

func (s *setting) give(p *host.Project, values []string) error {
	if len(values) == 0 {
		return nil
	}
	if err := s.take(p, values); err != nil {
		return fault.From(err).At("--" + s.flag)
	}
	return nil
}

// Project reads what is said of the only project that there is: the flags of
// [Projects] without NAME=, but for those that only a host that serves has a use
// for.
type Project struct{ said map[string]*[]string }

// Flags adds the flags.
func (p *Project) Flags(f *pflag.FlagSet) {
	p.said = add(f, slices.DeleteFunc(slices.Clone(settings), func(s setting) bool { return s.served }), "")
}

// Fill puts what is said into a project.
func (p *Project) Fill(into *host.Project) error {
	for _, s := range settings {
		if values := p.said[s.flag]; values != nil {
			if err := s.give(into, *values); err != nil {
				return err
			}
		}
	}
	return nil
}

// add adds flags of settings, each of which takes its value behind prefix.
func add(f *pflag.FlagSet, all []setting, prefix string) map[string]*[]string {
	said := map[string]*[]string{}
	for _, s := range all {
		said[s.flag] = f.StringArray(s.flag, nil, strings.Replace(s.usage, "%s", prefix+s.value, 1))
		if !s.shown {
			Hide(f, s.flag) // docs/operating.md and docs/setup.md say what it is
		}
	}
	return said
}
