package host

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/store/natsjournal"
	"github.com/loomrun/loom/internal/store/storecheck"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// What is stored is checked beside the running host every hour, and less often
// where a check takes so long that it would be more than a thousandth of the
// time.
const (
	checkEvery  = time.Hour
	checkedRest = 1000
)

// stored is what is known of what this host has stored.
type stored struct {
	look chan struct{} // asks for a check before its time

	mu     sync.Mutex
	damage []storecheck.Damage
	// awaited are streams that come back from other hosts after a repair.
	awaited []*fault.Error
}

func newStored() *stored { return &stored{look: make(chan struct{}, 1)} }

// doubt asks for a check soon. It does not block.
func (s *stored) doubt() {
	select {
	case s.look <- struct{}{}:
	default:
	}
}

// Damage returns what is damaged of what this host has stored, as far as it was
// found while the host ran, and what comes back from other hosts after a repair.
func (h *Host) Damage() (list []*fault.Error) {
	h.stored.mu.Lock()
	defer h.stored.mu.Unlock()
	list = append(list, h.stored.awaited...)
	for _, d := range h.stored.damage {
		list = append(list, d.Err)
	}
	return list
}

func (h *Host) damageTold() (list []*loomv1.Error) {
	for _, e := range h.Damage() {
		list = append(list, e.Proto())
	}
	return list
}

// awaitedLook is how often a host looks whether what it lacks has come back.
const awaitedLook = time.Second

// watchAwaited says what comes back from other hosts after a repair, until it is
// whole. It is shown as damage meanwhile.
func (h *Host) watchAwaited(context.Context) error {
	awaited, err := h.broker.Awaited()
	if err != nil || len(awaited) == 0 {
		return err
	}
	h.await(awaited)
	h.own.done.Go(func() {
		look := time.NewTicker(awaitedLook)
		defer look.Stop()
		for len(awaited) > 0 {
			select {
			case <-look.C:
			case <-h.ctx.Done():
				return
			}
			whole, bad, err := h.broker.Restored(h.ctx)
			if err != nil {
				h.log.Warn("what came back from the other hosts could not be checked; it is tried again", "error", err)
			}
			for _, d := range bad.Damage {
				if awaited[d.Stream] != d.Err.Message {
					h.log.Error("what came back from the other hosts is damaged", "stream", d.Stream, "error", d.Err)
					awaited[d.Stream] = d.Err.Message
				}
			}
			for _, stream := range whole {
				h.log.Info("a damaged stream came back whole from the other hosts", "stream", stream)
				delete(awaited, stream)
			}
			h.await(awaited)
		}
	})
	return nil
}

// await notes what comes back from other hosts.
func (h *Host) await(awaited map[string]string) {
	h.stored.mu.Lock()
	defer h.stored.mu.Unlock()
	h.stored.awaited = nil
	for _, stream := range slices.Sorted(maps.Keys(awaited)) {
		h.stored.awaited = append(h.stored.awaited, fault.New("data/damaged", "stream %s was damaged on this host and comes back from the others: %s", stream, awaited[stream]).
			At(stream).Want("nothing, if the others are there: loom cluster status says whether they are"))
	}
}

// watchStored checks what is stored, now and then and when a reader has found
// something, until the host stops. Its start has checked everything.
func (h *Host) watchStored(context.Context) error {
	every, rest := h.config.CheckEvery, time.Duration(0)
	if every == 0 {
		every, rest = checkEvery, checkedRest
	}
	h.own.done.Go(func() {
		for wait := every; ; {
			timer := time.NewTimer(wait)
			select {
			case <-timer.C:
			case <-h.stored.look:
			case <-h.ctx.Done():
				timer.Stop()
				return
			}
			timer.Stop()
			report, err := h.broker.Check(h.ctx)
			if err != nil {
				h.log.Warn("what is stored could not be checked; it is tried again", "error", err)
			}
			h.found(report.Damage)
			wait = max(every, rest*report.Took)
		}
	})
	return nil
}

// found notes damage that was not known. Where the host is alone nobody has the
// stream whole, and nothing more is written to what is damaged: to the journal of
// one partition, or where the stream is for all of them, to every journal. Where
// there are others they have it, and this host should be replaced.
func (h *Host) found(damage []storecheck.Damage) {
	for _, d := range damage {
		h.stored.mu.Lock()
		known := slices.ContainsFunc(h.stored.damage, func(k storecheck.Damage) bool { return k.Stream == d.Stream })
		if !known {
			h.stored.damage = append(h.stored.damage, d)
		}
		h.stored.mu.Unlock()
		if known {
			continue
		}
		h.log.Error("what is stored is damaged", "stream", d.Stream, "error", d.Err)
		if h.broker.Clustered() {
			continue
		}
		for p := range h.journals.Logs {
			if name := natsjournal.Stream(p); name == d.Stream || !isJournal(d.Stream, len(h.journals.Logs)) {
				h.projects.Damaged(p, d.Err)
			}
		}
	}
}

// isJournal says whether a stream is the journal of one of so many partitions.
func isJournal(stream string, partitions int) bool {
	for p := range partitions {
		if stream == natsjournal.Stream(p) {
			return true
		}
	}
	return false
}
