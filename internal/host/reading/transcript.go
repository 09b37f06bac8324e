package reading

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/proto/subject"
)

// Bounds on what a page of a transcript carries.
const (
	entryText = 64 << 10  // bytes of a text that is kept as a blob
	entryArgs = 256 << 10 // bytes of arguments, which are kept in the journal alone
	// noticesAtOnce are read for a page: few, since each may bring a text.
	noticesAtOnce = 200
)

// spoken are the kinds of events that a transcript is made of.
var spoken = []string{"turn-started", "model-answered", "tool-intended", "tool-finished", "message-heard", "turn-compacted", "turn-stopped", "attempt-ended"}

// Transcripts reads what the agents of executions said and got.
type Transcripts struct {
	*Views
	history
	blobs *Blobs
}

// Page reads a page of a transcript.
func (r *Transcripts) Page(ctx context.Context, q *loomv1.TranscriptRequest) (*loomv1.TranscriptReply, error) {
	limit := int(cmp.Or(q.Limit, pageDefault))
	if limit > pageMost {
		return nil, fault.New("usage/argument", "at most %d entries a page", pageMost).At("limit")
	}
	if err := checkTranscript(q); err != nil {
		return nil, err
	}
	x, err := r.Execution(ctx, q.Execution)
	if err != nil {
		return nil, err
	}
	attempt, err := attemptOf(x, q)
	if err != nil {
		return nil, err
	}
	read := &loomv1.NoticesRequest{Project: x.Project, Execution: x.Id, After: q.After, Kinds: spoken, Limit: noticesAtOnce}
	if q.After == nil {
		read.Since = x.StartedAt
	}
	page, err := r.page(ctx, read)
	if err != nil {
		return nil, err
	}
	reply := &loomv1.TranscriptReply{Next: page.Next, End: page.End, Cuts: page.Cuts, Execution: x.Id, Ended: x.EndedAt != nil}
	size := 0
	for i, n := range page.Notices {
		if q.Node != "" && n.Event.GetNode() != q.Node || attempt != "" && n.Event.GetAttempt() != attempt {
			continue
		}
		entries, err := r.entries(ctx, n)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			size += proto.Size(e)
		}
		if len(reply.Entries) > 0 && (len(reply.Entries)+len(entries) > limit || size > pageBytes) {
			reply.End = false
			reply.Next = &loomv1.Cursor{Positions: []*loomv1.Position{page.Notices[i-1].Position}}
			break
		}
		reply.Entries = append(reply.Entries, entries...)
	}
	return reply, nil
}

func checkTranscript(q *loomv1.TranscriptRequest) error {
	for name, value := range map[string]string{"node": q.Node, "attempt": q.Attempt} {
		if value == "" {
			continue
		}
		if _, err := subject.Parse(name, value); err != nil {
			return err
		}
	}
	return checkFilters(&loomv1.NoticesRequest{After: q.After})
}

// attemptOf returns the id of the attempt that is asked for, or "" for all. A node
// or an attempt that the execution does not have is refused: nothing would come.
func attemptOf(x *loomv1.Execution, q *loomv1.TranscriptRequest) (string, error) {
	if q.Node != "" && x.Nodes[q.Node] == nil {
		return "", fault.New("usage/argument", "execution %q has not come to such a node", x.Id).At("node").Got(q.Node)
	}
	if q.Attempt == "" {
		return "", nil
	}
	id := q.Attempt
	if strings.Trim(id, "0123456789") == "" {
		id = x.Id + "-a" + id
	}
	for node, s := range x.Nodes {
		if q.Node != "" && node != q.Node {
			continue
		}
		for _, a := range append(s.GetHistory(), s.GetAttempt()) {
			if a.GetId() == id {
				return id, nil
			}
		}
	}
	return "", fault.New("attempt/unknown", "execution %q has no such attempt", x.Id).At("attempt").Got(q.Attempt).
		Want("\"loom events --execution %s --kind attempt-dispatched\" names them", x.Id)
}

