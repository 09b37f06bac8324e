package host

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/fault"
	"github.com/loomrun/loom/internal/git"
	"github.com/loomrun/loom/internal/setup"
	"github.com/loomrun/loom/internal/tool"
)

// SetupStep is a command of a project's setup, and what will keep it from working.
type SetupStep struct {
	Command string `json:"command"`
	// For is the lock file that asks for it; empty for a command that is named.
	For string `json:"for,omitempty"`
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
func LookAtSetup(ctx context.Context, p Project) ([]SetupStep, error) {
	r, err := git.Open(ctx, p.Repository)
	if err != nil {
		return nil, err
	}
	branch, tip, err := r.Branch(ctx, p.Branch)
	if err != nil {
		return nil, err
	}
	top, err := os.MkdirTemp("", "loom-setup-")
	if err != nil {
		return nil, fault.New("tool/failed", "there is no directory for a look at the setup").Because(err)
	}
	defer func() { _ = git.Discard(top) }()
	dir := filepath.Join(top, "sketch")
	if err := r.Sketch(ctx, tip, dir); err != nil {
		return nil, err
	}
	steps := []SetupStep{}
	for _, s := range setup.Plan(p.Setup, len(p.Registries) > 0, os.DirFS(dir)) {
		step := SetupStep{Command: s.Command, For: s.For}
		step.need(s.Manager(), p)
		if s.Leaves != "" {
			ignored, err := git.Ignores(ctx, dir, s.Leaves)
			if err != nil {
				return nil, err
			}
			if !ignored {
				step.lack("no .gitignore of branch "+branch+" names "+s.Leaves+"/", "add "+s.Leaves+"/ to .gitignore, or it would become part of every change")
			}
		}
		steps = append(steps, step)
	}
	return steps, nil
}

func (s *SetupStep) lack(what, do string) { s.Lacks = append(s.Lacks, Lack{what, do}) }

// need looks for a package manager and what it has fetched.
func (s *SetupStep) need(m setup.Manager, p Project) {
	if m.Program == "" {
		return
	}
	if !tool.OnPath(m.Program) {
		s.lack(m.Program+" is not on the PATH", "install it where the host's user finds it")
	}
	if m.Cache == "" || len(p.Registries) > 0 || fetched(m.Cache) {
		return
	}
	do := fmt.Sprintf("fetch once as this user, in any checkout, or name registries with --setup-registry %s=HOST", p.ID)
	if m.Cache == "PIP_FIND_LINKS" {
		do = fmt.Sprintf("set PIP_FIND_LINKS to a directory of wheels, or name registries: --setup-registry %[1]s=pypi.org --setup-registry %[1]s=files.pythonhosted.org", p.ID)
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
