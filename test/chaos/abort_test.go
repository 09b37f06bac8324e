package chaos

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/modeltest"
	"github.com/loomrun/loom/internal/core/intent"
	"github.com/loomrun/loom/internal/core/turn"
	"github.com/loomrun/loom/internal/net/client"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

var aborts = flag.Int("chaos.aborts", 0, "rounds in which nine sessions are aborted, each step in each way, and their host is killed around it; 0 is one round of three")

// abortPattern has three steps, each of which stops and keeps something for the session alone.
const abortPattern = `kind: pattern
name: chain
version: "1.0"
family: analysis
purpose: Write three files, one after the other.
world_scope: project
default_tempo: andante
outputs: [{name: one.md, type: text}, {name: two.md, type: text}, {name: three.md, type: text}]
steps:
  - {order: 1, name: one, description: Write the first., role: implementer, writes: [files, active], stop: true, deliverables: [one.md]}
  - {order: 2, name: two, description: Write the second., role: implementer, writes: [files, active], stop: true, deliverables: [two.md]}
  - {order: 3, name: three, description: Write the third., role: implementer, writes: [files, active], stop: true, deliverables: [three.md]}
rubric: [{name: there, question: "Are there three files?"}]
`

var abortSteps = []string{"one", "two", "three"}

// The ways in which a session is aborted.
const (
	atStop   = "at the stop after"
	boundary = "while it does"
	cancels  = "and again, which cancels"
)

// abortion is a session that is aborted: at which step, and how.
type abortion struct {
	step int // from 1
	how  string
	id   string
	seal string // digest of the envelope
	done []string
	asks int // requests for its finished steps until it was aborted
}

// scribe is the model of the host, in the process of the test: it knows what it was asked,
// and can keep a step from its end.
type scribe struct {
	mu   sync.Mutex
	asks map[string]int           // by session and step
	held map[string]chan struct{} // closed to let a step go on
	came map[string]chan struct{} // closed when a step is kept
}

func newScribe() *scribe {
	return &scribe{asks: map[string]int{}, held: map[string]chan struct{}{}, came: map[string]chan struct{}{}}
}

func (s *scribe) keep(step string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held[step], s.came[step] = make(chan struct{}), make(chan struct{})
}

func (s *scribe) letGo(step string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held[step] != nil {
		close(s.held[step])
		s.held[step] = nil
	}
}

func (s *scribe) asked(step string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asks[step]
}

var ofSession = regexp.MustCompile(`(?m)^session: (s\d+)$`)

// answer is the server's script: a step keeps a note, writes its file and ends.
func (s *scribe) answer(r *model.Request) modeltest.Reply {
	words, of := assignment.FindStringSubmatch(r.Messages[0].Text), ofSession.FindStringSubmatch(r.Messages[0].Text)
	if words == nil || of == nil {
		return modeltest.Reply{Status: 500, Body: "no assignment of a session"}
	}
	node, id, answers := words[1], of[1], 0
	for _, m := range r.Messages {
		if m.Role == model.RoleAssistant {
			answers++
		}
	}
	done := func(fields string) modeltest.Reply {
		return modeltest.Reply{Calls: []*loomv1.ToolCall{modeltest.Call(fmt.Sprint("c", answers), turn.FinishName,
			`{"status": "success", "summary": "done", "notes": ""`+fields+`}`)}}
	}
	switch node {
	case processes.CompletionNode:
		return done(fmt.Sprintf(`, "fields": {"success_1": true, "evidence_1": "the words of one in %s", "broken": ""}`, id))
	case "verify":
		return done(`, "fields": {"fault": ""}`)
	}
	n, held := s.ask(id+" "+node, answers)
	if answers == 0 {
		return modeltest.Reply{Calls: []*loomv1.ToolCall{
			modeltest.Call("k", "memory_keep", fmt.Sprintf(`{"type": "discovery", "text": "Kept by %s of %s.", "confidence": 90}`, node, id)),
			modeltest.Call("w", "file_write", fmt.Sprintf(`{"path": "sessions/%[2]s/%[1]s.md", "content": "Here are the words of %[1]s in %[2]s, at request %[3]d.\n"}`, node, id, n)),
		}}
	}
	reply := done("")
	reply.After = held
	return reply
}

// ask counts a request for a step, and returns what its end waits for.
func (s *scribe) ask(step string, answers int) (n int, held chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asks[step]++
	if answers == 0 {
		return s.asks[step], nil
	}
	if came := s.came[step]; came != nil {
		close(came)
		s.came[step] = nil
	}
	return s.asks[step], s.held[step]
}

