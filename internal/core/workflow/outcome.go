package workflow

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/lang/condition"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Bounds of what an outcome says in words; what is longer is cut.
const (
	SummaryBytes = 500

	// Of an outcome field that is an object: what it takes as protobuf, and how deep
	// objects and lists stand in each other, itself counted.
	ObjectBytes = 64 << 10
	ObjectDepth = 16
	NotesBytes  = 16 << 10
)

// MaxGaps is how many gaps of the process that did its work an outcome names.
const MaxGaps = 32

const (
	success  = loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS
	failure  = loomv1.OutcomeStatus_OUTCOME_STATUS_FAILURE
	goesOn   = loomv1.OutcomeStatus_OUTCOME_STATUS_CONTINUE
	largeInt = 1 << 53 // above it a double is not exact
)

// Answer ends an attempt with its outcome and does what follows from it. An
// attempt that nobody claimed is claimed by its answer.
//
// It keeps out. Giving an equal outcome again is nil and emits nothing; any
// other answer to an ended attempt is attempt/stale, an equal one of somebody
// else too: nobody is told that their work counts where another's does. An outcome that does not
// fit the node (status, fields, what only the runtime sets) is
// outcome/invalid, names the field and changes nothing: the attempt is still
// the claimant's, who may answer again. A success without its evidence is
// recorded as a failure, see [Run.evidence].
func (r Run) Answer(attempt string, c *loomv1.Claimant, out *loomv1.Outcome) error {
	n, a, err := r.find(attempt)
	if err != nil {
		return err
	}
	out = takenOver(a, trimmed(out))
	if a.EndedAt != nil {
		if proto.Equal(a.Claimant, c) && repeats(a.Outcome, out) {
			return nil
		}
		return stale(a)
	}
	if err := r.mayHold(n, a, c); err != nil {
		return err
	}
	if err := fits(n, out); err != nil {
		return err
	}
	if err := r.claimed(n, a, c); err != nil {
		return err
	}
	if r, n, out, err = r.adopt(n, a, r.judged(n, out)); err != nil {
		return err
	}
	if err := r.conclude(n, a, out); err != nil {
		return err
	}
	return r.advance()
}

// conclude records an outcome and does what it asks for.
func (r Run) conclude(n *node, a *loomv1.Attempt, out *loomv1.Outcome) error {
	if err := r.endAttempt(n, a, out, false); err != nil {
		return err
	}
	if err := r.record(n, out); err != nil {
		return err
	}
	switch out.Status {
	case success:
		if err := r.inherit(n, out.Gaps); err != nil {
			return err
		}
		return r.succeed(n, "success")
	case goesOn:
		return r.goOn(n)
	}
	return r.fail(n, out)
}

func (r Run) endAttempt(n *node, a *loomv1.Attempt, out *loomv1.Outcome, timedOut bool) error {
	if err := r.settleUnknown(a, func(*loomv1.CallReservation) bool { return true }); err != nil {
		return err
	}
	return r.Emit(&loomv1.Event{
		Node:    n.Id,
		Attempt: a.Id,
		Fact:    &loomv1.Event_AttemptEnded{AttemptEnded: &loomv1.AttemptEnded{Outcome: out, TimedOut: timedOut}},
	})
}

// settleUnknown counts what calls of an attempt can have used of which nobody
// said what they did: their agent was lost, or they are under way. They may have
// been paid for, so that is spent.
func (r Run) settleUnknown(a *loomv1.Attempt, which func(*loomv1.CallReservation) bool) error {
	for _, c := range slices.Clone(a.Reserved) {
		if !which(c) {
			continue
		}
		used := &loomv1.Usage{InputTokens: uint64(max(c.Tokens, 0)), CostMicroUsd: uint64(max(c.MicroUsd, 0)), CostKnown: c.MicroUsd > 0}
		if err := r.Emit(&loomv1.Event{Node: a.Node, Attempt: a.Id, Fact: &loomv1.Event_CallSettled{CallSettled: &loomv1.CallSettled{Request: c.Request, Usage: used, Assumed: true}}}); err != nil {
			return err
		}
	}
	return nil
}

// goOn dispatches a node that asked for another cycle, at once.
func (r Run) goOn(n *node) error {
	if st := r.state(n); st.Attempts < n.limit()+st.ExtraAttempts {
		return r.dispatch(n, byContinue, 0)
	}
	return r.exhausted(n, "it asked for more cycles than it has")
}

