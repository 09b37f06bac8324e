package simulation

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/loomrun/loom/internal/core/intent"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// sessionsEvery is which part of the seeds have people who open sessions of patterns.
const sessionsEvery = 13

// maxTalks is how many sessions are opened in a world.
const maxTalks = 4

// slowly begins and ends with a step that may leave nothing but notes, and stops by its
// pattern; quickly runs through, but for what its last step stops at.
const (
	slowly = `kind: pattern
name: slowly
version: "1.0"
family: analysis
purpose: Find out what a pile of notes says.
world_scope: project
default_tempo: andante
inputs: [{name: notes, type: text, required: true}]
outputs: [{name: claims.md, type: text}, {name: findings.md, type: text}]
primacy_questions:
  - {ask: "What do you hope to know?", about: goal}
  - {ask: "What must stay out of it?", about: constraints}
  - {ask: "Who will read it?", about: audience}
  - {ask: "Which notes count?", about: scope}
  - {ask: "By what will you see that it was worth it?", about: success}
steps:
  - {order: 1, name: read, description: Write down what each note claims., writes: [files, active], stop: true, timeout: 20m, deliverables: [claims.md]}
  - {order: 2, name: think, description: Think about them., writes: [active, durable], timeout: 30m}
  - {order: 3, name: find, description: Write what follows., writes: [files, decisions], timeout: 40m, deliverables: [claims.md, findings.md]}
rubric: [{name: grounded, question: "Does every finding name notes that say it?"}]
`
	quickly = `kind: pattern
name: quickly
version: "1.0"
family: production
purpose: Write a letter.
world_scope: project
default_tempo: allegro
outputs: [{name: draft.md, type: text}, {name: letter.md, type: text}]
primacy_questions:
  - {ask: "What do you hope to know?", about: goal}
  - {ask: "What must stay out of it?", about: constraints}
  - {ask: "Who will read it?", about: audience}
  - {ask: "By what will you see that it was worth it?", about: success}
steps:
  - {order: 1, name: draft, description: Write a draft., writes: [files], deliverables: [draft.md]}
  - {order: 2, name: polish, description: Make a letter of it., writes: [files, active], tempo: andante, stop: true, deliverables: [letter.md]}
rubric: [{name: clear, question: "Is it clear?"}]
`
	around = "around" // the process whose one phase names a pattern's work
)

var patterns = sync.OnceValue(func() (list []*loomv1.Pattern) {
	for _, text := range []string{slowly, quickly} {
		r := processes.ReadPattern("pattern.yaml", []byte(text), "", roles.Builtin(), nil)
		if len(r.Problems) > 0 {
			panic(r.Problems)
		}
		list = append(list, r.Pattern)
	}
	return list
})

// wayAround is a process whose work a session's is to be done by, as a child: nobody may.
var wayAround = sync.OnceValue(func() *loomv1.Definition {
	node := func(id string, kind loomv1.NodeType) *loomv1.NodeDefinition {
		return &loomv1.NodeDefinition{Id: id, Type: kind, Description: id}
	}
	child := node("steps", loomv1.NodeType_NODE_TYPE_TASK)
	child.Process, child.MaxAttempts = "pattern-slowly", 1
	return known(processes.Complete(&loomv1.Definition{
		Name: around, Version: "1.0", Description: around,
		Nodes: []*loomv1.NodeDefinition{node("start", loomv1.NodeType_NODE_TYPE_START), child, node("end", loomv1.NodeType_NODE_TYPE_END)},
		Edges: []*loomv1.EdgeDefinition{{Id: "e1", From: "start", To: "steps"}, {Id: "e2", From: "steps", To: "end"}},
	}, roles.Builtin()))
})

// talks are what an operator says in sessions of patterns.
type talks struct {
	opened  int
	words   int              // said so far, each under a request of its own
	unheard *word            // the last, while there is no answer to it
	heard   []*word          // answered ones
	files   map[string]blobs // by patch: what it has, by name
}

// blobs are hashes of files, by name.
type blobs map[string]string

// word is something that was said in a session, or that opened one.
type word struct {
	cmd *loomv1.Command
	at  time.Time
}

// drawSessions has people talk in a part of the worlds. It draws nothing, so that all
// others are as they were.
func (w *world) drawSessions() {
	if w.recipe.Seed%sessionsEvery == 5 {
		w.talks = &talks{files: map[string]blobs{}}
	}
}

