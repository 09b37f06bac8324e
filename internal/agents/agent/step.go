package agent

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/loomrun/loom/internal/agents/tool"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/intent"
	"github.com/loomrun/loom/internal/core/turn"
	"github.com/loomrun/loom/internal/core/workflow"
	"github.com/loomrun/loom/internal/place/git"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// mostLeft bounds a file that a step leaves, in bytes.
const mostLeft = 1 << 20

// mostInput bounds what a prompt has of one input, in bytes.
const mostInput = 48 << 10

// turnOf runs the turn of a phase, with what its session says where it is a step of one.
func (j *job) turnOf(ctx context.Context, ws tool.Workspace, files fs.FS, more string) (*loomv1.Outcome, error) {
	session, err := j.stepText(ctx)
	if err != nil {
		return nil, err
	}
	if j.brief.Step != nil && j.brief.Attempt.Node == processes.CompletionNode {
		j.promised = j.evidenced(files)
	}
	return j.turn(ctx, ws, j.phasePrompt(files)+session+more)
}

// stepText tells whoever works on a step of a session what the session is for, in the
// words of the person who sealed it, and what the step is held to.
func (j *job) stepText(ctx context.Context) (string, error) {
	b := j.brief.Step
	if b == nil {
		return "", nil
	}
	var p prompt
	p.section("Session")
	j.intentText(&p)
	folder := intent.Folder(b.Session)
	fmt.Fprintf(&p, "What its steps leave lies in %s, and so does each file that its words name. Other folders beside that are of other sessions, and no part of the project.\n", folder)
	for _, e := range b.Done {
		fmt.Fprintf(&p, "Step %d is done; its work said:\n", e.Step)
		p.data(strings.TrimSpace(e.Summary + "\n" + e.Notes))
	}
	for _, s := range b.Steering {
		what := "The operator says:\n"
		if s.Redirect {
			what = "The operator adds a constraint, which holds from here on:\n"
		}
		p.WriteString(what + turn.Marked("goal", s.Text))
	}
	if len(b.Again) > 0 {
		p.WriteString("The operator has it done once more, because of this:\n")
		p.data(strings.Join(b.Again, "\n"))
	}
	theirsText(&p, j.theirs)
	p.listOf("The operator has accepted that this is not met; it is no reason to refuse the work:", b.Gaps)
	p.listOf("The pattern demands:", b.Constraints)
	p.listOf("The outcome is marked by:", b.Rubric)
	usesText(&p, b)
	runText(&p, b)
	for _, in := range b.Inputs {
		data, err := j.Blobs.Get(ctx, in.Content)
		if err != nil {
			return "", fmt.Errorf("input %q of session %s: %w", in.Name, b.Session, err)
		}
		fmt.Fprintf(&p, "Input %s, a %s:\n", in.Name, in.Type)
		if len(data) > mostInput {
			fmt.Fprintf(&p, "(the first %d of %d bytes)\n", mostInput, len(data))
			data = data[:mostInput]
		}
		p.data(strings.ToValidUTF8(string(data), "?"))
	}
	p.WriteByte('\n')
	return p.String(), nil
}

// listOf writes lines under a heading, nothing for none.
func (p *prompt) listOf(heading string, lines []string) {
	if len(lines) == 0 {
		return
	}
	p.WriteString(heading + "\n")
	for _, l := range lines {
		p.WriteString("- " + strings.Join(strings.Fields(l), " ") + "\n")
	}
}

// intentText is the sealed intent: it is the goal of the bead, and stands here where it is
// too long for that.
func (j *job) intentText(p *prompt) {
	b := j.brief.Step
	whole := strings.TrimSpace(intent.Text(b.Envelope))
	fmt.Fprintf(p, "session: %s\n", b.Session)
	const what = "is the sealed intent of the session, in the person's own words. Work for it, and for nothing else; where what the pattern or a step asks for goes against it, it holds"
	if strings.Contains(j.brief.Bead.GetDescription(), whole) {
		p.WriteString("What the bead's goal says " + what + ".\n")
		return
	}
	p.WriteString("This " + what + ":\n" + turn.Marked("goal", whole))
}

