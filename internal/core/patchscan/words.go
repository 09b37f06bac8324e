package patchscan

import "strings"

// window is a part of a text that a rule is held against, because one of its
// keywords stands in it.
type window struct{ from, to int }

// How far a window reaches. What rules have before a keyword is short; after it
// most have one value in its line or the next, and some have whole blocks, of
// which a private key is the longest. A line of a file that was made small may be
// of any length, and is cut.
const (
	reachBack  = 512
	reachLine  = 1 << 10
	reachBlock = 6 << 10
)

// widened adds the surroundings of a keyword to windows that are sorted.
func widened(list []window, text string, at int, block bool) []window {
	w := window{max(at-reachBack, 0), min(at+reachBlock, len(text))}
	if i := strings.LastIndexByte(text[w.from:at], '\n'); i >= 0 {
		w.from += i + 1
	}
	if !block {
		w.to = at + afterLines(text[at:min(at+reachLine, len(text))])
	}
	last := len(list) - 1
	if last < 0 || w.from > list[last].to {
		return append(list, w)
	}
	list[last].to = max(list[last].to, w.to)
	return list
}

// afterLines returns where the second line of a text ends.
func afterLines(text string) int {
	first := strings.IndexByte(text, '\n')
	if first < 0 {
		return len(text)
	}
	if second := strings.IndexByte(text[first+1:], '\n'); second >= 0 {
		return first + 1 + second
	}
	return len(text)
}

// words finds many words in one pass over a text, whatever their case (Aho and
// Corasick 1975).
type words struct {
	next [][256]int32 // by state and byte
	ends [][]int32    // words that end in a state
	len  []int
}

func newWords(list []string) *words {
	w := &words{next: make([][256]int32, 1), ends: make([][]int32, 1)}
	for i, word := range list {
		w.len = append(w.len, len(word))
		state := int32(0)
		for _, c := range []byte(word) {
			if w.next[state][c] == 0 {
				w.next[state][c] = int32(len(w.next))
				w.next, w.ends = append(w.next, [256]int32{}), append(w.ends, nil)
			}
			state = w.next[state][c]
		}
		w.ends[state] = append(w.ends[state], int32(i))
	}
	w.link()
	return w
}

// link completes the automaton: where a word does not go on, another may.
func (w *words) link() {
	fail := make([]int32, len(w.next))
	queue := []int32{}
	for _, s := range w.next[0] {
		if s != 0 {
			queue = append(queue, s)
		}
	}
	for len(queue) > 0 {
		state := queue[0]
		queue = queue[1:]
		for c, s := range w.next[state] {
			back := w.next[fail[state]][c]
			if s == 0 {
				w.next[state][c] = back
				continue
			}
			fail[s] = back
			w.ends[s] = append(w.ends[s], w.ends[back]...)
			queue = append(queue, s)
		}
	}
}

// in calls found for each place where a word begins, in the order of their ends.
func (w *words) in(text string, found func(word, at int)) {
	state := int32(0)
	for i := range len(text) {
		c := text[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		state = w.next[state][c]
		for _, word := range w.ends[state] {
			found(int(word), i+1-w.len[word])
		}
	}
}
