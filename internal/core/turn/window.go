package turn

import (
	"fmt"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Window says how much a model takes, in tokens.
type Window struct {
	// Tokens is all of it, the question and the answer. Zero means no bound.
	Tokens int

	// Reserved is for what is no part of the conversation: the system text,
	// the tools, and the answer.
	Reserved int
}

// A token is counted as three bytes, which is more tokens than models make of
// prose or code; what a model itself reports of its requests corrects it, up to
// a token for each byte.
const (
	bytesPerToken = 3
	perMessage    = 24 // bytes that a message takes beside its text

	clipNote = 160 // bytes at most that say what is left out of a result
)

// Tokens returns how many tokens n bytes are counted as.
func Tokens(n int) int { return (n + bytesPerToken - 1) / bytesPerToken }

// The shares of what the history may take, after a compaction: at least half of
// it is free, but where the newest round alone is longer. That one has all that the
// summary leaves, so that what was just asked for is there.
const (
	summaryShare = 4 // a quarter for the summary
	recentShare  = 4 // a quarter for the newest rounds
	leastHistory = 512
	leastClip    = 256
	leastListed  = 1024 // of a summary that has room for the list of steps
)

// rate is by how much the model counts more than we do, in thousandths. An
// answer that says nothing, or what cannot be, changes nothing.
func rate(t *loomv1.Turn) uint64 {
	worst := uint64(1000)
	for _, s := range t.GetSteps() {
		a := s.GetAnswer()
		if a.GetCounted() == 0 || a.GetUsage() == nil {
			continue
		}
		reported := min(a.Usage.InputTokens, a.Counted*bytesPerToken) // also keeps the product in bounds
		worst = max(worst, reported*1000/a.Counted)
	}
	return worst
}

// Most returns the tokens that a call can use: its prompt of so many bytes, as
// much as the model has counted more than we do so far, and the longest answer
// that it may give.
func Most(t *loomv1.Turn, prompt, answer int) (input, output uint64) {
	return uint64(Tokens(max(prompt, 0)))*rate(t)/1000 + 1, uint64(max(answer, 0))
}

// Room returns how many bytes of conversation fit, and false where nothing bounds
// them. What a model's summaries were counted as does not change it, so that a
// compaction never leads to another.
func (w Window) Room(t *loomv1.Turn) (int, bool) {
	if w.Tokens <= 0 {
		return 0, false
	}
	return max(0, w.Tokens-w.Reserved) * bytesPerToken * 1000 / int(rate(t)), true
}

// Size returns how many bytes a message is counted as.
func (m Message) Size() int {
	n := m.Blob.GetSize()
	if m.Clip > 0 {
		n = min(n, m.Clip+clipNote)
	}
	for _, c := range m.Calls {
		n += uint64(len(c.GetId()) + len(c.GetTool()) + len(c.GetArguments()))
	}
	return int(min(n, 1<<40)) + len(m.Text) + len(m.Call) + perMessage + pictureTokens(m.Picture)*bytesPerToken
}

// mostPicture is what models count for one picture at most, in tokens; larger ones
// are made smaller before they are looked at.
const mostPicture = 1600

// pictureTokens is what a picture is counted as: a token for 750 pixels, as
// Anthropic has it (docs.anthropic.com, vision), which is more than others count.
func pictureTokens(p *loomv1.Picture) int {
	return int(min((uint64(p.GetWidth())*uint64(p.GetHeight())+749)/750, mostPicture))
}

// Size returns how many bytes messages are counted as.
func Size(list []Message) (n int) {
	for _, m := range list {
		n += m.Size()
	}
	return n
}

// fitting returns next if the conversation fits into the model's window, else
// what has to be done first.
func fitting(t *loomv1.Turn, n *loomv1.NodeDefinition, l Limits, next Step) Step {
	room, bounded := l.Window.Room(t)
	if !bounded {
		return next
	}
	s := script{turn: t, node: n, limits: l, all: rounds(t), compacted: compaction(t)}
	if size := Size(s.whole()); size <= room {
		return next
	}
	return s.compact(room)
}

// compact says how to bring the conversation into room bytes. What it leads to
// always fits. Results of the newest round are cut only when they do not fit with
// everything before them summarised.
func (s *script) compact(room int) Step {
	raw := script{turn: s.turn, node: s.node, limits: s.limits, all: s.all}
	head, _ := raw.beginning()
	history := room - Size(head) - perMessage
	if history < leastHistory {
		return Stop{Code: "turn/context", Reason: fmt.Sprintf("the prompt is counted as %d tokens, and the model takes %d, of which %d are kept for its instructions, tools and answer",
			Tokens(Size(head)), s.limits.Window.Tokens, s.limits.Window.Reserved)}
	}
	c := Compact{Bytes: history / summaryShare}
	recent, newest := history/recentShare, history-c.Bytes
	keep, used := len(s.all), 0
	for i := len(s.all) - 1; i >= raw.from(); i-- {
		more, _ := raw.round(i)
		if used += Size(more); used > recent && (i < len(s.all)-1 || used > newest) {
			break
		}
		keep = i
	}
	if last := len(s.all) - 1; keep > last && last >= raw.from() {
		if clip := raw.clip(last, newest); clip > 0 {
			keep, c.Clip = last, clip
		}
	}
	c.Answers = max(uint32(keep)-1, s.compacted.GetAnswers())
	return c
}

// clip is how many bytes of each result of a round can be kept so that all of it
// takes at most n, or 0 if that is too little to be of use.
func (s *script) clip(i, n int) uint64 {
	list, _ := s.round(i)
	results := 0
	for _, m := range list {
		if m.Role == Result && m.Blob != nil {
			results++
			m.Blob = nil
			n -= clipNote
		}
		n -= m.Size()
	}
	if results == 0 || n/results < leastClip {
		return 0
	}
	return uint64(n / results)
}