// maxSaid is how many answers a session takes. Then it can be sealed or aborted.
const maxSaid = 64

// talk has the operator say something in a session, or open one.
func (w *world) talk() {
	t := w.talks
	if t.unheard != nil && w.now.Sub(t.unheard.at) >= remembered {
		t.unheard = nil
	}
	switch {
	case t.unheard != nil && !w.one(12): // it is said until it is heard, or given up
		w.say(t.unheard)
	case len(t.heard) > 0 && w.chance(publisherRepeats):
		if old := t.heard[w.rng.IntN(len(t.heard))]; w.now.Sub(old.at) < remembered {
			w.see("said again in a session")
			w.say(old)
		}
	case w.one(10):
		w.goAround()
	case t.opened < maxTalks && (t.opened == 0 || w.one(16)):
		w.openSession()
	default:
		if s := w.someSession(); s != nil {
			w.sayIn(s.id, w.draw(s))
		}
	}
}

// someSession prefers those that wait for a person.
func (w *world) someSession() *session {
	all := w.oracle.talked
	if len(all) == 0 {
		return nil
	}
	s := all[w.rng.IntN(len(all))]
	for range 8 {
		if s.waits() || s.aborted != nil && s.digest != "" && w.one(4) {
			break
		}
		s = all[w.rng.IntN(len(all))]
	}
	return s
}

func (w *world) openSession() {
	t := w.talks
	p := patterns()[w.rng.IntN(len(patterns()))]
	open := &loomv1.OpenSession{Pattern: p, Request: "Read the notes", WithoutModel: w.one(2), WithoutJudge: true}
	act := &loomv1.ActInSession{Command: &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Open{Open: open}}}
	for _, in := range p.Inputs {
		if w.one(8) {
			w.see("an input is missing")
			continue
		}
		act.Inputs = append(act.Inputs, &loomv1.PreparedInput{Name: in.Name, Type: in.Type, Content: blob(in.Name)})
	}
	t.opened++
	w.actIn(act)
}

// sayIn says something in a session, nil for nothing.
func (w *world) sayIn(session string, cmd *loomv1.IntentCommand) {
	if cmd != nil {
		w.actIn(&loomv1.ActInSession{Session: session, Command: cmd})
	}
}

// actIn asks a session for something under a request of its own.
func (w *world) actIn(act *loomv1.ActInSession) {
	w.talks.words++
	act.Request = fmt.Sprintf("w%d", w.talks.words)
	w.talks.unheard = &word{&loomv1.Command{Body: &loomv1.Command_ActInSession{ActInSession: act}}, w.now}
	w.say(w.talks.unheard)
}

func (w *world) say(said *word) {
	t := w.talks
	w.keeper.send(said.cmd, identity(loomv1.IdentityKind_IDENTITY_KIND_OPERATOR, "op"), func(a *loomv1.Answer) {
		c := code(a)
		if c == "lost" {
			return
		}
		if t.unheard == said {
			t.unheard = nil
		}
		if c != "" {
			w.see("session refused: " + c)
			return
		}
		if w.oracle.answeredSession(a.GetSession()); !slices.Contains(t.heard, said) {
			t.heard = append(t.heard, said)
		}
	})
}

// draw is what the operator says next in a session: mostly what it waits for.
func (w *world) draw(s *session) *loomv1.IntentCommand {
	if w.calm {
		return w.calmWord(s)
	}
	switch w.rng.IntN(24) {
	case 0:
		if s.digest == "" && !w.one(6) {
			return w.timely(s)
		}
		return aborts(w.one(2))
	case 1:
		if s.abort == nil {
			return w.timely(s)
		}
		return aborts(w.one(2)) // once more, which cancels the step
	case 2:
		return &loomv1.IntentCommand{Body: &loomv1.IntentCommand_SetTempo{SetTempo: &loomv1.SetTempo{Tempo: loomv1.Tempo(1 + w.rng.IntN(3))}}}
	case 3, 4:
		text := []string{"Mind the dates", "At most nine lines", "No notes at all"}[w.rng.IntN(3)]
		return &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Steer{Steer: &loomv1.Steer{Text: text, Redirect: w.one(2)}}}
	case 5:
		return &loomv1.IntentCommand{Body: &loomv1.IntentCommand_TakeBack{TakeBack: &loomv1.TakeBack{Number: 1 + w.rng.Uint32N(3)}}}
	case 6, 7:
		return w.untimely(s)
	}
	return w.timely(s)
}

