package project

import (
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
	"reflect"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/graph"
	"github.com/loomrun/loom/internal/base/format"
	"github.com/loomrun/loom/internal/core/commitlock"
	"github.com/loomrun/loom/internal/core/intent"
	"github.com/loomrun/loom/internal/core/keyring"
	"github.com/loomrun/loom/internal/core/memory"
	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// Config is what a project's cores know of their surroundings.
type Config struct {
	// ID is the project.
	ID string
	// Deployment is named in signed commands and fences.
	Deployment string
	// Epoch is the partition's epoch; it is the high part of fencing tokens.
	Epoch uint64
	// CEO is the first key that approvals are signed with; it can enrol others. Without
	// one every approval is refused.
	CEO ed25519.PublicKey
	// LockLease is how long a commit lock lasts without renewal.
	// Zero means commitlock.DefaultLease.
	LockLease time.Duration
	// Compile prepares definitions, so that projects and restarts can share
	// what is costly to make. Nil means workflow.Compile.
	Compile func(*loomv1.Definition) (*workflow.Compiled, error)
	// Roles are those that definitions may name; what is stored already stays.
	// Nil means the built-in ones.
	Roles *roles.Set
	// Format is what this build reads; the zero value is all that it can.
	Format format.Build
	// Segments are where ended work is that a snapshot leaves out. Nil means that
	// there are none.
	Segments Segments
	// Folds says that the state folds events and decides nothing: what is in segments
	// is read when an event is about it.
	Folds bool
}

// State is the state of all cores of one project. It is not safe for
// concurrent use: one project actor owns it.
type State struct {
	cfg       Config
	p         *loomv1.ProjectState
	graph     *graph.Graph
	locks     *commitlock.Table
	mem       *memory.Memory
	ring      *keyring.Ring
	sessions  map[string]*intent.Session // of patterns, by id; p has their facts
	defs      map[string]*workflow.Compiled
	reactions map[reflect.Type][]reaction

	// Derived from p, rebuilt by Restore.
	open   map[string]bool   // running executions
	prints map[string]string // fingerprint of an open bug to its bead
	timers timers
	// deadlines are the timers by the wall clock; their ready list is not used.
	deadlines timers
	recalls   []recall            // remembered requests, oldest first
	asked     map[string][]string // approvals of each execution, oldest first
	queue     *queue
	index     index
	spent     amount          // by all model calls
	thirsty   map[string]bool // attempts that wait for room in a budget
	shelf     shelf           // ended executions
	taught    []string        // lessons that the newest end of an execution has changed

	agreed format.Agreed // what all hosts read
	ahead  time.Duration // of journal time, before the wall clock
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
	return Adopt(cfg, proto.CloneOf(p))
}

// Adopt is Restore that takes p over: nobody else may use it any more.
func Adopt(cfg Config, p *loomv1.ProjectState) (*State, error) {
	if cfg.LockLease == 0 {
		cfg.LockLease = commitlock.DefaultLease
	}
	if cfg.Roles == nil {
		cfg.Roles = roles.Builtin()
	}
	if cfg.Compile == nil {
		cfg.Compile = workflow.Compile
	}
	fillMaps(p)
	s := &State{cfg: cfg, p: p, reactions: reactionsByFact(), defs: map[string]*workflow.Compiled{}, open: map[string]bool{}, prints: map[string]string{}, asked: map[string][]string{}, sessions: map[string]*intent.Session{}}
	var err error
	if s.graph, err = KeptGraph(p, cfg.Segments); err != nil {
		return nil, fmt.Errorf("project %q: %w", cfg.ID, err)
	}
	if s.locks, err = commitlock.Restore(cfg.LockLease, p.Locks); err != nil {
		return nil, fmt.Errorf("project %q: %w", cfg.ID, err)
	}
	if s.mem, err = memory.Restore(p.Memory); err != nil {
		return nil, fmt.Errorf("project %q: %w", cfg.ID, err)
	}
	if err = s.restoreSessions(); err != nil {
		return nil, fmt.Errorf("project %q: %w", cfg.ID, err)
	}
	s.ring = keyring.Restore(cfg.CEO, p.Keyring)
	s.shelf = newShelf()
	s.shelf.segments, p.Segments, p.GraphNodes, p.GraphEdges = p.Segments, nil, nil, nil
	p.Graph, p.GraphPages, p.Locks, p.Memory = nil, nil, nil, nil // their cores hold them from here on
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
	if p.Refused == nil {
		p.Refused = map[string]*loomv1.Error{}
	}
	if p.Changed == nil {
		p.Changed = map[string]bool{}
	}
	if p.Hosts == nil {
		p.Hosts = map[string]*loomv1.HostRoles{}
	}
	if p.Absent == nil {
		p.Absent = map[string]*timestamppb.Timestamp{}
	}
	if p.Teams == nil {
		p.Teams = map[string]*loomv1.Team{}
	}
	if p.Sessions == nil {
		p.Sessions = map[string]*loomv1.SessionRecord{}
	}
	if p.StoredAt == nil {
		p.StoredAt = map[string]*timestamppb.Timestamp{}
	}
}

// derive rebuilds what is kept beside the snapshot for speed.
func (s *State) derive() error {
	for hash, def := range s.p.Definitions {
		c, err := s.cfg.Compile(def)
		if err != nil {
			return fmt.Errorf("definition %s: %w", hash, err)
		}
		s.defs[hash] = c
	}
	var entries map[string]*loomv1.SegmentEntry // of what is in segments
	if s.shelf.unread = s.cfg.Folds; !s.cfg.Folds {
		var err error
		if entries, err = s.readIndexes(); err != nil {
			return err
		}
	}
	s.deriveSpent(entries) // before anything is taken out of a segment, and would count twice
	for id, x := range s.p.Executions {
		if running(x) {
			s.open[id] = true
		}
	}
	for id, b := range s.p.Beads {
		if b.Fingerprint != "" && !ended(b.Status) {
			s.prints[b.Fingerprint] = id
		}
		if ended(b.Status) {
			s.idle(id)
		}
	}
	s.reindex(entries)
	for _, id := range s.index.approvals {
		x := entries[id].GetAskedBy()
		if x == "" {
			x = s.p.Approvals[id].GetExecution()
		}
		if s.open[x] {
			s.asked[x] = append(s.asked[x], id)
		}
	}
	s.recalls = sortedRecalls(s.p.Requests)
	s.queue, s.timers, s.deadlines = newQueue(), timers{}, timers{}
	for id := range s.open { // in any order: queue and heap have their own
		x := s.execution(id)
		if s.rearm(x); !s.held(x) {
			s.timers.kick(id)
		}
	}
	return nil
}

// Snapshot returns a copy of the whole state.
func (s *State) Snapshot() *loomv1.ProjectState {
	s.unpack()
	p := proto.CloneOf(s.p)
	p.Graph, p.Locks, p.Memory = s.graph.Snapshot(), s.locks.Snapshot(), s.mem.Snapshot()
	return p
}

// Surrender is Snapshot without the copy: s must not be used any more.
func (s *State) Surrender() *loomv1.ProjectState {
	s.unpack()
	p := s.p
	p.Graph, p.Locks, p.Memory = s.graph.Snapshot(), s.locks.Snapshot(), s.mem.Snapshot()
	s.p = nil
	return p
}

// Hash returns the SHA-256 of the snapshot in deterministic encoding: equal on
// every host at the same event.
func (s *State) Hash() [sha256.Size]byte {
	s.unpack()
	s.p.Graph, s.p.Locks, s.p.Memory = s.graph.Snapshot(), s.locks.Snapshot(), s.mem.Snapshot()
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(s.p)
	s.p.Graph, s.p.Locks, s.p.Memory = nil, nil, nil
	if err != nil {
		panic(err) // state messages hold valid UTF-8 only; Apply refuses others
	}
	return sha256.Sum256(data)
}

// Agree says which events all hosts read, from the next command on. Before that,
// nothing is limited.
func (s *State) Agree(a format.Agreed) { s.agreed = a }

// Number returns the number of the last event applied.
func (s *State) Number() uint64 { return s.p.LastNumber }

// Time returns the time of the last event applied, zero before the first.
func (s *State) Time() time.Time { return asTime(s.p.LastTime) }

// Config returns the project's registration, or nil.
func (s *State) Config() *loomv1.ProjectConfig { return s.p.Config }

// Next returns when the next tick is due: at an attempt's deadline, the end of a
// backoff, a limit, a lock going stale; at once where an execution is to go on
// after a hold or a restart, or a bead lags behind its links.
func (s *State) Next() (time.Time, bool) {
	if len(s.timers.ready) > 0 || len(s.index.unsettled) > 0 {
		return s.Time(), true
	}
	at, ok := s.timers.next(s.wake)
	if end, there := s.deadlines.next(s.due); there && (!ok || end.Add(s.ahead).Before(at)) {
		at, ok = end.Add(s.ahead), true
	}
	for _, next := range []func() (time.Time, bool){s.locks.Next, s.graph.NextBallot, s.mem.Next} {
		if other, there := next(); there && (!ok || other.Before(at)) {
			at, ok = other, true
		}
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
