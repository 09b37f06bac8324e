package agent

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/recording"
	"github.com/loomrun/loom/internal/agents/tool"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/redact"
	"github.com/loomrun/loom/internal/core/conversation"
	"github.com/loomrun/loom/internal/core/turn"
	"github.com/loomrun/loom/internal/core/verify"
	"github.com/loomrun/loom/internal/lang/condition"
	"github.com/loomrun/loom/internal/place/git"
	"github.com/loomrun/loom/internal/place/repomap/index"
	"github.com/loomrun/loom/internal/place/setups"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// Blobs keeps what is too large for the journal.
type Blobs interface {
	Put(ctx context.Context, data []byte, mediaType string) (*loomv1.BlobRef, error)
	Get(ctx context.Context, ref *loomv1.BlobRef) ([]byte, error)
}

// Repository is what a project's work is done on.
type Repository struct {
	Workspaces *git.Workspaces
	Committer  *git.Committer
	Source     *git.Repository
}

// Worker does the work of every role. All fields but Models, Tiers, Sources, Outside,
// Toolkit, Live, Broken, Held, Setups and Secrets are required. It is
// safe for concurrent use.
type Worker struct {
	Model model.Provider
	// Models answer in the place of Model for the roles that they are named by.
	Models map[string]model.Provider
	Roles  *roles.Set
	Blobs  Blobs
	// Repository opens a project's repository; it may be called often.
	Repository func(ctx context.Context, p *loomv1.ProjectConfig) (*Repository, error)
	// Exec says whether, and in which environment, tools and checks of a role may
	// start processes in work on a project. Hooks follow it. In the sandbox they
	// change caches only in changes, an existing directory; commands with one of
	// their own start from the caches as the host has them.
	Exec func(project string, role roles.Role, changes string) tool.Policy
	// ExecSetup is Exec for the setup of a project that names registries: its commands
	// reach these and nothing else, and where that cannot be had, none runs.
	ExecSetup func(p *loomv1.ProjectConfig, role roles.Role, changes string) tool.Policy
	// Servers are the language servers that roles may ask. Nil means
	// tool.LanguageServers.
	Servers []tool.LanguageServer
	// Sources may be asked by tools of roles that name them. Nil means none.
	Sources *tool.Sources
	// Outside opens the tools of servers for one turn; done ends what they
	// started. Nil means that there are none.
	Outside func(ctx context.Context, q OutsideQuery) (list []tool.Outside, done func())
	// Toolkit opens, for one turn, the tools of the package that a process is; it
	// refuses where the operator has not trusted them. Nil means that no package
	// has any.
	Toolkit func(ctx context.Context, q OutsideQuery) (list []tool.Outside, done func(), err error)
	// HookTimeout is for each hook of a repository. Zero means 5 minutes.
	HookTimeout time.Duration
	// Scratch is an existing directory for what is thrown away: checkouts, and
	// the homes and caches of commands.
	Scratch string
	Logger  *slog.Logger
	// Shared says whether there are other hosts: it has what is done in a workspace kept where other hosts find it, and
	// goes on with what they kept there. Nil means that there are none.
	Shared func() bool
	// Live is given chunks of text as the model writes them.
	Live func(project, bead, agent, text string)
	// Broken is told of calls that were broken off. It must not block. Nil ignores it.
	Broken func(BrokenCall)
	// Held says whether the work of a bead waits as long as this host runs: then its agent
	// is freed at once, and nothing is done or asked. Nil holds nothing.
	Held func(ctx context.Context, bead string) bool
	// Tiers answer for work that asks for a model of that tier, 1 to 3 (the
	// strongest), where there is one.
	Tiers map[int]model.Provider

	// Secrets are taken out of what models are told, what they say and what tools
	// give; a change that holds one is not proposed. Nil has none.
	Secrets *redact.Secrets

	// Maps keeps what the repositories' files declare. Nil keeps nothing.
	Maps *index.Index

	// Tape records what models answer and what tools give. Nil records nothing.
	Tape *recording.Writer
	// Played is a recording whose answers Model gives; commands say again what
	// they said then. Nil for none.
	Played *recording.Recording

	// Setups keeps what setups have made, for later checkouts. Nil keeps nothing.
	Setups *setups.Store

	makers makers
	trees  trees
	pool   git.Pool // of checkouts in which nothing lives on
	pooled sync.Once
}

