package memory

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// What a command leaves out.
const (
	defaultConfidence = 70
	defaultTokens     = 1024
	mostTokens        = 65_536
	mostText          = 4096 // bytes of an offer's words that are read
	lastingConfidence = 70   // from which on a session's entry outlasts it
	mostExpired       = 256  // entries that one tick ends
	mostCompared      = 32   // newest entries that a new one is compared with
)

// Turn is what the memory is told of a command that it decides.
type Turn struct {
	// Now is the journal's time.
	Now time.Time
	// Trust is whose word the command is: a person's, an agent's or the runtime's.
	Trust loomv1.MemoryTrust
	// Outside says that an agent has read something from the web in the same attempt:
	// what it keeps is untrusted.
	Outside bool
	// The work that an agent is at; zero for people.
	Bead, Execution, Node, Attempt, Process string
	// Access is what the node allows; nil allows everything that Shared does.
	Access *loomv1.MemoryAccess
	// Types are the process's own, Shared the namespaces of the project.
	Types, Shared []string
	// Emit stamps a fact and applies it at once.
	Emit func(*loomv1.Event) error
	// Request is what a fact remembers of the caller's request.
	Request string
}

// Decide carries out a command, or refuses it before the first fact:
//
//   - memory/invalid and memory/type with every problem of an entry's content,
//     memory/namespace for one that the project does not name
//   - memory/access for what the node may not read or write, or people alone may do
//   - memory/untrusted for an agent that wants outside text to last
//   - memory/unknown for no entry, memory/gone for one that no longer counts
//   - memory/duplicate for a change into what another entry says
//   - memory/full at the limits of a session or of the project
//
// A Go error that is no fault comes from Emit and is passed on.
func (m *Memory) Decide(t *Turn, c *loomv1.Command) (*loomv1.Answer, error) {
	switch c := c.GetBody().(type) {
	case *loomv1.Command_KeepMemory:
		return m.keep(t, c.KeepMemory)
	case *loomv1.Command_ChangeMemory:
		return m.change(t, c.ChangeMemory)
	case *loomv1.Command_ForgetMemory:
		return m.forget(t, c.ForgetMemory)
	case *loomv1.Command_OfferMemory:
		return m.offerTo(t, c.OfferMemory)
	}
	return nil, fault.New("command/malformed", "%T is no command of a memory", c.GetBody())
}

func (m *Memory) keep(t *Turn, c *loomv1.KeepMemory) (*loomv1.Answer, error) {
	e := m.entryOf(t, c.GetEntry())
	problems := checkContent(e)
	if err := checkType(e.Type, t.Types); err != nil && typeName.MatchString(e.Type) {
		problems = append(problems, err)
	}
	for _, id := range e.Contradicts {
		if i, ok := m.at(id); !ok || !counts(m.entries[i]) {
			problems = append(problems, fault.New("memory/unknown", "there is no such entry").At("/entry/contradicts").Got(id))
		}
	}
	if len(e.Contradicts) > maxLinks {
		problems = append(problems, fault.New("memory/invalid", "%d contradictions where %d are the most", len(e.Contradicts), maxLinks).At("/entry/contradicts"))
	}
	if e.Expires != nil && !e.Expires.AsTime().After(t.Now) {
		problems = append(problems, fault.New("memory/invalid", "the entry would be over already").At("/entry/expires"))
	}
	if err := fault.Join(problems); err != nil {
		return nil, err
	}
	if err := t.mayWrite(e); err != nil {
		return nil, err
	}
	if e.Trust == untrusted && e.Layer == durable {
		return nil, fault.New("memory/untrusted", "text from the web or from files stays in its session until a person vouches for it").At("/entry/layer").
			Want("keep it in the session")
	}
	if i, ok := m.lessons[e.Lesson]; ok {
		return m.retell(t, i, e)
	}
	if i, ok := m.sameAs(t, e); ok {
		return m.merge(t, i, e)
	}
	switch {
	case m.active >= MaxActive:
		return nil, fault.New("memory/full", "the project remembers %d entries, and that is the most", m.active).Want("forget some, or let them expire")
	case e.Layer == session && len(m.sessions[e.Execution]) >= MaxSession:
		return nil, fault.New("memory/full", "the session of %s has %d entries, and that is the most", e.Execution, MaxSession)
	}
	e.Id = name(len(m.entries))
	e.Contradicts = union(e.Contradicts, m.opposites(e))
	e.Contradicts = e.Contradicts[:min(len(e.Contradicts), maxLinks)]
	if err := t.emit(&loomv1.Event{Bead: e.Bead, Execution: e.Execution, Node: e.Node, Attempt: e.Attempt, Fact: &loomv1.Event_MemoryKept{
		MemoryKept: &loomv1.MemoryKept{Entry: e, Request: t.Request},
	}}); err != nil {
		return nil, err
	}
	return m.answer(e.Id), nil
}