// abortRun is a host whose sessions are aborted while it is killed.
type abortRun struct {
	lone
	c      *client.Client
	scribe *scribe
	all    []*abortion
	moment func() time.Duration // between what is said and a kill; negative once it is answered
	round  int
	killed int
}

// TestPAT04_AnAbortOutlivesKillNine aborts sessions at each of three steps: while the step is
// done, at the stop after it, and a second time, which cancels it. The host is killed while
// that is said, when it is answered, and when the sessions are taken up again. There is one
// record of each abort and nothing of the session's own memory; what was done is done once,
// and each session comes to its end with the same envelope.
func TestPAT04_AnAbortOutlivesKillNine(t *testing.T) {
	if *aborts == 0 {
		after := []time.Duration{0, -1}
		r := newAbortRun(t, func() time.Duration { after = append(after[1:], after[0]); return after[0] })
		r.cross([]*abortion{{step: 1, how: atStop}, {step: 2, how: boundary}, {step: 3, how: cancels}}, 1)
		r.end()
		return
	}
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d (-chaos.seed)", *seed)
	draw := rand.New(rand.NewPCG(*seed, 2))
	r := newAbortRun(t, func() time.Duration {
		return time.Duration(draw.Int64N(int64(40*time.Millisecond))) - 4*time.Millisecond
	})
	for range *aborts {
		var all []*abortion
		for step := range abortSteps {
			for _, how := range []string{atStop, boundary, cancels} {
				all = append(all, &abortion{step: step + 1, how: how})
			}
		}
		r.cross(all, 1+draw.IntN(3))
	}
	r.end()
}

func newAbortRun(t *testing.T, moment func() time.Duration) *abortRun {
	t.Helper()
	s := newScribe()
	server := modeltest.Anthropic(t, s.answer)
	r := &abortRun{lone: lone{t: t, place: newPlace(t)}, scribe: s, moment: moment}
	t.Cleanup(r.letAllGo) // before the server waits for what it answers
	r.place.repository(t, crowd)
	r.place.flags = []string{"--model", "anthropic:claude-scribe", "--agents", "implementer=9", "--agents", "qa-engineer=2", "--bead-usd", "1", "--day-usd", "1000"}
	r.place.env = append(r.place.env, "ANTHROPIC_BASE_URL="+server.URL)
	r.rise()
	return r
}

func (r *abortRun) letAllGo() {
	for _, a := range r.all {
		r.scribe.letGo(a.at())
	}
}

// at names the step that a session is aborted at, as the model knows it.
func (a *abortion) at() string { return a.id + " " + abortSteps[a.step-1] }

func (r *abortRun) rise() {
	r.t.Helper()
	r.host = r.place.start(r.t)
	r.c = r.host.client()
}

// cross has sessions go to where they are aborted, aborts them, and takes them up again; so
// many kills fall on each word.
func (r *abortRun) cross(all []*abortion, kills int) {
	r.t.Helper()
	r.round++
	for _, a := range all {
		r.open(a)
	}
	for _, a := range all {
		r.lead(a)
	}
	abort := func(*abortion) *loomv1.IntentRequest {
		return &loomv1.IntentRequest{Verb: &loomv1.IntentRequest_Abort{Abort: &loomv1.AbortPattern{Reason: "the deadline moved", SaveDraft: true}}}
	}
	r.through("abort", all, kills, abort)
	var again []*abortion
	for _, a := range all {
		if a.how == cancels {
			again = append(again, a)
		}
	}
	r.through("cancel", again, kills, abort)
	for _, a := range all {
		r.scribe.letGo(a.at())
	}
	for _, a := range all {
		r.await(a.id+" is aborted", func() bool { return r.now(a).GetAborted() != nil })
		r.judgeAbort(a)
	}
	r.through("resume", all, kills, func(*abortion) *loomv1.IntentRequest {
		return &loomv1.IntentRequest{Verb: &loomv1.IntentRequest_Resume{Resume: &loomv1.ResumePattern{}}}
	})
	for _, a := range all {
		r.toEnd(a)
	}
}

// say asks the host once, and returns what it answers.
func (r *abortRun) say(id, key string, q *loomv1.IntentRequest) (*loomv1.PatternSession, error) {
	ctx, cancel := context.WithTimeout(r.t.Context(), 10*time.Second)
	defer cancel()
	q.Project, q.Session, q.Request = crowd, id, key
	answer, err := r.c.Intent(ctx, q)
	return answer.GetSession(), err
}

// said is say on a host that is not killed meanwhile.
func (r *abortRun) said(id, key string, q *loomv1.IntentRequest) *loomv1.PatternSession {
	r.t.Helper()
	s, err := r.say(id, key, q)
	if err != nil {
		r.t.Fatalf("%s of %s: %v\n%s", key, id, err, r.host.text())
	}
	return s
}