// OutsideQuery says what tools from outside are for.
type OutsideQuery struct {
	Project *loomv1.ProjectConfig
	Role    roles.Role
	// Root is the directory that they work in; ReadOnly says that they may not
	// change it.
	Root     string
	ReadOnly bool
	// Process is the name of the process that is worked by, and Toolkit the digest
	// of its package's tools.
	Process, Toolkit string
	// Trusted is what the CEO trusts of these tools in the project; nil where it
	// is the host's own operator that has to.
	Trusted *loomv1.Toolkit
}

// outside opens the tools of servers, if the role names any.
func (j *job) outside(ctx context.Context, ws tool.Workspace) (list []tool.Outside, done func()) {
	names := slices.ContainsFunc(slices.Concat(j.role.Tools.Allow, j.role.Tools.Ask), func(t string) bool { return strings.HasPrefix(t, "mcp_") })
	if j.Outside == nil || !names {
		return nil, func() {}
	}
	list, done = j.Outside(ctx, OutsideQuery{Project: j.brief.Project, Role: j.role, Root: ws.Root, ReadOnly: ws.ReadOnly})
	excluded := j.brief.Definition.GetGuide().GetExcludedTools()
	return slices.DeleteFunc(list, func(o tool.Outside) bool { return tool.Allows(excluded, o.Name) }), done
}

// job is one assignment being worked on.
type job struct {
	*Worker
	brief *loomv1.Brief
	seat  actors.Seat
	role  roles.Role
	repo  *Repository
	share func(context.Context) error // has other hosts find what was done; nil where there are none
	gave  bool                        // it has given tasks since it took the attempt
	tree  *git.Worktree               // what its work is done in; nil for work that only looks
	place *place                      // of the commands that its model asks for
	looks sync.Map                    // by directory: the look that a checkout is for

	// inspect says what keeps what the worktree has now from being proposed; nil
	// for work that only looks.
	inspect func(context.Context) (*fault.Error, error)

	// promised says what is wrong with an outcome of success, as the node's kind of work
	// has it; nil for work that nothing is promised of.
	promised func(context.Context, *loomv1.Outcome) (*fault.Error, error)
	// theirs are files of the session that somebody has changed on the target branch.
	theirs []edited

	// page has the words of pages that the turn has read; nil until it ends.
	page func(address string) string

	// paper is the document that a phase works on; nil for other work.
	paper *paper

	// wrong is what was found of outcomes of this attempt that were refused, each once:
	// what was mended is counted none the less. refusals are the codes of these refusals,
	// and found what the last look at an outcome has found.
	wrong, found []verify.Finding
	refusals     []string
}

// Work implements actors.Worker.
func (w *Worker) Work(ctx context.Context, b *loomv1.Brief, s actors.Seat) (*loomv1.Outcome, error) {
	if w.Held != nil && w.Held(ctx, b.Bead.GetId()) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, cmp.Or(s.ParkForOperator(ctx, heldBack()), actors.ErrParked)
	}
	role, ok := w.Roles.Get(b.Attempt.Role)
	if !ok {
		return nil, fault.New("role/unknown", "no role %q on this host", b.Attempt.Role).Want("%s", w.Roles.Suggest(b.Attempt.Role))
	}
	repo, err := w.Repository(ctx, b.Project)
	if err != nil {
		return nil, err
	}
	excluded := b.Definition.GetGuide().GetExcludedTools()
	role.Tools.Allow, role.Tools.Ask = without(role.Tools.Allow, excluded), without(role.Tools.Ask, excluded)
	if converses(b) {
		role.Tools.Allow, role.Tools.Ask = conversation.Tools(role.Tools.Allow), without(role.Tools.Ask, []string{"ask_user"})
	}
	if b.Step.GetRun() != nil {
		role = atStep(role, b.Step)
	}
	j := &job{Worker: w, brief: b, seat: s, role: role, repo: repo}
	if err := inContext(b); err != nil {
		return j.failure(err, ""), nil
	}
	if err := j.recall(ctx); err != nil {
		return nil, err
	}
	if err := j.remember(ctx); err != nil {
		return nil, err
	}
	if j.place, err = j.newPlace(); err != nil {
		return nil, err
	}
	defer j.place.close()
	switch b.Node.Kind {
	case loomv1.NodeKind_NODE_KIND_COMMIT:
		return j.underLock(ctx, j.commit)
	case loomv1.NodeKind_NODE_KIND_LAND:
		return j.underLock(ctx, j.land)
	case loomv1.NodeKind_NODE_KIND_VERIFY:
		return j.verify(ctx)
	}
	switch {
	case b.Attempt.Given != nil:
		return j.takeOver(ctx)
	case b.Node.Phase != nil:
		return j.phase(ctx)
	}
	return j.task(ctx)
}