// entryOf returns what a command wants to be kept, with what it leaves out and
// without what is not its to say.
func (m *Memory) entryOf(t *Turn, given *loomv1.MemoryEntry) *loomv1.MemoryEntry {
	e := &loomv1.MemoryEntry{
		Type: given.GetType(), Namespace: given.GetNamespace(), Layer: given.GetLayer(), Trust: t.Trust,
		Text: given.GetText(), Detail: proto.CloneOf(given.GetDetail()), Tags: union(given.GetTags(), nil),
		Confidence: cmp.Or(given.GetConfidence(), defaultConfidence), Expires: proto.CloneOf(given.GetExpires()),
		Contradicts: union(given.GetContradicts(), nil),
		Bead:        cmp.Or(t.Bead, given.GetBead()), Execution: cmp.Or(t.Execution, given.GetExecution()),
		Node: cmp.Or(t.Node, given.GetNode()), Attempt: t.Attempt, Process: t.Process,
	}
	if t.Trust == ofRuntime && given.GetLesson() != "" {
		e.Lesson, e.Count = given.Lesson, max(1, given.Count)
	}
	fromOutside := t.Outside
	for _, s := range given.GetSources() {
		e.Sources = append(e.Sources, proto.CloneOf(s))
		fromOutside = fromOutside || s.GetFile() != "" || s.GetAddress() != ""
	}
	if t.Trust == ofAgent && fromOutside {
		e.Trust = untrusted
	}
	if e.Layer == 0 {
		e.Layer = durable
		if t.Trust == ofAgent {
			e.Layer = session
		}
	}
	return e
}

// mayWrite refuses what the node may not write.
func (t *Turn) mayWrite(e *loomv1.MemoryEntry) error {
	switch {
	case e.Layer != session && e.Layer != durable:
		return fault.New("memory/invalid", "there is no layer %d", e.Layer).At("/entry/layer")
	case e.Layer == session && e.Execution == "":
		return fault.New("memory/invalid", "only what works in an execution has a session").At("/entry/layer")
	case e.Namespace != "" && !slices.Contains(t.Shared, e.Namespace):
		return fault.New("memory/namespace", "the project does not share this namespace").At("/entry/namespace").Got(e.Namespace).
			Want("%s", cmp.Or(strings.Join(t.Shared, ", "), "a namespace of the project's registration; it names none"))
	case t.Access == nil || t.Trust != ofAgent:
		return nil
	}
	for _, needed := range []string{place(e), e.Namespace} {
		if needed != "" && !slices.Contains(t.Access.Write, needed) {
			return denied("write", needed, t)
		}
	}
	return nil
}

func denied(verb, where string, t *Turn) error {
	allowed := t.Access.GetWrite()
	if verb == "read" {
		allowed = t.Access.GetRead()
	}
	return fault.New("memory/access", "node %s may not %s the memory of %s", t.Node, verb, where).At("/entry/namespace").Got(where).
		Want("%s", cmp.Or(strings.Join(allowed, ", "), "nothing; its definition allows none"))
}

// Readable returns the places that a node may read, for [Question.Places].
func Readable(access *loomv1.MemoryAccess, shared []string) []string {
	all := slices.Concat([]string{Session, Project}, shared)
	if access == nil {
		return all
	}
	return slices.DeleteFunc(all, func(p string) bool { return !slices.Contains(access.Read, p) })
}

