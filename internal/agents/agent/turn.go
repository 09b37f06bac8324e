package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/tool"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/turn"
	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// run is a turn being run: what is recorded of it, and what it works with.
type run struct {
	*job
	t       *loomv1.Turn
	tools   *tool.Set
	news    []*loomv1.Said // what people have said, and the team has written, that the model was not told yet
	asksFor bool           // every call is asked about, because a permission has come
	silent  bool           // a recording is played, and nothing is run
	spoke   bool           // the model was asked since the attempt was claimed
}

// begin starts the turn with prompt and without those of the role's tools, or takes
// up the one that was begun. What the host cannot carry out is recorded, because the
// offered tools are a part of each request, which is the same on whatever host goes on.
func (j *job) begin(ctx context.Context, prompt string, without []string) (*run, error) {
	t := proto.CloneOf(j.brief.Turn)
	if t == nil {
		t = &loomv1.Turn{Attempt: j.brief.Attempt.Id}
	}
	r := &run{job: j, t: t}
	j.notes(t)
	if turn.Started(t) {
		return r, r.tapePast(ctx)
	}
	prompt = j.Secrets.Text(prompt)
	ref, err := j.Blobs.Put(ctx, []byte(prompt), "text/markdown; charset=utf-8")
	if err != nil {
		return nil, err
	}
	start := &loomv1.TurnStarted{Model: j.model().Name(), Prompt: ref, Without: without, Converses: converses(j.brief)}
	if j.plans() {
		start.Architect = j.architect().Name()
	}
	j.tapeTurn(start, prompt)
	return r, r.record(ctx, turn.StartedFact(start))
}

// without are the role's tools that cannot work in a workspace of this host, or for
// want of a team: that of one who can give work may come to be in the turn.
func (j *job) without(ws tool.Workspace) []string {
	list := tool.New(ws, decisions{j}).Unusable(j.role.Tools.All())
	if j.brief.Team == nil && !slices.Contains(j.role.Tools.All(), "delegate_task") && slices.Contains(j.role.Tools.All(), tool.TeamWrite) {
		list = append(list, tool.TeamWrite)
	}
	return list
}

// turn runs a whole turn in a workspace.
func (j *job) turn(ctx context.Context, ws tool.Workspace, prompt string) (*loomv1.Outcome, error) {
	r, err := j.begin(ctx, prompt, j.without(ws))
	if err != nil {
		return nil, err
	}
	if out, err := r.setUp(ctx, ws, "setup"); out != nil || err != nil {
		return out, err
	}
	return r.finish(ctx, ws)
}

// errTime ends a turn whose time is up.
var errTime = errors.New("the turn's time is up")

// finish brings the turn to its end, or ends it when its role's time is up.
func (r *run) finish(ctx context.Context, ws tool.Workspace) (*loomv1.Outcome, error) {
	limited, cancel := r.timed(ctx)
	defer cancel()
	out, err := r.steps(limited, ws)
	if r.job.page != nil {
		r.job.page = r.page(ctx) // which is asked for after the turn, too
	}
	if err != nil && ctx.Err() == nil && errors.Is(context.Cause(limited), errTime) {
		return r.stopped(ctx, turn.Stop{Code: "turn/time", Reason: fmt.Sprintf("the turn took %s, all that its role may", r.role.Limits.Time)})
	}
	return out, err
}

