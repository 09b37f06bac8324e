package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/tool"
	"github.com/loomrun/loom/internal/core/conversation"
	"github.com/loomrun/loom/internal/core/turn"
	"github.com/loomrun/loom/internal/place/repomap"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// bytesOf is how much text a zone of that many tokens holds.
func bytesOf(tokens int) int { return tokens * 3 }

// window says how much of the model's context the conversation may take: what
// the zones leave.
func (r *run) window() turn.Window {
	total := model.WindowOf(r.asked())
	if own := r.role.Context.Window; own > 0 && (total == 0 || own < total) {
		total = own
	}
	return turn.Window{Tokens: total, Reserved: r.fixed() + r.output()}
}

// fixed is what the system text and the tools are counted as.
func (r *run) fixed() int {
	n := len(r.system())
	for _, t := range r.offered() {
		n += specSize(t)
	}
	return turn.Tokens(n)
}

// output is what is kept for an answer and the reasoning before it.
func (j *job) output() int { return cmp.Or(j.role.Context.Output, 4096) + j.thinking().Tokens }

// shown is how many bytes of one result the model is shown.
func (j *job) shown() int { return bytesOf(cmp.Or(j.role.Context.Result, 10_000)) }

// thinking is how the model reasons: as the role's file says, in a conversation as people
// have set it, if the model takes that, and at a step with the tokens
// that its tempo has for it, if the model takes them.
func (j *job) thinking() model.Thinking {
	t := model.Thinking(j.role.Thinking)
	if words := j.brief.Execution.GetConversation().GetThinking(); words != "" {
		effort, tokens, err := conversation.Thinking(words)
		if as := (model.Thinking{Effort: effort, Tokens: tokens}); err == nil && model.CanThink(j.model(), as) == nil {
			return as
		}
		return t
	}
	l := j.brief.Step.GetRun().GetLimits()
	if l == nil {
		return t
	}
	if l.ThinkingTokens == 0 {
		return model.Thinking{}
	}
	paced := model.Thinking{Effort: t.Effort, Tokens: int(l.ThinkingTokens)}
	if model.CanThink(j.model(), paced) != nil {
		return t
	}
	return paced
}

func specSize(t model.ToolSpec) int { return len(t.Name) + len(t.Description) + len(t.Schema) }

// offered are the tools of the next request, shortened where they have more than
// their zone.
func (r *run) offered() []model.ToolSpec {
	var list []model.ToolSpec
	for _, s := range r.tools.Specs(r.allowed()) {
		list = append(list, model.ToolSpec{Name: s.Name, Description: s.Description, Schema: s.Schema})
	}
	list = shortened(r.folded(list), bytesOf(cmp.Or(r.role.Context.Tools, 2048)))
	if turn.Planning(r.t) {
		list = append(list, offer(turn.PlanTool()))
	}
	if r.t.Converses {
		return list
	}
	return append(list, offer(turn.FinishTool()))
}

// folded puts one tool in the place of those that the role has no schemas of.
func (r *run) folded(list []model.ToolSpec) []model.ToolSpec {
	full, others := split(list, r.role.Tools.InFull)
	if len(others) < 2 { // it would take more than it spares
		return list
	}
	return append(full, model.Use(others, tool.FromOutside))
}

// split parts tools into those with schemas and those behind one tool.
func split(list []model.ToolSpec, inFull func(string) bool) (full, others []model.ToolSpec) {
	for _, t := range list {
		if inFull(t.Name) {
			full = append(full, t)
		} else {
			others = append(others, t)
		}
	}
	return full, others
}

// shownAs are calls as the model is shown that it made them: those of tools behind
// [model.UseName] are calls of it, whichever way they were made.
func shownAs(calls []*loomv1.ToolCall, offered []model.ToolSpec) []*loomv1.ToolCall {
	var list []*loomv1.ToolCall
	for _, c := range calls {
		if behind(offered, c.Tool) {
			c = model.Wrap(c)
		}
		list = append(list, c)
	}
	return list
}

