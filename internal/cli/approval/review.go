package approval

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/core/keyring"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/net/ceokey"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// review is what goes through the inbox, one approval after the other.
type review struct {
	*Commands
	client     *client.Client
	key        *ceokey.Key // nil where it is not at hand
	deployment string
	keys       *console.Keyboard

	waiting  []string // ids of what waited when it began
	answered map[string]string
}

// review asks about each approval that waits, and signs what is answered. It ends
// when all were seen, with the key q, or with the end of the input.
func (a *Commands) review(ctx context.Context, q *loomv1.Query, keyPath string) error {
	if a.JSON {
		return fault.New("usage/argument", "-i is for people").At("--json").Want("loom inbox --json, and loom approve")
	}
	key, err := OpenKey(keyPath)
	if err != nil && (keyPath != "" || !errors.Is(err, fs.ErrNotExist)) {
		return err
	}
	if key == nil {
		fmt.Fprintln(a.Err, "note: the CEO's key is not here; what agents ask can be answered, and approvals are signed elsewhere")
	}
	return a.With(ctx, func(c *client.Client) error {
		about, err := c.Host(ctx, &loomv1.HostRequest{})
		if err != nil {
			return err
		}
		list, err := c.Inbox(ctx, q)
		if err != nil {
			return err
		}
		r := &review{Commands: a, client: c, key: key, deployment: about.Deployment, keys: console.NewKeyboard(a.In), answered: map[string]string{}}
		for _, p := range list.Approvals {
			r.waiting = append(r.waiting, p.Id)
		}
		err = r.walk(ctx)
		r.close(len(r.waiting) - len(r.answered))
		return err
	})
}

// Through asks about each of some approvals, and signs what is answered, as the inbox does.
func (a *Commands) Through(ctx context.Context, c *client.Client, ids []string, keyPath string) error {
	key, err := OpenKey(keyPath)
	if err != nil && (keyPath != "" || !errors.Is(err, fs.ErrNotExist)) {
		return err
	}
	about, err := c.Host(ctx, &loomv1.HostRequest{})
	if err != nil {
		return err
	}
	r := &review{Commands: a, client: c, key: key, deployment: about.Deployment, keys: console.NewKeyboard(a.In), waiting: ids, answered: map[string]string{}}
	err = r.walk(ctx)
	r.close(len(r.waiting) - len(r.answered))
	return err
}

// errQuit says that the person has had enough.
var errQuit = errors.New("quit")

func (r *review) walk(ctx context.Context) error {
	for at := 0; at < len(r.waiting); {
		step, err := r.one(ctx, at)
		if errors.Is(err, errQuit) || errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		at = max(0, at+step)
	}
	return nil
}

// one shows an approval and does what is answered; step is how many to go on.
func (r *review) one(ctx context.Context, at int) (step int, err error) {
	id := r.waiting[at]
	fmt.Fprintf(r.Out, "\n[%d of %d] ", at+1, len(r.waiting))
	if done := r.answered[id]; done != "" {
		fmt.Fprintf(r.Out, "%s was answered here: %s\n", id, done)
		return r.pass(ctx)
	}
	v, err := r.client.Inbox(ctx, &loomv1.Query{Project: project.Of(id), Id: id})
	if fault.Code(err) == "approval/unknown" || err == nil && v.Approvals[0].DecidedAt != nil {
		fmt.Fprintf(r.Out, "%s was answered elsewhere, or lapsed\n", id)
		r.answered[id] = "elsewhere"
		return 1, nil
	}
	if err != nil {
		return 0, err
	}
	p := v.Approvals[0]
	ApprovalText(r.Out, r.Width(), p, v.Diff, r.PaintDiff)
	for {
		r.keys.Drop() // what was pressed before all of it was shown is no answer to it
		d, step, err := r.ask(ctx, p)
		if err != nil {
			return 0, err
		}
		if d == nil && step == 0 {
			var whole strings.Builder
			ApprovalText(&whole, r.Width(), p, v.Diff, r.PaintDiff)
			if err := r.Page(ctx, whole.String()); err != nil {
				return 0, err
			}
			continue
		}
		if d == nil {
			return step, nil
		}
		done, err := r.give(ctx, p, d)
		if err != nil {
			if fault.From(err).Code == "internal/error" || ctx.Err() != nil {
				return 0, err
			}
			r.Fail(err) // it is asked again, or left
			continue
		}
		r.answered[id] = done
		fmt.Fprintf(r.Out, "%s: %s\n", id, r.answered[id])
		return 1, nil
	}
}

// give signs an answer, or gives it as an operator where the CEO's key is not at hand, and
// says what became of it.
func (r *review) give(ctx context.Context, p *loomv1.Approval, d *loomv1.DecideApproval) (string, error) {
	if r.key == nil {
		if p.Permission == nil {
			return "", r.whoSigns(ctx, p)
		}
		_, err := r.respond(ctx, r.client, d)
		return answeredTo(p, d.Decision) + ownWords(p, d), err
	}
	asked, err := r.sign(ctx, r.client, r.key, r.deployment, project.Of(p.Id), d)
	if err != nil {
		return "", err
	}
	words, _, err := r.became(ctx, r.client, project.Of(p.Id), asked, d)
	return words + ownWords(p, d), err
}

// whoSigns says whose keys an approval takes.
func (r *review) whoSigns(ctx context.Context, p *loomv1.Approval) error {
	v, err := r.client.Key(ctx, &loomv1.Query{Project: project.Of(p.Id)})
	if err != nil {
		return err
	}
	return fault.New("answer/signature", "approval %q takes the signature of %s", p.Id, strings.Join(keyring.Live(v.Keys), " or ")).
		At("approval").Want("loom inbox -i --key FILE, or loom approve %s --key FILE", p.Id)
}

