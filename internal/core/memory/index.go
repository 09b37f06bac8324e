package memory

import (
	"cmp"
	"math"
	"slices"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// The parameters of BM25, and how much of an index one search reads.
const (
	k1        = 1.2
	b         = 0.75
	mostTerms = 64      // different words of a question
	mostReads = 100_000 // places of words
)

// index finds entries by words. Only entries that count are in it.
type index struct {
	terms  map[string]int32
	lists  [][]posting // by term; entries ascending
	length []uint16    // words of each entry, by its place in the memory
	weight []float64   // weightOf each entry
	said   []int64     // when it was said last, in Unix seconds
	docs   int
	words  int // of all entries

	score   []float64 // by entry; all zero between two searches
	touched []int32
}

// posting says that an entry has a word so many times.
type posting struct {
	entry int32
	times uint16
}

func (m *Memory) indexed() *index {
	if m.index == nil {
		m.index = &index{terms: map[string]int32{}}
		for i, e := range m.entries {
			if counts(e) {
				m.index.add(int32(i), e)
			}
		}
	}
	return m.index
}

// bag counts the words of an entry: of its text, its tags and its type.
func bag(e *loomv1.MemoryEntry) (counted map[string]uint16, total int) {
	counted = map[string]uint16{}
	add := func(w string, _ bool) {
		if counted[w] < math.MaxUint16 {
			counted[w]++
		}
		total++
	}
	words(e.Text, add)
	for _, tag := range e.Tags {
		words(tag, add)
	}
	words(e.Type, add)
	return counted, min(total, math.MaxUint16)
}

func (x *index) add(i int32, e *loomv1.MemoryEntry) {
	counted, total := bag(e)
	for len(x.length) <= int(i) {
		x.length, x.score = append(x.length, 0), append(x.score, 0)
		x.weight, x.said = append(x.weight, 0), append(x.said, 0)
	}
	x.weight[i], x.said[i] = weightOf(e), e.SaidAt.GetSeconds()
	x.length[i] = uint16(total)
	x.docs++
	x.words += total
	for w, n := range counted {
		t, ok := x.terms[w]
		if !ok {
			t = int32(len(x.lists))
			x.terms[w] = t
			x.lists = append(x.lists, nil)
		}
		at, _ := slices.BinarySearchFunc(x.lists[t], i, byEntry)
		x.lists[t] = slices.Insert(x.lists[t], at, posting{i, n})
	}
}

func (x *index) remove(i int32, e *loomv1.MemoryEntry) {
	counted, total := bag(e)
	x.docs--
	x.words -= total
	x.length[i] = 0
	for w := range counted {
		t := x.terms[w]
		if at, ok := slices.BinarySearchFunc(x.lists[t], i, byEntry); ok {
			x.lists[t] = slices.Delete(x.lists[t], at, at+1)
		}
	}
}

func byEntry(p posting, i int32) int { return cmp.Compare(p.entry, i) }

// search yields the entries that have words of a text, and how well each matches by
// BM25, and returns how many places of words it has read. It reads the rarest words
// first, and of the others only as many as it may; the order of the words makes no
// difference.
func (x *index) search(text string, yield func(entry int32, score float64)) (reads int) {
	seen := map[string]bool{}
	type term struct {
		word string
		list []posting
	}
	var terms []term
	words(text, func(w string, _ bool) {
		if seen[w] {
			return
		}
		seen[w] = true
		if t, ok := x.terms[w]; ok && len(x.lists[t]) > 0 {
			terms = append(terms, term{w, x.lists[t]})
		}
	})
	slices.SortFunc(terms, func(a, b term) int {
		return cmp.Or(cmp.Compare(len(a.list), len(b.list)), cmp.Compare(a.word, b.word))
	})
	mean := float64(x.words) / float64(max(x.docs, 1))
	for _, t := range terms[:min(len(terms), mostTerms)] {
		if reads+len(t.list) > mostReads && len(x.touched) > 0 {
			break
		}
		reads += len(t.list)
		// Each product is rounded by itself, so that all hosts add up the same.
		idf := math.Log(1 + float64(float64(x.docs-len(t.list))+0.5)/(float64(len(t.list))+0.5))
		for _, p := range t.list {
			tf, length := float64(p.times), float64(x.length[p.entry])
			norm := float64(k1 * (1 - b + float64(b*length/mean)))
			if x.score[p.entry] == 0 {
				x.touched = append(x.touched, p.entry)
			}
			x.score[p.entry] += float64(idf * tf * (k1 + 1) / (tf + norm))
		}
	}
	for _, i := range x.touched {
		yield(i, x.score[i])
		x.score[i] = 0
	}
	x.touched = x.touched[:0]
	return reads
}