// sameAs returns the entry that says what e says. An agent's word that repeats what is
// untrusted, or durable already, counts there.
func (m *Memory) sameAs(t *Turn, e *loomv1.MemoryEntry) (int32, bool) {
	like := proto.CloneOf(e)
	trusts := []loomv1.MemoryTrust{e.Trust}
	if t.Trust == ofAgent {
		trusts = []loomv1.MemoryTrust{untrusted, e.Trust}
	}
	layers := []loomv1.MemoryLayer{e.Layer}
	if e.Layer == session {
		layers = []loomv1.MemoryLayer{session, durable}
	} else if e.Execution != "" && t.Trust == ofAgent {
		layers = []loomv1.MemoryLayer{durable, session}
	}
	for _, like.Trust = range trusts {
		for _, like.Layer = range layers {
			if like.Layer == session && like.Trust != untrusted && e.Layer == durable {
				continue // what is to last is kept anew beside the session's own
			}
			if i, ok := m.said[statementOf(like).exact]; ok {
				return i, true
			}
		}
	}
	return 0, false
}

// merge counts what was said again. An agent may count what it may read alone, and
// what is there becomes no more trusted by it.
func (m *Memory) merge(t *Turn, i int32, e *loomv1.MemoryEntry) (*loomv1.Answer, error) {
	f := m.mergeInto(i, e)
	f.Count, f.Request = m.entries[i].Count+1, t.Request
	if err := t.emit(&loomv1.Event{Bead: e.Bead, Execution: e.Execution, Node: e.Node, Attempt: e.Attempt, Fact: &loomv1.Event_MemoryMerged{MemoryMerged: f}}); err != nil {
		return nil, err
	}
	return m.answer(m.entries[i].Id), nil
}

// mergeInto returns the fact that brings what e has and the other has not.
func (m *Memory) mergeInto(i int32, e *loomv1.MemoryEntry) *loomv1.MemoryMerged {
	old := m.entries[i]
	f := &loomv1.MemoryMerged{Id: old.Id, Confidence: max(old.Confidence, e.Confidence)}
	if old.Trust == untrusted || e.Trust == untrusted {
		f.Confidence = old.Confidence
	}
	for _, tag := range e.Tags {
		if !slices.Contains(old.Tags, tag) && len(old.Tags)+len(f.Tags) < maxTags {
			f.Tags = append(f.Tags, tag)
		}
	}
	for _, s := range e.Sources {
		known := slices.ContainsFunc(old.Sources, func(o *loomv1.MemorySource) bool { return proto.Equal(o, s) })
		if !known && len(old.Sources)+len(f.Sources) < maxSources {
			f.Sources = append(f.Sources, s)
		}
	}
	return f
}

// opposites returns the entries that say the opposite of e, or the same with other
// numbers, among the newest 32 with the same words.
func (m *Memory) opposites(e *loomv1.MemoryEntry) (ids []string) {
	if !claims[e.Type] {
		return nil
	}
	s := statementOf(e)
	list := m.related[s.loose]
	for _, i := range list[max(0, len(list)-mostCompared):] {
		other := m.entries[i]
		if (other.Layer != session || other.Execution == e.Execution) && statementOf(other).value != s.value {
			ids = append(ids, other.Id)
		}
	}
	return ids
}

func (m *Memory) change(t *Turn, c *loomv1.ChangeMemory) (*loomv1.Answer, error) {
	i, err := m.person(t, c.GetId(), "changes")
	if err != nil {
		return nil, err
	}
	old := m.entries[i]
	n := proto.CloneOf(old)
	if c.Text != nil {
		n.Text, n.Detail = *c.Text, proto.CloneOf(c.Detail)
	}
	if c.Confidence != nil {
		n.Confidence = *c.Confidence
	}
	if c.Type != nil {
		n.Type = *c.Type
	}
	if c.SetTags {
		n.Tags = union(c.Tags, nil)
	}
	switch {
	case c.ClearExpires:
		n.Expires = nil
	case c.Expires != nil:
		n.Expires = proto.CloneOf(c.Expires)
	}
	if c.Trust || c.Text != nil { // a text that a person has written is theirs
		n.Trust = ofPerson
	}
	if c.Promote {
		n.Layer = durable
	}
	problems := checkContent(n)
	if n.Type != old.Type {
		if err := checkType(n.Type, t.Types); err != nil && typeName.MatchString(n.Type) {
			problems = append(problems, err)
		}
	}
	if n.Expires != nil && !n.Expires.AsTime().After(t.Now) {
		problems = append(problems, fault.New("memory/invalid", "the entry would be over already").At("/expires"))
	}
	if len(c.Reason) > MaxReason || !utf8.ValidString(c.Reason) {
		problems = append(problems, fault.New("memory/invalid", "a reason is UTF-8 of at most %d bytes", MaxReason).At("/reason"))
	}
	if err := fault.Join(problems); err != nil {
		return nil, err
	}
	switch {
	case proto.Equal(n, old):
		return m.answer(old.Id), nil
	case n.Trust == untrusted && n.Layer == durable:
		return nil, fault.New("memory/untrusted", "%s comes from the web or from files", n.Id).At("/promote").Want("vouch for it in the same command: trust")
	}
	if j, ok := m.said[statementOf(n).exact]; ok && j != i {
		return nil, fault.New("memory/duplicate", "%s says that already", m.entries[j].Id).At("/id").Got(n.Id).Want("forget one of the two")
	}
	n.Reason, n.ChangedAt, n.ChangedBy = c.Reason, nil, nil
	if err := t.emit(about(n, &loomv1.Event{Fact: &loomv1.Event_MemoryChanged{MemoryChanged: &loomv1.MemoryChanged{Entry: n}}})); err != nil {
		return nil, err
	}
	return m.answer(n.Id), nil
}

