package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/base/discard"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/core/document"
	"github.com/loomrun/loom/internal/core/verify"
	"github.com/loomrun/loom/internal/craft/office"
	"github.com/loomrun/loom/internal/place/git"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// The stages of a document.
const (
	planning      = loomv1.DocumentStage_DOCUMENT_STAGE_PLAN
	rendering     = loomv1.DocumentStage_DOCUMENT_STAGE_RENDER
	reviewing     = loomv1.DocumentStage_DOCUMENT_STAGE_REVIEW
	materializing = loomv1.DocumentStage_DOCUMENT_STAGE_MATERIALIZE
	postlog       = loomv1.DocumentStage_DOCUMENT_STAGE_POSTLOG
)

// paper is the document that a phase works on, and what the phase knows of it.
type paper struct {
	*job
	stage            loomv1.DocumentStage
	artifact, format string
	files            document.Files
	dir              string // of the workspace
	turn             *run   // whose calls are counted; nil before it began

	// base is the spec as it was proposed before this phase, nil for none, and mended
	// are the patches of the runtime's own that a review begins with.
	base   proto.Message
	mended []*loomv1.Patch

	// joined are the patches as the phases before have proposed them, nil for none.
	joined []byte
	own    ownRules
	before proto.Message // the spec before the work began, nil for none
	theirs theirs
}

// document works on a stage of a document: its model writes through one tool, which
// checks each artifact at the call, and what needs no model the runtime does itself.
func (j *job) document(ctx context.Context) (*loomv1.Outcome, error) {
	x := j.brief.Execution.Context
	p := &paper{
		job: j, stage: j.brief.Node.Phase.Document, artifact: verify.Fill("{context.artifact|document}", x), format: verify.Fill("{context.type|docx}", x),
	}
	p.files = document.FilesOf(p.artifact, p.format)
	j.paper = p
	if !slices.Contains(office.Formats, p.format) {
		return j.failure(fault.New("document/format", "there is no such type of document").At("context.type").Got(p.format).
			Want("%s", suggest.Among(p.format, office.Formats)), ""), nil
	}
	if p.stage == postlog {
		return p.postlog(ctx)
	}
	if err := p.readBase(ctx); err != nil {
		return nil, err
	}
	return j.inTree(ctx, p.work)
}

// work is the stage in the execution's worktree.
func (p *paper) work(ctx context.Context, tree *git.Worktree, conflicts []string) (*loomv1.Outcome, error) {
	p.dir = tree.Path()
	if why, err := p.someonesOwn(ctx, tree.Base()); why != nil || err != nil {
		return p.failure(why, "change"), err
	}
	var err error
	if p.own, err = readOwnRules(p.dir, p.format, p.brief.Execution.Context); err != nil {
		return p.failure(err, "change"), nil
	}
	switch p.stage {
	case planning:
		p.promised = p.holding(p.delivers(tree), p.files.Outline, "outline")
		return p.orMinimal(ctx, func() (*loomv1.Outcome, error) { return p.phaseTurn(ctx, tree, conflicts) })
	case rendering:
		p.promised = p.holding(p.delivers(tree), p.files.Spec, "")
		out, err := p.phaseTurn(ctx, tree, conflicts)
		if err == nil && succeededWith(out) {
			out.Notes = text(strings.TrimSpace(out.Notes + "\n" + p.renderedNotes()))
		}
		return out, err
	case reviewing:
		return p.review(ctx, tree, conflicts)
	}
	return p.materialize()
}

func succeededWith(out *loomv1.Outcome) bool {
	return out.GetStatus() == loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS
}

// readBase reads the spec as the phases before have proposed it, so that what is done
// with it comes to the same however often it is begun.
func (p *paper) readBase(ctx context.Context) error {
	if p.stage != reviewing && p.stage != rendering {
		return nil
	}
	dir, done, err := p.proposed(ctx, "")
	if err != nil {
		return err
	}
	defer done()
	if data, err := readIn(dir, p.files.Spec); err == nil && data != nil {
		p.base, _ = document.Read(p.files.Spec, data, "") // one that is not sound is no base
	}
	p.joined, err = readIn(dir, p.files.Patches)
	return err
}