// steps carries out one step after the other until the turn ends.
func (r *run) steps(ctx context.Context, ws tool.Workspace) (*loomv1.Outcome, error) {
	kit, closeKit, err := r.toolkit(ctx, ws)
	if err != nil {
		return nil, err
	}
	defer closeKit()
	outside, closeOutside := r.outside(ctx, ws)
	defer closeOutside()
	ws.Outside = slices.Concat(outside, kit, r.artifactTools())
	ws.Outputs, ws.Shown, ws.Without = r.outputs, r.shown(), r.t.Without
	r.tools = tool.New(ws, decisions{r.job})
	defer r.tools.EndProcesses()
	r.news = slices.Concat(r.news, workflow.Unheard(r.brief.Execution, r.brief.Attempt.Node), r.brief.GetTeam().GetMail())
	for {
		var err error
		switch s := turn.Next(r.t, r.brief.Node, r.limits()).(type) {
		case turn.AskModel, turn.Repair:
			var news bool
			if news, err = r.hear(ctx); err == nil && !news {
				var stop *turn.Stop
				r.spoke = true
				switch stop, err = r.ask(ctx); {
				case stop != nil && r.t.Converses:
					err = r.halt(ctx, stop.Code, stop.Reason)
				case stop != nil:
					return r.stopped(ctx, *stop)
				}
			}
		case turn.Compact:
			err = r.compact(ctx, s)
		case turn.RunTools:
			err = r.runTools(ctx, s.Calls)
		case turn.Finish:
			r.noteSources(s.Outcome)
			r.job.page = r.page(ctx)
			if s.Outcome.Status != loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS {
				return s.Outcome, nil
			}
			r.tools.EndProcesses() // what is checked does not change meanwhile
			var failed *loomv1.Outcome
			if failed, err = r.gates(ctx, ws, s.Outcome); failed != nil {
				return failed, nil
			}
			if err == nil && !r.refused() {
				s.Outcome.Checks = r.proved()
				return s.Outcome, nil
			}
		case turn.Rest:
			if r.spoke || len(r.news) == 0 { // with a new claim come the settings and the files as they are then
				return nil, r.rest(ctx)
			}
			_, err = r.hear(ctx)
		case turn.Stop:
			if r.t.Converses {
				err = r.halt(ctx, s.Code, s.Reason)
				break
			}
			out, err := r.stopped(ctx, s)
			if err == nil {
				r.noteSources(out)
			}
			return out, err
		default:
			err = fmt.Errorf("turn of attempt %q wants %T", r.brief.Attempt.Id, s)
		}
		if err != nil {
			return nil, err
		}
	}
}

// refused reports whether a gate has refused the outcome that the turn would end
// with.
func (r *run) refused() bool {
	_, ends := turn.Next(r.t, r.brief.Node, r.limits()).(turn.Finish)
	return !ends
}

func (r *run) limits() turn.Limits {
	l := r.spending()
	l.Iterations, l.Result, l.Window = r.iterations(), r.shown(), r.window()
	return l
}

// spending are the limits of what the role may use, also where there is no conversation
// with tools.
func (j *job) spending() turn.Limits {
	l := turn.Limits{Tokens: j.role.Limits.Tokens, MicroUSD: j.role.Limits.MicroUSD}
	if j.remembers() && (l.Tokens == 0 || l.Tokens > rememberTokens) {
		l.Tokens = rememberTokens
	}
	return l
}

// stopped is the outcome of a turn that was ended. Where a check has refused what the agent
// would have ended with, it has the check and the end of what that printed.
func (r *run) stopped(ctx context.Context, s turn.Stop) (*loomv1.Outcome, error) {
	out := s.Outcome()
	out.Fields = r.outcome(out.Status, "", "", nil).Fields
	if s.Gate == nil {
		return out, nil
	}
	output, err := r.text(ctx, s.Gate.Result.GetOutput())
	if err != nil {
		return nil, err
	}
	out.Notes = text(lastLines(printed(output), tailLines, tailBytes))
	if command := commandOf(s.Gate.Call); command != "" {
		without := ""
		if r.tree != nil && s.Gate.Call.Tool == "shell" {
			if without, err = r.onBase(ctx, r.tree.Base(), command); err != nil {
				return nil, err
			}
		}
		if without != "" {
			out.Summary = text(cut(out.Summary+without, turn.MaxSummary/4))
		}
		out.Notes = text(fmt.Sprintf("%q was run on what was made%s:\n", cut(command, turn.MaxSummary/4), without)) + out.Notes
	}
	return out, nil
}