// fits says whether an outcome has the shape that the node declares.
func fits(n *node, out *loomv1.Outcome) error {
	switch out.GetStatus() {
	case success, failure:
	case goesOn:
		if !n.MultiDispatch {
			return invalid("status", "node %q is not multi-dispatch, so it cannot continue", n.Id)
		}
	default:
		return invalid("status", "the outcome has no known status")
	}
	if out.Refusal != "" {
		return invalid("refusal", "only the engine sets it")
	}
	if len(out.Gaps) > 0 && (n.Process == "" || len(out.Gaps) > MaxGaps) {
		return invalid("gaps", "no process does node %q, or it names more than %d", n.Id, MaxGaps)
	}
	if err := fitsKind(n, out); err != nil {
		return err
	}
	if err := fitsBroken(n, out.Broken); err != nil {
		return err
	}
	if err := fitsJudged(n, out.Judged); err != nil {
		return err
	}
	if err := fitsSources(n, out); err != nil {
		return err
	}
	return fitsFields(n, out)
}

// Bounds of the rules that an outcome says were judged or broken.
const (
	maxBroken     = 64
	ruleBytes     = 128
	evidenceBytes = 240
)

// fitsBroken refuses rules of no process, and more than tables shall hold.
func fitsBroken(n *node, list []*loomv1.BrokenRule) error {
	if len(list) > 0 && n.Phase == nil || len(list) > maxBroken {
		return invalid("broken", "node %q is of no process, or it names more than %d rules", n.Id, maxBroken)
	}
	for i, b := range list {
		if b.Rule == "" || len(b.Rule) > ruleBytes || b.Phase == "" || len(b.Phase) > ruleBytes || b.Tier < 1 || b.Tier > 3 || b.Count == 0 {
			return invalid(fmt.Sprintf("broken[%d]", i), "a broken rule has a phase and a name of at most %d bytes, a tier from 1 to 3 and a count", ruleBytes)
		}
	}
	return nil
}

// fitsJudged refuses what is said of rules of no process, and more than is kept.
func fitsJudged(n *node, list []*loomv1.JudgedRule) error {
	if len(list) > 0 && n.Phase == nil || len(list) > maxBroken {
		return invalid("judged", "node %q is of no process, or it judges more than %d rules", n.Id, maxBroken)
	}
	for i, r := range list {
		_, known := loomv1.RuleState_name[int32(r.State)]
		if r.Rule == "" || len(r.Rule) > ruleBytes || r.Phase == "" || len(r.Phase) > ruleBytes || r.Tier > 3 || !known || r.State == 0 || len(r.Evidence) > evidenceBytes {
			return invalid(fmt.Sprintf("judged[%d]", i), "a judged rule has a phase and a name of at most %d bytes, a state, a tier from 0 to 3 and at most %d bytes of evidence", ruleBytes, evidenceBytes)
		}
	}
	return nil
}

// ReplanField is the outcome field that says why the phases to come are to be planned anew;
// "" where they are not.
const ReplanField = "replan"

// Bounds of what an outcome says was read.
const (
	MaxSources  = 128
	SourceBytes = 512
	maxDigest   = 16
)

// fitsSources refuses what work of no process has read, and more than is kept.
func fitsSources(n *node, out *loomv1.Outcome) error {
	list := out.Sources
	if len(list) > 0 && n.Phase == nil && n.Process == "" || len(list) > MaxSources {
		return invalid("sources", "node %q is of no process, or it names more than %d sources", n.Id, MaxSources)
	}
	for i, d := range out.SourceDigests {
		if i >= len(list) || len(d) > maxDigest {
			return invalid(fmt.Sprintf("source_digests[%d]", i), "a source has one, of at most %d bytes", maxDigest)
		}
	}
	for i, s := range list {
		if s == "" || len(s) > SourceBytes {
			return invalid(fmt.Sprintf("sources[%d]", i), "an address has at most %d bytes", SourceBytes)
		}
	}
	return nil
}

// fitsKind refuses evidence from a node that cannot have it.
func fitsKind(n *node, out *loomv1.Outcome) error {
	if out.Change != nil && out.Change.PatchDigest == "" {
		return invalid("change.patch_digest", "a change has a digest")
	}
	if out.Change != nil && (n.Kind == loomv1.NodeKind_NODE_KIND_VERIFY || n.Kind == loomv1.NodeKind_NODE_KIND_LAND) {
		return invalid("change", "node %q cannot change what it deals with", n.Id)
	}
	for _, e := range []struct {
		field string
		given bool
		kind  loomv1.NodeKind
	}{
		{"candidate", out.Candidate != nil, loomv1.NodeKind_NODE_KIND_COMMIT},
		{"landing", out.Landing != nil, loomv1.NodeKind_NODE_KIND_LAND},
	} {
		if e.given && n.Kind != e.kind {
			return invalid(e.field, "node %q is not of the kind that gives one", n.Id)
		}
	}
	return fitsChecks(n, out)
}

// MaxTried is how many checks an outcome says were run on what its work proposes.
const MaxTried = 64

