package console

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// inProject calls f. What is refused because no project is named, by a command that has
// --project, is asked again of the one whose repository the working directory is in; what
// that did not help names the projects there are, as far as whoever asks may know of them.
func (a *Console) inProject(ctx context.Context, c *client.Client, f func(c *client.Client) error) error {
	err := f(c)
	if !unnamed(err) {
		return err
	}
	v, lerr := c.Project(ctx, &loomv1.Query{})
	if lerr != nil || len(v.Projects) == 0 {
		return err
	}
	if name := a.atHand(v.Projects); name != "" && a.flags.Set("project", name) == nil {
		a.noteProject(name)
		if err = f(c); !unnamed(err) {
			return err
		}
	}
	var ids []string
	for _, p := range v.Projects {
		ids = append(ids, p.Id)
	}
	named := *fault.From(err)
	return named.Want("name one; --project NAME, which is one of %s", strings.Join(ids, ", "))
}

func unnamed(err error) bool {
	f := fault.From(err)
	return f != nil && strings.HasPrefix(f.Message, "no project is named")
}

// FillProject gives name, where it is empty and there are several projects, the one whose
// repository the working directory is in, and says so. It is for what is recorded when it
// is refused; everything else needs no more than [Console.With].
func (a *Console) FillProject(ctx context.Context, c *client.Client, name *string) {
	if *name != "" {
		return
	}
	v, err := c.Project(ctx, &loomv1.Query{})
	if err != nil || len(v.Projects) < 2 { // what is asked for says it better
		return
	}
	if *name = a.atHand(v.Projects); *name != "" {
		a.noteProject(*name)
	}
}

func (a *Console) noteProject(name string) {
	if !a.Quiet {
		a.Note("project %s, in whose repository this is; --project NAME names another", name)
	}
}

// atHand is the project in whose repository the working directory is, of repositories in
// one another the innermost; "" where there is none or are two, or where the command
// names one, or cannot.
func (a *Console) atHand(projects []*loomv1.ProjectConfig) (name string) {
	if f := a.flags.Lookup("project"); f == nil || f.Changed {
		return ""
	}
	innermost := ""
	for _, p := range projects {
		switch _, in := Inside(p.Repository); {
		case !in || len(p.Repository) < len(innermost):
		case p.Repository == innermost:
			name = ""
		default:
			name, innermost = p.Id, p.Repository
		}
	}
	return name
}

// NoProject is what a verb says that is about one project, where none is named and there
// are several: [Console.With] then takes the one at hand.
func NoProject() error {
	return fault.New("project/unknown", "no project is named, and this deployment does not have exactly one").At("--project").
		Want("name one; \"loom project list\" shows them")
}

// Inside returns where below a directory the working directory is.
func Inside(top string) (rel string, in bool) {
	dir, err := os.Getwd()
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return "", false
	}
	if real, err := filepath.EvalSymlinks(top); err == nil {
		top = real
	}
	rel, err = filepath.Rel(top, dir)
	return rel, err == nil && filepath.IsLocal(rel)
}
