package why

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/net/client"
	"github.com/loomrun/loom/internal/place/git"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Why returns the command of that name.
func (a *Commands) Why() *cobra.Command {
	var name, rev string
	cmd := &cobra.Command{
		Use: "why FILE:LINE [flags]", Short: "why a line of code is there, from its commit to its decision", Args: console.Takes("FILE:LINE"),
		Long: `Why finds the commit that a line of the target branch came with and tells what
Loom's records have of it: what was asked for, what was decided and what was
not, who approved it, how it was verified, who worked on it and what that cost.
A path is read from where you are, or else from the top of the repository. Lines
are counted as your checkout has the file, unless --rev says otherwise.`,
		Example: "  loom why cart/cart.go:28\n  loom why cart/cart.go:28 --rev v1.2 --project shop",
		RunE: func(cmd *cobra.Command, args []string) error {
			path, number, err := parseLine(args[0])
			if err = cmp.Or(err, console.CheckName("--project", name)); err != nil {
				return err
			}
			return a.With(cmd.Context(), func(c *client.Client) error {
				s, err := findStory(cmd.Context(), c, name, path, number, rev)
				if err != nil {
					return err
				}
				if a.JSON {
					return json.NewEncoder(a.Out).Encode(s.json())
				}
				s.text(a.Out)
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&rev, "rev", "", "`BRANCH` or commit to look at (default: the project's target branch)")
	cmd.Flags().StringVar(&name, "project", "", "`NAME` of the project (default: the one you are in, else the host's only one)")
	return cmd
}

// parseLine reads FILE:LINE.
func parseLine(arg string) (path string, number int, err error) {
	bad := fault.New("usage/argument", "not a file and a line").At("FILE:LINE").Got(arg).Want("for example cart/cart.go:28")
	i := strings.LastIndexByte(arg, ':')
	if i < 1 {
		return "", 0, bad
	}
	if number, err = strconv.Atoi(arg[i+1:]); err != nil || number < 1 {
		return "", 0, bad
	}
	return arg[:i], number, nil
}

// whyStory is what is known of a line. What is not known is nil.
type whyStory struct {
	project   string
	line      *git.Line
	doubt     string // why the records do not vouch for the commit, if they do not
	bead      *loomv1.Bead
	execution *loomv1.Execution
	process   *loomv1.Definition
	approval  *loomv1.Approval
	decisions []choice
}

// choice is a decision with its options.
type choice struct {
	*loomv1.DecisionNode
	chosen, rejected []option
}

type option struct {
	*loomv1.DecisionNode
	rationale string
}

// findStory follows a line from its commit to its decision.
func findStory(ctx context.Context, c *client.Client, name, path string, number int, rev string) (*whyStory, error) {
	p, err := whichProject(ctx, c, name)
	if err != nil {
		return nil, err
	}
	repo, err := git.Open(ctx, p.Repository)
	if err != nil {
		return nil, err
	}
	s := &whyStory{project: p.Id}
	s.line, err = repo.Blame(ctx, cmp.Or(rev, p.TargetBranch), pathIn(p.Repository, path), number, rev == "")
	if err != nil || s.line.Origin == nil || s.line.Origin.Claim == nil {
		return s, err
	}
	return s, s.follow(ctx, c)
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
		fits = func(p *loomv1.ProjectConfig) bool { _, in := here(p.Repository); return in }
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

// here returns where in a repository the working directory is.
func here(top string) (rel string, in bool) {
	dir, err := os.Getwd()
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return "", false
	}
	rel, err = filepath.Rel(top, dir)
	return rel, err == nil && filepath.IsLocal(rel)
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
	} else if rel, in := here(top); in {
		path = filepath.Join(rel, path)
	}
	return filepath.ToSlash(filepath.Clean(path))
}

// follow asks the host what the commit's trailers name. What this deployment
// does not know is a reason for doubt, not an error.
func (s *whyStory) follow(ctx context.Context, c *client.Client) error {
	claim := s.line.Origin.Claim
	v, err := c.Execution(ctx, &loomv1.Query{Project: s.project, Id: claim.Execution})
	switch {
	case fault.Status(err) == fault.Invalid || err == nil && (len(v.Executions) != 1 || v.Executions[0].Id != claim.Execution):
		s.doubt = fmt.Sprintf("the trailers name %s, which this deployment does not know: another one made it", console.Line(claim.Execution, 80))
		return nil
	case err != nil:
		return err
	}
	s.execution, s.process = v.Executions[0], v.Definition
	if s.doubt = s.questions(); s.doubt != "" {
		s.execution, s.process = nil, nil
		return nil
	}
	if v, err = c.Bead(ctx, &loomv1.Query{Project: s.project, Id: s.execution.Bead}); err != nil {
		return err
	}
	s.bead = v.Beads[0]
	if id := s.execution.Approved.GetApproval(); id != "" {
		if v, err = c.Inbox(ctx, &loomv1.Query{Project: s.project, Id: id}); err != nil {
			return err
		}
		s.approval = v.Approvals[0]
	}
	return s.decide(ctx, c)
}

// questions says why the execution is not where this commit came from, "" when
// it is.
func (s *whyStory) questions() string {
	o, x := s.line.Origin, s.execution
	made := cmp.Or(x.Landing.GetCommit(), x.Candidate.GetCommit())
	switch {
	case made == o.Commit:
		return ""
	case o.Boundary:
		return "the history of the repository is cut off there"
	case !o.Claim.Kept:
		return fmt.Sprintf("it was changed after Loom made it: %s made %.12s", x.Id, cmp.Or(made, "nothing"))
	case x.Candidate.GetPatchDigest() == o.Claim.Patch:
		return "" // the same patch, carried to another place
	}
	return fmt.Sprintf("the trailers name %s, which made %.12s here: another deployment made this one", x.Id, cmp.Or(made, "nothing"))
}

// decide finds the decisions that led to the one that the commit names.
func (s *whyStory) decide(ctx context.Context, c *client.Client) error {
	last := s.line.Origin.Claim.Decision
	if last == "" {
		return nil
	}
	r, err := c.Ask(ctx, &loomv1.GraphRequest{Project: s.project, Question: loomv1.GraphQuestion_GRAPH_QUESTION_ANCESTORS, Id: last})
	if err != nil && fault.Status(err) != fault.Invalid { // one that is not known here led to nothing
		return err
	}
	for _, n := range r.Graph.GetNodes() {
		if n.Type != loomv1.DecisionType_DECISION_TYPE_DECISION {
			continue
		}
		near, err := c.Ask(ctx, &loomv1.GraphRequest{Project: s.project, Question: loomv1.GraphQuestion_GRAPH_QUESTION_NEIGHBOURHOOD, Id: n.Id})
		if err != nil {
			return err
		}
		s.decisions = append(s.decisions, optionsOf(n, near.Graph))
	}
	return nil
}

// optionsOf returns a decision with what it took and what it did not.
func optionsOf(n *loomv1.DecisionNode, near *loomv1.DecisionGraph) choice {
	d := choice{DecisionNode: n}
	nodes := map[string]*loomv1.DecisionNode{}
	for _, o := range near.GetNodes() {
		nodes[o.Id] = o
	}
	for _, e := range near.GetEdges() {
		o := option{nodes[e.To], e.Rationale}
		switch {
		case e.From != n.Id || o.DecisionNode == nil:
		case e.Type == loomv1.DecisionEdgeType_DECISION_EDGE_TYPE_CHOSEN:
			d.chosen = append(d.chosen, o)
		case e.Type == loomv1.DecisionEdgeType_DECISION_EDGE_TYPE_REJECTED:
			d.rejected = append(d.rejected, o)
		}
	}
	return d
}

// attempts returns the ended attempts of the execution in the order they ended.
func (s *whyStory) attempts() []*loomv1.Attempt {
	var all []*loomv1.Attempt
	for _, n := range s.execution.GetNodes() {
		all = append(all, n.History...)
	}
	slices.SortFunc(all, func(x, y *loomv1.Attempt) int {
		return cmp.Or(x.EndedAt.AsTime().Compare(y.EndedAt.AsTime()), cmp.Compare(x.Id, y.Id))
	})
	return all
}

// verification returns the attempt whose checks passed on this very commit, or
// nil.
func (s *whyStory) verification() *loomv1.Attempt {
	for _, at := range slices.Backward(s.attempts()) {
		ran := slices.ContainsFunc(at.Outcome.GetChecks(), func(r *loomv1.CheckRun) bool { return r.Commit == s.line.Origin.Commit })
		if ran && at.Outcome.GetStatus() == loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS {
			return at
		}
	}
	return nil
}
