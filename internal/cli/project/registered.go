package project

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/cli/means"
	"github.com/loomrun/loom/internal/net/client"
	"github.com/loomrun/loom/internal/ops/config"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Registered is a project as "loom project add" has registered it: no file changes it, and
// no start that does not name it.
type Registered struct {
	*loomv1.ProjectConfig
	// File is the loom.toml of its repository, and Differs the keys of which it says
	// something else than the project is registered with.
	File    string
	Differs []string
}

// registeredWithin is how long a host may take to say how its projects are registered.
const registeredWithin = 3 * time.Second

// Registered returns the projects that "loom project add" has registered on the host that
// runs here, or in the directory of one that does not: none where neither can be asked.
func (a *Commands) Registered(ctx context.Context) (all []Registered) {
	ctx, cancel := context.WithTimeout(ctx, registeredWithin)
	defer cancel()
	var view *loomv1.View
	err := a.With(ctx, func(c *client.Client) (err error) {
		view, err = client.Services.Project(c.Services, ctx, &loomv1.Query{})
		return err
	})
	if err != nil {
		return nil
	}
	for _, p := range view.GetProjects() {
		if p.Added && p.Removed == nil {
			all = append(all, a.compared(p))
		}
	}
	slices.SortFunc(all, func(x, y Registered) int { return strings.Compare(x.Id, y.Id) })
	return all
}

// ofKey is the field of a registration by the key of a file.
var ofKey = map[string]protoreflect.Name{
	"branch": "target_branch", "check": "checks", "setup": "setup", "setup-reads": "setup_reads", "setup-makes": "setup_makes",
	"memory": "memory", "push": "remote", "patch": "patch", "process-for": "processes",
}

// compared holds a registration against the file of its repository. A file that cannot be
// read says nothing: "loom project add" says what is wrong with it.
func (a *Commands) compared(p *loomv1.ProjectConfig) Registered {
	r := Registered{ProjectConfig: p}
	file := filepath.Join(p.Repository, config.Name)
	if _, err := os.Lstat(file); err != nil {
		return r
	}
	c, err := a.Settings().Load(config.Places{Workspace: file}, nil)
	if err != nil {
		return r
	}
	var said means.Projects
	said.FlagsOfOne(pflag.NewFlagSet("file", pflag.ContinueOnError))
	keys := said.Fill(p.Id, c, func(string) bool { return false })
	arg := p.Id + "=" + p.Repository
	for _, s := range c.Get("branch") {
		if s.Entry == p.Id && s.Values[0] != "" {
			arg, keys = arg+"@"+s.Values[0], append(keys, "branch")
		}
	}
	one, err := said.One(arg)
	if err != nil {
		return r
	}
	r.File = file
	is, would := p.ProtoReflect(), one.Registration().ProtoReflect()
	for _, key := range keys {
		f := is.Descriptor().Fields().ByName(ofKey[key])
		if f != nil && !is.Get(f).Equal(would.Get(f)) {
			r.Differs = append(r.Differs, key)
		}
	}
	return r
}

// TakeOver is the command that has a project be as the file of its repository says.
func (r Registered) TakeOver() string {
	return "loom project add " + suggest.Arg(r.Id+"="+r.Repository)
}

// Notice says that the file of a repository is not what holds; "" where it is.
func (r Registered) Notice() string {
	if len(r.Differs) == 0 {
		return ""
	}
	return fmt.Sprintf("project %s is as \"loom project add\" registered it; of %s, %s says something else, which does not hold",
		r.Id, strings.Join(r.Differs, ", "), console.Line(r.File, 200))
}