// heldBack is what work waits for that the host which runs is not there for.
func heldBack() *loomv1.ModelBlock {
	why := fault.New("bead/held", "a run for another goal has the data directory")
	return &loomv1.ModelBlock{Model: "any", Code: why.Code, Message: why.Message, Remedy: "it goes on when a host starts on the data directory: loom up"}
}

// without returns the tools that are not excluded.
func without(tools, excluded []string) []string {
	return slices.DeleteFunc(slices.Clone(tools), func(t string) bool { return tool.Allows(excluded, t) })
}

// task is ordinary work: in the execution's worktree for a role that may
// change files, in a checkout that is thrown away for one that only looks.
func (j *job) task(ctx context.Context) (*loomv1.Outcome, error) {
	if !j.changes() || j.brief.Bead.GetDelegation().GetQuestion() {
		return j.lead(ctx)
	}
	entry, done := j.trees.use(j.brief.Execution.Id)
	defer done()
	free, err := entry.beside(ctx) // it is not removed under the agent
	if err != nil {
		return nil, err
	}
	defer free()
	joined, err := j.beginning(ctx)
	if err != nil {
		return nil, err
	}
	tree, err := j.open(ctx)
	if err != nil {
		return nil, err
	}
	conflicts, err := j.refresh(ctx, tree)
	if err != nil {
		return nil, err
	}
	j.tree = tree
	j.inspect = func(ctx context.Context) (*fault.Error, error) { return j.inspected(ctx, tree) }
	has, err := j.changedBefore(ctx, tree)
	if err != nil {
		return nil, err
	}
	out, err := j.turn(ctx, j.worktree(tree), Prompt(j.brief, j.role)+has+j.mapText(ctx, tree.Path())+j.instructions(tree.Path())+conflictText(conflicts)+joined)
	if err != nil || out.Status != loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS {
		return out, err
	}
	return j.bring(ctx, out)
}

// changedBefore tells which files of the worktree are changed already when an
// attempt begins: by attempts before it, whatever became of them.
func (j *job) changedBefore(ctx context.Context, tree *git.Worktree) (string, error) {
	x, first := j.brief.Execution, j.brief.Attempt.Number <= 1 && j.brief.Attempt.Visit <= 1
	if turn.Started(j.brief.Turn) || first && x.Change == nil && x.Draft == nil {
		return "", nil
	}
	paths, err := tree.Differs(ctx)
	if err != nil || len(paths) == 0 {
		return "", err
	}
	var p prompt
	p.WriteByte('\n')
	p.section("Your worktree")
	p.WriteString("It has what was changed in it before you; git_diff shows it:\n")
	const told = 50
	list := strings.Join(paths[:min(len(paths), told)], "\n")
	if more := len(paths) - told; more > 0 {
		list += fmt.Sprintf("\nand %d more", more)
	}
	p.data(list)
	return p.String(), nil
}

// open opens the execution's worktree. That of a fork begins with the change that it
// was forked with, and that of work that was closed with its draft.
func (j *job) open(ctx context.Context) (*git.Worktree, error) {
	x := j.brief.Execution
	if commit := x.GetChange().GetCommit(); x.ForkedFrom != nil && commit != "" {
		if _, err := j.repo.Workspaces.Inherit(ctx, x.Id, commit); err != nil {
			return nil, err
		}
	}
	if c := x.GetBegins(); c != nil {
		if err := j.inherit(ctx, c.Commit, "the change that execution %s began with", x.Id); err != nil {
			return nil, err
		}
	}
	if d := x.GetDraft(); d != nil {
		if err := j.inherit(ctx, d.Commit, "the draft of execution %s", d.Execution); err != nil {
			return nil, err
		}
	}
	phase := j.brief.Node.Phase != nil
	if j.amongHosts() && !phase {
		if err := j.repo.Workspaces.Follow(ctx, x.Id); err != nil {
			return nil, err
		}
	}
	tree, err := j.worktrees().Open(ctx, x.Id, j.brief.Bead.Id)
	switch {
	case err != nil || !j.amongHosts():
		return tree, err
	case !phase:
		j.share = tree.Share
		return tree, nil
	}
	j.share = tree.Exchange // phases are worked on side by side, also on several hosts
	return tree, j.share(ctx)
}

// amongHosts says whether other hosts work on executions of the deployment, too.
func (j *job) amongHosts() bool { return j.Shared != nil && j.Shared() }

// inherit has the execution's worktree begin with a commit, which must still be kept.
func (j *job) inherit(ctx context.Context, commit, what, of string) error {
	there, err := j.repo.Workspaces.Inherit(ctx, j.brief.Execution.Id, commit)
	if err == nil && !there {
		err = fault.New("git/failed", what+" is no longer kept", of).Got(commit)
	}
	return err
}

