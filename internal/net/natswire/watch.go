package natswire

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// pair is one who watches and one who is watched, by address and id.
type pair struct{ who, watcher place }

type place struct{ address, id string }

func placeOf(r *loomv1.ActorRef) place { return place{r.GetAddress(), r.GetId()} }

// SendSystemMessage implements [actor.Process]: what an actor system wants of
// an actor of another host. It never blocks.
func (r *remote) SendSystemMessage(pid *actor.PID, message any) {
	var err error
	switch m := message.(type) {
	case *actor.Watch:
		r.w.watch(r, pid, m.Watcher)
	case *actor.Unwatch:
		r.w.forgetWatch(pair{placeOf(ref(pid)), placeOf(r.w.ref(m.Watcher))})
		err = r.post(&loomv1.Envelope{Kind: loomv1.EnvelopeKind_ENVELOPE_KIND_UNWATCH, Target: ref(pid), Sender: r.w.ref(m.Watcher)})
	case *actor.Terminated:
		err = r.post(ending(pid, r.w.ref(m.Who), loomv1.TerminationReason_TERMINATION_REASON_STOPPED))
	default:
		r.w.log.Warn("this is not for actors of other hosts", "address", r.address, "actor", pid.Id)
	}
	if err != nil { // the next refresh makes up for it
		r.w.log.Debug("another host was not told of a watch", "address", r.address, "reason", err)
	}
}

func ending(watcher *actor.PID, who *loomv1.ActorRef, why loomv1.TerminationReason) *loomv1.Envelope {
	return &loomv1.Envelope{Kind: loomv1.EnvelopeKind_ENVELOPE_KIND_TERMINATED, Target: ref(watcher), Sender: who, Why: why}
}

// watch has an actor of this host told when pid ends.
func (w *Wire) watch(r *remote, pid, watcher *actor.PID) {
	if r.over() {
		w.tell(watcher, &actor.Terminated{Who: pid, Why: actor.TerminatedReason_AddressTerminated})
		return
	}
	w.mu.Lock()
	w.watches[pair{placeOf(ref(pid)), placeOf(w.ref(watcher))}] = watcher
	w.mu.Unlock()
	r.remind(ref(pid), w.ref(watcher))
	if r.over() { // it ended meanwhile
		w.bury(r.host, r.epoch)
	}
}

// remind tells a host that one of its actors is watched.
func (r *remote) remind(who, watcher *loomv1.ActorRef) {
	err := r.post(&loomv1.Envelope{Kind: loomv1.EnvelopeKind_ENVELOPE_KIND_WATCH, Target: who, Sender: watcher})
	if err != nil {
		r.w.log.Debug("another host was not told of a watch", "address", r.address, "reason", err)
	}
}

func (w *Wire) forgetWatch(p pair) (watcher *actor.PID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	watcher = w.watches[p]
	delete(w.watches, p)
	return watcher
}

// tell hands an actor of this host word of an end.
func (w *Wire) tell(watcher *actor.PID, m *actor.Terminated) {
	if process, found := w.system.ProcessRegistry.GetLocal(watcher.Id); found {
		process.SendSystemMessage(watcher, m)
	}
}

// watched has an actor of this host watched by one of another, or says that it
// is not there.
func (w *Wire) watched(e *loomv1.Envelope) {
	host, epoch, ok := parseAddress(e.Sender.GetAddress())
	if !ok {
		return
	}
	process, found := w.system.ProcessRegistry.GetLocal(e.Target.GetId())
	if _, isActor := process.(*actor.ActorProcess); !found || !isActor {
		answer := ending(pid(e.Sender), &loomv1.ActorRef{Address: w.address, Id: e.Target.GetId()}, loomv1.TerminationReason_TERMINATION_REASON_NOT_FOUND)
		_ = w.remote(host, epoch).post(answer) // the next refresh asks again
		return
	}
	process.SendSystemMessage(pid(e.Target), &actor.Watch{Watcher: pid(e.Sender)})
}