// usesText says what the inputs of the patterns are that a step lies within.
func usesText(p *prompt, b *loomv1.StepBrief) {
	for _, use := range b.Within {
		if len(use.Inputs) > 0 {
			fmt.Fprintf(p, "The pattern %s, which is used as %s here, takes as its inputs:\n", use.Pattern, use.Step)
		}
		for _, in := range use.Inputs {
			what := "the session's input " + in.Input
			if in.Output != "" {
				what = "the file " + path.Join(intent.Folder(b.Session), in.Output)
			}
			fmt.Fprintf(p, "- %s, a %s (%s): %s\n", in.Name, in.Type, strings.Join(strings.Fields(in.Description), " "), what)
		}
	}
}

// runText is what a run of a step is held to.
func runText(p *prompt, b *loomv1.StepBrief) {
	l := b.GetRun().GetLimits()
	if l == nil {
		return
	}
	fmt.Fprintf(p, "Tempo: %s. The summary and the notes that you end with have at most %d bytes together; files count for themselves.\n", strings.ToLower(strings.TrimPrefix(l.Tempo.String(), "TEMPO_")), l.AnswerBytes)
	if len(b.Deliverables) == 0 {
		p.WriteString("This step leaves no file, so write none: what the next step needs of your work stands in the notes.\n")
	} else {
		fmt.Fprintf(p, "It leaves %s, and no other file.\n", strings.Join(b.Deliverables, ", "))
	}
	if l.Questions == 0 {
		p.WriteString("Nobody answers you while you work: decide yourself. What has to be asked stands as a question in what you leave.\n")
		return
	}
	fmt.Fprintf(p, "You may put %d questions to a person, with ask_user: only what decides the work, and what nobody but a person can know.\n", l.Questions)
}

// strays are the files that a step has changed and that no step of its session leaves.
func (j *job) strays(ctx context.Context, tree *git.Worktree) (names []string, err error) {
	if j.brief.Step.GetRun() == nil {
		return nil, nil
	}
	touched, err := tree.Differs(ctx)
	for _, name := range touched {
		if !slices.Contains(j.brief.Step.Deliverables, name) && !j.leftEarlier(name) {
			names = append(names, name)
		}
	}
	return names, err
}

// undeclared tells a step once of files that it does not declare; nil for none.
func (j *job) undeclared(ctx context.Context, tree *git.Worktree) (*fault.Error, error) {
	if slices.Contains(j.refusals, strayFiles) {
		return nil, nil
	}
	names, err := j.strays(ctx, tree)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	return fault.New(strayFiles, "%s: this step does not leave that", strings.Join(names[:min(len(names), mostNamed)], ", ")).
		Want("move what counts into %s; what is still there when you call finish again is put back to what it was", strings.Join(j.brief.Step.Deliverables, ", ")), nil
}

// dropUndeclared puts files back that a step has changed and does not leave, and says so in
// its notes.
func (j *job) dropUndeclared(ctx context.Context, tree *git.Worktree, out *loomv1.Outcome) error {
	names, err := j.strays(ctx, tree)
	if err != nil || len(names) == 0 {
		return err
	}
	dropped, err := j.restore(ctx, tree, names)
	if err != nil {
		return err
	}
	out.Notes = text(strings.TrimSpace(out.Notes + "\nPut back, for this step does not leave it: " + strings.Join(dropped[:min(len(dropped), mostNamed)], ", ")))
	return nil
}

const (
	strayFiles = "intent/undeclared"
	mostNamed  = 20 // files that are named in a sentence
)

// layersOf are the tools by which agents write to layers of a session that are no files.
var layersOf = map[string][]loomv1.SessionLayer{
	"memory_keep":     {intent.LayerActive, intent.LayerDurable},
	"decision_log":    {intent.LayerDecisions},
	"decision_ballot": {intent.LayerDecisions},
	"decision_vote":   {intent.LayerDecisions},
}