// now is how a session stands, with its facts; nil if the host does not say.
func (r *abortRun) now(a *abortion) *loomv1.PatternSession {
	ctx, cancel := context.WithTimeout(r.t.Context(), 5*time.Second)
	defer cancel()
	v, err := r.c.Session(ctx, &loomv1.Query{Project: crowd, Id: a.id})
	if err != nil {
		return nil
	}
	return v.Sessions[0]
}

// open begins a session and seals what it is for.
func (r *abortRun) open(a *abortion) {
	r.t.Helper()
	s := r.said("", fmt.Sprintf("open %d %d %s", r.round, a.step, a.how), &loomv1.IntentRequest{Verb: &loomv1.IntentRequest_Open{Open: &loomv1.OpenPattern{
		File: abortPattern, Request: "Three files", WithoutModel: true,
	}}})
	a.id = s.Id
	r.all = append(r.all, a)
	if a.how != atStop {
		r.scribe.keep(a.at())
	}
	for s.Question != nil {
		s = r.said(a.id, fmt.Sprint(a.id, " answer ", s.Question.Number), &loomv1.IntentRequest{Verb: &loomv1.IntentRequest_Answer{Answer: &loomv1.AnswerQuestion{
			Question: s.Question.Number, Text: "Whatever answers question " + fmt.Sprint(s.Question.Number),
		}}})
	}
	a.seal = s.Shown.Digest
	r.said(a.id, a.id+" seal", &loomv1.IntentRequest{Verb: &loomv1.IntentRequest_Seal{Seal: &loomv1.SealIntent{Digest: a.seal}}})
}

// lead has a session go on until it is where it is aborted.
func (r *abortRun) lead(a *abortion) {
	r.t.Helper()
	for step := 1; step <= a.step; step++ {
		if step == a.step && a.how != atStop {
			r.scribe.mu.Lock()
			came := r.scribe.came[a.at()]
			r.scribe.mu.Unlock()
			if came != nil {
				select {
				case <-came:
				case <-deadline(r.t).Done():
					r.t.Fatalf("%s is not asked for\n%s", a.at(), r.host.text())
				}
			}
			break
		}
		a.done = append(a.done, abortSteps[step-1])
		r.await(fmt.Sprintf("%s stops after step %d", a.id, step), func() bool {
			s := r.now(a)
			return s.GetStopped() && done(s)[uint32(step)] == 1
		})
		if step < a.step {
			r.said(a.id, fmt.Sprint(a.id, " proceed ", step), &loomv1.IntentRequest{Verb: &loomv1.IntentRequest_Proceed{Proceed: &loomv1.Proceed{}}})
		}
	}
	if a.how == boundary {
		a.done = append(a.done, abortSteps[a.step-1])
	}
}

// done counts how often each step of a session was done.
func done(s *loomv1.PatternSession) map[uint32]int {
	n := map[uint32]int{}
	for _, f := range s.GetFacts() {
		if e := f.GetStepEnded(); e.GetStatus() == loomv1.StepStatus_STEP_STATUS_DONE {
			n[e.Step]++
		}
	}
	return n
}

// through says a word in each of the sessions at once, and kills the host meanwhile; so again
// and again, with the same word, and at last without a kill.
func (r *abortRun) through(word string, all []*abortion, kills int, q func(*abortion) *loomv1.IntentRequest) {
	r.t.Helper()
	for range kills {
		var heard sync.WaitGroup
		for _, a := range all {
			heard.Go(func() { _, _ = r.say(a.id, a.id+" "+word, q(a)) }) // the host may be gone
		}
		if m := r.moment(); m < 0 {
			heard.Wait()
		} else {
			<-time.After(m)
		}
		r.c.Close()
		r.host.kill()
		heard.Wait()
		r.killed++
		r.rise()
	}
	for _, a := range all {
		r.said(a.id, a.id+" "+word, q(a))
	}
}

