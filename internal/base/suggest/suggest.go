// Package suggest finds the known word that a mistyped one most likely meant.
// It only compares words; what to say about it is the caller's.
package suggest

import (
	"slices"
	"strings"
)

// Nearest returns the word of among that is nearest to word, or "" when none
// is near: at most a third of the longer word may differ, and at least one
// letter, where capitals count as small ones. Of equally near ones the first
// wins. One that has the same words in another order ("read_file", "file_read") is
// nearer than any that is spelled otherwise.
func Nearest(word string, among []string) string {
	if ordered := inOrder(word); len(ordered) > 1 {
		for _, known := range among {
			if slices.Equal(inOrder(known), ordered) {
				return known
			}
		}
	}
	best, least := "", len(word)+1
	for _, known := range among {
		d := distance(strings.ToLower(word), strings.ToLower(known))
		if d < least && d <= max(1, max(len(word), len(known))/3) && d < len(known) {
			best, least = known, d
		}
	}
	return best
}

// inOrder are the words of a name in alphabetical order.
func inOrder(name string) []string {
	return slices.Sorted(strings.FieldsFuncSeq(strings.ToLower(name), func(r rune) bool { return r == '_' || r == '-' || r == ' ' }))
}

// Hint returns `did you mean "x"?` for the word nearest to word, else "".
func Hint(word string, among []string) string {
	if near := Nearest(word, among); near != "" {
		return `did you mean "` + near + `"?`
	}
	return ""
}

// Among returns what Hint does, else the known words if they are few, else "".
func Among(word string, known []string) string {
	const few = 12
	if hint := Hint(word, known); hint != "" || len(known) == 0 || len(known) > few {
		return hint
	}
	return "known are " + strings.Join(known, ", ")
}

// Slip returns the word of among that word is but for one slip of the hand: a letter too
// many, too few or wrong, or two that are swapped. It returns "" when there is none, when
// there are several, and for words of less than five letters, of which many are alike.
func Slip(word string, among []string) (meant string) {
	for _, other := range among {
		if min(len(word), len(other)) < 5 || distance(strings.ToLower(word), strings.ToLower(other)) != 1 {
			continue
		}
		if meant != "" {
			return ""
		}
		meant = other
	}
	return meant
}

// distance counts the insertions, deletions, replacements and swaps of
// neighbours that make b of a. Words over 64 bytes are never near.
func distance(a, b string) int {
	const longest = 64
	if len(a) > longest || len(b) > longest {
		return longest
	}
	var rows [3][longest + 1]int
	for j := range len(b) + 1 {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		now, last, before := &rows[i%3], &rows[(i+2)%3], &rows[(i+1)%3]
		now[0] = i
		for j := 1; j <= len(b); j++ {
			now[j] = min(last[j]+1, now[j-1]+1, last[j-1]+differ(a[i-1], b[j-1]))
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				now[j] = min(now[j], before[j-2]+1)
			}
		}
	}
	return rows[len(a)%3][len(b)]
}

func differ(x, y byte) int {
	if x == y {
		return 0
	}
	return 1
}
