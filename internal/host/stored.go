package host

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/net/broker"
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
	look   chan struct{} // asks for a check before its time
	log    *slog.Logger
	broker *broker.Broker
	// spoil has nothing more written to what a damaged stream is for.
	spoil func(stream string, why *fault.Error)

	mu     sync.Mutex
	damage []storecheck.Damage
	// awaited are streams that come back from other hosts after a repair.
	awaited []*fault.Error
}

func newStored(log *slog.Logger) *stored { return &stored{look: make(chan struct{}, 1), log: log} }

// doubt asks for a check soon. It does not block.
func (s *stored) doubt() {
	select {
	case s.look <- struct{}{}:
	default:
	}
}

// found returns what is damaged, as far as it was found while the host ran, and what
// comes back from other hosts after a repair.
func (s *stored) found() (list []*fault.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list = append(list, s.awaited...)
	for _, d := range s.damage {
		list = append(list, d.Err)
	}
	return list
}

// told is found for an answer.
func (s *stored) told() (list []*loomv1.Error) {
	for _, e := range s.found() {
		list = append(list, e.Proto())
	}
	return list
}

// awaitedLook is how often a host looks whether what it lacks has come back.
const awaitedLook = time.Second

// watchAwaited says what comes back from other hosts after a repair, until it is whole or
// ctx ends. It is shown as damage meanwhile.
func (s *stored) watchAwaited(ctx context.Context, awaited map[string]string) {
	look := time.NewTicker(awaitedLook)
	defer look.Stop()
	for len(awaited) > 0 {
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
		whole, bad, err := s.broker.Restored(ctx)
		if err != nil {
			s.log.Warn("what came back from the other hosts could not be checked; it is tried again", "error", err)
		}
		for _, d := range bad.Damage {
			if awaited[d.Stream] != d.Err.Message {
				s.log.Error("what came back from the other hosts is damaged", "stream", d.Stream, "error", d.Err)
				awaited[d.Stream] = d.Err.Message
			}
		}
		for _, stream := range whole {
			s.log.Info("a damaged stream came back whole from the other hosts", "stream", stream)
			delete(awaited, stream)
		}
		s.await(awaited)
	}
}

// await notes what comes back from other hosts.
func (s *stored) await(awaited map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.awaited = nil
	for _, stream := range slices.Sorted(maps.Keys(awaited)) {
		s.awaited = append(s.awaited, fault.New("data/damaged", "stream %s was damaged on this host and comes back from the others: %s", stream, awaited[stream]).
			At(stream).Want("nothing, if the others are there: loom cluster status says whether they are"))
	}
}

// watch checks what is stored, now and then and when a reader has found something, until
// ctx ends. The start has checked everything. Zero is the usual time between checks.
func (s *stored) watch(ctx context.Context, every time.Duration) {
	rest := time.Duration(0)
	if every == 0 {
		every, rest = checkEvery, checkedRest
	}
	for wait := every; ; {
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-s.look:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		timer.Stop()
		report, err := s.broker.Check(ctx)
		if err != nil {
			s.log.Warn("what is stored could not be checked; it is tried again", "error", err)
		}
		s.note(report.Damage)
		wait = max(every, rest*report.Took)
	}
}

// note notes damage that was not known. Where the host is alone nobody has the stream
// whole, and nothing more is written to what is damaged. Where there are others they have
// it, and this host should be replaced.
func (s *stored) note(damage []storecheck.Damage) {
	for _, d := range damage {
		s.mu.Lock()
		known := slices.ContainsFunc(s.damage, func(k storecheck.Damage) bool { return k.Stream == d.Stream })
		if !known {
			s.damage = append(s.damage, d)
		}
		s.mu.Unlock()
		if known {
			continue
		}
		s.log.Error("what is stored is damaged", "stream", d.Stream, "error", d.Err)
		if !s.broker.Clustered() {
			s.spoil(d.Stream, d.Err)
		}
	}
}

// watchStored looks after what this host has stored, for as long as it runs.
func (h *Host) watchStored(context.Context) error {
	h.stored.broker, h.stored.spoil = h.broker, h.spoil
	awaited, err := h.broker.Awaited()
	if err != nil {
		return err
	}
	if len(awaited) > 0 {
		h.stored.await(awaited)
		h.background.Go(func() { h.stored.watchAwaited(h.ctx, awaited) })
	}
	h.background.Go(func() { h.stored.watch(h.ctx, h.config.CheckEvery) })
	return nil
}

// spoil has nothing more written to the journal of one partition, or where a stream is for
// all of them, to every journal.
func (h *Host) spoil(stream string, why *fault.Error) {
	for p := range h.journals.Logs {
		if name := natsjournal.Stream(p); name == stream || !isJournal(stream, len(h.journals.Logs)) {
			h.projects.Damaged(p, why)
		}
	}
}

// Damage returns what is damaged of what this host has stored, as far as it was
// found while the host ran, and what comes back from other hosts after a repair.
func (h *Host) Damage() []*fault.Error { return h.stored.found() }

// isJournal says whether a stream is the journal of one of so many partitions.
func isJournal(stream string, partitions int) bool {
	for p := range partitions {
		if stream == natsjournal.Stream(p) {
			return true
		}
	}
	return false
}
