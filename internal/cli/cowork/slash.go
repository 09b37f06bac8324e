package cowork

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/cli/approval"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/core/conversation"
	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// slash is a command within a conversation.
type slash struct {
	name, args, about string
	do                func(t *talk, ctx context.Context, args string) error
}

// slashes are the commands, in the order of their help.
func slashes() []slash {
	return []slash{
		{"help", "", "these commands", (*talk).help},
		{"state", "[BEAD]", "how work stands that was begun here, or a bead", (*talk).state},
		{"show", "", "this conversation: mode, model, cost, window", (*talk).showIt},
		{"approve", "[ID]", "go through what waits for an answer, and sign it with your key", (*talk).approve},
		{"diff", "[BEAD]", "what work has changed: of a bead, or of the newest begun here", (*talk).diff},
		{"list", "", "conversations of this project", (*talk).listIt},
		{"rename", "TITLE", "list it by another title", (*talk).rename},
		{"fork", "[N]", "go on in another conversation, with what came before message N", (*talk).fork},
		{"export", "FILE", "write it as Markdown", (*talk).export},
		{"mode", "ask|plan|act", "what the lead may do from now on", (*talk).mode},
		{"model", "1|2|3|role", "the model's tier from the next answer on", (*talk).model},
		{"thinking", "EFFORT|TOKENS|role", "how much the model reasons, from the next answer on", (*talk).thinking},
		{"process", "NAME", "by which work is begun where nothing else is said", (*talk).process},
		{"stop", "", "break off what the lead does (Ctrl-C at a terminal)", (*talk).stop},
		{"close", "", "end the conversation for good", (*talk).closeIt},
		{"quit", "", "leave; it waits on the host (Ctrl-D)", func(*talk, context.Context, string) error { return errLeft }},
	}
}

// command carries out a line that began with a slash.
func (t *talk) command(ctx context.Context, line string) error {
	name, args, _ := strings.Cut(strings.TrimSpace(line), " ")
	var names []string
	for _, s := range slashes() {
		if s.name == name {
			return s.do(t, ctx, strings.TrimSpace(args))
		}
		names = append(names, s.name)
	}
	return fault.New("usage/argument", "there is no such command").At("/").Got("/"+name).Want("%s", cmp.Or(suggest.Among(name, names), "what /help lists; with a blank before it the line is said to the lead"))
}

func (t *talk) help(context.Context, string) error {
	for _, s := range slashes() {
		fmt.Fprintf(t.out, "  /%-27s %s\n", strings.TrimSpace(s.name+" "+s.args), s.about)
	}
	return nil
}

func (t *talk) showIt(ctx context.Context, _ string) error {
	if err := t.look(ctx, t.v.Id); err != nil {
		return err
	}
	showText(t.out, t.v)
	return nil
}

