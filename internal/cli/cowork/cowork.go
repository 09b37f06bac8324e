package cowork

import (
	"context"
	"crypto/rand"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/core/conversation"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// talkFlags are what a conversation is opened or taken up with.
type talkFlags struct {
	workspace, project string
	resume             string
	last               bool
	process, title     string
	mode               string
	tier               uint32
}

// Cowork returns the command of that name.
func (a *Commands) Cowork() *cobra.Command {
	var f talkFlags
	cmd := &cobra.Command{
		Use: "cowork [flags]", Short: "talk with the lead of a project", Args: console.OnlyCommands,
		Long: `Cowork opens a conversation with the lead of a project, or takes one up. The
lead reads, answers from the state of the work, hands over to roles, begins work
by processes and hears how that ends. What waits for an approval you decide,
with your key. Lines beginning with / are commands: /help lists them.

At a terminal Ctrl-C stops what the lead does, and not the conversation; a line
that ends with \ goes on in the next one. Without a terminal each line of the
input is said when the lead has answered the one before. It outlives
terminal and host: --resume takes it up, from any machine that reaches the host.`,
		Example: "  loom cowork -w .\n  loom cowork --process competitive-intel --mode plan\n  loom cowork --resume shop-7",
		RunE: func(cmd *cobra.Command, _ []string) error {
			settings, err := f.settings()
			if err != nil {
				return err
			}
			return a.With(cmd.Context(), func(c *client.Client) error { return a.talk(cmd.Context(), c, &f, settings) })
		},
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.workspace, "workspace", "w", "", "talk about the project whose repository has this `DIR`, also -w")
	fl.StringVar(&f.resume, "resume", "", "take up this `CONVERSATION`")
	fl.BoolVar(&f.last, "last", false, "take up the newest that is open, if there is one")
	fl.StringVar(&f.process, "process", "", "`NAME` of the process that guides the lead, and begins work")
	fl.StringVar(&f.title, "title", "", "`TEXT` that it is listed by")
	fl.StringVar(&f.mode, "mode", "", "what the lead may do: `MODE` is ask, plan or act (default)")
	fl.Uint32Var(&f.tier, "model-tier", 0, "`TIER` of the model: 1, 2 or 3 (the strongest)")
	console.ProjectFlag(cmd, &f.project)
	cmd.AddCommand(a.list(), a.show(), a.search(), a.rename(), a.fork(), a.export(), a.closeIt())
	return cmd
}

func (f *talkFlags) settings() (*loomv1.ConversationSettings, error) {
	s := &loomv1.ConversationSettings{Title: f.title, Process: f.process, ModelTier: f.tier}
	var err error
	if f.mode != "" {
		if s.Mode, err = conversation.Mode(f.mode); err != nil {
			return nil, fault.From(err).At("--mode")
		}
	}
	if f.resume != "" && f.last {
		return nil, fault.New("usage/argument", "a conversation is named, or the newest is meant").At("--last").Want("one of --resume and --last")
	}
	if f.resume != "" {
		err = console.CheckID("--resume", f.resume)
	}
	if err == nil {
		err = console.CheckName("--project", f.project)
	}
	return s, err
}

// changes says whether flags name settings.
func (f *talkFlags) changes() bool {
	return f.title != "" || f.process != "" || f.mode != "" || f.tier != 0
}

// talk opens a conversation or takes one up, and talks until its end.
func (a *Commands) talk(ctx context.Context, c *client.Client, f *talkFlags, settings *loomv1.ConversationSettings) error {
	project, err := projectOf(ctx, c, f)
	if err != nil {
		return err
	}
	t := &talk{a: a, c: c, project: project, out: a.Out}
	if a.JSON {
		t.out = a.Err
	}
	id, err := t.takenUp(ctx, f)
	if err != nil {
		return err
	}
	if id == "" {
		err = t.act(ctx, &loomv1.ConverseRequest{Verb: &loomv1.ConverseRequest_Open{Open: &loomv1.OpenConversation{Settings: settings}}})
	} else if err = t.look(ctx, id); err == nil && f.changes() && t.goesOn() {
		err = t.act(ctx, &loomv1.ConverseRequest{Verb: &loomv1.ConverseRequest_Set{Set: settings}})
	}
	if err != nil {
		return err
	}
	return t.run(ctx)
}

// takenUp is the conversation that is to go on, "" for none.
func (t *talk) takenUp(ctx context.Context, f *talkFlags) (string, error) {
	if f.resume != "" || !f.last {
		return f.resume, nil
	}
	v, err := t.c.Conversation(ctx, &loomv1.Query{Project: t.project, Filter: "open", Limit: 1})
	if err != nil || len(v.Conversations) == 0 {
		return "", err
	}
	return v.Conversations[0].Id, nil
}

// projectOf is the project that is meant: as it is named, or the one whose repository has
// the directory.
func projectOf(ctx context.Context, c *client.Client, f *talkFlags) (string, error) {
	if f.project != "" || f.workspace == "" {
		return f.project, nil
	}
	dir, err := filepath.Abs(f.workspace)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return "", fault.New("usage/argument", "the directory is not there").At("-w").Got(f.workspace)
	}
	v, err := c.Project(ctx, &loomv1.Query{})
	if err != nil {
		return "", err
	}
	best := ""
	var has *loomv1.ProjectConfig
	for _, p := range v.Projects {
		root := p.Repository
		if real, err := filepath.EvalSymlinks(root); err == nil {
			root = real
		}
		if (dir == root || strings.HasPrefix(dir, root+string(filepath.Separator))) && len(root) > len(best) {
			best, has = root, p
		}
	}
	if has == nil {
		return "", fault.New("usage/argument", "no project of the host has this directory").At("-w").Got(f.workspace).
			Want("loom project add NAME=DIR, and then the same again")
	}
	return has.Id, nil
}