// commandOf is the command line of a call of the runtime's own, or "" for another.
func commandOf(c *loomv1.ToolCall) string {
	var a struct {
		Command string `json:"command"`
	}
	if err := json.Unmarshal([]byte(c.GetArguments()), &a); err != nil {
		return ""
	}
	return a.Command
}

// record makes steps durable and folds them into the local copy.
func (r *run) record(ctx context.Context, records ...*loomv1.Event) error {
	if err := r.seat.Record(ctx, records...); err != nil {
		return err
	}
	r.news = r.seat.Told()
	events, err := turn.Decide(r.t, records)
	if err != nil {
		return err
	}
	for _, e := range events {
		if err := turn.Apply(r.t, e); err != nil {
			return err
		}
	}
	return r.tapeSteps(ctx, records)
}

// unique gives every call an id that the turn has not seen: some servers count
// their calls anew in each answer.
func (r *run) unique(calls []*loomv1.ToolCall) []*loomv1.ToolCall {
	out := make([]*loomv1.ToolCall, 0, len(calls))
	for i, c := range calls {
		c = proto.CloneOf(c)
		c.Id = fmt.Sprintf("c%d-%d", r.t.Iterations+1, i+1)
		out = append(out, c)
	}
	return out
}

// request builds what the model sees from what is recorded, and from nothing
// else.
func (r *run) request(ctx context.Context) (*model.Request, error) {
	req := &model.Request{System: r.system(), Tools: r.offered(), MaxTokens: r.output(), Thinking: r.thinking()}
	for _, m := range turn.Transcript(r.t, r.brief.Node, r.limits()) {
		msg := model.Message{Role: model.Role(m.Role), Calls: shownAs(m.Calls, req.Tools), Call: m.Call, Failed: m.Failed}
		text, err := r.said(ctx, m)
		if err != nil {
			return nil, err
		}
		msg.Text = r.Secrets.Text(text)
		if err := r.shows(ctx, m, &msg); err != nil {
			return nil, err
		}
		if m.Opaque != nil && r.asks(m.Model) {
			msg.By = m.Model
			if msg.Opaque, err = r.Blobs.Get(ctx, m.Opaque); err != nil {
				return nil, err
			}
		}
		req.Messages = say(req.Messages, msg)
	}
	return req, nil
}

// said is what a message of the transcript says.
func (r *run) said(ctx context.Context, m turn.Message) (string, error) {
	text, err := r.text(ctx, m.Blob)
	if err != nil {
		return "", err
	}
	if m.Of != "" {
		return turn.ClipResult(text, m.Clip, m.Of) + m.Text, nil
	}
	return turn.Clip(text, m.Clip) + m.Text, nil
}

// say adds a message; what the user says after the user goes into one, because
// not every server takes two in a row.
func say(list []model.Message, m model.Message) []model.Message {
	if n := len(list); n > 0 && m.Role == model.RoleUser && list[n-1].Role == model.RoleUser {
		list[n-1].Text += "\n" + m.Text
		return list
	}
	return append(list, m)
}

// outputs returns the whole result of a call of the turn.
func (r *run) outputs(ctx context.Context, call string) (string, error) {
	for _, s := range r.t.Steps {
		if t := s.GetTool(); t.GetCall().GetId() == call && t.GetResult().GetOutput() != nil {
			return r.text(ctx, t.Result.Output)
		}
	}
	return "", fault.New("tool/not-found", "no call of this turn with that id has a result").At("call").Got(call)
}

func (r *run) text(ctx context.Context, ref *loomv1.BlobRef) (string, error) {
	if ref == nil {
		return "", nil
	}
	data, err := r.Blobs.Get(ctx, ref)
	return string(data), err
}