// state tells how work stands, as the host has it.
func (t *talk) state(ctx context.Context, bead string) error {
	if err := t.look(ctx, t.v.Id); err != nil {
		return err
	}
	works := t.v.Works
	if bead != "" {
		if err := console.CheckID("BEAD", bead); err != nil {
			return err
		}
		works = []string{bead}
	}
	if len(works) == 0 {
		fmt.Fprintln(t.out, "no work was begun here")
	}
	for _, id := range works {
		if err := t.workText(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// workText tells how a bead stands, with the phases of its work.
func (t *talk) workText(ctx context.Context, id string) error {
	v, err := t.c.Bead(ctx, &loomv1.Query{Project: t.project, Id: id})
	if err != nil {
		return err
	}
	b := v.Beads[0]
	fmt.Fprintf(t.out, "%s (%s): %s: %s\n", b.Id, b.Process, project.BeadWord(b), console.Line(b.Goal, 100))
	if b.Reason != "" {
		fmt.Fprintf(t.out, "  %s\n", console.Line(b.Reason, 160))
	}
	if b.Execution == "" {
		return nil
	}
	x, err := t.c.Execution(ctx, &loomv1.Query{Project: t.project, Id: b.Execution})
	if err != nil {
		return err
	}
	for _, n := range x.Definition.GetNodes() {
		st := x.Executions[0].Nodes[n.Id]
		if n.Type != loomv1.NodeType_NODE_TYPE_TASK && n.Type != loomv1.NodeType_NODE_TYPE_APPROVAL || st.GetStatus() == loomv1.NodeStatus_NODE_STATUS_UNSPECIFIED {
			continue
		}
		fmt.Fprintf(t.out, "  %-24s %-10s %s\n", n.Id, project.NodeWord(x.Executions[0], st), console.Line(st.GetOutcome().GetSummary(), 80))
	}
	return nil
}

// approve goes through what waits for an answer. The person signs: nothing that the lead
// says is an answer.
func (t *talk) approve(ctx context.Context, id string) error {
	q := &loomv1.Query{Project: t.project, Oldest: true}
	v, err := t.c.Inbox(ctx, q)
	if err != nil {
		return err
	}
	if id != "" {
		v.Approvals = slices.DeleteFunc(v.Approvals, func(p *loomv1.Approval) bool { return p.Id != id && p.Bead != id })
	}
	if len(v.Approvals) == 0 {
		fmt.Fprintln(t.out, "nothing waits for an answer")
		return nil
	}
	if !t.terminal {
		for _, p := range v.Approvals {
			fmt.Fprintf(t.out, "%s waits for an answer: %s\n  loom approve %s\n", p.Id, console.Line(p.Question, 160), p.Id)
		}
		return nil
	}
	var ids []string
	for _, p := range v.Approvals {
		ids = append(ids, p.Id)
	}
	return t.cooked(func() error { return approval.New(t.a.Console).Through(ctx, t.c, ids, "") })
}

// diff shows what work has changed.
func (t *talk) diff(ctx context.Context, bead string) error {
	if err := t.look(ctx, t.v.Id); err != nil {
		return err
	}
	if bead == "" && len(t.v.Works) > 0 {
		bead = t.v.Works[len(t.v.Works)-1]
	}
	if bead == "" {
		return fault.New("usage/argument", "no work was begun here").At("BEAD").Want("/diff BEAD")
	}
	if err := console.CheckID("BEAD", bead); err != nil {
		return err
	}
	b, err := t.c.Bead(ctx, &loomv1.Query{Project: t.project, Id: bead})
	if err != nil {
		return err
	}
	if b.Beads[0].Execution == "" {
		fmt.Fprintln(t.out, "its work has not begun")
		return nil
	}
	x, err := t.c.Execution(ctx, &loomv1.Query{Project: t.project, Id: b.Beads[0].Execution})
	if err != nil {
		return err
	}
	change := x.Executions[0].GetChange()
	if change.GetDiff() == nil {
		fmt.Fprintf(t.out, "%s has changed nothing\n", bead)
		return nil
	}
	text, _, err := t.c.ReadBlob(ctx, t.project, change.Diff.Sha256)
	if err != nil {
		return err
	}
	fmt.Fprint(t.out, t.a.PaintDiff(console.Plainly(string(text))))
	if l := x.Executions[0].GetLanding(); l != nil {
		fmt.Fprintf(t.out, "landed on %s as commit %.12s\n", l.Ref, l.Commit)
	}
	return nil
}

func (t *talk) listIt(ctx context.Context, _ string) error {
	v, err := t.c.Conversation(ctx, &loomv1.Query{Project: t.project})
	if err == nil {
		table(t.out, v)
	}
	return err
}

func (t *talk) set(ctx context.Context, s *loomv1.ConversationSettings) error {
	if err := t.act(ctx, &loomv1.ConverseRequest{Verb: &loomv1.ConverseRequest_Set{Set: s}}); err != nil {
		return err
	}
	fmt.Fprintln(t.out, standing(t.v))
	return nil
}

func (t *talk) rename(ctx context.Context, title string) error {
	if title == "" {
		return fault.New("usage/argument", "there is no title").At("TITLE")
	}
	return t.set(ctx, &loomv1.ConversationSettings{Title: title})
}

func (t *talk) mode(ctx context.Context, word string) error {
	m, err := conversation.Mode(word)
	if err != nil {
		return err
	}
	return t.set(ctx, &loomv1.ConversationSettings{Mode: m})
}

func (t *talk) model(ctx context.Context, word string) error {
	tier, err := strconv.ParseUint(word, 10, 8)
	switch {
	case word == "role":
		tier = conversation.RoleTier
	case err != nil || tier < 1 || tier > 3:
		return fault.New("usage/argument", "not a tier of models").At("/model").Got(word).Want("1, 2 or 3 (the strongest), or role")
	}
	return t.set(ctx, &loomv1.ConversationSettings{ModelTier: uint32(tier)})
}

func (t *talk) thinking(ctx context.Context, words string) error {
	if words == "" {
		return fault.New("usage/argument", "not said how much").At("/thinking").Want("/thinking EFFORT, TOKENS or role; /show says what holds")
	}
	return t.set(ctx, &loomv1.ConversationSettings{Thinking: words})
}

func (t *talk) process(ctx context.Context, name string) error {
	if err := console.CheckToken("NAME", name); err != nil {
		return err
	}
	return t.set(ctx, &loomv1.ConversationSettings{Process: name})
}

func (t *talk) stop(ctx context.Context, _ string) error {
	return t.act(ctx, &loomv1.ConverseRequest{Verb: &loomv1.ConverseRequest_Stop{Stop: &loomv1.StopTurn{}}})
}

func (t *talk) closeIt(ctx context.Context, reason string) error {
	return t.act(ctx, &loomv1.ConverseRequest{Verb: &loomv1.ConverseRequest_Close{Close: &loomv1.CloseConversation{Reason: reason}}})
}

// fork goes on in another conversation.
func (t *talk) fork(ctx context.Context, before string) error {
	n, err := strconv.ParseUint(cmp.Or(before, "0"), 10, 32)
	if err != nil {
		return fault.New("usage/argument", "not the number of a message").At("N").Got(before)
	}
	from := t.v.Id
	if err := t.act(ctx, &loomv1.ConverseRequest{Verb: &loomv1.ConverseRequest_Fork{Fork: &loomv1.ForkConversation{Before: uint32(n)}}}); err != nil {
		return err
	}
	t.after = nil
	fmt.Fprintf(t.out, "%s goes on with what was said in %s, which waits\n", t.v.Id, from)
	return nil
}

func (t *talk) export(ctx context.Context, file string) error {
	if file == "" {
		return fault.New("usage/argument", "no file is named").At("FILE")
	}
	var size int64
	err := toFile(file, func(w io.Writer) error { return exportTo(ctx, t.c, t.v, w) }, &size)
	if err == nil {
		fmt.Fprintf(t.out, "%d bytes are in %s\n", size, file)
	}
	return err
}