// readIn reads a file of a directory, nil for one that is not there.
func readIn(dir, name string) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	data, err := root.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// write writes a file of the workspace, whatever stands in its place.
func (p *paper) write(name string, data []byte) error {
	root, err := os.OpenRoot(p.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if info, err := root.Lstat(name); err == nil && !info.Mode().IsRegular() {
		if err := discard.In(root, name); err != nil {
			return err
		}
	}
	if i := strings.LastIndexByte(name, '/'); i > 0 {
		if err := root.MkdirAll(name[:i], 0o755); err != nil {
			return err
		}
	}
	return root.WriteFile(name, data, 0o644)
}

// remove takes a file out of the workspace.
func (p *paper) remove(name string) error {
	root, err := os.OpenRoot(p.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return discard.In(root, name)
}

// holding is a gate: what was promised is there, and the artifact is one.
func (p *paper) holding(first func(context.Context, *loomv1.Outcome) (*fault.Error, error), file, kind string) func(context.Context, *loomv1.Outcome) (*fault.Error, error) {
	return func(ctx context.Context, out *loomv1.Outcome) (*fault.Error, error) {
		if why, err := first(ctx, out); why != nil || err != nil {
			return why, err
		}
		data, err := readIn(p.dir, file)
		if err != nil {
			return nil, err
		}
		if _, err := document.Read(file, data, kind); err != nil {
			return fault.From(err), nil
		}
		return nil, nil
	}
}

// orMinimal has a turn plan. Where the outlines of its last attempt were refused, there is
// the minimal outline of the goal, and the outcome says so; where it wrote none, it has
// failed again, and a person is asked.
func (p *paper) orMinimal(ctx context.Context, turn func() (*loomv1.Outcome, error)) (*loomv1.Outcome, error) {
	out, err := turn()
	if ctx.Err() != nil || errors.Is(err, actors.ErrParked) || notOurs[fault.Code(err)] {
		return out, err
	}
	if (err != nil || !succeededWith(out)) && (!p.lastTry() || p.refusedCalls("outline") == 0) {
		return out, err
	}
	if err != nil || !succeededWith(out) {
		why := out.GetSummary()
		if err != nil {
			why = fault.From(err).Error()
		}
		if err := p.write(p.files.Outline, document.JSON(p.minimal())); err != nil {
			return nil, err
		}
		out = p.success("the outline is the minimal one of the goal", why)
	}
	data, err := readIn(p.dir, p.files.Outline)
	if err != nil {
		return nil, err
	}
	if m, err := document.Read("", data, "outline"); err == nil && document.Hash(m) == document.Hash(p.minimal()) {
		out.Summary = cut(text("minimal outline: "+out.Summary), 400)
		out.Notes = text(strings.TrimSpace(out.Notes + fmt.Sprintf("\nNo outline of the model's could be used (%d were refused): %s is the minimal one, made of the goal.", p.refusedCalls("outline"), p.files.Outline)))
	}
	return out, nil
}

// minimal is the outline that the template gives, or else the goal alone.
func (p *paper) minimal() *loomv1.PlanningOutline {
	goal := strings.TrimSpace(p.brief.Bead.GetGoal() + "\n" + p.brief.Bead.GetDescription())
	if t := p.own.template; t != nil {
		return t.Outline(p.format, goal)
	}
	return document.Minimal(p.format, goal)
}

// outline is the outline in the workspace, nil for none.
func (p *paper) outline() *loomv1.PlanningOutline {
	data, _ := readIn(p.dir, p.files.Outline)
	m, err := document.Read(p.files.Outline, data, "outline")
	o, _ := m.(*loomv1.PlanningOutline)
	if err != nil {
		return nil
	}
	return o
}

// renderedNotes say what the spec lacks.
func (p *paper) renderedNotes() string {
	var lines []string
	if p.markdown() {
		lines = append(lines, fmt.Sprintf("The spec was made of Markdown, because %d specs were refused.", p.refusedCalls("")))
	}
	data, _ := readIn(p.dir, p.files.Spec)
	spec, err := document.Read(p.files.Spec, data, "")
	if d, ok := spec.(*loomv1.DocumentSpec); ok && err == nil {
		for _, s := range d.Sections {
			if slices.ContainsFunc(s.Callouts, func(c *loomv1.Callout) bool { return strings.HasPrefix(c.Text, document.MissingMark) }) {
				lines = append(lines, fmt.Sprintf("Section %s (%s) was not written, which it says in its place.", s.Id, s.Heading))
			}
		}
	}
	return strings.Join(lines, "\n")
}