func (m *Memory) forget(t *Turn, c *loomv1.ForgetMemory) (*loomv1.Answer, error) {
	if e, ok := m.Entry(c.GetId()); ok && e.Status == forgotten {
		return m.answer(e.Id), nil
	}
	if len(c.GetReason()) > MaxReason || !utf8.ValidString(c.GetReason()) {
		return nil, fault.New("memory/invalid", "a reason is UTF-8 of at most %d bytes", MaxReason).At("/reason")
	}
	i, err := m.person(t, c.GetId(), "forgets")
	if err != nil {
		return nil, err
	}
	e := m.entries[i]
	if err := t.emit(about(e, &loomv1.Event{Fact: &loomv1.Event_MemoryForgotten{MemoryForgotten: &loomv1.MemoryForgotten{Id: e.Id, Reason: c.Reason}}})); err != nil {
		return nil, err
	}
	return m.answer(e.Id), nil
}

// person returns an entry that counts, for what people alone may do to it.
func (m *Memory) person(t *Turn, id, verb string) (int32, error) {
	i, ok := m.at(id)
	switch {
	case t.Trust != ofPerson:
		return 0, fault.New("memory/access", "only a person %s what is remembered", verb)
	case !ok:
		return 0, fault.New("memory/unknown", "there is no such entry").At("/id").Got(id).Want("m1, m2 and so on")
	case !counts(m.entries[i]):
		return 0, fault.New("memory/gone", "%s is %s", id, word(m.entries[i].Status)).At("/id").Got(id)
	}
	return i, nil
}

func word(s loomv1.MemoryStatus) string {
	return strings.ToLower(strings.TrimPrefix(s.String(), "MEMORY_STATUS_"))
}

// offerTo retrieves for an attempt and records which entries it was offered; of a
// search, and where nothing was found, nothing.
func (m *Memory) offerTo(t *Turn, c *loomv1.OfferMemory) (*loomv1.Answer, error) {
	if c.GetTokens() > mostTokens {
		return nil, fault.New("memory/invalid", "%d tokens where %d are the most", c.Tokens, mostTokens).At("/tokens")
	}
	if o, ok := m.offers[t.Attempt]; ok && !c.Search {
		return memories(m.again(o, c.Shared)), nil
	}
	text := c.Text
	if len(text) > mostText {
		text = strings.ToValidUTF8(text[:mostText], "")
	}
	places := Readable(t.Access, t.Shared)
	var others []*loomv1.MemoryItem
	for _, o := range c.Shared {
		if foreign(o.GetEntry().GetId()) && slices.Contains(places, o.Entry.Namespace) {
			others = append(others, o)
		}
	}
	found := m.Retrieve(Question{
		Text: text, Types: c.Types, Tags: c.WantedTags, Prefer: c.Tags,
		Execution: t.Execution, Places: places, Now: t.Now, Tokens: int(cmp.Or(c.Tokens, defaultTokens)),
		Without: []string{AbortType},
	}, others...)
	if len(found.Items) == 0 || c.Search {
		return memories(found), nil
	}
	o := &loomv1.MemoryOffer{Attempt: t.Attempt, Tokens: found.Tokens, LeftOut: found.LeftOut}
	for _, item := range found.Items {
		o.Entries = append(o.Entries, item.Entry.Id)
	}
	if err := t.emit(&loomv1.Event{
		Bead: t.Bead, Execution: t.Execution, Node: t.Node, Attempt: t.Attempt,
		Fact: &loomv1.Event_MemoryOffered{MemoryOffered: &loomv1.MemoryOffered{Offer: o}},
	}); err != nil {
		return nil, err
	}
	return memories(found), nil
}