// pass asks where to go from what needs no answer.
func (r *review) pass(ctx context.Context) (step int, err error) {
	key, err := r.press(ctx, "[j] on, [k] back, [q]uit: ")
	switch {
	case err != nil:
		return 0, err
	case key == "k":
		return -1, nil
	case key == "q":
		return 0, errQuit
	}
	return 1, nil
}

// keysText says what the keys do.
const keysText = `  a, y  approve           r, n  reject (asks why: it needs a reason)
  c     a comment, which asks for changes, or answers an agent's question
  l, j  later: the next   k     the one before
  d     the whole proposal with its diff, in your pager
  q     end; what was not answered is not changed
`

// questionText says what the keys do at a question that is answered in words.
const questionText = `  a, c  answer (asks for the text, which the agent is told)
  l, j  later: the next   k     the one before
  d     the whole question, in your pager
  q     end; what was not answered is not changed
"loom answer %s --no" says that there is no answer.
`

// ask reads keys until one answers (d), goes elsewhere (step), or shows it again
// (neither). The digest in the answer is that of what was shown.
func (r *review) ask(ctx context.Context, p *loomv1.Approval) (d *loomv1.DecideApproval, step int, err error) {
	inWords := p.Kind == loomv1.ApprovalKind_APPROVAL_KIND_QUESTION
	prompt, keys := "[a]pprove [r]eject [c]omment [l]ater [k] back [d]iff [?] [q]uit: ", keysText
	if inWords {
		prompt, keys = "[a]nswer [l]ater [k] back [d] whole [?] [q]uit: ", fmt.Sprintf(questionText, p.Id)
	}
	for {
		key, err := r.press(ctx, prompt)
		if err != nil {
			return nil, 0, err
		}
		switch key {
		case "l", "j", "later":
			return nil, 1, nil
		case "k":
			return nil, -1, nil
		case "d":
			return nil, 0, nil
		case "q":
			return nil, 0, errQuit
		}
		if inWords {
			d, err = r.words(ctx, p, key)
		} else {
			d, err = r.verdict(ctx, p, key)
		}
		if d != nil || err != nil {
			return d, 0, err
		}
		fmt.Fprint(r.Out, keys)
	}
}

// verdict is the answer to an approval that a key begins, nil for another key.
func (r *review) verdict(ctx context.Context, p *loomv1.Approval, key string) (d *loomv1.DecideApproval, err error) {
	d = &loomv1.DecideApproval{Approval: p.Id, Digest: p.Digest}
	switch key {
	case "a", "y", "yes":
		d.Decision = loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE
		if len(p.Choices) > 0 {
			d.Choice, err = r.line(ctx, "which one: ")
		}
	case "r", "n", "no":
		d.Decision = loomv1.ApprovalDecision_APPROVAL_DECISION_REJECT
		d.Comment, err = r.reason(ctx, "why (Enter alone or Esc goes back): ")
	case "c":
		d.Decision = r.withComment(p)
		d.Comment, err = r.reason(ctx, "comment (Enter alone or Esc goes back): ")
	default:
		return nil, nil //nolint:nilnil // it answers nothing
	}
	if key != "a" && key != "y" && key != "yes" && d.Comment == "" {
		return nil, err // nobody would be told why, or what to change
	}
	return d, err
}

// reason asks for words that whoever did the work is told; it is empty where the person
// goes back.
func (r *review) reason(ctx context.Context, prompt string) (string, error) {
	const escape = "\x1b"
	text, err := r.line(ctx, prompt)
	if strings.Contains(text, escape) {
		return "", err
	}
	return text, err
}

// words is the answer to a question in words that a key begins, nil for another key and
// where nothing is said. No key refuses an answer: letters of one that was meant would.
func (r *review) words(ctx context.Context, p *loomv1.Approval, key string) (*loomv1.DecideApproval, error) {
	if key != "a" && key != "c" {
		return nil, nil //nolint:nilnil // it answers nothing
	}
	text, err := r.line(ctx, "answer: ")
	if err != nil || text == "" {
		return nil, err
	}
	return &loomv1.DecideApproval{Approval: p.Id, Digest: p.Digest, Decision: loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE, Comment: text}, nil
}

// withComment is the answer that a comment is: changes, or for a question of an
// agent what it is told.
func (r *review) withComment(p *loomv1.Approval) loomv1.ApprovalDecision {
	d := &loomv1.DecideApproval{Decision: loomv1.ApprovalDecision_APPROVAL_DECISION_REQUEST_CHANGES}
	if p.Permission != nil && project.CheckAnswer(p, d) != nil {
		return loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE
	}
	return d.Decision
}

// press asks for a key, which counts as soon as it is pressed at a terminal.
func (r *review) press(ctx context.Context, prompt string) (string, error) {
	key, err := r.keys.Key(ctx, r.Out, prompt)
	switch {
	case err != nil:
		fmt.Fprintln(r.Out)
	case r.keys.Single():
		fmt.Fprintln(r.Out, console.Printable(key))
	}
	return key, err
}

// line asks for a line.
func (r *review) line(ctx context.Context, prompt string) (string, error) {
	fmt.Fprint(r.Out, prompt)
	text, err := r.keys.Line(ctx)
	if err != nil {
		fmt.Fprintln(r.Out)
	}
	return text, err
}

// close says what is left.
func (r *review) close(left int) {
	if left == 0 {
		fmt.Fprintln(r.Out, "nothing more waits for you")
		return
	}
	if left == 1 {
		fmt.Fprintln(r.Out, "1 still waits")
		return
	}
	fmt.Fprintf(r.Out, "%d still wait\n", left)
}
