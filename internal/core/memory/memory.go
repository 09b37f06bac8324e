// Package memory is the memory of a project: typed entries that agents, people and
// the runtime keep, and that later work is offered.
//
// A [Memory] is a fold over the memory facts of a journal. [Memory.Decide] checks a
// command whole, then emits the facts that it leads to; a refusal comes before the
// first fact. [Memory.Apply] is the only thing that changes a memory, and decides
// nothing. [Memory.Retrieve] chooses what somebody who is about to do some work
// should know, within a budget of tokens.
//
// # What it promises
//
// Entries are numbered "m1", "m2" in the order of the log, and keep their numbers.
// What is said again in the same words, by their stems and without those that carry
// no meaning, is counted and not kept twice. Entries that say the opposite, or the
// same with other numbers, name each other. An entry of a session is seen by its
// execution alone, and is gone when that ends unless it is promoted. What comes from
// the web or from files is untrusted, stays so however often it is said, and becomes
// durable by the word of a person alone. An entry that no longer counts is a
// tombstone without content.
//
// # What it costs
//
// Keeping and forgetting cost what an entry's words do. Retrieval reads at most
// 100,000 places of words, the rarest words first, whatever the size of the memory;
// the first one after [Restore] builds the index, which costs what the entries' words do.
//
// # What it never does
//
// It knows no clock, blob or log. It cannot tell whether a longer text's beginning
// belongs to its blob.
package memory

