package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Committer makes candidates and lands them. One call at a time for a
// repository: that is what the commit lock is for, and its token is what holds
// when the lock does not.
type Committer struct {
	mirror
	step func(string) // between two steps; tests stop the process here
}

// NewCommitter returns the committer of a project under the data directory dir.
func NewCommitter(dir, project string, repo *Repository) (*Committer, error) {
	m, err := newMirror(dir, project, repo)
	return &Committer{m, func(string) {}}, err
}

// Author is the agent that made a change.
type Author struct{ Name, Email string }

// String is the author as a commit names it.
func (a Author) String() string { return a.Name + " <" + a.Email + ">" }

// CandidateRequest asks for the commit of an approved change.
type CandidateRequest struct {
	Deployment, Bead, Execution string // ids
	Decision                    string // id of the decision; may be empty
	Token                       uint64 // of the grant that the caller holds
	Target                      string // branch
	Change                      *loomv1.Change
	Author                      Author
	Subject, Body               string // what a model wrote; made harmless
	Hooks                       HookPolicy

	ref string // keeps the commit; empty means the candidate's own ref
}

// keep is the ref that keeps the commit.
func (req CandidateRequest) keep() string { return cmp.Or(req.ref, candidateRef(req.Bead)) }

func candidateRef(bead string) string { return "refs/loom/candidate/" + bead }

// Candidate puts an approved change on the newest tip of the target, runs the
// repository's hooks on it and keeps the commit under refs/loom/candidate/BEAD,
// all under the fence at Token. Asked again, it returns the commit it made
// (without HookRuns, which were before; what the candidate says of hooks stands in
// its commit) as long as the tip has not moved and the decision is the same, and the
// one that landed if it has landed.
//
// Errors that callers choose by: git/fenced, git/conflict (the message names
// the files), git/patch-changed (the approval lapses), git/no-change (the
// target has it already), git/hook-failed, git/hook-timeout, git/hook-changed,
// tool/no-sandbox. After any error nothing but the fence has changed.
func (c *Committer) Candidate(ctx context.Context, req CandidateRequest) (*loomv1.Candidate, []HookRun, error) {
	if err := req.check(); err != nil {
		return nil, nil, err
	}
	fence, err := c.repo.raise(ctx, req.Deployment, req.Token)
	if err != nil {
		return nil, nil, err
	}
	c.step("fence raised")
	tip, err := c.sync(ctx, req.Target)
	if err != nil {
		return nil, nil, err
	}
	c.step("mirror synced")
	if made, err := c.made(ctx, req, tip); made != nil || err != nil {
		return made, nil, err
	}
	tree, err := c.apply(ctx, req.Change, tip)
	if err != nil {
		return nil, nil, err
	}
	c.step("change applied")
	made, runs, err := c.commit(ctx, req, fence, tip, tree)
	return made, runs, c.repo.overtaken(ctx, req.Deployment, req.Token, err)
}

