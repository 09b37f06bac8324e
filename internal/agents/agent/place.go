package agent

import (
	"fmt"
	"os"
	"slices"

	"github.com/loomrun/loom/internal/agents/tool"
	"github.com/loomrun/loom/internal/base/discard"
	"github.com/loomrun/loom/internal/core/verify"
	"github.com/loomrun/loom/internal/place/git"
)

// place is where commands of a job run: how they are started, and a directory
// that has what they change in caches. Nothing of a place outlives it: what the
// commands of an attempt wrote serves no other, and a command whose result the
// runtime goes by has a place of its own, that no model's command ever had.
type place struct {
	policy  tool.Policy
	changes string
	job     *job
}

// newPlace opens a place for the role's commands; close ends it.
func (j *job) newPlace() (*place, error) {
	dir, err := os.MkdirTemp(j.Scratch, j.brief.Attempt.Id+"-caches-")
	if err != nil {
		return nil, fmt.Errorf("directory for caches: %w", err)
	}
	return &place{policy: j.Exec(j.brief.Project.Id, j.role, dir), changes: dir, job: j}, nil
}

func (p *place) close() {
	if err := discard.All(p.changes); err != nil {
		p.job.Logger.Warn("caches not removed", "attempt", p.job.brief.Attempt.Id, "error", err)
	}
}

// setup is how the commands of a setup run in this place: as the role's commands
// do or, where the project names registries, with a way to them.
func (p *place) setup() tool.Policy {
	j := p.job
	if len(j.brief.Project.GetSetupRegistries()) == 0 {
		return p.policy
	}
	return j.ExecSetup(j.brief.Project, j.role, p.changes)
}

// look is a checkout that is thrown away, as commands in this place see it.
func (p *place) look(dir string) tool.Workspace {
	j := p.job
	return tool.Workspace{Root: dir, ReadOnly: true, Exec: p.policy, Servers: j.Servers, Sources: j.Sources, Scratch: j.Scratch}
}

// hooks is how a repository's hooks run in this place: as the role's commands do.
func (p *place) hooks() git.HookPolicy {
	setup := p.setup()
	h := git.HookPolicy{
		Cone:    p.job.cone(),
		Contain: p.policy.Contain, Allow: p.policy.Allow, Timeout: p.job.HookTimeout,
		Setup: git.Setup{Commands: p.job.hookSetup, Contain: setup.Contain, Allow: setup.Allow, Told: setup.Told},
	}
	if h.Contain != nil {
		h.Env, h.Trees = p.policy.Env, p.job.kept()
	}
	return h
}

// workspace is a checkout that is thrown away, as the model's tools see it: what it
// shows is compared with the commit that the change was made on.
func (j *job) workspace(dir string) tool.Workspace {
	ws := j.place.look(dir)
	ws.Memory = memories{j}
	if l, ok := j.looks.Load(dir); ok {
		ws.GitDir, ws.Index = j.repo.Workspaces.GitDir(), lookIndex(dir)
		ws.Head, ws.Base, ws.Sparse = l.(look).head, l.(look).base, l.(look).cone.Listed()
	}
	return ws
}

// worktree is the execution's worktree, as the model's tools see it.
func (j *job) worktree(t *git.Worktree) tool.Workspace {
	ws := j.place.look(t.Path())
	ws.Memory = memories{j}
	ws.ReadOnly, ws.GitDir, ws.Index, ws.Base = false, t.GitDir(), t.Index(), t.Base()
	ws.Kept = j.ofOthers
	ws.Sparse = t.Cone().Listed()
	return ws
}

// ofOthers says whose deliverable a file of the worktree is, where it is another phase's.
func (j *job) ofOthers(path string) string {
	own := func(d verify.Deliverable) bool { return d.Name == path }
	if slices.ContainsFunc(verify.Deliverables(j.brief.Node.GetPhase()), own) {
		return ""
	}
	for _, n := range j.brief.Definition.GetNodes() {
		if isWork(n) && slices.ContainsFunc(verify.Deliverables(n.Phase), own) {
			return "phase " + n.Id + " delivers it"
		}
	}
	return ""
}