import (
	"container/heap"
	"crypto/sha256"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Limits of a memory.
const (
	MaxText    = 4096    // bytes of an entry's own text
	MaxActive  = 200_000 // entries that count
	MaxSession = 200     // entries of one execution's session that count
	MaxReason  = 500     // bytes
	maxTags    = 16
	maxSources = 16
	maxLinks   = 16 // contradictions of one entry
	maxOffers  = 4096
)

// Memory is the memory of a project; [New] gives an empty one. It is not safe for
// concurrent use.
//
// Entries in it are replaced and never changed: what reads return is shared with
// the memory, may be kept, and must not be written to.
type Memory struct {
	entries []*loomv1.MemoryEntry // entries[i] is "m(i+1)"
	active  int                   // those that count

	said     map[digest]int32   // the entry of each statement, by its words
	related  map[digest][]int32 // entries of the same words but for numbers and negations, oldest first
	sessions map[string][]int32 // entries of an execution's session that count
	lessons  map[string]int32   // the entry of each lesson, also when it counts no more
	expiry   expiryHeap         // by end; one that has moved or is gone stays until its turn

	offers  map[string]*loomv1.MemoryOffer // by attempt
	offered []string                       // their attempts, oldest first

	index *index // nil until the first retrieval
}

// digest is the beginning of a SHA-256.
type digest [16]byte

// New returns an empty memory.
func New() *Memory {
	return &Memory{
		said: map[digest]int32{}, related: map[digest][]int32{}, sessions: map[string][]int32{}, lessons: map[string]int32{},
		offers: map[string]*loomv1.MemoryOffer{},
	}
}

// Restore returns the memory that a snapshot holds, and keeps its entries: nobody may
// write to them any more. A snapshot that no log leads to is memory/inconsistent.
func Restore(s *loomv1.MemoryState) (*Memory, error) {
	m := New()
	for i, e := range s.GetEntries() {
		if e.GetId() != name(i) {
			return nil, wrong("entry %d of the snapshot is %q", i+1, e.GetId())
		}
		if err := checkStored(e); err != nil {
			return nil, err
		}
		m.entries = append(m.entries, e)
		if e.Lesson != "" {
			m.lessons[e.Lesson] = int32(i)
		}
		if !counts(e) {
			continue
		}
		if err := m.unique(e); err != nil {
			return nil, err
		}
		m.enter(int32(i))
	}
	for _, o := range s.GetOffers() {
		m.noteOffer(o)
	}
	return m, nil
}

// Snapshot returns the whole memory; its messages are shared.
func (m *Memory) Snapshot() *loomv1.MemoryState {
	s := &loomv1.MemoryState{Entries: slices.Clone(m.entries)}
	for _, attempt := range m.offered {
		s.Offers = append(s.Offers, m.offers[attempt])
	}
	return s
}

// Hash returns the SHA-256 of the snapshot in deterministic encoding.
func (m *Memory) Hash() [sha256.Size]byte {
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(m.Snapshot())
	if err != nil {
		panic(err) // entries hold valid UTF-8 only; Apply refuses others
	}
	return sha256.Sum256(data)
}

// Len returns how many entries count.
func (m *Memory) Len() int { return m.active }

// Entry returns an entry by its id, tombstones included.
func (m *Memory) Entry(id string) (*loomv1.MemoryEntry, bool) {
	i, ok := m.at(id)
	if !ok {
		return nil, false
	}
	return m.entries[i], true
}

// Offer returns what an attempt was offered, as long as it is among the newest 4,096.
func (m *Memory) Offer(attempt string) (*loomv1.MemoryOffer, bool) {
	o, ok := m.offers[attempt]
	return o, ok
}

// Offers returns what the attempts of an execution were offered, or all there is for
// an empty id: the newest first. A limit of 0 means all.
func (m *Memory) Offers(execution string, limit int) []*loomv1.MemoryOffer {
	var list []*loomv1.MemoryOffer
	for _, attempt := range slices.Backward(m.offered) {
		if o := m.offers[attempt]; (execution == "" || o.Execution == execution) && (limit == 0 || len(list) < limit) {
			list = append(list, o)
		}
	}
	return list
}

// Filter says which entries a list has. The zero value is all that count.
type Filter struct {
	Status    loomv1.MemoryStatus // unspecified means active
	Any       bool                // of every status
	Type      string
	Tags      []string // all of them
	Namespace string   // "session", "project" or "shared/NAME"; "" is every one
	Work      string   // a bead, an execution or an attempt
	Process   string
	Before    string // an id: list on from there
	Limit     int    // 0 means all
}

// List returns the entries that a filter lets through, the newest first. It looks at
// each entry until the limit is reached.
func (m *Memory) List(f Filter) []*loomv1.MemoryEntry {
	from := len(m.entries)
	if i, ok := m.at(f.Before); ok {
		from = int(i)
	}
	var list []*loomv1.MemoryEntry
	for _, e := range slices.Backward(m.entries[:from]) {
		if f.Limit > 0 && len(list) == f.Limit {
			break
		}
		if f.lets(e) {
			list = append(list, e)
		}
	}
	return list
}

func (f Filter) lets(e *loomv1.MemoryEntry) bool {
	switch {
	case !f.Any && e.Status != max(f.Status, active),
		f.Type != "" && e.Type != f.Type,
		f.Namespace != "" && place(e) != f.Namespace,
		f.Work != "" && e.Bead != f.Work && e.Execution != f.Work && e.Attempt != f.Work,
		f.Process != "" && e.Process != f.Process:
		return false
	}
	return !slices.ContainsFunc(f.Tags, func(tag string) bool { return !slices.Contains(e.Tags, tag) })
}

// Types returns how many durable entries of each type count.
func (m *Memory) Types() map[string]int {
	types := map[string]int{}
	for _, e := range m.entries {
		if counts(e) && e.Layer == durable {
			types[e.Type]++
		}
	}
	return types
}

// enter makes an entry that counts findable.
func (m *Memory) enter(i int32) {
	e := m.entries[i]
	m.active++
	s := statementOf(e)
	m.said[s.exact] = i
	m.related[s.loose] = with(m.related[s.loose], i)
	if e.Layer == session {
		m.sessions[e.Execution] = with(m.sessions[e.Execution], i)
	}
	if e.Expires != nil {
		heap.Push(&m.expiry, expiring{e.Expires.AsTime(), i})
	}
	if m.index != nil {
		m.index.add(i, e)
	}
}

// leave takes an entry that counts out of what is findable, before it is replaced.
func (m *Memory) leave(i int32) {
	e := m.entries[i]
	m.active--
	s := statementOf(e)
	delete(m.said, s.exact)
	m.related[s.loose] = without(m.related[s.loose], i)
	if len(m.related[s.loose]) == 0 {
		delete(m.related, s.loose)
	}
	if e.Layer == session {
		m.sessions[e.Execution] = without(m.sessions[e.Execution], i)
		if len(m.sessions[e.Execution]) == 0 {
			delete(m.sessions, e.Execution)
		}
	}
	if m.index != nil {
		m.index.remove(i, e)
	}
}

// with adds to a sorted list, so that a fold and a snapshot lead to the same one.
func with(list []int32, i int32) []int32 {
	at, _ := slices.BinarySearch(list, i)
	return slices.Insert(list, at, i)
}

func without(list []int32, i int32) []int32 {
	return slices.DeleteFunc(list, func(other int32) bool { return other == i })
}

// noteOffer keeps an offer and drops the oldest beyond the limit.
func (m *Memory) noteOffer(o *loomv1.MemoryOffer) {
	m.offers[o.Attempt] = o
	m.offered = append(m.offered, o.Attempt)
	if len(m.offered) > maxOffers {
		delete(m.offers, m.offered[0])
		m.offered = slices.Clone(m.offered[1:])
	}
}

// Next returns when the first entry expires.
func (m *Memory) Next() (time.Time, bool) {
	for len(m.expiry) > 0 {
		first := m.expiry[0]
		if e := m.entries[first.entry]; counts(e) && e.Expires != nil && e.Expires.AsTime().Equal(first.at) {
			return first.at, true
		}
		heap.Pop(&m.expiry)
	}
	return time.Time{}, false
}

type expiring struct {
	at    time.Time
	entry int32
}

type expiryHeap []expiring

func (h expiryHeap) Len() int { return len(h) }
func (h expiryHeap) Less(i, j int) bool {
	if !h[i].at.Equal(h[j].at) {
		return h[i].at.Before(h[j].at)
	}
	return h[i].entry < h[j].entry
}
func (h expiryHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *expiryHeap) Push(x any)   { *h = append(*h, x.(expiring)) }
func (h *expiryHeap) drop()        { heap.Pop(h) }
func (h *expiryHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}

// Short names of what the code itself speaks of.
const (
	session   = loomv1.MemoryLayer_MEMORY_LAYER_SESSION
	durable   = loomv1.MemoryLayer_MEMORY_LAYER_DURABLE
	untrusted = loomv1.MemoryTrust_MEMORY_TRUST_UNTRUSTED
	ofAgent   = loomv1.MemoryTrust_MEMORY_TRUST_AGENT
	ofRuntime = loomv1.MemoryTrust_MEMORY_TRUST_RUNTIME
	ofPerson  = loomv1.MemoryTrust_MEMORY_TRUST_PERSON
	active    = loomv1.MemoryStatus_MEMORY_STATUS_ACTIVE
	expired   = loomv1.MemoryStatus_MEMORY_STATUS_EXPIRED
	dropped   = loomv1.MemoryStatus_MEMORY_STATUS_DROPPED
	forgotten = loomv1.MemoryStatus_MEMORY_STATUS_FORGOTTEN
)

// counts reports whether an entry is found and offered.
func counts(e *loomv1.MemoryEntry) bool { return e.GetStatus() == active }

// The words of [loomv1.MemoryAccess], beside "shared/NAME".
const (
	Session = "session"
	Project = "project"
	shared  = "shared/"
)

// place returns the word of access that an entry belongs to.
func place(e *loomv1.MemoryEntry) string {
	switch {
	case e.GetLayer() == session:
		return Session
	case e.GetNamespace() == "":
		return Project
	}
	return e.GetNamespace()
}

// name returns the id of entries[i].
func name(i int) string { return "m" + strconv.Itoa(i+1) }

// at returns the index of an entry, by its id.
func (m *Memory) at(id string) (int32, bool) {
	digits, ok := strings.CutPrefix(id, "m")
	n, err := strconv.ParseUint(digits, 10, 31)
	if !ok || err != nil || n == 0 || int(n) > len(m.entries) || name(int(n-1)) != id {
		return 0, false
	}
	return int32(n - 1), true
}

func wrong(format string, args ...any) *fault.Error {
	return fault.New("memory/inconsistent", "memory: "+format, args...)
}