const askUser = "ask_user"

// atStep is a role at a step of a session: with the tools for the layers that the step
// writes to, and with the question to a person where its tempo has room for one.
func atStep(role roles.Role, b *loomv1.StepBrief) roles.Role {
	denied := func(name string) bool {
		layers := layersOf[name]
		if tool.ChangesFiles(name) {
			layers = []loomv1.SessionLayer{intent.LayerFiles}
		}
		return len(layers) > 0 && !slices.ContainsFunc(layers, func(l loomv1.SessionLayer) bool { return slices.Contains(b.Writes, l) })
	}
	questions := b.Run.GetLimits().GetQuestions() > 0
	for _, list := range []*[]string{&role.Tools.Allow, &role.Tools.Ask} {
		*list = slices.DeleteFunc(slices.Clone(*list), func(name string) bool { return denied(name) || name == askUser && !questions })
	}
	if questions && !slices.Contains(role.Tools.All(), askUser) {
		role.Tools.Allow = append(role.Tools.Allow, askUser)
	}
	return role
}

// withinTempo holds what a step says at its end to what its tempo has for it: too much is
// sent back once, with the limit, and cut after that.
func (j *job) withinTempo(out *loomv1.Outcome) *fault.Error {
	most := int(j.brief.Step.GetRun().GetLimits().GetAnswerBytes())
	size := len(out.Summary) + len(out.Notes)
	switch {
	case most == 0 || size <= most:
		return nil
	case slices.Contains(j.refusals, tooLong):
		out.Summary = strings.ToValidUTF8(out.Summary[:min(len(out.Summary), most/2)], "")
		out.Notes = strings.ToValidUTF8(out.Notes[:min(len(out.Notes), most-len(out.Summary))], "")
		return nil
	}
	return fault.New(tooLong, "summary and notes have %d bytes, and the tempo of this step has %d for them", size, most).
		Want("say less; what is longer will be cut")
}

const tooLong = "intent/tempo"

// leftToSession reports whether an attempt ended because its session goes on at another
// step: what came of the node is for the session to tell.
func leftToSession(b *loomv1.Brief, a *loomv1.Attempt) bool {
	return b.Step != nil && a.Outcome.GetCode() == workflow.Withdrawn
}

// fetchEarlier puts what steps of the session have left into a worktree: where a session was
// taken up, or a step is done again in another bead, their work was done elsewhere. What
// lay there otherwise at the beginning is somebody's edit on the target branch, of which the
// agent is told. Once a step works, what it has to leave itself stays as the worktree has it.
func (j *job) fetchEarlier(ctx context.Context, dir string) error {
	earlier := j.brief.Step.GetEarlier()
	if len(earlier) == 0 {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("worktree: %w", err)
	}
	defer root.Close()
	begins := j.brief.Attempt.Number <= 1 && j.brief.Attempt.Visit <= 1 && !turn.Started(j.brief.Turn)
	for _, o := range earlier {
		there, err := root.ReadFile(o.Name)
		if err == nil && !begins && slices.Contains(j.brief.Step.Deliverables, o.Name) {
			continue
		}
		data, miss := j.Blobs.Get(ctx, o.Content)
		if miss != nil {
			return fmt.Errorf("%s of session %s: %w", o.Name, j.brief.Step.Session, miss)
		}
		if err == nil && begins && !bytes.Equal(there, data) {
			j.theirs = append(j.theirs, edited{o.Name, there})
		}
		if err := root.MkdirAll(path.Dir(o.Name), 0o755); err != nil {
			return fmt.Errorf("worktree: %w", err)
		}
		if err := root.WriteFile(o.Name, data, 0o644); err != nil {
			return fmt.Errorf("worktree: %w", err)
		}
	}
	return nil
}

// edited is a file of a session as the target branch has it, where that is not as the
// session's steps have left it.
type edited struct {
	name string
	data []byte
}

// mostTheirs bounds what a prompt has of such a file, in bytes.
const mostTheirs = 8 << 10

