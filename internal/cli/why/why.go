package why

import (
	"cmp"
	"context"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/net/client"
	"github.com/loomrun/loom/internal/place/git"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Why returns the command of that name.
func (a *Commands) Why() *cobra.Command {
	var name, rev, execution string
	var in []string
	cmd := &cobra.Command{
		Use: "why FILE:LINE|CLAIM [flags]", Short: "why a line of code, or a claim in a document, is there", Args: console.Takes("FILE:LINE"),
		Long: `Why finds the commit that a line of the target branch came with and tells what
Loom's records have of it: what was asked for, what was decided and what was
not, who approved it, how it was verified, who worked on it and what that cost.
A path is read from where you are, or else from the top of the repository. Lines
are counted as your checkout has the file, unless --rev says otherwise.

With --execution it tells of words in what that execution delivered, looked for
in the files here: which phase and attempt made them, and what had been read
outside of the workspace before, all of which is untrusted: what they cite, what
has their words or numbers, and the rest.`,
		Example: "  loom why cart/cart.go:28\n  loom why cart/cart.go:28 --rev v1.2 --project shop\n  loom why 'sales grew by 12 %' --execution desk-1-x1",
		RunE: func(cmd *cobra.Command, args []string) error {
			if execution != "" {
				if err := console.CheckID("--execution", execution); err != nil {
					return err
				}
				return a.claim(cmd.Context(), args[0], execution, in)
			}
			if len(in) > 0 {
				return fault.New("usage/argument", "only a claim is looked for in a file").At("--in").Want("name the --execution that delivered it, too")
			}
			path, number, err := parseLine(args[0])
			if err = cmp.Or(err, console.CheckName("--project", name)); err != nil {
				return err
			}
			return a.With(cmd.Context(), func(c *client.Client) error {
				p, err := whichProject(cmd.Context(), c, name)
				if err != nil {
					return err
				}
				changing := changed(cmd.Context(), c, p, path)
				r, err := ask(cmd.Context(), c, p, path, number, rev)
				if fault.Code(err) == "git/unknown-line" && len(changing) > 0 {
					e := *fault.From(err)
					return e.Want("it is changed by %s, which has not landed: loom execution show %s", changing[0].Bead, changing[0].Bead)
				}
				if err != nil {
					return err
				}
				return a.Print(r, func(w io.Writer) {
					story{r}.text(w)
					changingText(w, changing)
				})
			})
		},
	}
	cmd.Flags().StringVar(&rev, "rev", "", "`BRANCH` or commit to look at (default: the project's target branch)")
	cmd.Flags().StringVar(&execution, "execution", "", "tell of a CLAIM in what this execution `ID` delivered")
	cmd.Flags().StringArrayVar(&in, "in", nil, "a `FILE` to look for the claim in (default: all that was delivered and is here)")
	cmd.Flags().StringVar(&name, "project", "", "`NAME` of the project (default: the one you are in, else the host's only one)")
	return cmd
}

// parseLine reads FILE:LINE.
func parseLine(arg string) (path string, number int, err error) {
	bad := fault.New("usage/argument", "not a file and a line").At("FILE:LINE").Got(arg).
		Want("for example cart/cart.go:28; of words in a document, name the --execution that delivered it")
	i := strings.LastIndexByte(arg, ':')
	if i < 1 {
		return "", 0, bad
	}
	if number, err = strconv.Atoi(arg[i+1:]); err != nil || number < 1 || number > math.MaxInt32 {
		return "", 0, bad
	}
	return arg[:i], number, nil
}

// ask has the host tell the story of a line. Where the repository is on this machine
// and no revision is named, the line is counted as the checkout has it.
func ask(ctx context.Context, c *client.Client, p *loomv1.ProjectConfig, path string, number int, rev string) (reply *loomv1.WhyReply, err error) {
	q := &loomv1.WhyRequest{Project: p.Id, Path: pathIn(p.Repository, path), Line: uint32(number), Rev: cmp.Or(rev, p.TargetBranch)}
	var own *git.Counted
	if repo, err := git.Open(ctx, p.Repository); err == nil && rev == "" {
		if own, err = repo.Counted(ctx, q.Rev, q.Path, number); err != nil {
			return nil, err
		}
	}
	if own != nil && own.Number == 0 { // nobody but the checkout has it
		return &loomv1.WhyReply{Path: &q.Path, Line: q.Line, Text: &own.Text, Rev: &q.Rev, Loom: proto.Bool(false)}, nil
	}
	if own != nil {
		q.Line = uint32(own.Number)
	}
	if reply, err = c.Why(ctx, q); err != nil {
		return nil, err
	}
	reply.Line = uint32(number)
	return reply, nil
}

// changed returns the changes of a file that are proposed and have not landed. Where
// that is not to be had, it is none: they are told beside the answer.
func changed(ctx context.Context, c *client.Client, p *loomv1.ProjectConfig, path string) (list []*loomv1.FileClaim) {
	v, err := c.Lock(ctx, &loomv1.Query{Project: p.Id, Filter: project.OfFiles})
	if err != nil {
		return nil
	}
	path = pathIn(p.Repository, path)
	return slices.DeleteFunc(v.Claims, func(f *loomv1.FileClaim) bool { return f.Path != path })
}

// whichProject returns the named project, the one whose repository this is, or
// the only one.
func whichProject(ctx context.Context, c *client.Client, name string) (*loomv1.ProjectConfig, error) {
	v, err := c.Project(ctx, &loomv1.Query{Project: name})
	if err != nil {
		return nil, err
	}
	fits := func(p *loomv1.ProjectConfig) bool { return p.Id == name }
	if name == "" {
		fits = func(p *loomv1.ProjectConfig) bool { _, in := console.Inside(p.Repository); return in }
	}
	i := slices.IndexFunc(v.Projects, fits)
	if i < 0 && len(v.Projects) == 1 && name == "" {
		i = 0
	}
	if i < 0 {
		return nil, fault.New("project/unknown", "this is in no project's repository").At("--project").Got(name).Want("name the project")
	}
	return v.Projects[i], nil
}

// pathIn returns a path as the repository has it.
func pathIn(top, path string) string {
	if filepath.IsAbs(path) {
		if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
			path = filepath.Join(dir, filepath.Base(path))
		}
		if rel, err := filepath.Rel(top, path); err == nil {
			path = rel
		}
	} else if rel, in := console.Inside(top); in {
		path = filepath.Join(rel, path)
	}
	return filepath.ToSlash(filepath.Clean(path))
}

// story is the answer as people read it.
type story struct{ *loomv1.WhyReply }

// attempts returns the ended attempts of the execution in the order they ended.
func (s story) attempts() []*loomv1.Attempt {
	var all []*loomv1.Attempt
	for _, n := range s.Execution.GetNodes() {
		all = append(all, n.History...)
	}
	slices.SortFunc(all, func(x, y *loomv1.Attempt) int {
		return cmp.Or(x.EndedAt.AsTime().Compare(y.EndedAt.AsTime()), cmp.Compare(x.Id, y.Id))
	})
	return all
}

// verification returns the attempt whose checks passed on this very commit, or
// nil.
func (s story) verification() *loomv1.Attempt {
	for _, at := range slices.Backward(s.attempts()) {
		ran := slices.ContainsFunc(at.Outcome.GetChecks(), func(r *loomv1.CheckRun) bool { return r.Commit == s.Commit })
		if ran && at.Outcome.GetStatus() == loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS {
			return at
		}
	}
	return nil
}
