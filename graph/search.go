package graph

import (
	"cmp"
	"slices"
	"sort"
	"strings"
	"unicode"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Bounds of what is indexed and asked for.
const (
	longestWord = 32 // runes of a word that count
	mostWords   = 16 // words of a question that count
)

// Search returns the nodes that have every word of a text, in any case, in
// their title or description, and match the filter. A word stands for every
// word that it begins. Nodes with more of the words in their title come
// first, newer ones before older; the filter's limit keeps the first so many.
// No words find nothing.
//
// The first search reads the whole graph; from then on it costs what is found
// and a look at each different word there is.
func (g *Graph) Search(text string, f Filter) []*loomv1.DecisionNode {
	asked := wordsOf(text)
	if len(asked) == 0 {
		return nil
	}
	lists := g.index().lists(asked[:min(len(asked), mostWords)])
	var found []hit
	best := 0 // hits that nothing can come before
	for h := range common(lists) {
		if !g.matches(f, h.node) {
			continue
		}
		found = append(found, h)
		if h.titles == len(lists) {
			best++
		}
		if f.Limit > 0 && best == f.Limit {
			break // all that follow are older
		}
	}
	slices.SortStableFunc(found, func(a, b hit) int { return cmp.Compare(b.titles, a.titles) })
	if f.Limit > 0 && len(found) > f.Limit {
		found = found[:f.Limit]
	}
	nodes := make([]*loomv1.DecisionNode, len(found))
	for i, h := range found {
		nodes[i] = g.node(h.node)
	}
	return nodes
}

// hit is a node that has all words, and how many of them its title has.
type hit struct {
	node   int32
	titles int
}

// index is an inverted index: for each word the nodes that have it, in order.
type index struct {
	words map[string][]posting
	// Every word, to find those that begin alike: most of them in order, and
	// the newest as they came.
	ordered, fresh []string
}

// mostFresh is how many words may be out of order.
const mostFresh = 256

type posting struct {
	node  int32
	title bool
}

// weight counts a word that is in the title.
func (p posting) weight() int {
	if p.title {
		return 1
	}
	return 0
}

// index returns the graph's index, which grows with it once it is there.
func (g *Graph) index() *index {
	if g.words == nil {
		g.words = &index{words: map[string][]posting{}}
		for i, n := range g.nodes.all {
			g.words.add(int32(i), n)
		}
	}
	return g.words
}

func (x *index) add(i int32, n *loomv1.DecisionNode) {
	for _, w := range wordsOf(n.Title) {
		x.note(w, posting{i, true})
	}
	for _, w := range wordsOf(n.Description) {
		x.note(w, posting{i, false})
	}
}

// note takes down a word of the newest node, once; its title comes first.
func (x *index) note(word string, p posting) {
	list, known := x.words[word]
	if known && list[len(list)-1].node == p.node {
		return
	}
	if !known {
		x.fresh = append(x.fresh, word)
	}
	x.words[word] = append(list, p)
}

// lists returns, for each word asked for, where words are that begin so.
func (x *index) lists(asked []string) [][]posting {
	if len(x.fresh) > mostFresh {
		x.ordered = append(x.ordered, x.fresh...)
		slices.Sort(x.ordered)
		x.fresh = nil
	}
	lists := make([][]posting, len(asked))
	for i, word := range asked {
		several := false
		for w := range x.beginning(word) {
			if lists[i] == nil {
				lists[i] = x.words[w]
				continue
			}
			lists[i], several = slices.Concat(lists[i], x.words[w]), true
		}
		if several {
			lists[i] = merged(lists[i])
		}
	}
	slices.SortStableFunc(lists, func(a, b []posting) int { return cmp.Compare(len(a), len(b)) }) // the rarest leads
	return lists
}

// beginning yields the words that begin with one.
func (x *index) beginning(word string) func(func(string) bool) {
	return func(yield func(string) bool) {
		from, _ := slices.BinarySearch(x.ordered, word)
		for _, w := range x.ordered[from:] {
			if !strings.HasPrefix(w, word) || !yield(w) {
				break
			}
		}
		for _, w := range x.fresh {
			if strings.HasPrefix(w, word) && !yield(w) {
				return
			}
		}
	}
}

// merged puts postings in order, one a node.
func merged(list []posting) []posting {
	slices.SortFunc(list, func(a, b posting) int {
		return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(b.weight(), a.weight()))
	})
	return slices.CompactFunc(list, func(a, b posting) bool { return a.node == b.node })
}

// common yields the nodes that are in every list, the newest first.
func common(lists [][]posting) func(func(hit) bool) {
	return func(yield func(hit) bool) {
		left := slices.Clone(lists)
		for {
			h, all := hit{node: -1}, true
			for i, list := range left {
				if h.node >= 0 {
					list = upTo(list, h.node)
				}
				left[i] = list
				if len(list) == 0 {
					return
				}
				switch last := list[len(list)-1]; {
				case h.node < 0:
					h = hit{last.node, last.weight()}
				case last.node == h.node:
					h.titles += last.weight()
				default:
					all = false
				}
			}
			if all && !yield(h) {
				return
			}
			left[0] = left[0][:len(left[0])-1]
			if len(left[0]) == 0 {
				return
			}
		}
	}
}

// upTo cuts off what is after a node.
func upTo(list []posting, node int32) []posting {
	n := sort.Search(len(list), func(i int) bool { return list[i].node > node })
	return list[:n]
}

// wordsOf returns the words of a text in lower case: runs of letters and
// digits, cut to a length.
func wordsOf(text string) []string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for i, w := range words {
		if r := []rune(w); len(r) > longestWord {
			words[i] = string(r[:longestWord])
		}
	}
	return words
}