// again returns what was offered before, but for what no longer counts.
func (m *Memory) again(o *loomv1.MemoryOffer, others []*loomv1.MemoryItem) *loomv1.MemoryContext {
	var list []candidate
	for _, id := range o.Entries {
		if i, ok := m.at(id); ok && counts(m.entries[i]) {
			list = append(list, candidate{entry: m.entries[i]})
			continue
		}
		if j := slices.IndexFunc(others, func(x *loomv1.MemoryItem) bool { return x.GetEntry().GetId() == id }); j >= 0 {
			list = append(list, candidate{entry: others[j].Entry})
		}
	}
	return fill(list, Question{Tokens: mostTokens})
}

// EndSession ends what an execution kept for itself. What people or the runtime said,
// what was said more than once and, where the execution completed, what is at least 70
// percent sure becomes durable, if may allows it; the rest is dropped, and so is all
// that is untrusted, unless it has a time until which it waits for a person.
func (m *Memory) EndSession(t *Turn, execution string, completed bool, may func(*loomv1.MemoryEntry) bool) error {
	var over []string
	for _, i := range slices.Clone(m.sessions[execution]) {
		e := m.entries[i]
		lasting := e.Trust == ofPerson || e.Count > 1 || completed && e.Confidence >= lastingConfidence
		if e.Trust == untrusted && e.Expires != nil {
			continue // it waits for a person until then
		}
		if e.Trust == untrusted || !lasting || !may(e) {
			over = append(over, e.Id)
			continue
		}
		n := proto.CloneOf(e)
		n.Layer = durable
		fact := &loomv1.Event{Fact: &loomv1.Event_MemoryPromoted{MemoryPromoted: &loomv1.MemoryPromoted{Id: e.Id}}}
		if j, ok := m.said[statementOf(n).exact]; ok {
			f := m.mergeInto(j, e)
			f.Count, f.Dropped = m.entries[j].Count+e.Count, e.Id
			fact = &loomv1.Event{Fact: &loomv1.Event_MemoryMerged{MemoryMerged: f}}
		}
		if err := t.emit(about(e, fact)); err != nil {
			return err
		}
	}
	if len(over) == 0 {
		return nil
	}
	return t.emit(&loomv1.Event{Execution: execution, Fact: &loomv1.Event_MemoryDropped{MemoryDropped: &loomv1.MemoryDropped{Ids: over}}})
}

// Tick ends what has expired, at most 256 entries: what is left stays due.
func (m *Memory) Tick(t *Turn) error {
	var ids []string
	for len(ids) < mostExpired {
		at, ok := m.Next()
		if !ok || at.After(t.Now) {
			break
		}
		i := m.expiry[0].entry
		m.expiry.drop()
		if id := name(int(i)); !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return t.emit(&loomv1.Event{Fact: &loomv1.Event_MemoryExpired{MemoryExpired: &loomv1.MemoryExpired{Ids: ids}}})
}

// about names the work of an entry in a fact.
func about(e *loomv1.MemoryEntry, fact *loomv1.Event) *loomv1.Event {
	fact.Bead, fact.Execution, fact.Node, fact.Attempt = e.Bead, e.Execution, e.Node, e.Attempt
	return fact
}

// foreign reports whether an id is that of another project's entry.
func foreign(id string) bool {
	project, own, ok := strings.Cut(id, "/")
	return ok && project != "" && strings.HasPrefix(own, "m")
}

func (t *Turn) emit(e *loomv1.Event) error { return t.Emit(e) }

func (m *Memory) answer(id string) *loomv1.Answer {
	e, _ := m.Entry(id)
	return &loomv1.Answer{Body: &loomv1.Answer_Memory{Memory: e}}
}

func memories(c *loomv1.MemoryContext) *loomv1.Answer {
	return &loomv1.Answer{Body: &loomv1.Answer_Memories{Memories: c}}
}
