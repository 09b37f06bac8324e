package verify

import (
	"slices"
	"strings"
)

// Passage returns the lines of a text, from 1, in which words stand: whatever the blanks,
// capitals and quotation marks between them. It returns 0, 0 where they do not.
func Passage(text, words string) (first, last int) {
	want := even(words)
	if want == "" {
		return 0, 0
	}
	var all strings.Builder
	var begins []int // of each line, in what is compared
	for line := range strings.SplitSeq(text, "\n") {
		begins = append(begins, all.Len())
		if plain := even(line); plain != "" {
			all.WriteString(plain + " ")
		}
	}
	s := &source{text: all.String()}
	at := s.index(want, 0)
	if at < 0 {
		return 0, 0
	}
	line := func(at int) int {
		n, found := slices.BinarySearch(begins, at)
		for found && n+1 < len(begins) && begins[n+1] == at { // an empty line begins where the next does
			n++
		}
		if found {
			n++
		}
		return n
	}
	return line(at), line(at + len(want) - 1)
}

// CitedIn returns the addresses that lines of a text cite, each once: those that stand
// there, and those of the entries of its list of sources that `[n]` and `[^n]` name there.
func CitedIn(text string, first, last int) (list []string) {
	s := &cites{list: map[string]string{}}
	lines := strings.Split(text, "\n")
	s.entries(lines)
	for i := max(first-1, 0); i < min(last, len(lines)); i++ {
		for _, a := range s.cited(lines[i]) {
			if !slices.Contains(list, a) {
				list = append(list, a)
			}
		}
	}
	return list
}

// SameAddress says whether two addresses are one: scheme, www, fragment and the slash at
// the end do not matter.
func SameAddress(a, b string) bool { return plainAddress(a) == plainAddress(b) }

// Says says what a text has of words: all of them as they stand, or every number in them
// that is not a small whole one; neither where they have no such number.
func Says(text, words string) (whole, numbers bool) {
	s := newSource("", text, false)
	if s.has(words) {
		return true, true
	}
	found := false
	for _, n := range number.FindAllString(marks.Replace(words), -1) {
		if plain := plainNumber(n); len(plain) > 2 {
			if !s.numbers[plain] {
				return false, false
			}
			found = true
		}
	}
	return false, found
}