// changes reports whether the role may change files.
func (j *job) changes() bool {
	return slices.ContainsFunc(j.role.Tools.All(), tool.ChangesFiles)
}

// refresh brings the worktree to the target's newest commit when work was sent
// back: the reason may lie in what landed meanwhile.
func (j *job) refresh(ctx context.Context, tree *git.Worktree) ([]string, error) {
	if j.brief.Attempt.Visit <= 1 || j.brief.Attempt.Number > 1 || j.brief.Turn.GetModel() != "" {
		return nil, nil
	}
	return j.repo.Workspaces.Rebase(ctx, tree)
}

func conflictText(files []string) string {
	return conflictSection("The target branch moved; these files have git's conflict marks and must be resolved", files)
}

// conflictSection names files with conflict marks, and says why they have them.
func conflictSection(why string, files []string) string {
	if len(files) == 0 {
		return ""
	}
	text := "\n## Conflicts\n" + why + ":\n"
	for _, f := range files {
		text += fmt.Sprintf("%q\n", f)
	}
	return text
}

// shared has other hosts find what was done so far.
func (j *job) shared(ctx context.Context) error {
	if j.share == nil {
		return nil
	}
	return j.share(ctx)
}

// propose makes what the worktree has the change that the outcome proposes.
func (j *job) propose(ctx context.Context, tree *git.Worktree, out *loomv1.Outcome) (*loomv1.Outcome, error) {
	if err := j.shared(ctx); err != nil {
		return nil, err
	}
	change, diff, err := tree.Change(ctx)
	if fault.Code(err) == "git/no-change" {
		out.Unchanged = true
		return out, nil
	}
	if err == nil && j.share != nil { // it may have more than was shared: others are at work beside
		err = tree.Offer(ctx, change.Commit)
	}
	if err != nil {
		return nil, err
	}
	if change.Warnings, err = j.warnings(ctx, tree, change); err != nil {
		return nil, err
	}
	if why := refusal(change.Warnings); why != nil {
		j.fail(out, why.Code, why.Error(), why.Error())
		return out, nil
	}
	// A secret of the host may stand in what is taken out; and files may be in any
	// encoding, where what is signed is the text that people are shown.
	shown := strings.ToValidUTF8(j.Secrets.Text(string(diff)), "\uFFFD")
	if change.Diff, err = j.Blobs.Put(ctx, []byte(shown), "text/x-diff"); err != nil {
		return nil, err
	}
	out.Change = listed(change)
	landed, _, err := j.repo.Workspaces.Holder(ctx, change)
	out.Unchanged = landed != ""
	return out, err
}

// look is work in a clean checkout that is thrown away: of the target, or of what
// a team has made so far.
func (j *job) look(ctx context.Context) (*loomv1.Outcome, error) {
	commit, joined, err := j.seen(ctx)
	if err != nil {
		return nil, err
	}
	dir, done, err := j.checkout(ctx, commit)
	if err != nil {
		return nil, err
	}
	defer done()
	return j.turn(ctx, j.workspace(dir), Prompt(j.brief, j.role)+j.mapText(ctx, dir)+j.instructions(dir)+joined)
}

// outcome is an outcome of the runtime's own, with every declared field given.
func (j *job) outcome(status loomv1.OutcomeStatus, summary, notes string, fields map[string]any) *loomv1.Outcome {
	all := map[string]any{}
	for name, kind := range j.brief.Node.GetOutcome() {
		all[name] = map[string]any{"string": "", "bool": false, "int": 0, "double": 0, "object": map[string]any{}}[condition.BaseType(kind)]
	}
	for name, v := range fields {
		if _, declared := all[name]; declared {
			all[name] = v
		}
	}
	f, err := structpb.NewStruct(all)
	if err != nil {
		panic(err) // values are those of JSON
	}
	return &loomv1.Outcome{Status: status, Summary: text(summary), Notes: text(notes), Fields: f}
}

func (j *job) success(summary, notes string) *loomv1.Outcome {
	return j.outcome(loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS, summary, notes, nil)
}

// failure says whose fault a failure is: "change" when the change itself must
// be different.
func (j *job) failure(err error, at string) *loomv1.Outcome {
	f := fault.From(err)
	out := j.outcome(loomv1.OutcomeStatus_OUTCOME_STATUS_FAILURE, cut(f.Message, 400), f.Error(), map[string]any{"fault": at})
	out.Code = f.Code
	return out
}

// text is what a program printed, as text: hooks and tools print any bytes.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func cut(s string, n int) string {
	r := []rune(s)
	if len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}
