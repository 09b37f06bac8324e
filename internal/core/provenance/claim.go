package provenance

import (
	"slices"

	"github.com/loomrun/loom/internal/core/sourcelist"
	"github.com/loomrun/loom/internal/core/verify"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Claim is what is known of words in a file that was delivered.
type Claim struct {
	Words string `json:"claim"`
	First int    `json:"line"` // and Last, from 1
	Last  int    `json:"last_line"`
	Made  File   `json:"made"`
	// Cited are the addresses that its lines cite and nobody has read.
	Unread []string `json:"cited_unread,omitempty"`
	// Rests are what had been read before, what it cites and what has its words first; where
	// no attempt is known to have made the file, all that was read.
	Rests []Rest `json:"sources"`
}

// Rest is something that was read before a claim was made: from outside of the workspace,
// and so untrusted.
type Rest struct {
	sourcelist.Entry
	Untrusted bool `json:"untrusted"`
	// Cited says that the claim's lines cite it; Words and Numbers that its text has the
	// claim word for word, or all numbers of it.
	Cited   bool `json:"cited"`
	Words   bool `json:"has_words"`
	Numbers bool `json:"has_numbers"`
}

// weight orders what a claim may rest on.
func (r Rest) weight() int {
	n := 0
	for i, is := range []bool{r.Numbers, r.Words, r.Cited} {
		if is {
			n += 1 << i
		}
	}
	return n
}

// Claim tells of words in a file of an execution who made it, and what it may rest on;
// read gives the words of a source, "" where they were not kept. It is nil where the words
// are not in the text.
func (r *Record) Claim(words, name, text string, def *loomv1.Definition, x *loomv1.Execution, read func(sourcelist.Entry) string) *Claim {
	first, last := verify.Passage(text, words)
	if first == 0 {
		return nil
	}
	c := &Claim{Words: words, First: first, Last: last, Made: r.Made(name, def, x), Rests: []Rest{}}
	cited := verify.CitedIn(text, first, last)
	for _, a := range cited {
		if !slices.ContainsFunc(r.Sources(), func(e sourcelist.Entry) bool { return verify.SameAddress(e.Address, a) }) {
			c.Unread = append(c.Unread, a)
		}
	}
	for _, e := range r.Sources() {
		is := slices.ContainsFunc(cited, func(a string) bool { return verify.SameAddress(e.Address, a) })
		if !is && c.Made.Attempt != "" && !slices.Contains(c.Made.Sources, e.Number) {
			continue
		}
		rest := Rest{Entry: e, Untrusted: true, Cited: is}
		rest.Words, rest.Numbers = verify.Says(read(e), words)
		c.Rests = append(c.Rests, rest)
	}
	slices.SortStableFunc(c.Rests, func(x, y Rest) int { return y.weight() - x.weight() })
	return c
}
