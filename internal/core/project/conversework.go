package project

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/conversation"
	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// How much is told of work.
const (
	toldWorks = 20       // beads of a list
	toldBack  = 200      // newest beads among which those that have ended are looked for
	toldFiles = 40       // files of a change
	toldNotes = 6 << 10  // bytes of what work came to
	maxStart  = 16 << 10 // bytes of a description
)

// startWork begins work by a process, for a conversation that hears its end. The same
// call again is the same work.
func (d *decision) startWork(x *loomv1.Execution, a *loomv1.Attempt, call string, w *loomv1.StartWork) (*loomv1.TeamReply, error) {
	if err := d.inConversation(x, conversation.WorkStart); err != nil {
		return nil, err
	}
	key, digest := hexHash("work", a.Id, call), hexHash(w.String())
	if r, ok := d.s.p.Requests[key]; ok {
		return &loomv1.TeamReply{State: "begun already: " + d.s.workText(r.Id, false)}, nil
	}
	sub := &loomv1.Submission{
		Project: d.s.cfg.ID, Type: loomv1.BeadType_BEAD_TYPE_TASK, Goal: plain(oneLine(w.Goal)), Description: plain(w.Description),
		Process: first(w.Process, x.Conversation.Process), Parent: x.Bead, Priority: loomv1.Priority_PRIORITY_NORMAL,
	}
	if len(w.Description) > maxStart {
		return nil, fault.New("submit/too-large", "description has %d bytes, the most is %d", len(w.Description), maxStart).At("description")
	}
	if w.Parameters != "" {
		sub.Context = &structpb.Struct{}
		var all map[string]any
		if err := json.Unmarshal([]byte(w.Parameters), &all); err != nil {
			return nil, fault.New("submit/invalid-field", "they are no JSON object").At("parameters").Got(cut(w.Parameters, 100))
		}
		made, err := structpb.NewStruct(all)
		if err != nil {
			return nil, fault.New("submit/invalid-field", "they are no JSON object: %s", err).At("parameters")
		}
		sub.Context = made
	}
	if errs := d.checkSubmission(sub); len(errs) > 0 {
		return nil, fault.Join(errs)
	}
	kind := d.governed(nil)
	if err := d.admit(kind); err != nil {
		return nil, err
	}
	b := asked(sub)
	b.Process, b.Conversation = d.process(sub), x.Bead
	defer d.about(x)()
	if _, err := d.file(b, filing{request: key, digest: digest, governed: kind}); err != nil {
		return nil, err
	}
	return &loomv1.TeamReply{State: "begun: " + d.s.workText(b.Id, false) + "You are told when it ends."}, nil
}

// inConversation refuses a call that only the lead of a conversation makes, in a mode
// that has it.
func (d *decision) inConversation(x *loomv1.Execution, tool string) error {
	switch {
	case !conversing(x):
		return fault.New("team/invalid", "%s is for the lead of a conversation", tool).At("call")
	case !conversation.Allows(x.Conversation.Mode, tool):
		return conversation.Denied(x.Conversation.Mode, tool)
	}
	return nil
}

// lookAtWork tells how work stands.
func (d *decision) lookAtWork(x *loomv1.Execution, w *loomv1.LookAtWork) (*loomv1.TeamReply, error) {
	if err := d.inConversation(x, conversation.WorkStatus); err != nil {
		return nil, err
	}
	if w.Bead != "" {
		if d.s.bead(w.Bead) == nil {
			return nil, unknownBead(d.s.cfg.ID, w.Bead)
		}
		return &loomv1.TeamReply{State: d.s.workText(w.Bead, true)}, nil
	}
	return &loomv1.TeamReply{State: d.s.worksText()}, nil
}

// worksText lists what goes on in the project, the newest first, and what ended last.
func (s *State) worksText() string {
	var going, ended []string
	work := func(b *loomv1.Bead) bool {
		return b.GetType() != loomv1.BeadType_BEAD_TYPE_CONVERSATION && b.GetType() != loomv1.BeadType_BEAD_TYPE_APPROVAL && b.GetDelegation() == nil
	}
	open := s.running()
	slices.SortFunc(open, func(a, b *loomv1.Execution) int {
		return cmp.Or(cmp.Compare(len(b.Id), len(a.Id)), strings.Compare(b.Id, a.Id))
	})
	for _, x := range open {
		if len(going) < toldWorks && work(s.bead(x.Bead)) {
			going = append(going, s.workText(x.Bead, false))
		}
	}
	for n, id := range slices.Backward(s.index.beads) {
		if len(ended) == toldWorks/2 || len(s.index.beads)-n > toldBack {
			break
		}
		b := s.listed(id)
		switch {
		case !work(b) || s.open[b.GetExecution()]:
		case b.GetStatus() == loomv1.BeadStatus_BEAD_STATUS_BLOCKED:
			going = append(going, s.workText(id, false))
		default:
			ended = append(ended, s.workText(id, false))
		}
	}
	if len(going)+len(ended) == 0 {
		return "there is no work in this project\n"
	}
	return strings.Join(slices.Concat(going, ended), "")
}

