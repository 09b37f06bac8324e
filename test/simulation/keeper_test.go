package simulation

import (
	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// keeper decides commands with the real cores and appends what they decide to
// a log that fails as real ones do.
type keeper struct {
	w        *world
	state    *project.State
	tickets  *project.Tickets // what it knows of the work queue
	epoch    uint64
	log      [][]entry // by batch
	events   int
	pending  []*call
	late     *lateBatch
	kept     *loomv1.ProjectState // a snapshot
	keptAt   int                  // number of batches it is as of
	restarts int
	replayed int  // events
	behind   bool // the log has what the state has not
}

// entry is an event of the log. In a careful run it is what the wire carries,
// and everybody who reads it has their own.
type entry struct {
	event *loomv1.Event
	data  []byte
}

func (e entry) read() *loomv1.Event {
	if e.data == nil {
		return e.event
	}
	out := &loomv1.Event{}
	if err := proto.Unmarshal(e.data, out); err != nil {
		panic(err)
	}
	return out
}

// call is a command that was decided, and waits to be durable.
type call struct {
	events []*loomv1.Event
	answer *loomv1.Answer
	reply  func(*loomv1.Answer)
}

// lateBatch is an append that was given up and may land yet.
type lateBatch struct {
	at    int
	batch []entry
}

func newKeeper(w *world) *keeper {
	k := &keeper{w: w, epoch: 1, tickets: &project.Tickets{}}
	k.state = project.New(k.w.config(k.epoch))
	return k
}

func (w *world) config(epoch uint64) project.Config {
	return project.Config{
		ID: shop, Deployment: deployment, Epoch: epoch, LockLease: w.lease, CEO: ceoPublic, Compile: compiled,
		Segments: &w.segments,
	}
}

// send has a command decided. reply is called once: with the answer when that
// is durable, or with nil when nobody knows what became of it.
func (k *keeper) send(cmd *loomv1.Command, from *loomv1.Identity, reply func(*loomv1.Answer)) {
	if k.w.chance(requestLost) {
		reply(nil)
		return
	}
	cmd.Project, cmd.Actor = shop, from
	c := k.decide(k.wire(cmd))
	if c == nil {
		return
	}
	c.reply = reply
	k.pending = append(k.pending, c)
	if k.w.chance(requestTwice) || cmd.GetRecordTrain() != nil && k.w.rng.Float64() < k.w.rate[requestTwice] {
		k.again(cmd, c)
	}
}

// wire is what arrives of a command: a copy, where runs are careful.
func (k *keeper) wire(cmd *loomv1.Command) *loomv1.Command {
	if k.w.careful {
		return proto.CloneOf(cmd)
	}
	return cmd
}

func (k *keeper) decide(cmd *loomv1.Command) *call {
	k.w.steps++
	events, answer, err := k.state.Do(k.w.now, cmd)
	if err != nil {
		k.w.broken(4, "%T: %v", cmd.Body, err)
		return nil
	}
	if k.w.tell != nil {
		k.w.note("%s: %s -> %d events, %s", cmd.Actor.Name, tellCommand(cmd), len(events), tellAnswer(answer))
	}
	c := &call{events: events, answer: answer, reply: func(*loomv1.Answer) {}}
	if k.w.careful {
		c.answer = proto.CloneOf(answer)
	}
	if claim := cmd.GetClaimAttempt(); claim != nil {
		k.tickets.Spent(claim)
	}
	if next := cmd.GetAnswerAttempt().GetNext(); next != nil && answer.Error == nil {
		k.tickets.Spent(&loomv1.ClaimAttempt{Attempt: next.Attempt, Generation: next.Generation})
	}
	return c
}

// again has the same command decided once more: it must add nothing.
func (k *keeper) again(cmd *loomv1.Command, first *call) {
	c := k.decide(k.wire(cmd))
	if c == nil {
		return
	}
	k.w.see("command came twice")
	k.pending = append(k.pending, c)
	if cmd.GetAskTeam() != nil {
		return // what was refused may be taken by now, and who did not wait may have to: [oracle.gave] wants no task twice
	}
	for _, e := range c.events {
		if e.GetAttemptClaimed() != nil && cmd.GetAnswerAttempt().GetNext() != nil && first.answer.GetBrief() == nil {
			continue // nothing was queued the first time: what its outcome has led to, perhaps
		}
		if e.GetApprovalRefused() == nil && e.GetCommandRefused() == nil && e.GetLockCoupled() == nil && e.GetSubmissionRejected() == nil { // a train is made anew
			k.w.broken(7, "%s, sent again, adds %T", tellCommand(cmd), e.Fact)
		}
	}
	if b := first.answer.GetSubmit().GetBead(); b != c.answer.GetSubmit().GetBead() {
		k.w.broken(1, "a submission answered with bead %q is answered with %q when it comes again", b, c.answer.GetSubmit().GetBead())
	}
}

// flush appends what waits, in one batch, or fails to.
func (k *keeper) flush() {
	if k.landLate() || len(k.pending) == 0 {
		return
	}
	batch := k.take()
	switch {
	case k.w.chance(crashBefore):
		k.w.see("crash before an append")
		k.lose(batch)
	case k.w.chance(appendLost):
		k.w.see("append lost, it was out")
		k.lose(batch)
	case k.w.chance(appendLate):
		k.late = &lateBatch{len(k.log), k.encode(batch)}
		k.lose(batch)
	case k.w.chance(crashAfter):
		k.w.see("crash after an append")
		k.commit(k.encode(batch))
		k.lose(batch)
	default:
		if k.w.chance(acknowledgementLost) { // and found by asking
			k.w.see("acknowledgement lost, append was in")
		}
		k.commit(k.encode(batch))
		k.told(batch)
	}
}

func (k *keeper) take() []*call {
	batch := k.pending
	k.pending = nil
	if len(batch) > 1 {
		k.w.see("several commands in one batch")
	}
	return batch
}

// landLate lets an append land that was given up, if nothing was appended
// since; whoever appends next finds that the log has moved.
func (k *keeper) landLate() bool {
	late := k.late
	if late == nil || len(k.pending) == 0 {
		return false
	}
	k.late = nil
	if late.at != len(k.log) || k.w.one(2) || len(late.batch) == 0 {
		return false
	}
	k.w.see("append landed late")
	k.commit(late.batch)
	k.behind = true
	k.lose(k.take())
	return true
}

// told gives out work and answers.
func (k *keeper) told(batch []*call) {
	for _, a := range k.tickets.Offer(k.state) {
		k.w.enqueue(a)
	}
	for _, c := range batch {
		c.reply(c.answer)
	}
}

// lose forgets the working state: nobody is told anything.
func (k *keeper) lose(batch []*call) {
	k.restart()
	for _, c := range batch {
		c.reply(nil)
	}
}

func (k *keeper) encode(batch []*call) (out []entry) {
	for _, c := range batch {
		for _, e := range c.events {
			if !k.w.careful {
				out = append(out, entry{event: e})
				continue
			}
			data, err := proto.Marshal(e)
			if err != nil {
				panic(err)
			}
			out = append(out, entry{data: data})
		}
	}
	return out
}

// commit makes a batch durable and shows it to the oracle.
func (k *keeper) commit(batch []entry) {
	if len(batch) == 0 {
		return
	}
	k.log = append(k.log, batch)
	for _, e := range batch {
		k.events++
		k.w.oracle.saw(e)
	}
	k.w.oracle.stillTrains()
	k.w.oracle.stillAfterwards()
	k.w.oracle.stillSessions()
}

// restart folds the log again, from nothing or from the snapshot, and compares.
func (k *keeper) restart() {
	clean := uint64(k.events) == k.state.Number() && !k.behind
	k.behind = false
	for _, c := range k.pending {
		defer c.reply(nil)
	}
	k.pending = nil
	k.restarts++
	k.w.steps++
	if k.w.chance(epochRaised) {
		k.epoch++
	}
	was := k.state
	state, from := k.reborn()
	if state == nil {
		return
	}
	for _, batch := range k.log[from:] {
		for _, e := range batch {
			k.replayed++
			if err := state.Apply(e.read()); err != nil {
				k.w.broken(4, "replay: %v", err)
				return
			}
		}
	}
	switch {
	case k.w.careful && state.Hash() != k.w.oracle.twin.Hash():
		k.w.broken(3, "a replay from batch %d differs from the fold of another host", from)
	case clean && k.w.one(8) && state.Hash() != was.Hash():
		k.w.broken(4, "a replay from batch %d differs from the live state", from)
	}
	k.state, k.tickets = state, &project.Tickets{}
	k.w.note("keeper started again, %d batches, epoch %d", len(k.log), k.epoch)
	k.sweep()
}

// reborn is a state from nothing or from the snapshot, and the batch that it
// goes on with.
func (k *keeper) reborn() (*project.State, int) {
	if k.kept == nil || k.w.one(4) {
		k.w.see("restart from nothing")
		return project.New(k.w.config(k.epoch)), 0
	}
	k.w.see("restart from a snapshot")
	restored, err := project.Restore(k.w.config(k.epoch), k.kept)
	if err != nil {
		k.w.broken(4, "a snapshot does not restore: %v", err)
		return nil, 0
	}
	return restored, k.keptAt
}

// snapshot keeps the state, unless it is ahead of the log. Every second one has ended
// work in segments, and the state itself counts on these from then on.
func (k *keeper) snapshot() {
	if k.flush(); len(k.pending) > 0 {
		return
	}
	if k.keptAt = len(k.log); k.keptAt%2 == 0 {
		k.kept = k.state.Snapshot()
	} else if !k.divided() {
		return
	}
	if k.w.careful {
		k.kept = overTheWire(k.kept)
	}
}

func (k *keeper) divided() bool {
	k.state.Pack()
	taken := k.state.Capture()
	made := taken.Divide(1)
	var err error
	if k.kept, err = taken.State(); err != nil {
		k.w.broken(4, "a snapshot cannot be written: %v", err)
		return false
	}
	for _, s := range made {
		k.w.see("ended work in segments")
		k.w.segments.put(s)
		k.state.Keep(s)
	}
	return true
}

func overTheWire(p *loomv1.ProjectState) *loomv1.ProjectState {
	data, err := proto.Marshal(p)
	if err != nil {
		panic(err)
	}
	out := &loomv1.ProjectState{}
	if err := proto.Unmarshal(data, out); err != nil {
		panic(err)
	}
	return out
}

// sweep offers again what must be in the work queue, once it is durable.
func (k *keeper) sweep() {
	if len(k.pending) > 0 {
		return
	}
	for _, a := range append(k.tickets.Again(), k.tickets.Offer(k.state)...) {
		if !k.w.queued(a) {
			k.w.see("sweep found an assignment")
			k.w.enqueue(a)
		}
	}
}

// tick fires timers that are due; a few ticks later none is.
func (k *keeper) tick() {
	for range 20 {
		at, ok := k.state.Next()
		if !ok || at.After(k.w.now) {
			return
		}
		c := k.decide(&loomv1.Command{Project: shop, Actor: timer, Body: &loomv1.Command_Tick{Tick: &loomv1.Tick{}}})
		if c == nil {
			return
		}
		k.pending = append(k.pending, c)
	}
	k.w.broken(32, "a timer is due again and again at %s", k.w.now)
}

// code is the code of a refusal, "" for an answer, "lost" for none.
func code(a *loomv1.Answer) string {
	if a == nil {
		return "lost"
	}
	return fault.Code(fault.FromProto(a.Error))
}
