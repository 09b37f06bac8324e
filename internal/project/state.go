package project

import (
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/graph"
	"github.com/loomrun/loom/internal/commitlock"
	"github.com/loomrun/loom/internal/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Config is what a project's cores know of their surroundings.
type Config struct {
	// ID is the project.
	ID string
	// Deployment is named in signed commands and fences.
	Deployment string
	// Epoch is the partition's epoch; it is the high part of fencing tokens.
	Epoch uint64
	// CEO is the key that approvals must be signed with. Without one every
	// approval is refused.
	CEO ed25519.PublicKey
	// LockLease is how long a commit lock lasts without renewal.
	// Zero means commitlock.DefaultLease.
	LockLease time.Duration
}

// State is the state of all cores of one project. It is not safe for
// concurrent use: one project actor owns it.
type State struct {
	cfg   Config
	p     *loomv1.ProjectState
	graph *graph.Graph
	locks *commitlock.Table
	defs  map[string]*workflow.Compiled

	// Derived from p, rebuilt by Restore.
	open    map[string]bool   // running executions
	prints  map[string]string // fingerprint of an open bug to its bead
	timers  timers
	recalls []recall            // remembered requests, oldest first
	asked   map[string][]string // approvals of each execution, oldest first
}

type recall struct {
	key string
	at  time.Time
}

// New returns the state of a project that has no events yet.
func New(cfg Config) *State {
	s, err := Restore(cfg, &loomv1.ProjectState{})
	if err != nil {
		panic(err) // an empty state always restores
	}
	return s
}

// Restore returns the state that a snapshot holds. It keeps no reference to p.
func Restore(cfg Config, p *loomv1.ProjectState) (*State, error) {
	if cfg.LockLease == 0 {
		cfg.LockLease = commitlock.DefaultLease
	}
	p = proto.CloneOf(p)
	fillMaps(p)
	s := &State{cfg: cfg, p: p, defs: map[string]*workflow.Compiled{}, open: map[string]bool{}, prints: map[string]string{}, asked: map[string][]string{}}
	var err error
	if s.graph, err = graph.Restore(p.Graph); err != nil {
		return nil, fmt.Errorf("project %q: %w", cfg.ID, err)
	}
	if s.locks, err = commitlock.Restore(cfg.LockLease, p.Locks); err != nil {
		return nil, fmt.Errorf("project %q: %w", cfg.ID, err)
	}
	p.Graph, p.Locks = nil, nil // their cores hold them from here on
	if err := s.derive(); err != nil {
		return nil, fmt.Errorf("project %q: %w", cfg.ID, err)
	}
	return s, nil
}

func fillMaps(p *loomv1.ProjectState) {
	if p.Beads == nil {
		p.Beads = map[string]*loomv1.Bead{}
	}
	if p.Executions == nil {
		p.Executions = map[string]*loomv1.Execution{}
	}
	if p.Approvals == nil {
		p.Approvals = map[string]*loomv1.Approval{}
	}
	if p.Definitions == nil {
		p.Definitions = map[string]*loomv1.Definition{}
	}
	if p.Latest == nil {
		p.Latest = map[string]string{}
	}
	if p.Turns == nil {
		p.Turns = map[string]*loomv1.Turn{}
	}
	if p.Requests == nil {
		p.Requests = map[string]*loomv1.RememberedRequest{}
	}
	if p.Nonces == nil {
		p.Nonces = map[string]bool{}
	}
}

// derive rebuilds what is kept beside the snapshot for speed.
func (s *State) derive() error {
	for hash, def := range s.p.Definitions {
		c, err := workflow.Compile(def)
		if err != nil {
			return fmt.Errorf("definition %s: %w", hash, err)
		}
		s.defs[hash] = c
	}
	for id, x := range s.p.Executions {
		if x.Status == loomv1.ExecutionStatus_EXECUTION_STATUS_RUNNING {
			s.open[id] = true
			s.timers.set(x)
		}
	}
	for id, b := range s.p.Beads {
		if b.Fingerprint != "" && !ended(b.Status) {
			s.prints[b.Fingerprint] = id
		}
	}
	for _, a := range slices.Backward(newest(s.p.Approvals)) {
		s.asked[a.Execution] = append(s.asked[a.Execution], a.Id)
	}
	s.recalls = sortedRecalls(s.p.Requests)
	return nil
}

// Snapshot returns a copy of the whole state.
func (s *State) Snapshot() *loomv1.ProjectState {
	p := proto.CloneOf(s.p)
	p.Graph, p.Locks = s.graph.Snapshot(), s.locks.Snapshot()
	return p
}

// Hash returns the SHA-256 of the snapshot in deterministic encoding: equal on
// every host at the same event.
func (s *State) Hash() [sha256.Size]byte {
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(s.Snapshot())
	if err != nil {
		panic(err) // state messages hold valid UTF-8 only; Apply refuses others
	}
	return sha256.Sum256(data)
}

// Number returns the number of the last event applied.
func (s *State) Number() uint64 { return s.p.LastNumber }

// Time returns the time of the last event applied, zero before the first.
func (s *State) Time() time.Time { return asTime(s.p.LastTime) }

// Config returns the project's registration, or nil.
func (s *State) Config() *loomv1.ProjectConfig { return s.p.Config }

// Next returns when the next timer is due: an attempt's deadline, the end of a
// backoff, or a lock going stale.
func (s *State) Next() (time.Time, bool) {
	at, ok := s.timers.next(s.p.Executions)
	if lock, held := s.locks.Next(); held && (!ok || lock.Before(at)) {
		return lock, true
	}
	return at, ok
}

func asTime(t *timestamppb.Timestamp) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.AsTime()
}

func ended(s loomv1.BeadStatus) bool {
	switch s {
	case loomv1.BeadStatus_BEAD_STATUS_CLOSED, loomv1.BeadStatus_BEAD_STATUS_FAILED, loomv1.BeadStatus_BEAD_STATUS_ABORTED:
		return true
	}
	return false
}