// workText tells how a bead stands: its phases with what each came to, what it waits for,
// and what it has changed. Without details it is a line.
func (s *State) workText(id string, details bool) string {
	b := s.listed(id)
	x := s.listedExecution(b.GetExecution())
	var w strings.Builder
	fmt.Fprintf(&w, "%s (%s): %s: %s\n", b.GetId(), first(b.GetProcess(), Word(b.GetType())), s.beadWord(b), oneLine(b.GetGoal()))
	if b.GetReason() != "" {
		fmt.Fprintf(&w, "  reason: %s\n", oneLine(b.Reason))
	}
	for _, ask := range s.asked[x.GetId()] {
		if slices.Contains(s.index.asking, ask) {
			fmt.Fprintf(&w, "  waits for an answer of a person to %s: %s\n", ask, oneLine(s.listedApproval(ask).GetQuestion()))
		}
	}
	if now := s.phasesNow(x); len(now) > 0 {
		fmt.Fprintf(&w, "  at: %s\n", strings.Join(now, ", "))
	}
	if details && x != nil {
		s.detailsText(&w, x)
	}
	return w.String()
}

func (s *State) beadWord(b *loomv1.Bead) string {
	if state := s.beadState(b); state != loomv1.WorkState_WORK_STATE_UNSPECIFIED {
		return Word(state)
	}
	return Word(b.GetStatus())
}

// phasesNow are the nodes at which somebody works, or which wait.
func (s *State) phasesNow(x *loomv1.Execution) (now []string) {
	for _, n := range s.p.Definitions[x.GetDefinitionHash()].GetNodes() {
		st := x.GetNodes()[n.Id]
		if StateOfNode(st) == loomv1.WorkState_WORK_STATE_UNSPECIFIED {
			continue
		}
		at := n.Id + " (" + NodeWord(x, st)
		if who := st.GetAttempt().GetClaimant().GetAgent(); who != "" {
			at += ", " + who
		}
		now = append(now, at+")")
	}
	return now
}

// detailsText tells of each node, and of the change.
func (s *State) detailsText(w *strings.Builder, x *loomv1.Execution) {
	for _, n := range s.p.Definitions[x.DefinitionHash].GetNodes() {
		st := x.Nodes[n.Id]
		if n.Type != loomv1.NodeType_NODE_TYPE_TASK && n.Type != loomv1.NodeType_NODE_TYPE_APPROVAL {
			continue
		}
		fmt.Fprintf(w, "  phase %s: %s", n.Id, phaseWord(x, st))
		if o := st.GetOutcome(); o.GetSummary() != "" {
			fmt.Fprintf(w, ": %s", oneLine(o.Summary))
		}
		w.WriteString("\n")
	}
	for _, g := range x.Gaps {
		fmt.Fprintf(w, "  left out: %s: %s\n", g.Node, oneLine(g.Reason))
	}
	changeText(w, x)
}

func phaseWord(x *loomv1.Execution, st *loomv1.NodeState) string {
	if st == nil || st.Status == loomv1.NodeStatus_NODE_STATUS_UNSPECIFIED {
		return "not begun"
	}
	return NodeWord(x, st)
}

// changeText tells what an execution has changed, and where that landed.
func changeText(w *strings.Builder, x *loomv1.Execution) {
	if c := workflow.Standing(x); c != nil {
		for i, f := range c.Files {
			if i == toldFiles {
				fmt.Fprintf(w, "  and %d more files\n", int(max(c.FilesTotal, uint32(len(c.Files))))-i)
				break
			}
			fmt.Fprintf(w, "  changes %s %q +%d -%d\n", f.Status, f.Path, f.Added, f.Removed)
		}
	}
	if l := x.GetLanding(); l != nil {
		fmt.Fprintf(w, "  landed on %s as commit %.12s\n", l.Ref, l.Commit)
	}
}

// endedPrefix begins the ids of messages that tell of work which has ended.
const endedPrefix = "ended-"

// followConversation tells a conversation how work has ended that was begun in it.
func (d *decision) followConversation(e *loomv1.Event) {
	b := d.s.bead(e.Bead)
	if b.GetConversation() == "" {
		return
	}
	d.later(func() error {
		x := d.s.execution(d.s.bead(b.Conversation).GetExecution())
		of := d.s.execution(e.Execution)
		if !running(x) || of == nil {
			return nil
		}
		var w strings.Builder
		w.WriteString(d.s.workText(b.Id, false))
		changeText(&w, of)
		out := d.s.result(of)
		w.WriteString(out.Summary + "\n" + out.Notes)
		defer d.about(x)()
		return d.tellLead(x, &loomv1.Said{
			Id: endedPrefix + e.Execution, From: &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_HOST, Name: "loom"},
			Text: cut(w.String(), toldNotes), Time: d.at, Kind: loomv1.MailKind_MAIL_KIND_NEWS, Bead: b.Id,
		})
	})
}

// teamMode refuses calls by which the lead of a conversation would hand over work in a mode
// that begins none.
// What was given before the mode was changed is no call anew.
func teamMode(x *loomv1.Execution, a *loomv1.Attempt, c *loomv1.TeamCall) error {
	if !conversing(x) || given(a, c.Call) != nil {
		return nil
	}
	tool := ""
	switch v := c.Verb.(type) {
	case *loomv1.TeamCall_Give:
		if tool = "delegate_task"; v.Give.GetQuestion() {
			tool = "sub_agent"
		}
	case *loomv1.TeamCall_Stop:
		tool = "agent_stop"
	case *loomv1.TeamCall_Write:
		tool = "team_write"
	default:
		return nil
	}
	if !conversation.Allows(x.Conversation.Mode, tool) {
		return conversation.Denied(x.Conversation.Mode, tool)
	}
	return nil
}
