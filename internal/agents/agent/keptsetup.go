package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/loomrun/loom/internal/agents/tool"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/place/git"
	"github.com/loomrun/loom/internal/place/setup"
	"github.com/loomrun/loom/internal/place/setups"
	"github.com/loomrun/loom/roles"
)

// makers make the results of setups that are kept, each once however many attempts
// want it. Its zero value is ready.
type makers struct {
	one singleflight.Group

	mu    sync.Mutex
	vain  map[string]vain   // by project and key
	ready map[string]string // by project: the commit that prepareKept was there for
}

// vain is a result that could not be made of a commit.
type vain struct {
	commit string
	at     time.Time
}

// vainFor is how long it is not tried again to make a result of the same commit.
const vainFor = 10 * time.Minute

func (m *makers) isVain(id, commit string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, known := m.vain[id]
	return known && v.commit == commit && time.Since(v.at) < vainFor
}

func (m *makers) setVain(id, commit string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.vain == nil {
		m.vain = map[string]vain{}
	}
	for other, v := range m.vain { // keys come from what agents write: they do not stay
		if time.Since(v.at) >= vainFor {
			delete(m.vain, other)
		}
	}
	m.vain[id] = vain{commit, time.Now()}
}

func (m *makers) isReady(project, commit string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ready[project] == commit
}

func (m *makers) setReady(project, commit string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ready == nil {
		m.ready = map[string]string{}
	}
	m.ready[project] = commit
}

// errOther says that the target's own setup has another result.
var errOther = errors.New("the target asks for something else")

// layKept puts a copy of a step's kept result into a checkout and says so; empty
// where the step has to run. The first time that a checkout asks for the same as the
// target does, its result is made: by the runtime, in a clean checkout of the
// target, and never from a directory in which an agent has worked. Without a sandbox
// nothing is kept, because an agent's command could write it. A worktree that others
// work in has it from them: it is not taken away under their commands.
func (j *job) layKept(ctx context.Context, dir string, step setup.Step, shared *tree) (said string) {
	if j.Setups == nil || !step.Keeps() || !j.contained() {
		return ""
	}
	key, err := j.setupKey(dir, step)
	if err != nil {
		j.Logger.Debug("the result of a setup is not kept", "attempt", j.brief.Attempt.Id, "error", err)
		return ""
	}
	project := j.brief.Project.Id
	if shared != nil && shared.laid[step.Command] == key {
		return fmt.Sprintf("kept result %.12s, which is here for others who work in this worktree, in the place of: %s", key, step.Command)
	}
	for range 2 { // a damaged one is made again
		if !j.Setups.Has(project, key) {
			if err := j.makeKept(ctx, key); err != nil {
				if !errors.Is(err, errOther) && ctx.Err() == nil {
					j.Logger.Warn("the result of a setup is not kept", "project", project, "command", step.Command, "error", err)
				}
				return ""
			}
		}
		made, err := j.Setups.Lay(ctx, project, key, dir, step.Keep.Makes)
		if err == nil {
			if shared != nil {
				shared.note(step.Command, key)
			}
			return fmt.Sprintf("kept result %.12s of %s, in the place of: %s", key, made.UTC().Format(time.RFC3339), step.Command)
		}
		if ctx.Err() != nil {
			return ""
		}
		j.Logger.Warn("a kept result of a setup is not used", "project", project, "key", key, "error", err)
	}
	return ""
}

// setupKey names the result that a step has in a checkout on this machine.
func (j *job) setupKey(dir string, step setup.Step) (string, error) {
	_, root, err := j.setupOf(dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	facts := slices.Concat(setups.Machine(step.Programs()), j.brief.Project.SetupRegistries, j.setupPolicy("").Env)
	return step.Key(root.FS(), facts)
}

// setupPolicy is how the runtime runs a setup whose result is kept: whatever role
// wants it, with what any role may use.
func (j *job) setupPolicy(changes string) tool.Policy {
	p := j.brief.Project
	if len(p.GetSetupRegistries()) == 0 {
		return j.Exec(p.Id, roles.Role{}, changes)
	}
	return j.ExecSetup(p, roles.Role{}, changes)
}

// makeKept makes a result, if the setup of the target's newest commit has it.
func (j *job) makeKept(ctx context.Context, key string) error {
	id := j.brief.Project.Id + "/" + key
	_, err, _ := j.makers.one.Do(id, func() (any, error) {
		if j.Setups.Has(j.brief.Project.Id, key) {
			return nil, nil
		}
		tip, err := j.repo.Source.Tip(ctx, j.brief.Project.TargetBranch)
		if err != nil {
			return nil, err
		}
		if j.makers.isVain(id, tip) {
			return nil, errOther
		}
		if err = j.makeOf(ctx, tip, key); err != nil && ctx.Err() == nil {
			j.makers.setVain(id, tip)
		}
		return nil, err
	})
	return err
}

// makeOf runs the step with a result in a clean checkout of a commit.
func (j *job) makeOf(ctx context.Context, commit, key string) error {
	dir, done, err := j.checkoutOf(ctx, git.Cone{}, commit, commit) // it serves other processes too
	if err != nil {
		return err
	}
	defer done()
	for _, step := range j.setupSteps(dir) {
		if !step.Keeps() {
			continue
		}
		if k, err := j.setupKey(dir, step); err != nil || k != key {
			continue
		}
		p, err := j.newPlace()
		if err != nil {
			return err
		}
		defer p.close()
		ws := p.look(dir)
		ws.Exec = j.setupPolicy(p.changes)
		began := time.Now()
		if res := runScript(ctx, tool.New(ws, nil), "setup", step.Making()); !ranWell(res) {
			return fault.New("setup/failed", "%s: %s", step.Command, res.Summary).At("commit " + commit)
		}
		if err := j.Setups.Keep(ctx, j.brief.Project.Id, key, dir, step.Keep.Makes); err != nil {
			return err
		}
		j.Logger.Info("the result of a setup is kept", "project", j.brief.Project.Id, "key", key, "command", step.Command, "commit", commit, "took", time.Since(began))
		return nil
	}
	return errOther
}

// prepareKept makes what can be kept of the target's setup, before the commit lock is
// asked for: nobody should wait for an installation while it is held.
func (j *job) prepareKept(ctx context.Context) error {
	project := j.brief.Project
	if j.Setups == nil || len(project.Setup) > 0 && len(project.SetupMakes) == 0 {
		return nil
	}
	tip, err := j.repo.Source.Tip(ctx, project.TargetBranch)
	if err != nil || j.makers.isReady(project.Id, tip) {
		return err
	}
	dir, done, err := j.checkoutOf(ctx, git.Cone{}, tip, tip)
	if err != nil {
		return err
	}
	defer done()
	for _, step := range j.setupSteps(dir) {
		if !step.Keeps() {
			continue
		}
		key, err := j.setupKey(dir, step)
		if err == nil {
			err = j.makeKept(ctx, key)
		}
		if err != nil {
			return err
		}
	}
	j.makers.setReady(project.Id, tip)
	return nil
}

// hookSetup makes the work tree of hooks ready as far as kept results do, says which,
// and returns what has to run.
func (j *job) hookSetup(ctx context.Context, dir string) (commands, said []string) {
	for _, step := range j.setupSteps(dir) {
		script := step.Script()
		if kept := j.layKept(ctx, dir, step, nil); kept != "" {
			script, said = step.Onto(), append(said, kept)
		}
		if script != "" {
			commands = append(commands, script)
		}
	}
	return commands, said
}