// behind reports whether a tool stands behind another one.
func behind(offered []model.ToolSpec, name string) bool {
	return slices.ContainsFunc(offered, func(t model.ToolSpec) bool {
		return slices.ContainsFunc(t.Behind, func(b model.ToolSpec) bool { return b.Name == name })
	})
}

// schemaTold adds to what is said of arguments that do not fit what they should be,
// for a tool whose schema the model is not shown.
func (r *run) schemaTold(c *loomv1.ToolCall, res tool.Result) tool.Result {
	if res.Code != "tool/arguments" {
		return res
	}
	for _, o := range r.offered() {
		for _, t := range o.Behind {
			if t.Name == c.Tool || t.Name == model.NameAlone(c) {
				res.Output = strings.TrimRight(res.Output, "\n") + fmt.Sprintf("\n%s: %s\nIts arguments: %s", t.Name, t.Description, t.Schema)
			}
		}
	}
	return res
}

func offer(t turn.Tool) model.ToolSpec {
	return model.ToolSpec{Name: t.Name, Description: t.Description, Schema: t.Schema}
}

// allowed are the tools that may be used now: those that the turn began with; an
// architect only reads.
func (r *run) allowed() []string {
	var list []string
	for _, name := range r.role.Tools.All() {
		reads := tool.Class(name) == loomv1.ToolClass_TOOL_CLASS_READ
		if !slices.Contains(r.t.Without, name) && !r.denies(name) && (reads || !turn.Planning(r.t)) {
			list = append(list, name)
		}
	}
	return append(list, tool.OutputRead)
}

// shortened brings tools into limit bytes as far as that goes: first without
// what their arguments are for, then with the first sentence alone of what they
// do. No tool is left out.
func shortened(list []model.ToolSpec, limit int) []model.ToolSpec {
	for _, shorten := range []func(model.ToolSpec) model.ToolSpec{bare, terse} {
		size := 0
		for _, t := range list {
			size += specSize(t)
		}
		if size <= limit {
			break
		}
		for i := range list {
			list[i] = shorten(list[i])
		}
	}
	return list
}

// bare is a tool whose arguments are not described.
func bare(t model.ToolSpec) model.ToolSpec {
	var schema any
	if json.Unmarshal(t.Schema, &schema) != nil {
		return t
	}
	undescribe(schema)
	if data, err := json.Marshal(schema); err == nil {
		t.Schema = data
	}
	return t
}

// undescribe takes out descriptions, which are texts; a property of that name
// is a schema and stays.
func undescribe(v any) {
	switch v := v.(type) {
	case map[string]any:
		if _, text := v["description"].(string); text {
			delete(v, "description")
		}
		for _, child := range v {
			undescribe(child)
		}
	case []any:
		for _, child := range v {
			undescribe(child)
		}
	}
}

// terse is a tool with the first sentence of what it does; one that others stand
// behind has bounds of its own, and tells of each.
func terse(t model.ToolSpec) model.ToolSpec {
	if first, _, more := strings.Cut(t.Description, ". "); more && len(t.Behind) == 0 {
		t.Description = first + "."
	}
	return t
}

// mapText is the section of a prompt that shows what a directory has that the work
// is likely about.
func (j *job) mapText(ctx context.Context, dir string) string {
	if j.brief.Turn.GetModel() != "" {
		return "" // the prompt is recorded
	}
	begun := time.Now()
	files, found, err := j.Maps.Files(ctx, j.brief.Project.Id, dir, nil)
	if err != nil {
		return "" // the turn that it is for ends
	}
	drawn := repomap.Draw(files, j.mapped(), bytesOf(cmp.Or(j.role.Context.Map, 2048)))
	j.Logger.Debug("the repository is mapped", "attempt", j.brief.Attempt.Id, "files", found.Files, "read", found.Read, "outlined", found.Outlined, "left", found.Left, "took", time.Since(begun))
	if drawn == "" {
		return ""
	}
	var p prompt
	p.WriteByte('\n')
	p.section("Repository")
	p.WriteString("The files that fit the words of the work and what those refer to, the best first, with lines of declarations; then names, then directories. It is a guess to begin with:\n")
	p.data(drawn)
	return p.String()
}

