package isolation

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/loomrun/loom/internal/agents/tool"
	"github.com/loomrun/loom/internal/base/discard"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/place/git"
	"github.com/loomrun/loom/roles"
)

// Trial is something that agents' commands need, and why it does not work; nil
// when it does.
type Trial struct {
	What string
	Err  error
}

// asked is what is asked of git in a workspace.
var asked = [][]string{
	{"git", "status", "--short"},
	{"git", "log", "-1", "--format=%H"},
	{"git", "diff", "HEAD"},
	{"git", "blame", "go.mod"},
}

// TryWorkspace runs git, a build that records its commit, and the programs of
// version managers in a workspace that is made for it and thrown away, in the
// sandbox as agents' commands run, that may also read what read says. What does not
// work on this machine without a sandbox is not tried.
func TryWorkspace(ctx context.Context, read []string) ([]Trial, error) {
	top, err := os.MkdirTemp("", "loom-workspace-")
	if err != nil {
		return nil, fault.New("tool/failed", "there is no directory for a workspace").Because(err)
	}
	defer func() { _ = discard.All(top) }()
	k := &Commands{Data: filepath.Join(top, "data"), Read: read}
	place, err := k.tryPlace(ctx, filepath.Join(top, "repository"))
	if err != nil {
		return nil, err
	}
	outside := trialPlace{top, tool.Policy{Allow: true, Env: toolEnv()}}
	var trials []Trial
	for _, argv := range append(asked, Starts...) {
		if argv[0] != "git" && outside.run(ctx, argv) != nil {
			continue
		}
		trials = append(trials, Trial{strings.Join(argv, " "), place.run(ctx, argv)})
	}
	if outside.run(ctx, []string{"go", "version"}) == nil {
		argv := []string{"go", "build", "-buildvcs=true", "-o", os.DevNull, "./cmd/doctor"}
		trials = append(trials, Trial{strings.Join(argv, " "), place.run(ctx, argv)})
	}
	return trials, nil
}

// trialPlace is a workspace to try things in.
type trialPlace struct {
	dir    string
	policy tool.Policy
}

// tryPlace makes a repository and a workspace of it.
func (k *Commands) tryPlace(ctx context.Context, repository string) (trialPlace, error) {
	const id = "doctor"
	err := git.Create(ctx, repository, "main", "first", []git.File{
		{Path: "go.mod", Data: []byte("module example.com/doctor\n\ngo 1.21\n")},
		{Path: "cmd/doctor/main.go", Data: []byte("package main\n\nfunc main() {}\n")},
	})
	if err != nil {
		return trialPlace{}, err
	}
	r, err := git.Open(ctx, repository)
	if err != nil {
		return trialPlace{}, err
	}
	workspaces, err := git.NewWorkspaces(filepath.Join(k.Data, "git"), id, "main", r)
	if err != nil {
		return trialPlace{}, err
	}
	w, err := workspaces.Open(ctx, "e1", "b1")
	if err != nil {
		return trialPlace{}, err
	}
	cache := filepath.Join(k.Data, "caches", id, "doctor", "1")
	if err := os.MkdirAll(cache, 0o700); err != nil {
		return trialPlace{}, fault.New("tool/failed", "there is no directory for a cache").Because(err)
	}
	return trialPlace{w.Path(), k.Exec(id, roles.Role{}, cache)}, nil
}

// run runs a program in the place and returns why it does not work.
func (p trialPlace) run(ctx context.Context, argv []string) error {
	env := append(tool.Environment("/tmp", p.policy.Env), "COREPACK_ENABLE_NETWORK=0") // a link to Corepack would fetch what it stands for
	_, err := p.policy.Ask(ctx, tool.Program{Argv: argv, Dir: p.dir, Env: env, Most: 64 << 10})
	return err
}