var decisionID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}$`)

func (req CandidateRequest) check() error {
	if err := checkTokens("deployment", req.Deployment, "bead", req.Bead, "execution", req.Execution); err != nil {
		return err
	}
	if req.Decision != "" && !decisionID.MatchString(req.Decision) {
		return fault.New("id/malformed", "this is not the id of a decision").Got(req.Decision)
	}
	c := req.Change
	if !isObjectID(c.GetBase()) || !isObjectID(c.GetCommit()) || c.GetPatchDigest() == "" {
		return fault.New("usage/argument", "the change names no base, commit or digest")
	}
	for _, s := range []string{req.Author.Name, req.Author.Email} {
		if strings.TrimSpace(s) == "" || strings.ContainsAny(s, "<>\n\r\x00") {
			return fault.New("usage/argument", "the author needs a name and an address, in one line and without < or >").Got(s)
		}
	}
	return nil
}

func (req CandidateRequest) trailers() trailers {
	return trailers{bead: req.Bead, execution: req.Execution, decision: req.Decision, token: req.Token, patch: req.Change.GetPatchDigest()}
}

// made returns the commit that an earlier call made for the same change, or nil.
func (c *Committer) made(ctx context.Context, req CandidateRequest, tip string) (*loomv1.Candidate, error) {
	mark := mark{req.Execution, req.Change.GetPatchDigest()}
	oid, err := c.repo.marked(ctx, mark, req.Change.GetBase(), tip)
	if err != nil {
		return nil, err
	}
	if oid != "" {
		return c.describe(ctx, req, oid)
	}
	oid, err = c.repo.resolve(ctx, candidateRef(req.Bead))
	if err != nil || oid == "" {
		return nil, err
	}
	found, err := c.repo.inspect(ctx, oid)
	if err != nil || found.mark() != mark || found.decision != req.Decision || found.parent != tip {
		return nil, err
	}
	return c.describe(ctx, req, oid)
}

// describe reads from a commit in the registered repository what it is, whoever it
// was that made it.
func (c *Committer) describe(ctx context.Context, req CandidateRequest, oid string) (*loomv1.Candidate, error) {
	found, err := c.repo.inspect(ctx, oid)
	if err != nil {
		return nil, err
	}
	return &loomv1.Candidate{
		Commit: oid, Tree: found.tree, Base: found.parent, PatchDigest: found.digest,
		Token: found.token, Ref: req.keep(),
		Author: found.author, Committer: found.committer,
		ExpectedAuthor: req.Author.String(), ExpectedCommitter: Author{committerName, committerEmail}.String(),
		Hooks: hookResults(found.hooks),
	}, nil
}

// apply returns the tree of the change on tip, if the patch stays the same.
func (c *Committer) apply(ctx context.Context, change *loomv1.Change, tip string) (string, error) {
	err := c.fetch(ctx, change.GetCommit())
	if errors.Is(err, errGone) { // a restore brings no workspaces back
		return "", fault.New("git/patch-changed", "the change itself is gone, with the workspaces that it was made in").Got(change.GetCommit())
	}
	if err != nil {
		return "", err
	}
	approved, err := readPatch(ctx, c.git(), change.GetBase(), change.GetCommit())
	if err != nil {
		return "", err
	}
	if approved.digest() != change.GetPatchDigest() {
		return "", fault.New("git/patch-changed", "the commit of the change does not hold what was approved")
	}
	if tip == change.GetBase() {
		return c.git().line(ctx, "rev-parse", "--verify", change.GetCommit()+"^{tree}")
	}
	tree, conflicts, err := c.merge(ctx, change.GetBase(), tip, change.GetCommit())
	if err != nil {
		return "", err
	}
	if len(conflicts) > 0 {
		return "", fault.New("git/conflict", "the change conflicts with the target in %s", Named(conflicts)).
			Want("work on the newest target and propose the change again")
	}
	now, err := readPatch(ctx, c.git(), tip, tree)
	switch {
	case err != nil:
		return "", err
	case len(now) == 0:
		return "", fault.New("git/no-change", "the target already has this change")
	case now.digest() != change.GetPatchDigest():
		return "", fault.New("git/patch-changed", "the target has changed %s since the change was made, so the patch is another one", Named(touched(now, approved)))
	}
	return tree, nil
}

// touched returns the paths at which two patches differ.
func touched(now, approved patch) []string {
	was := map[entry]bool{}
	for _, e := range approved {
		was[e] = true
	}
	var paths []string
	for _, e := range now {
		if !was[e] {
			paths = append(paths, e.path)
		}
	}
	return paths
}

// commit runs the hooks, makes the commit, and publishes it.
func (c *Committer) commit(ctx context.Context, req CandidateRequest, fence, tip, tree string) (*loomv1.Candidate, []HookRun, error) {
	message := seal(compose(req.Subject, req.Body), req.trailers())
	if message == "" {
		message = seal("Change for "+req.Bead, req.trailers())
	}
	s := c.newStage(req, tip, tree)
	defer s.close(ctx)
	if err := s.open(ctx, req.Bead); err != nil {
		return nil, nil, err
	}
	message, runs, err := s.rehearse(ctx, message)
	if err != nil {
		return nil, runs, err
	}
	ends := req.trailers()
	ends.hooks = hookLine(runs)
	if message = seal(message, ends); message == "" {
		return nil, runs, fault.New("git/hook-failed", "the hooks left an empty message")
	}
	oid, err := c.write(ctx, req.Author, tip, tree, message)
	if err != nil {
		return nil, runs, err
	}
	c.step("commit written")
	if err := transfer(ctx, c.git(), c.repo.git(), asLoose, []string{oid}, tip); err != nil {
		return nil, runs, err
	}
	c.step("objects sent")
	made, err := c.describe(ctx, req, oid)
	if err != nil {
		return nil, runs, err
	}
	if err := c.publish(ctx, req, fence, oid); err != nil {
		return nil, runs, err
	}
	c.step("candidate published")
	return made, runs, nil
}

// write makes the commit in the mirror, where no hook has been.
func (c *Committer) write(ctx context.Context, author Author, tip, tree, message string) (string, error) {
	date := fmt.Sprintf("@%d +0000", time.Now().Unix())
	git, flags, err := c.signing(ctx)
	if err != nil {
		return "", err
	}
	git.stdin = strings.NewReader(message)
	git.env = append(git.env, "GIT_AUTHOR_NAME="+author.Name, "GIT_AUTHOR_EMAIL="+author.Email,
		"GIT_AUTHOR_DATE="+date, "GIT_COMMITTER_DATE="+date)
	return git.line(ctx, append([]string{"commit-tree", tree, "-p", tip, "-F", "-"}, flags...)...)
}

// publish has the registered repository keep a commit that was sent to it.
func (c *Committer) publish(ctx context.Context, req CandidateRequest, fence, oid string) error {
	old, err := c.repo.resolve(ctx, req.keep())
	if err != nil {
		return err
	}
	return c.repo.transact(ctx, "loom: candidate of "+req.Execution,
		stands(fenceRef(req.Deployment), fence), set(req.keep(), oid, old))
}

// overtaken turns an error into git/fenced when another holder has begun, who
// is then the reason.
func (r *Repository) overtaken(ctx context.Context, deployment string, token uint64, err error) error {
	if err == nil {
		return nil
	}
	if _, now, fenceErr := r.fence(ctx, deployment); fenceErr == nil && now > token {
		return fenced(token, now)
	}
	return err
}