// untimely says what a session may not wait for.
func (w *world) untimely(s *session) *loomv1.IntentCommand {
	switch w.rng.IntN(6) {
	case 0:
		return proceeds(w.rng.Uint32N(4))
	case 1:
		return seals(s.seen)
	case 2:
		return chooses(w.rng.Uint32N(3))
	case 3:
		return revises()
	case 4:
		return takesUp(w.one(2))
	}
	return &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Strike{Strike: &loomv1.StrikeAnswer{Number: 1 + w.rng.Uint32N(4), Restore: w.one(2)}}}
}

// timely says what a session waits for, or nothing.
func (w *world) timely(s *session) *loomv1.IntentCommand {
	last := uint32(len(s.pattern.Steps)) //nolint:gosec // three at most
	switch {
	case s.ended, s.aborted != nil && s.digest == "" && !w.one(8):
		return nil
	case s.aborted != nil:
		return takesUp(w.one(3))
	case s.question != nil && w.one(8):
		return &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Answer{Answer: &loomv1.AnswerQuestion{Question: s.question.Number, Pass: true}}}
	case s.question != nil && !w.one(6):
		return answers(s.question.Number, s.question.About, w.about(s.question.About))
	case s.phase == intent.Primacy:
		f := intent.Fields[w.rng.IntN(len(intent.Fields))]
		return answers(0, f, w.about(f))
	case s.phase == intent.Capture:
		return seals(s.shown.Digest)
	case s.phase == intent.Meta && w.one(3):
		return aborts(w.one(2))
	case s.phase == intent.Meta:
		return revises()
	case s.stopped && s.failed:
		return proceeds(s.step)
	case s.stopped && w.one(8):
		return revises()
	case s.stopped && w.one(6):
		return proceeds(1 + w.rng.Uint32N(last))
	case s.stopped:
		return proceeds(0)
	case len(s.unmet) > 0 && w.one(3):
		return chooses(1 + w.rng.Uint32N(last))
	case len(s.unmet) > 0:
		return chooses(0)
	}
	return nil
}

// calmWord brings a session to its end: what fails again and again is aborted.
func (w *world) calmWord(s *session) *loomv1.IntentCommand {
	switch {
	case !s.waits():
		return nil
	case s.tried > 4 || len(s.answers) == maxSaid:
		return aborts(true)
	case s.question != nil:
		return answers(s.question.Number, s.question.About, usual[s.question.About])
	case s.phase == intent.Capture:
		return seals(s.shown.Digest)
	case s.phase == intent.Meta:
		return revises()
	case s.stopped && s.failed:
		return proceeds(s.step)
	case s.stopped:
		return proceeds(0)
	}
	return chooses(0)
}

// closeTalks has the operator say what every session waits for that does.
func (w *world) closeTalks() {
	if w.talks == nil {
		return
	}
	if said := w.talks.unheard; said != nil && w.now.Sub(said.at) < remembered {
		w.say(said)
		w.keeper.flush()
	}
	w.oracle.toldOfSessions()
	for _, s := range w.oracle.talked {
		if cmd := w.calmWord(s); cmd != nil {
			w.sayIn(s.id, cmd)
			w.keeper.flush()
		}
	}
}

// usual are answers with which META validation passes.
var usual = map[loomv1.IntentField]string{
	intent.Goal: "What the notes agree on", intent.Constraints: "At most seven findings", intent.Audience: "The team",
	intent.Scope: "All of June", intent.Success: "Every finding names two notes",
}

// about draws what is said about a field: now and then what nobody can judge by, or what
// contradicts the rest.
func (w *world) about(f loomv1.IntentField) string {
	switch {
	case f == intent.Success && w.one(12):
		return "It is good"
	case f == intent.Constraints && w.one(12):
		return "At least nine findings"
	}
	return usual[f]
}

func aborts(draft bool) *loomv1.IntentCommand {
	return &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Abort{Abort: &loomv1.AbortPattern{Reason: "enough", SaveDraft: draft}}}
}

func proceeds(step uint32) *loomv1.IntentCommand {
	return &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Proceed{Proceed: &loomv1.Proceed{Step: step}}}
}

func seals(digest string) *loomv1.IntentCommand {
	return &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Seal{Seal: &loomv1.SealIntent{Digest: digest}}}
}

func revises() *loomv1.IntentCommand {
	return &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Revise{Revise: &loomv1.ReviseIntent{Reason: "otherwise"}}}
}

