package isolation

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/agents/tool"
	"github.com/loomrun/loom/internal/base/discard"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/place/git"
	"github.com/loomrun/loom/internal/place/setup"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// SetupStep is a command of a project's setup, and what will keep it from working.
type SetupStep struct {
	Command string `json:"command"`
	// For is the lock file that asks for it; empty for a command that is named.
	For string `json:"for,omitempty"`
	// Keeps are the directories that are kept of it for later checkouts.
	Keeps []string `json:"keeps,omitempty"`
	// Lacks is what it needs and is not there.
	Lacks []Lack `json:"lacks,omitempty"`
}

// Lack is something that is missing, and what to do.
type Lack struct {
	What string `json:"what"`
	Do   string `json:"do"`
}

// LookAtSetup returns the setup of a project as the branch that its work lands on
// asks for it. It runs none of it and changes nothing.
func LookAtSetup(ctx context.Context, p *loomv1.ProjectConfig) ([]SetupStep, error) {
	r, err := git.Open(ctx, p.Repository)
	if err != nil {
		return nil, err
	}
	branch, tip, err := r.Branch(ctx, p.TargetBranch)
	if err != nil {
		return nil, err
	}
	top, err := os.MkdirTemp("", "loom-setup-")
	if err != nil {
		return nil, fault.New("tool/failed", "there is no directory for a look at the setup").Because(err)
	}
	defer func() { _ = discard.All(top) }()
	dir := filepath.Join(top, "sketch")
	if err := r.Sketch(ctx, tip, dir); err != nil {
		return nil, err
	}
	steps := []SetupStep{}
	for _, s := range setup.Plan(wants(p), os.DirFS(dir)) {
		step := SetupStep{Command: s.Command, For: s.For, Keeps: s.Keep.Makes}
		step.need(s.Manager(), p)
		for _, name := range s.Leaves {
			spared, err := git.Spared(ctx, dir, name)
			if err != nil {
				return nil, err
			}
			if !spared {
				step.lack("no .gitignore of branch "+branch+" names "+name, "add "+name+" to .gitignore, or it would become part of every change")
			}
		}
		steps = append(steps, step)
	}
	return steps, nil
}

// wants is what the project says of its setup.
func wants(p *loomv1.ProjectConfig) setup.Wants {
	return setup.Wants{Commands: p.Setup, Reads: p.SetupReads, Makes: p.SetupMakes, Online: len(p.SetupRegistries) > 0}
}

// CheckKept refuses a setup whose result would be kept and cannot be.
func CheckKept(p *loomv1.ProjectConfig) (errs []*fault.Error) {
	for key, paths := range map[string][]string{"setup-reads": p.SetupReads, "setup-makes": p.SetupMakes} {
		if err := setup.CheckKept(paths); err != nil {
			errs = append(errs, fault.From(err).At(key))
		}
	}
	switch reads, makes := len(p.SetupReads) > 0, len(p.SetupMakes) > 0; {
	case reads != makes:
		errs = append(errs, fault.New("usage/argument", "project %q names only one of what its setup reads and makes", p.Id).At("setup-reads").
			Want("both, so that the result serves where the same is read, or neither, so that each checkout runs the setup"))
	case makes && len(p.Setup) == 0:
		errs = append(errs, fault.New("usage/argument", "project %q says what its setup makes, and not how", p.Id).At("setup-makes").
			Want("name the commands as its setup; what lock files ask for is known"))
	}
	return errs
}

func (s *SetupStep) lack(what, do string) { s.Lacks = append(s.Lacks, Lack{what, do}) }

// need looks for a package manager and what it has fetched.
func (s *SetupStep) need(m setup.Manager, p *loomv1.ProjectConfig) {
	if m.Program == "" {
		return
	}
	if !tool.OnPath(m.Program) {
		s.lack(m.Program+" is not on the PATH", "install it where the host's user finds it")
	}
	switch {
	case len(p.SetupRegistries) > 0 || m.Cache != "" && fetched(m.Cache):
		return
	case m.Cache == "" && m.Asks:
		s.lack(m.Program+" asks an index even for what it has fetched", fmt.Sprintf("name registries, such as --setup-registry %[1]s=pypi.org --setup-registry %[1]s=files.pythonhosted.org", p.Id))
		return
	case m.Cache == "":
		return
	}
	do := fmt.Sprintf("fetch once as this user, in any checkout, or name registries with --setup-registry %s=HOST", p.Id)
	if m.Cache == "PIP_FIND_LINKS" {
		do = fmt.Sprintf("set PIP_FIND_LINKS to a directory of wheels, or name registries: --setup-registry %[1]s=pypi.org --setup-registry %[1]s=files.pythonhosted.org", p.Id)
	}
	s.lack("this user has nothing that was fetched before ("+m.Cache+")", do)
}

// fetched reports whether what a variable names is there for commands to read.
func fetched(variable string) bool {
	if links, _ := wheels(); variable == "PIP_FIND_LINKS" {
		return links != ""
	}
	for _, h := range packageHomes {
		if root, there := h.at(); h.variable == variable {
			return there && slices.ContainsFunc(h.dirs, func(dir string) bool {
				_, err := os.Stat(filepath.Join(root, dir))
				return err == nil
			})
		}
	}
	return slices.ContainsFunc(downloads(), func(e string) bool { return strings.HasPrefix(e, variable+"=") })
}
