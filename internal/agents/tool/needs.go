package tool

import (
	"os/exec"
	"slices"

	"github.com/loomrun/loom/internal/base/fault"
)

// Unusable are the tools in allow that this set has but cannot carry out, in a
// fixed order: one that needs a sandbox, a work tree, a source or a program that
// is not there. To offer one would have a model find that out by calling it.
func (s *Set) Unusable(allow []string) (names []string) {
	for _, t := range slices.Concat(catalogue(), s.foreign) {
		if Allows(allow, t.Name) && s.lacks(t) != nil {
			names = append(names, t.Name)
		}
	}
	return names
}

// lacks says what a tool needs and the set does not have.
func (s *Set) lacks(t *tool) *fault.Error {
	if t.needs == nil {
		return nil
	}
	return t.needs(s)
}

// sandboxed is the need of what starts programs, which are named in the refusal.
func sandboxed(programs string) func(*Set) *fault.Error {
	return func(s *Set) *fault.Error {
		if s.ws.Exec.Contain != nil || s.ws.Exec.Allow {
			return nil
		}
		return fault.New("tool/no-sandbox", "%s do not run here: there is no sandbox for them", programs).
			Want("do without; the operator may allow %s to run unsandboxed", programs)
	}
}

// served is the need of lsp_diagnostics: a sandbox and a server to run in it.
func served(s *Set) *fault.Error {
	if err := sandboxed("language servers")(s); err != nil {
		return err
	}
	for _, server := range s.servers() {
		if _, err := exec.LookPath(server.Command[0]); err == nil {
			return nil
		}
	}
	return fault.New("tool/no-server", "no language server is installed on this host").
		Want("do without; `loom doctor` tells the operator which ones there are")
}

func tracked(s *Set) *fault.Error {
	if s.ws.GitDir != "" {
		return nil
	}
	return fault.New("tool/failed", "this workspace is no git work tree")
}

func graphed(s *Set) *fault.Error {
	if s.decisions != nil {
		return nil
	}
	return fault.New("tool/failed", "there is no decision graph here")
}

// sourced is the need of a source outside; set says whether it is there, and how
// an operator sets it up.
func sourced(name, how string, set func(Sources) bool) func(*Set) *fault.Error {
	return func(s *Set) *fault.Error {
		if set(s.sources()) {
			return nil
		}
		return fault.New("source/credentials", "%s is not set up on this host", name).Want("an operator %s; go on without it and say so", how)
	}
}

func keeping(s *Set) *fault.Error {
	if s.ws.Outputs != nil {
		return nil
	}
	return fault.New("tool/failed", "no results are kept here")
}