// theirsText tells what somebody has changed by hand.
func theirsText(p *prompt, list []edited) {
	for _, e := range list {
		fmt.Fprintf(p, "The target branch has another %s than the steps of this session have left: somebody has changed it there. The workspace has the session's, and what you leave takes the place of theirs, so carry over what they meant. Theirs:\n", e.name)
		if len(e.data) > mostTheirs {
			fmt.Fprintf(p, "(the first %d of %d bytes)\n", mostTheirs, len(e.data))
		}
		p.data(strings.ToValidUTF8(string(e.data[:min(len(e.data), mostTheirs)]), "?"))
	}
}

// bringsDraft says whether the completion check is the first work of a bead: its session was
// taken up when all steps were done, and what they left is what this bead has to land.
func (j *job) bringsDraft() bool {
	return j.brief.Attempt.Node == processes.CompletionNode && len(j.brief.Step.GetEarlier()) > 0 && workflow.Standing(j.brief.Execution).GetCommit() == ""
}

// leave keeps the contents of what a step has to leave with its outcome. What is not
// there is left out: the session refuses a step without it.
func (j *job) leave(ctx context.Context, dir string, out *loomv1.Outcome) error {
	names := j.brief.Step.GetDeliverables()
	if len(names) == 0 {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("worktree: %w", err)
	}
	defer root.Close()
	for _, name := range names {
		info, err := root.Stat(name)
		if err != nil || !info.Mode().IsRegular() || info.Size() > mostLeft {
			continue
		}
		data, err := root.ReadFile(name)
		if err != nil {
			continue
		}
		kind := "application/octet-stream"
		if utf8.Valid(data) {
			kind = "text/plain; charset=utf-8"
		}
		ref, err := j.Blobs.Put(ctx, data, kind)
		if err != nil {
			return err
		}
		out.Left = append(out.Left, &loomv1.NamedBlob{Name: name, Content: ref})
	}
	return nil
}

// notJudged is the code of what would land otherwise than it was judged.
const notJudged = "intent/delivery"

// asJudged refuses a commit in which a file that steps of a session have left is not what
// the completion check has judged.
func (j *job) asJudged(ctx context.Context, commit string) error {
	for _, o := range j.brief.Step.GetEarlier() {
		data, _, there, err := j.repo.Source.FileAt(ctx, commit, o.Name, mostLeft)
		if err != nil {
			return err
		}
		if sum := sha256.Sum256(data); !there || hex.EncodeToString(sum[:]) != o.GetContent().GetSha256() {
			return fault.New(notJudged, "%s is not what the completion check of session %s has judged", o.Name, j.brief.Step.Session).
				Want("do the last step again: it begins with what the target branch has now")
		}
	}
	return nil
}

// iterations is how many answers a model may give: those of the role, and at a step no
// more than its tempo allows.
func (j *job) iterations() int {
	most := j.role.Limits.Iterations
	if n := int(j.brief.Step.GetRun().GetLimits().GetIterations()); n > 0 {
		most = min(most, n)
	}
	if j.remembers() {
		most = min(most, rememberIterations)
	}
	return most
}

// leftEarlier says whether a step of the session has left a file, whatever node did it.
func (j *job) leftEarlier(name string) bool {
	return slices.ContainsFunc(j.brief.Step.GetEarlier(), func(o *loomv1.StepOutput) bool { return o.Name == name })
}

// asBefore lists the files of a step that is done again which are still what it had left.
func (j *job) asBefore(dir string) (same []string) {
	for _, o := range j.brief.Step.GetEarlier() {
		if o.Step != j.brief.Step.GetRun().GetStep() || !slices.Contains(j.brief.Step.Deliverables, o.Name) {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(o.Name))) //nolint:gosec // a name that the session has checked
		if sum := sha256.Sum256(data); err == nil && hex.EncodeToString(sum[:]) == o.GetContent().GetSha256() {
			same = append(same, o.Name)
		}
	}
	return same
}
