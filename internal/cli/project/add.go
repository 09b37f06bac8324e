package project

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/cli/means"
	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/internal/net/client"
	"github.com/loomrun/loom/internal/ops/config"
	"github.com/loomrun/loom/internal/place/setup"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Unchecked is what a person is told of a project without checks.
const Unchecked = "project %s names no --check: its verifications run only what QA's triage names\n"

func (a *Commands) add() *cobra.Command {
	var said means.Projects
	var routes []string
	cmd := &cobra.Command{
		Use: "add NAME=PATH[@BRANCH] [flags]", Short: "have a running host work on a project", Args: console.Takes("NAME=PATH"),
		Long: `Add registers a project, as "loom up --project" does, on a host that runs. It
takes work at once, and after each restart. PATH is a git repository on the
machine of the host that answers; work lands on BRANCH, or on the one that is
checked out there. What its loom.toml says below [project.NAME] holds for the
flags that are not given. That is all that is said of the project: one that is
there gets it in the place of what it had, and the same changes nothing.
For --setup-registry, --operators-answer and --push URL start the host anew.`,
		Example: "  loom project add shop=../shop@main --check 'shop=go test ./...'",
		RunE: func(cmd *cobra.Command, args []string) error {
			arg, file, err := a.fromFile(args[0], &said, cmd.Flags().Changed)
			if err != nil {
				return err
			}
			p, err := a.toAdd(arg, &said, routes)
			if err != nil {
				return err
			}
			return a.With(cmd.Context(), func(c *client.Client) error {
				r, err := c.Register(cmd.Context(), &loomv1.RegisterRequest{Change: &loomv1.RegisterRequest_Add{Add: p.Registration()}})
				if err != nil {
					return err
				}
				return a.Print(r, func(w io.Writer) {
					added(w, r, args[0])
					if file != "" {
						fmt.Fprintln(w, file)
					}
				})
			})
		},
	}
	said.FlagsOfOne(cmd.Flags())
	cmd.Flags().StringArrayVar(&routes, "route-file", nil, "routing rules of error reports, `FILE`")
	return cmd
}

// fromFile adds what the loom.toml of a repository says of the project that an argument
// names. It returns the argument, with the branch of the file where it names none, and
// what was taken over in words. Like every file of a workspace it is held to what a
// stranger may say.
func (a *Commands) fromFile(arg string, said *means.Projects, given func(flag string) bool) (whole, words string, err error) {
	name, place, _ := strings.Cut(arg, "=")
	path, at := console.CutBranch(place)
	file := filepath.Join(path, config.Name)
	if _, err := os.Lstat(file); place == "" || err != nil {
		return arg, "", nil //nolint:nilerr // there is none, and what is no repository is told of
	}
	c, err := a.Settings().Load(config.Places{Workspace: file}, nil)
	if err != nil {
		return "", "", err
	}
	taken := said.Fill(name, c, given)
	if at == "" {
		for _, s := range c.Get("branch") {
			if s.Entry == name && s.Values[0] != "" {
				arg, taken = arg+"@"+s.Values[0], append(taken, "branch")
			}
		}
	}
	if len(taken) == 0 {
		return arg, "", nil
	}
	return arg, fmt.Sprintf("  as %s says: %s", console.Line(file, 200), strings.Join(taken, ", ")), nil
}

// toAdd is the project that an argument and flags say, read as those of "loom up" are.
func (a *Commands) toAdd(arg string, said *means.Projects, routes []string) (p host.Project, err error) {
	if p, err = said.One(arg); err != nil {
		return p, err
	}
	c := host.Config{Projects: []host.Project{p}}
	if err := a.FillReporting(&c, routes); err != nil {
		return p, err
	}
	if p = c.Projects[0]; p.Reporting == nil {
		p.Reporting = c.Reporting // of a file without a NAME
	}
	p.Repository, err = filepath.Abs(p.Repository)
	return p, err
}

// added says what has become of a project, and which checks it might have.
func added(w io.Writer, r *loomv1.RegisterReply, arg string) {
	p := r.GetProject()
	switch {
	case r.Anew:
		fmt.Fprintf(w, "%s: takes work, which lands on %s of %s\n", p.GetId(), p.GetTargetBranch(), p.GetRepository())
	case len(r.Changed) > 0:
		fmt.Fprintf(w, "%s: changed: %s\n", p.GetId(), strings.Join(r.Changed, ", "))
	default:
		fmt.Fprintf(w, "%s: is registered like this already, nothing is changed\n", p.GetId())
	}
	if len(p.GetChecks()) == 0 {
		fmt.Fprintf(w, Unchecked, p.GetId())
		proposed(w, p, arg)
	}
}

// proposed names the checks that the files of a repository show, if it is on this
// machine, as "loom init" would have them.
func proposed(w io.Writer, p *loomv1.ProjectConfig, arg string) {
	flags := ""
	for _, l := range setup.Languages(os.DirFS(p.GetRepository())) {
		for _, c := range l.Checks {
			fmt.Fprintf(w, "  found %s, by %s: %s\n", l.Name, console.Line(l.Why, 200), console.Line(c, 200))
			flags += " --check " + suggest.Arg(p.GetId()+"="+c)
		}
	}
	if flags != "" {
		fmt.Fprintf(w, "  to have work checked by that: loom project add %s%s\n", suggest.Arg(arg), flags)
	}
}

func (a *Commands) remove() *cobra.Command {
	q := &loomv1.RegisterRequest{}
	cmd := &cobra.Command{
		Use: "remove PROJECT [flags]", Short: "have a project take no more work", Args: console.Takes("PROJECT"),
		Long: `Remove ends that a project takes work, for good: no restart begins it again,
whatever earlier starts or files say. It is refused while a bead is open. What
is recorded of the project stays and can be read, its repository is not touched,
and "loom project add", or "loom up --project", has it take work again.`,
		Example: "  loom project remove shop --reason \"sold\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := console.CheckToken("PROJECT", args[0]); err != nil {
				return err
			}
			q.Change = &loomv1.RegisterRequest_Remove{Remove: args[0]}
			return a.With(cmd.Context(), func(c *client.Client) error {
				r, err := c.Register(cmd.Context(), q)
				if err != nil {
					return err
				}
				return a.Print(r, func(w io.Writer) { removed(w, r) })
			})
		},
	}
	cmd.Flags().StringVar(&q.Reason, "reason", "", "`TEXT`: why, for the record")
	return cmd
}

func removed(w io.Writer, r *loomv1.RegisterReply) {
	if len(r.Changed) == 0 {
		fmt.Fprintf(w, "%s: was removed before, nothing is changed\n", r.GetProject().GetId())
		return
	}
	fmt.Fprintf(w, "%s: takes no more work; what is recorded of it stays\n", r.GetProject().GetId())
}