// fitsChecks takes checks of a candidate from a verify node, and from work only those that
// it was held to before it was taken: of what it proposes, and passed.
func fitsChecks(n *node, out *loomv1.Outcome) error {
	switch {
	case len(out.Checks) == 0 || n.Kind == loomv1.NodeKind_NODE_KIND_VERIFY:
		return nil
	case n.Kind != loomv1.NodeKind_NODE_KIND_UNSPECIFIED || len(out.Checks) > MaxTried:
		return invalid("checks", "node %q is not of the kind that gives one, or it names more than %d", n.Id, MaxTried)
	}
	for i, c := range out.Checks {
		if c.GetCommand() == "" || !c.GetPassed() || c.GetCommit() != "" {
			return invalid(fmt.Sprintf("checks[%d]", i), "work has a check that passed, of no commit")
		}
	}
	return nil
}

// fitsFields wants every declared field on success, and no other ever.
func fitsFields(n *node, out *loomv1.Outcome) error {
	given := out.Fields.GetFields()
	known := 0
	for _, f := range n.fields {
		v, is := given[f]
		if is {
			known++
		}
		if is && !hasType(v, n.Outcome[f]) {
			return invalid("fields."+f, "it must be of type %s", n.Outcome[f])
		}
		if v == nil && out.Status == success {
			return invalid("fields."+f, "node %q must give it on success", n.Id)
		}
	}
	if known < len(given) {
		return invalid("fields."+undeclared(n, given), "node %q declares no such field", n.Id)
	}
	return nil
}

// undeclared returns the first field by name that a node does not declare.
func undeclared(n *node, given map[string]*structpb.Value) string {
	for _, f := range slices.Sorted(maps.Keys(given)) {
		if n.Outcome[f] == "" {
			return f
		}
	}
	return ""
}

func hasType(v *structpb.Value, kind string) bool {
	switch v := v.GetKind().(type) {
	case *structpb.Value_StringValue:
		return condition.Allows(kind, v.StringValue)
	case *structpb.Value_BoolValue:
		return kind == "bool"
	case *structpb.Value_NumberValue:
		x := v.NumberValue
		return kind == "double" && !math.IsNaN(x) && !math.IsInf(x, 0) ||
			kind == "int" && x == math.Trunc(x) && math.Abs(x) <= largeInt
	case *structpb.Value_StructValue:
		return kind == "object" && proto.Size(v.StructValue) <= ObjectBytes && Nests(v.StructValue, ObjectDepth)
	}
	return false
}

// Nests says whether an object is no deeper than most; one of most 1 has no
// object or list in it.
func Nests(s *structpb.Struct, most int) bool {
	for _, v := range s.GetFields() {
		if !flat(v, most-1) {
			return false
		}
	}
	return most > 0
}

// flat is [Nests] of a value, which may itself be an object or a list.
func flat(v *structpb.Value, most int) bool {
	switch k := v.GetKind().(type) {
	case *structpb.Value_StructValue:
		return Nests(k.StructValue, most)
	case *structpb.Value_ListValue:
		return most > 0 && !slices.ContainsFunc(k.ListValue.GetValues(), func(v *structpb.Value) bool { return !flat(v, most-1) })
	case *structpb.Value_NumberValue:
		return !math.IsNaN(k.NumberValue) && !math.IsInf(k.NumberValue, 0)
	}
	return true
}

func invalid(field, format string, args ...any) error {
	return fault.New("outcome/invalid", format, args...).At(field)
}

// trimmed returns out with its words cut to their bounds, in a copy if need be.
func trimmed(out *loomv1.Outcome) *loomv1.Outcome {
	if len(out.GetSummary()) <= SummaryBytes && len(out.GetNotes()) <= NotesBytes {
		return out
	}
	out = proto.CloneOf(out)
	out.Summary = cut(out.Summary, SummaryBytes)
	out.Notes = cut(out.Notes, NotesBytes)
	return out
}

// cutMark ends a text that was cut.
const cutMark = " [cut]"

// cut shortens s to at most n bytes of whole runes, and shows that it did.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	n -= len(cutMark)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + cutMark
}

// repeats says whether given is what was recorded already: equal to it, or the
// success that was recorded as a failure for want of evidence or of a sound plan.
func repeats(recorded, given *loomv1.Outcome) bool {
	if proto.Equal(recorded, given) {
		return true
	}
	if given.GetStatus() != success || recorded.GetRefusal() == "" {
		return false
	}
	again := proto.CloneOf(given)
	again.Status, again.Code, again.Refusal = recorded.Status, recorded.Code, recorded.Refusal
	if wasUnsound(recorded, given) {
		again.Notes = recorded.Notes
	}
	return proto.Equal(recorded, again)
}