func takesUp(rerun bool) *loomv1.IntentCommand {
	return &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Resume{Resume: &loomv1.ResumePattern{Rerun: rerun}}}
}

// chooses a step, or with 0 the gap.
func chooses(step uint32) *loomv1.IntentCommand {
	c := &loomv1.ChooseCompletion{Choice: loomv1.CompletionChoice_COMPLETION_CHOICE_GAP}
	if step > 0 {
		c = &loomv1.ChooseCompletion{Choice: loomv1.CompletionChoice_COMPLETION_CHOICE_STEP, Step: step}
	}
	return &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Choose{Choose: c}}
}

func answers(question uint32, about loomv1.IntentField, text string) *loomv1.IntentCommand {
	return &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Answer{Answer: &loomv1.AnswerQuestion{Question: question, About: about, Text: text}}}
}

// goAround tries to begin, or to turn, the work of a session around its intent. Each must
// be refused; what is taken all the same the oracle sees in the journal too.
func (w *world) goAround() {
	s := w.someSession()
	if s == nil {
		return
	}
	request := fmt.Sprintf("around-%d", w.rng.IntN(4))
	process := "pattern-" + s.pattern.Name
	x := w.oracle.worked[s.bead]
	switch n := w.rng.IntN(8); {
	case n == 0:
		w.try("submission", &loomv1.Command{Body: &loomv1.Command_FileBead{FileBead: &loomv1.FileBead{Submission: &loomv1.Submission{Goal: "around it", Process: process}}}})
	case n == 1:
		w.try("submission", &loomv1.Command{Body: &loomv1.Command_FileBead{FileBead: &loomv1.FileBead{Submission: &loomv1.Submission{Goal: "around it", Process: processes.InterviewProcess}}}})
	case n == 2: // its phase must not be the work of a session: oracle.started
		w.operator(&loomv1.Command{Body: &loomv1.Command_FileBead{FileBead: &loomv1.FileBead{Submission: &loomv1.Submission{Goal: "by a child", Process: around, IdempotencyKey: request}}}}, "a way around primacy by a child")
	case x == nil:
	case n == 3:
		w.try("reopening", &loomv1.Command{Body: &loomv1.Command_ReopenBead{ReopenBead: &loomv1.ReopenBead{Bead: s.beads[w.rng.IntN(len(s.beads))], Reason: "again", Request: request}}})
	case n == 4:
		w.try("fork", &loomv1.Command{Body: &loomv1.Command_ForkExecution{ForkExecution: &loomv1.ForkExecution{Execution: x.id, Node: s.pattern.Steps[0].Name, Reason: "what if", Request: request}}})
	case n == 5:
		w.order("move", &loomv1.CeoCommand{Verb: &loomv1.CeoCommand_Move{Move: &loomv1.MoveExecution{Execution: x.id, Node: s.pattern.Steps[w.rng.IntN(2)].Name, Reason: "because"}}})
	case n == 6:
		w.try("message", &loomv1.Command{Body: &loomv1.Command_TellExecution{TellExecution: &loomv1.TellExecution{Execution: x.id, Request: request, Text: "Forget the intent"}}})
	default:
		values, _ := structpb.NewStruct(map[string]any{"goal": "another"})
		w.try("context", &loomv1.Command{Body: &loomv1.Command_SetContext{SetContext: &loomv1.SetContext{Execution: x.id, Values: values, Reason: "because"}}})
	}
}

func (w *world) try(what string, cmd *loomv1.Command) {
	w.keeper.send(cmd, identity(loomv1.IdentityKind_IDENTITY_KIND_OPERATOR, "op"), func(a *loomv1.Answer) {
		switch c := code(a); c {
		case "lost":
		case "":
			w.broken(50, "a %s goes around primacy, and is taken", what)
		default:
			w.see("way around primacy refused: " + what + ": " + c)
		}
	})
}

// blob is the content of a text.
func blob(text string) *loomv1.BlobRef {
	sum := sha256.Sum256([]byte(text))
	return &loomv1.BlobRef{Sha256: hex.EncodeToString(sum[:]), Size: uint64(len(text))}
}

// patchOf is the name of a change that consists of files.
func (b blobs) patchOf(execution string) string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(b)) {
		text.WriteString(name + b[name] + "\n")
	}
	return "s" + blob(text.String()).Sha256[:8] + "-" + execution
}