// act has the conversation do something, and notes how it stands then.
func (t *talk) act(ctx context.Context, r *loomv1.ConverseRequest) error {
	r.Project, r.Conversation, r.Request = t.project, t.v.GetId(), rand.Text()
	answer, err := t.c.Converse(ctx, r)
	if err != nil {
		return err
	}
	t.note(answer.GetConversation())
	return nil
}

// look notes how a conversation stands.
func (t *talk) look(ctx context.Context, id string) error {
	v, err := t.c.Conversation(ctx, &loomv1.Query{Project: t.project, Id: id})
	if err != nil {
		return err
	}
	t.note(v.Conversations[0])
	return nil
}

func (t *talk) note(v *loomv1.Conversation) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.leave != nil && v.GetId() != t.v.GetId() {
		t.leave()
	}
	t.v, t.project = v, v.GetProject()
}

// goesOn says whether a conversation is not closed.
func (t *talk) goesOn() bool {
	return t.v.State != loomv1.ConversationState_CONVERSATION_STATE_CLOSED
}

// standing is how a conversation stands, in a line.
func standing(v *loomv1.Conversation) string {
	title := v.GetSettings().GetTitle()
	if title != "" {
		title = " " + console.Line(title, 80)
	}
	held := "mode " + conversation.Word(v.GetSettings().GetMode())
	if t := v.GetSettings().GetModelTier(); t > 0 {
		held += fmt.Sprintf(", model of tier %d", t)
	}
	if t := v.GetSettings().GetThinking(); t != "" {
		held += ", thinking " + t
	}
	return fmt.Sprintf("%s%s: %s, %s, %s", v.Id, title, stateWord(v), held, costText(v))
}

func stateWord(v *loomv1.Conversation) string {
	switch v.State {
	case loomv1.ConversationState_CONVERSATION_STATE_RESTS:
		return "waits for you"
	case loomv1.ConversationState_CONVERSATION_STATE_ANSWERS:
		return "the lead is at work"
	case loomv1.ConversationState_CONVERSATION_STATE_WAITS:
		return "the lead waits: " + v.WaitsFor
	case loomv1.ConversationState_CONVERSATION_STATE_CLOSED:
		return "closed"
	}
	return "unknown"
}

// costText is what a conversation has used, and how long its newest prompt was.
func costText(v *loomv1.Conversation) string {
	u := v.GetUsage()
	cost := fmt.Sprintf("%.4f USD", float64(u.GetCostMicroUsd())/1e6)
	if u != nil && !u.CostKnown {
		cost = "at least " + cost
	}
	return fmt.Sprintf("%s, %d tokens, %d in the window", cost, u.GetInputTokens()+u.GetOutputTokens(), v.GetWindow())
}