// entries are what a notice tells of a transcript.
func (r *Transcripts) entries(ctx context.Context, n *loomv1.Notice) ([]*loomv1.TranscriptEntry, error) {
	e := n.Event
	t := transcriber{blobs: r.blobs, ctx: ctx, of: &loomv1.TranscriptEntry{Time: e.Time, Position: n.Position, Node: e.Node, Attempt: e.Attempt}}
	if who := e.GetActor(); who.GetKind() == loomv1.IdentityKind_IDENTITY_KIND_AGENT {
		t.of.Agent = who.Name
		t.of.Role, _, _ = strings.Cut(who.Name, "/")
	}
	switch f := e.GetFact().(type) {
	case *loomv1.Event_TurnStarted:
		t.add(loomv1.TranscriptKind_TRANSCRIPT_KIND_PROMPT).Model = f.TurnStarted.GetModel()
		t.blob(f.TurnStarted.GetPrompt())
	case *loomv1.Event_ModelAnswered:
		t.answer(f.ModelAnswered.GetAnswer())
	case *loomv1.Event_ToolIntended:
		if s := f.ToolIntended.GetTool(); s.GetRuntime() { // else the answer has it
			t.call(s.GetCall()).Runtime = true
		}
	case *loomv1.Event_ToolFinished:
		r := f.ToolFinished.GetResult()
		one := t.add(loomv1.TranscriptKind_TRANSCRIPT_KIND_RESULT)
		one.Call, one.Tool, one.Status, one.ExitCode, one.Summary, one.Code = f.ToolFinished.Call, f.ToolFinished.Tool, r.GetStatus(), r.GetExitCode(), r.GetSummary(), r.GetCode()
		t.blob(r.GetOutput())
	case *loomv1.Event_MessageHeard:
		one := t.add(loomv1.TranscriptKind_TRANSCRIPT_KIND_TOLD)
		one.Agent, one.Role = f.MessageHeard.GetSaid().GetFrom().GetName(), ""
		t.text(f.MessageHeard.GetSaid().GetText(), entryText)
	case *loomv1.Event_TurnCompacted:
		t.add(loomv1.TranscriptKind_TRANSCRIPT_KIND_COMPACTED)
		t.blob(f.TurnCompacted.GetCompaction().GetSummary())
	case *loomv1.Event_TurnStopped:
		one := t.add(loomv1.TranscriptKind_TRANSCRIPT_KIND_STOPPED)
		one.Agent, one.Role, one.Code = f.TurnStopped.GetStop().GetBy().GetName(), "", f.TurnStopped.GetStop().GetCode()
		t.text(f.TurnStopped.GetStop().GetReason(), entryText)
	case *loomv1.Event_AttemptEnded:
		t.outcome(f.AttemptEnded)
	}
	return t.list, t.err
}

// transcriber makes the entries of one event.
type transcriber struct {
	blobs *Blobs
	ctx   context.Context
	of    *loomv1.TranscriptEntry // what they have in common
	list  []*loomv1.TranscriptEntry
	err   error
}

func (t *transcriber) add(kind loomv1.TranscriptKind) *loomv1.TranscriptEntry {
	one := proto.CloneOf(t.of)
	one.Kind = kind
	t.list = append(t.list, one)
	return one
}

// text is the text of the last entry, at most so many bytes of it.
func (t *transcriber) text(text string, most int) {
	one := t.list[len(t.list)-1]
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) > most {
		one.Clipped = true
		for most > 0 && !utf8.RuneStart(text[most]) {
			most--
		}
		text = text[:most]
	}
	one.Text = text
}

// blob is what the last entry's text is kept as. One that the store does not have
// any more leaves the rest of the transcript readable.
func (t *transcriber) blob(ref *loomv1.BlobRef) {
	if ref.GetSha256() == "" || t.err != nil {
		return
	}
	one := t.list[len(t.list)-1]
	one.Blob = ref
	data, _, err := t.blobs.clean(t.ctx, ref)
	switch code := fault.Code(err); {
	case code == "blob/missing" || code == "blob/corrupt":
		one.Clipped, one.Code = true, code
	case err != nil:
		t.err = err
	default:
		t.text(string(data), entryText)
	}
}

func (t *transcriber) call(c *loomv1.ToolCall) *loomv1.TranscriptEntry {
	one := t.add(loomv1.TranscriptKind_TRANSCRIPT_KIND_CALL)
	one.Call, one.Tool = c.GetId(), c.GetTool()
	t.text(c.GetArguments(), entryArgs)
	return one
}

// answer is what a model thought, said and called.
func (t *transcriber) answer(a *loomv1.ModelAnswer) {
	if text := t.thoughts(a.GetOpaque()); text != "" {
		t.add(loomv1.TranscriptKind_TRANSCRIPT_KIND_THOUGHT).Model = a.Model
		t.text(text, entryText)
	}
	if a.GetText().GetSize() > 0 || a.GetProblem() != "" || len(a.GetCalls()) == 0 {
		one := t.add(loomv1.TranscriptKind_TRANSCRIPT_KIND_SAID)
		one.Model, one.Summary = a.GetModel(), a.GetProblem()
		t.blob(a.GetText())
	}
	for _, c := range a.GetCalls() {
		t.call(c)
	}
	t.list[0].Usage = a.GetUsage()
}

// thoughts are the texts in what a provider wants back, where it has any that a
// person can read; what it keeps sealed is left out.
func (t *transcriber) thoughts(ref *loomv1.BlobRef) string {
	if ref.GetSha256() == "" || t.err != nil {
		return ""
	}
	data, _, err := t.blobs.clean(t.ctx, ref)
	if err != nil {
		return ""
	}
	return thoughtsIn(data)
}

func thoughtsIn(data []byte) string {
	var blocks []struct {
		Thinking string `json:"thinking"`
	}
	if json.Unmarshal(data, &blocks) != nil {
		return ""
	}
	var texts []string
	for _, b := range blocks {
		if b.Thinking != "" {
			texts = append(texts, b.Thinking)
		}
	}
	return strings.Join(texts, "\n")
}

func (t *transcriber) outcome(a *loomv1.AttemptEnded) {
	out, one := a.GetOutcome(), t.add(loomv1.TranscriptKind_TRANSCRIPT_KIND_OUTCOME)
	one.Outcome, one.Code, one.Summary = project.Word(out.GetStatus()), out.GetCode(), out.GetSummary()
	if a.GetTimedOut() {
		one.Outcome = "timed out"
	}
	t.text(out.GetNotes(), entryText)
}