// located is a file with a line in it, as a text names both.
var located = regexp.MustCompile(`([\w./-]*\w\.\w+):\d+`)

// mapped is what the map is drawn for: what is said of the work, the files that it
// touches so far, and those that whoever looked before has named with a line.
func (j *job) mapped() repomap.Work {
	b := j.brief
	said := []string{b.Bead.Goal, b.Bead.Description, b.Bead.GetReport().GetMessage(), b.Bead.GetReport().GetStack()}
	var w repomap.Work
	for _, id := range slices.Sorted(maps.Keys(b.Execution.GetNodes())) { // who looked before knows better where to look
		if o := b.Execution.Nodes[id].GetOutcome(); id != b.Attempt.GetNode() && o.GetStatus() == loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS {
			said = append(said, o.Summary, o.Notes)
			for _, m := range located.FindAllStringSubmatch(o.Summary+"\n"+o.Notes, -1) {
				w.Located = append(w.Located, m[1])
			}
		}
	}
	w.Text = strings.Join(said, "\n")
	for _, f := range b.Execution.GetChange().GetFiles() {
		w.Touched = append(w.Touched, f.Path)
	}
	return w
}

// defaultDecisions is how many tokens of the decision graph a brief comes with.
const defaultDecisions = 1024

// recall asks for as much of the decision graph as the role's zone holds, where
// that is not what a brief has anyway.
func (j *job) recall(ctx context.Context) error {
	want := j.role.Context.Decisions
	if want == 0 || want == defaultDecisions || j.brief.Turn.GetModel() != "" || j.brief.Context == nil {
		return nil
	}
	reply, err := decisions{j}.Ask(ctx, &loomv1.GraphRequest{Question: loomv1.GraphQuestion_GRAPH_QUESTION_CONTEXT, Tokens: uint32(want)})
	if err == nil && reply.Context != nil {
		j.brief.Context = reply.Context
	}
	return err
}

// compact puts a summary in the place of the turn's first answers.
func (r *run) compact(ctx context.Context, c turn.Compact) error {
	var said []string
	for _, s := range r.t.Steps {
		if a := s.GetAnswer(); a != nil && len(said) < int(c.Answers) {
			text, err := r.text(ctx, a.Text)
			if err != nil {
				return err
			}
			said = append(said, text)
		}
	}
	own, answer, err := r.ownSummary(ctx, c)
	if err != nil {
		return err
	}
	text, fits := turn.Compose(r.t, c, said, own)
	if !fits && answer != nil && answer.Problem == "" {
		answer.Problem = "beside what the record has it has no room"
	}
	if own.Text == "" || !fits {
		own, text = turn.Own{}, turn.Summarise(r.t, c, said)
	}
	ref, err := r.Blobs.Put(ctx, []byte(text), "text/markdown; charset=utf-8")
	if err != nil {
		return err
	}
	r.Logger.Info("the beginning of a turn is summarised", "attempt", r.brief.Attempt.Id, "answers", c.Answers, "by_model", own.Answers)
	return r.record(ctx, turn.CompactedFact(&loomv1.Compaction{
		Answers: c.Answers, Summary: ref, Clip: c.Clip, Steps: uint32(len(r.t.Steps)), Answer: answer,
	}))
}

// hear takes what people have said since, and reports whether there was any.
func (r *run) hear(ctx context.Context) (bool, error) {
	var records []*loomv1.Event
	for _, s := range r.news {
		if r.heard(s.Id) {
			continue
		}
		if len(records) < turn.MaxRecords {
			records = append(records, turn.HeardFact(s))
		}
	}
	r.news = nil
	if len(records) == 0 {
		return false, nil
	}
	return true, r.record(ctx, records...)
}

func (r *run) heard(id string) bool {
	for _, s := range r.t.Steps {
		if s.GetSaid().GetId() == id {
			return true
		}
	}
	return false
}
