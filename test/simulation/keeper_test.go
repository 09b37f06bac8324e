package simulation

import (
	"crypto/ed25519"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/fault"
	"github.com/loomrun/loom/internal/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// keeper decides commands with the real cores and appends what they decide to
// a log that fails as real ones do.
type keeper struct {
	w        *world
	state    *project.State
	epoch    uint64
	log      [][][]byte // encoded events by batch
	events   int
	pending  []*call
	late     *lateBatch
	kept     []byte // a snapshot
	keptAt   int    // number of batches it is as of
	restarts int
}

// call is a command that was decided, and waits to be durable.
type call struct {
	events []*loomv1.Event
	work   []*loomv1.Assignment
	answer *loomv1.Answer
	reply  func(*loomv1.Answer)
}

// lateBatch is an append that was given up and may land yet.
type lateBatch struct {
	at    int
	batch [][]byte
}

func newKeeper(w *world) *keeper {
	k := &keeper{w: w, epoch: 1}
	k.state = project.New(k.config())
	return k
}

func (k *keeper) config() project.Config {
	return project.Config{ID: shop, Deployment: deployment, Epoch: k.epoch, LockLease: k.w.lease, CEO: ceoKey.Public().(ed25519.PublicKey)}
}

// send has a command decided. reply is called once: with the answer when that
// is durable, or with nil when nobody knows what became of it.
func (k *keeper) send(cmd *loomv1.Command, from *loomv1.Identity, reply func(*loomv1.Answer)) {
	if k.w.chance(requestLost) {
		reply(nil)
		return
	}
	cmd.Project, cmd.Actor = shop, from
	c := k.decide(proto.CloneOf(cmd))
	if c == nil {
		return
	}
	c.reply = reply
	k.pending = append(k.pending, c)
	if k.w.chance(requestTwice) {
		k.again(cmd, c)
	}
}

func (k *keeper) decide(cmd *loomv1.Command) *call {
	events, answer, err := k.state.Do(k.w.now, cmd)
	if err != nil {
		k.w.broken("%T: %v", cmd.Body, err)
		return nil
	}
	k.w.note("%s: %s -> %d events, %s", cmd.Actor.Name, tellCommand(cmd), len(events), tellAnswer(answer))
	c := &call{events: events, answer: proto.CloneOf(answer), reply: func(*loomv1.Answer) {}}
	for _, e := range events {
		if a := k.state.Assignment(e); a != nil {
			c.work = append(c.work, a)
		}
	}
	return c
}

// again has the same command decided once more: it must add nothing.
func (k *keeper) again(cmd *loomv1.Command, first *call) {
	c := k.decide(proto.CloneOf(cmd))
	if c == nil {
		return
	}
	k.w.see("command came twice")
	k.pending = append(k.pending, c)
	for _, e := range c.events {
		if e.GetApprovalRefused() == nil {
			k.w.broken("%s, sent again, adds %T", tellCommand(cmd), e.Fact)
		}
	}
	if b := first.answer.GetSubmit().GetBead(); b != c.answer.GetSubmit().GetBead() {
		k.w.broken("a submission answered with bead %q is answered with %q when it comes again", b, c.answer.GetSubmit().GetBead())
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
		k.late = &lateBatch{len(k.log), encode(batch)}
		k.lose(batch)
	case k.w.chance(crashAfter):
		k.w.see("crash after an append")
		k.commit(encode(batch))
		k.lose(batch)
	default:
		if k.w.chance(acknowledgementLost) { // and found by asking
			k.w.see("acknowledgement lost, append was in")
		}
		k.commit(encode(batch))
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
	k.lose(k.take())
	return true
}

// told gives out work and answers.
func (k *keeper) told(batch []*call) {
	for _, c := range batch {
		for _, a := range c.work {
			k.w.enqueue(a)
		}
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

func encode(batch []*call) (out [][]byte) {
	for _, c := range batch {
		for _, e := range c.events {
			data, err := proto.Marshal(e)
			if err != nil {
				panic(err)
			}
			out = append(out, data)
		}
	}
	return out
}

// commit makes a batch durable and shows it to the oracle.
func (k *keeper) commit(batch [][]byte) {
	if len(batch) == 0 {
		return
	}
	k.log = append(k.log, batch)
	for _, data := range batch {
		k.events++
		k.w.oracle.saw(decodeEvent(data))
	}
}

func decodeEvent(data []byte) *loomv1.Event {
	e := &loomv1.Event{}
	if err := proto.Unmarshal(data, e); err != nil {
		panic(err)
	}
	return e
}

// restart folds the log again, from nothing or from the snapshot, and compares.
func (k *keeper) restart() {
	for _, c := range k.pending {
		defer c.reply(nil)
	}
	k.pending = nil
	k.restarts++
	if k.w.chance(epochRaised) {
		k.epoch++
	}
	state, from := project.New(k.config()), 0
	if k.kept != nil && k.w.one(2) {
		snap := &loomv1.ProjectState{}
		if err := proto.Unmarshal(k.kept, snap); err != nil {
			panic(err)
		}
		restored, err := project.Restore(k.config(), snap)
		if err != nil {
			k.w.broken("a snapshot does not restore: %v", err)
			return
		}
		k.w.see("restart from a snapshot")
		state, from = restored, k.keptAt
	} else {
		k.w.see("restart from nothing")
	}
	for _, batch := range k.log[from:] {
		for _, data := range batch {
			if err := state.Apply(decodeEvent(data)); err != nil {
				k.w.broken("replay: %v", err)
				return
			}
		}
	}
	if state.Hash() != k.w.oracle.twin.Hash() {
		k.w.broken("a replay from batch %d differs from the fold of another host", from)
	}
	k.state = state
	k.w.note("keeper started again, %d batches, epoch %d", len(k.log), k.epoch)
	k.sweep()
}

// snapshot keeps the state, unless it is ahead of the log.
func (k *keeper) snapshot() {
	if k.flush(); len(k.pending) > 0 {
		return
	}
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(k.state.Snapshot())
	if err != nil {
		panic(err)
	}
	k.kept, k.keptAt = data, len(k.log)
}

// sweep offers again what must be in the work queue, once it is durable.
func (k *keeper) sweep() {
	if len(k.pending) > 0 {
		return
	}
	for _, a := range k.state.Queued() {
		if !k.w.queued(a) {
			k.w.see("sweep found an assignment")
			k.w.enqueue(a)
		}
	}
}

// tick fires timers that are due; afterwards none is.
func (k *keeper) tick() {
	at, ok := k.state.Next()
	if !ok || at.After(k.w.now) {
		return
	}
	c := k.decide(&loomv1.Command{
		Project: shop, Actor: identity(loomv1.IdentityKind_IDENTITY_KIND_HOST, "timer"),
		Body: &loomv1.Command_Tick{Tick: &loomv1.Tick{}},
	})
	if c == nil {
		return
	}
	k.pending = append(k.pending, c)
	if at, ok := k.state.Next(); ok && !at.After(k.w.now) {
		k.w.broken("a timer is due at %s after the tick at %s", at, k.w.now)
	}
}

// code is the code of a refusal, "" for an answer, "lost" for none.
func code(a *loomv1.Answer) string {
	if a == nil {
		return "lost"
	}
	return fault.Code(fault.FromProto(a.Error))
}