// judgeAbort looks for what an abort has to leave: one record, the draft of what was done,
// and nothing of the session's own memory.
func (r *abortRun) judgeAbort(a *abortion) {
	r.t.Helper()
	s, counts := r.now(a), map[string]int{}
	for _, f := range s.Facts {
		switch f.Fact.(type) {
		case *loomv1.IntentFact_AbortAsked:
			counts["asked"]++
		case *loomv1.IntentFact_Aborted:
			counts["aborted"]++
		case *loomv1.IntentFact_Flushed:
			counts["flushed"]++
		}
	}
	if counts["asked"] != 1 || counts["aborted"] != 1 || counts["flushed"] != 1 {
		r.t.Errorf("%s, aborted %s step %d: %v, want each once", a.id, a.how, a.step, counts)
	}
	rec := s.Aborted.Record
	if rec.Type != "pattern-abort" || rec.PatternId != "chain" || rec.AbortedAtStep != uint32(a.step) || rec.Reason != "the deadline moved" || !rec.PartialOutputSaved {
		r.t.Errorf("%s, aborted %s step %d: its record is %v", a.id, a.how, a.step, rec)
	}
	var draft []string
	for _, o := range s.Aborted.Draft {
		draft = append(draft, strings.TrimSuffix(o.Name, ".md"))
	}
	if strings.Join(draft, " ") != strings.Join(a.done, " ") {
		r.t.Errorf("%s, aborted %s step %d: its draft has %v, want %v", a.id, a.how, a.step, draft, a.done)
	}
	records, kept := 0, 0
	for _, e := range r.remembered() {
		if e.Type == "pattern_abort" && strings.Contains(e.Text, "(session "+a.id+")") {
			records++
		}
		if strings.HasSuffix(e.Text, " of "+a.id+".") {
			kept++
		}
	}
	if records != 1 || kept != 0 {
		r.t.Errorf("%s, aborted %s step %d: memory has %d records of the abort, and %d entries of the session's own", a.id, a.how, a.step, records, kept)
	}
	a.asks = r.asked(a)
}

func (r *abortRun) remembered() (all []*loomv1.MemoryEntry) {
	r.t.Helper()
	q := &loomv1.Query{Project: crowd, Limit: 1000}
	v, err := r.c.Memory(deadline(r.t), q)
	if err != nil || v.Next != "" {
		r.t.Fatalf("memory: %v, and more after %q", err, v.GetNext())
	}
	return v.Memories
}

// asked is how often the model was asked for the steps that were done when it was aborted.
func (r *abortRun) asked(a *abortion) (n int) {
	for _, step := range a.done {
		n += r.scribe.asked(a.id + " " + step)
	}
	return n
}

// toEnd goes on with a session that was taken up, to its end, and looks at what it left.
func (r *abortRun) toEnd(a *abortion) {
	r.t.Helper()
	var s *loomv1.PatternSession
	for stop := 0; ; stop++ {
		r.await(a.id+" goes on", func() bool {
			s = r.now(a)
			return s != nil && (s.Ended || s.Stopped || len(s.Unmet) > 0)
		})
		if s.Ended || !s.Stopped || stop == 2*len(abortSteps) {
			break
		}
		r.said(a.id, fmt.Sprint(a.id, " proceed on ", stop), &loomv1.IntentRequest{Verb: &loomv1.IntentRequest_Proceed{Proceed: &loomv1.Proceed{}}})
	}
	if !s.Ended || len(s.Gaps) > 0 {
		r.t.Fatalf("%s, aborted %s step %d: %s, with %v not met", a.id, a.how, a.step, intent.Standing(s), s.Unmet)
	}
	if s.Seal.Digest != a.seal || intent.Digest(s.Envelope) != a.seal {
		r.t.Errorf("%s ended with envelope %s, and %s was sealed", a.id, s.Seal.Digest, a.seal)
	}
	for i, n := range done(s) {
		if n != 1 {
			r.t.Errorf("%s, aborted %s step %d: step %d was done %d times", a.id, a.how, a.step, i, n)
		}
	}
	if n := r.asked(a); n != a.asks || len(done(s)) != len(abortSteps) {
		r.t.Errorf("%s, aborted %s step %d: for what was done the model was asked %d times, and %d until the abort; done is %v", a.id, a.how, a.step, n, a.asks, done(s))
	}
	repository := strings.SplitN(r.place.projects[0], "=", 2)[1]
	for _, step := range abortSteps {
		text := git(r.t, repository, "show", "main:sessions/"+a.id+"/"+step+".md")
		if !strings.HasPrefix(text, "Here are the words of "+step+" in "+a.id+",") {
			r.t.Errorf("%s left %s.md as %q", a.id, step, text)
		}
	}
}

// end looks for what was recorded twice over all of it, and stops the host.
func (r *abortRun) end() {
	r.t.Helper()
	records := map[string]int{}
	for _, e := range r.remembered() {
		if e.Type == "pattern_abort" {
			records[e.Text]++
		}
	}
	for _, a := range r.all {
		n := 0
		for text, times := range records {
			if strings.Contains(text, "(session "+a.id+")") {
				n += times
			}
		}
		if n != 1 {
			r.t.Errorf("memory has %d records of the abort of %s", n, a.id)
		}
	}
	r.t.Logf("%d sessions aborted and taken up again, %d kills", len(r.all), r.killed)
	r.c.Close()
	r.host.stop(syscall.SIGTERM)
}