func (w *Wire) unwatched(e *loomv1.Envelope) {
	process, found := w.system.ProcessRegistry.GetLocal(e.Target.GetId())
	if _, isActor := process.(*actor.ActorProcess); found && isActor {
		process.SendSystemMessage(pid(e.Target), &actor.Unwatch{Watcher: pid(e.Sender)})
	}
}

// terminated tells a watcher of this host of an end, once.
func (w *Wire) terminated(e *loomv1.Envelope) {
	watcher := w.forgetWatch(pair{placeOf(e.Sender), placeOf(e.Target)})
	if watcher == nil {
		return
	}
	why := actor.TerminatedReason_Stopped
	if e.Why == loomv1.TerminationReason_TERMINATION_REASON_NOT_FOUND {
		why = actor.TerminatedReason_NotFound
	}
	w.tell(watcher, &actor.Terminated{Who: pid(e.Sender), Why: why})
}

// HostAlive says that a host runs with this epoch: all earlier starts of it
// are over, as with [Wire.HostDead].
func (w *Wire) HostAlive(host string, epoch uint64) {
	if epoch > 0 {
		w.HostDead(host, epoch-1)
	}
}

// HostDead says that a host's start with this epoch, and all earlier ones, are
// over for good: whoever watches one of their actors gets Terminated, now and
// later, and what is sent to them is a dead letter at once. It may be said
// again. Who is dead is for the caller to know; a wire alone never decides it.
func (w *Wire) HostDead(host string, epoch uint64) {
	w.mu.Lock()
	news := epoch > w.dead[host]
	if news {
		w.dead[host] = epoch
	}
	w.mu.Unlock()
	if news {
		w.bury(host, epoch)
	}
}

// bury tells everybody of the end of a host's start, and earlier ones.
func (w *Wire) bury(host string, epoch uint64) {
	over := func(address string) bool {
		h, e, ok := parseAddress(address)
		return ok && h == host && e <= epoch
	}
	ended := map[pair]*actor.PID{}
	var remotes []*remote
	w.mu.Lock()
	for p, watcher := range w.watches {
		if over(p.who.address) {
			ended[p] = watcher
			delete(w.watches, p)
		}
	}
	for address, r := range w.remotes {
		if over(address) {
			remotes = append(remotes, r)
			delete(w.remotes, address)
		}
	}
	w.mu.Unlock()
	for _, r := range remotes {
		r.die()
	}
	for p, watcher := range ended {
		who := &actor.PID{Address: p.who.address, Id: p.who.id}
		w.tell(watcher, &actor.Terminated{Who: who, Why: actor.TerminatedReason_AddressTerminated})
	}
}

// refresh reminds hosts of watches, and gives up what nothing is heard of,
// until Close.
func (w *Wire) refresh() {
	ticker := time.NewTicker(w.config.Refresh)
	defer ticker.Stop()
	for {
		select {
		case <-w.over.Done():
			return
		case <-ticker.C:
		}
		for _, r := range w.allRemotes() {
			r.expire(time.Now().Add(-w.config.Silence))
		}
		w.remindAll()
	}
}

func (w *Wire) allRemotes() (all []*remote) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.remotes {
		all = append(all, r)
	}
	return all
}

func (w *Wire) remindAll() {
	w.mu.Lock()
	var pairs []pair
	for p := range w.watches {
		pairs = append(pairs, p)
	}
	w.mu.Unlock()
	for _, p := range pairs {
		if _, lives := w.system.ProcessRegistry.GetLocal(p.watcher.id); !lives {
			w.forgetWatch(p)
			continue
		}
		if host, epoch, ok := parseAddress(p.who.address); ok {
			w.remote(host, epoch).remind(&loomv1.ActorRef{Address: p.who.address, Id: p.who.id}, &loomv1.ActorRef{Address: p.watcher.address, Id: p.watcher.id})
		}
	}
}