// telling passes on what the model is writing, for people who watch, without
// secrets; ended passes on what was held back for that.
func (r *run) telling() (live func(model.Chunk), ended func()) {
	s := r.Secrets.Stream()
	tell := func(text string) {
		if r.Live != nil && text != "" {
			r.Live(r.brief.Project.Id, r.brief.Bead.Id, r.brief.Attempt.GetClaimant().GetAgent(), text)
		}
	}
	live = func(c model.Chunk) {
		if c.Discard {
			s.End()
			tell("\n[the answer broke off and begins again]\n")
			return
		}
		tell(s.Text(c.Text))
	}
	return live, func() { tell(s.End()) }
}

// runTools brings every open call to a recorded outcome, in the order of the
// answer: reading calls side by side, calls to the team as one, all others one
// after the other.
func (r *run) runTools(ctx context.Context, calls []turn.Call) error {
	calls, err := r.permitted(ctx, calls)
	if err != nil {
		return err
	}
	for len(calls) > 0 {
		before, team, asked, rest := r.upToTeam(calls)
		for _, batch := range turn.Batches(before, r.tools.Class) {
			err := r.runBatch(ctx, batch)
			if fault.Code(err) == "conversation/mode" { // it was changed meanwhile
				return r.inMode(err)
			}
			if fault.Code(err) == "permission/needed" && !r.asksFor { // a permission that came while the turn ran
				r.asksFor = true
				return nil
			}
			if err != nil {
				return err
			}
		}
		if err := r.teamed(ctx, team, asked); err != nil {
			return err
		}
		calls = rest
	}
	return nil
}

func (r *run) runBatch(ctx context.Context, batch []turn.Call) error {
	var intents []*loomv1.Event
	for _, c := range batch {
		if !c.Intended {
			step := &loomv1.ToolStep{Call: c.ToolCall, Class: r.tools.Class(c.Tool)}
			intents = append(intents, turn.IntendedFact(step))
		}
	}
	if len(intents) > 0 {
		if err := r.record(ctx, intents...); err != nil {
			return err
		}
	}
	results := make([]*loomv1.ToolResult, len(batch))
	errs := make([]error, len(batch))
	var wait sync.WaitGroup
	for i, c := range batch {
		wait.Go(func() { results[i], errs[i] = r.carryOut(ctx, c) })
	}
	wait.Wait()
	if r.changes(batch) && r.share != nil {
		if err := r.seat.Record(ctx); err != nil { // nobody else has the attempt by now
			return err
		}
		if err := r.shared(ctx); err != nil {
			return err
		}
	}
	var ends []*loomv1.Event
	for i, c := range batch {
		if errs[i] != nil {
			return errs[i]
		}
		ends = append(ends, turn.FinishedFact(c.Id, results[i]))
	}
	return r.record(ctx, ends...)
}

// changes reports whether a call of a batch may have changed the workspace.
func (r *run) changes(batch []turn.Call) bool {
	return slices.ContainsFunc(batch, func(c turn.Call) bool { return r.tools.Class(c.Tool) != loomv1.ToolClass_TOOL_CLASS_READ })
}

// carryOut runs a call, or finds out what became of one that was cut off.
func (r *run) carryOut(ctx context.Context, c turn.Call) (*loomv1.ToolResult, error) {
	switch c.Do {
	case turn.Report:
		return turn.Unknown(), nil
	case turn.Reconcile:
		if res, known := r.tools.Reconcile(ctx, c.ToolCall); known {
			return r.result(ctx, res)
		}
	}
	res := r.call(ctx, c.ToolCall, func() tool.Result {
		return r.hinted(c.ToolCall, r.schemaTold(c.ToolCall, r.tools.Call(ctx, r.allowed(), r.toolTimeout(), c.ToolCall)))
	})
	if ctx.Err() != nil {
		return nil, ctx.Err() // cut off: it stays an intent without an outcome
	}
	return r.result(ctx, res)
}

func (j *job) toolTimeout() time.Duration {
	if j.role.Limits.ToolTimeout > 0 {
		return j.role.Limits.ToolTimeout
	}
	return time.Minute
}
