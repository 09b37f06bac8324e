package memory

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"time"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// How retrieval chooses.
const (
	bytesPerToken = 4
	mostItems     = 256 // the best of what is found are candidates
	mostNewest    = 512 // candidates of a question without words
	mostLine      = 600 // bytes of a text in a line
	freshFor      = 30  // days after which being new counts half
	preferred     = 2.0 // times the score, for a tag that is preferred
)

// typeWeight is how much more an entry of a type is worth, 1 where nothing is said.
var typeWeight = map[string]float64{
	"constraint": 1.4, "preference": 1.3, "pattern": 1.3, "error": 1.2, "decision": 1.2, "feedback": 1.2, "risk": 1.1,
	"tool_result": 0.8, "artifact": 0.8, "metric": 0.9,
}

// Question is what a retrieval is for.
type Question struct {
	// Text is what the work is about. Empty asks for what is newest and weighs most.
	Text string
	// Types and Tags, if any, are those of the entries that are wanted; entries with
	// one of the tags Prefer count double.
	Types, Tags, Prefer []string
	// Without, if any, are types that are left out unless Types has them.
	Without []string
	// Execution sees its own session.
	Execution string
	// Places are what may be read: [Session], [Project] and shared namespaces. Nil
	// means all but sessions of other executions.
	Places []string
	// Now is what the age of entries is counted from.
	Now time.Time
	// Tokens bounds the text, each counted as 4 bytes. Limit bounds the items; 0 means
	// 256, the most.
	Tokens, Limit int
}

// candidate is an entry that was found.
type candidate struct {
	entry *loomv1.MemoryEntry
	place int32 // in the memory; -1 for one of another project
	score float64
}

// Retrieve returns what fits the question best within its budget, best first. The
// score of an entry is how well its words match (BM25), times its type's weight, its
// confidence, how new it is and how often it was said; of two with the same score the
// newer comes first. What does not fit is left out and counted, and what comes after
// it is tried. Items of others, if any, compete with those of this memory.
func (m *Memory) Retrieve(q Question, others ...*loomv1.MemoryItem) *loomv1.MemoryContext {
	best := m.find(q)
	for _, o := range others {
		if o.GetEntry() != nil {
			best = append(best, candidate{o.Entry, -1, o.Score})
		}
	}
	slices.SortFunc(best, better)
	return fill(best, q)
}

func better(x, y candidate) int {
	return cmp.Or(cmp.Compare(y.score, x.score), cmp.Compare(y.place, x.place), cmp.Compare(x.entry.Id, y.entry.Id))
}

// find returns the best candidates, in any order. Of an entry whose score is too low,
// wherever it belongs, nothing is looked at but figures.
func (m *Memory) find(q Question) []candidate {
	best, least := make([]candidate, 0, 4*mostItems), 0.0
	consider := func(i int32, score float64) {
		if e := m.entries[i]; q.sees(e) {
			best = append(best, candidate{e, i, q.prefer(e, score)})
		}
		if len(best) == cap(best) {
			slices.SortFunc(best, better)
			best = best[:mostItems]
			least = best[mostItems-1].score
		}
	}
	if meaningless(q.Text) {
		looked := 0
		for i := int32(len(m.entries)) - 1; i >= 0 && looked < mostNewest; i-- {
			if e := m.entries[i]; counts(e) && q.sees(e) {
				looked++
				consider(i, weightOf(e)*q.recency(e.SaidAt.GetSeconds()))
			}
		}
	} else {
		x, atMost := m.indexed(), 1.0
		if len(q.Prefer) > 0 {
			atMost = preferred
		}
		x.search(q.Text, func(i int32, match float64) {
			if score := match * x.weight[i] * q.recency(x.said[i]); score*atMost >= least {
				consider(i, score)
			}
		})
	}
	slices.SortFunc(best, better)
	return best[:min(len(best), mostItems)]
}

func meaningless(text string) bool {
	any := false
	words(text, func(string, bool) { any = true })
	return !any
}

func (q Question) sees(e *loomv1.MemoryEntry) bool {
	switch {
	case e.Layer == session && e.Execution != q.Execution,
		q.Places != nil && !slices.Contains(q.Places, place(e)),
		len(q.Types) > 0 && !slices.Contains(q.Types, e.Type),
		len(q.Types) == 0 && slices.Contains(q.Without, e.Type):
		return false
	}
	return !slices.ContainsFunc(q.Tags, func(tag string) bool { return !slices.Contains(e.Tags, tag) })
}

// prefer is the score of an entry with what its tags are worth.
func (q Question) prefer(e *loomv1.MemoryEntry, score float64) float64 {
	if slices.ContainsFunc(q.Prefer, func(tag string) bool { return slices.Contains(e.Tags, tag) }) {
		return preferred * score
	}
	return score
}

// recency is what being said at a Unix time is worth now: 1 for what is new, half of
// what that is above one half after 30 days, and never less than one half.
func (q Question) recency(said int64) float64 {
	days := float64(max(q.Now.Unix()-said, 0)) / (24 * 60 * 60)
	return 0.5 + float64(0.5*freshFor)/(freshFor+days)
}

// weightOf is what an entry is worth by its type, its confidence, and how often it was
// said.
func weightOf(e *loomv1.MemoryEntry) float64 {
	weight, ok := typeWeight[e.Type]
	if !ok {
		weight = 1
	}
	sure := 0.5 + float64(e.Confidence)/200
	often := 1 + float64(min(bits.Len32(e.Count)-1, 5))/10
	return weight * sure * often
}

// fill takes candidates in order as far as the tokens go.
func fill(best []candidate, q Question) *loomv1.MemoryContext {
	limit := cmp.Or(q.Limit, mostItems)
	out := &loomv1.MemoryContext{}
	var text []byte
	for _, c := range best {
		before := len(text)
		text = append(appendLine(text, c.entry), '\n')
		cost := TokensOf(len(text) - before)
		if len(out.Items) >= limit || int(out.Tokens+cost) > q.Tokens {
			text = text[:before]
			out.LeftOut++
			continue
		}
		out.Tokens += cost
		out.Items = append(out.Items, &loomv1.MemoryItem{Entry: c.entry, Score: c.score, Tokens: cost})
	}
	out.Text = string(text)
	return out
}

// TokensOf is what a text of so many bytes counts as.
func TokensOf(length int) uint32 { return uint32((length + bytesPerToken - 1) / bytesPerToken) }

// Line returns an entry in one line, as agents and people are told it.
func Line(e *loomv1.MemoryEntry) string { return string(appendLine(nil, e)) }

func appendLine(b []byte, e *loomv1.MemoryEntry) []byte {
	b = fmt.Appendf(b, "%s %s (%d%%", e.Id, e.Type, e.Confidence)
	if e.Count > 1 && e.Lesson == "" { // a lesson's text says how often
		b = fmt.Appendf(b, ", said %d times", e.Count)
	}
	if e.Trust == untrusted {
		b = append(b, ", untrusted"...)
	}
	for i, id := range e.Contradicts {
		word := " and "
		if i == 0 {
			word = ", contradicts "
		}
		b = append(append(b, word...), id...)
	}
	b = append(b, "): "...)
	return append(b, line(e.Text, mostLine)...)
}
