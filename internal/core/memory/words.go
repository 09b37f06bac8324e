package memory

import (
	"crypto/sha256"
	"hash"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// longestWord is how many bytes of a word count.
const longestWord = 48

// stopWords carry no meaning of their own.
var stopWords = setOf(`a an and are as at be been but by can did do does for from had has have he her his i if in into is it its
	may my of on or our should so some such than that the their them then there these they this those to us was we were what when
	which while who will with would you your`)

// negations turn a statement into its opposite.
var negations = setOf(`not no never none nothing neither nor without cannot`)

func setOf(words string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(words) {
		set[w] = true
	}
	return set
}

// words calls yield with each word of a text that carries meaning, in lower case and
// as its stem; negated says that it is a negation. A word is a run of letters and
// digits, and of the dots, slashes and so on between two of them that make paths and
// versions one word with its parts.
func words(text string, yield func(word string, negated bool)) {
	text = strings.ReplaceAll(strings.ToLower(text), "n't", " not")
	text = strings.ReplaceAll(text, "n\u2019t", " not")
	for _, w := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' }) {
		switch {
		case negations[w]:
			yield(w, true)
		case stopWords[w]:
		default:
			yield(stem(w), false)
		}
	}
}

// stem takes a plural's ending off an English word, by the rules of Harman's
// S-stemmer, and cuts what is very long.
func stem(w string) string {
	if len(w) > longestWord {
		w = strings.ToValidUTF8(w[:longestWord], "")
	}
	n := len(w)
	switch {
	case n < 4 || w[n-1] != 's' || hasDigit(w):
		return w
	case strings.HasSuffix(w, "ies") && n > 4:
		return w[:n-3] + "y"
	case strings.HasSuffix(w, "ss"), strings.HasSuffix(w, "us"), strings.HasSuffix(w, "is"):
		return w
	}
	return w[:n-1]
}

func hasDigit(w string) bool { return strings.IndexFunc(w, unicode.IsDigit) >= 0 }

// statement is what an entry says, as far as words tell: two entries with the same
// exact digest say the same; with the same loose one and another value, the opposite
// or something else of the same thing.
type statement struct {
	exact, loose digest
	value        digest // of its numbers and of whether it is negated
}

// statementOf reads an entry. Type, namespace, session, blob and whether it is trusted are
// part of the exact digest; type and namespace of the loose one.
func statementOf(e *loomv1.MemoryEntry) statement {
	exact, loose, value := sha256.New(), sha256.New(), sha256.New()
	scope := ""
	if e.Layer == session {
		scope = e.Execution
	}
	trusted := "trusted"
	if e.Trust == untrusted {
		trusted = "untrusted"
	}
	write(exact, e.Type, e.Namespace, scope, trusted, e.Detail.GetSha256())
	write(loose, e.Type, e.Namespace)
	meaningful, negated := 0, false
	words(e.Text, func(w string, no bool) {
		if no {
			negated = !negated
			write(exact, w)
			return
		}
		meaningful++
		write(exact, w)
		if hasDigit(w) {
			write(loose, "#")
			write(value, w)
			return
		}
		write(loose, w)
	})
	if negated {
		write(value, "not")
	}
	if meaningful == 0 { // of stop words and signs alone: as it is written
		write(exact, e.Text)
		write(loose, e.Text)
	}
	return statement{short(exact), short(loose), short(value)}
}

// write adds strings to a hash, each with its end marked.
func write(h hash.Hash, parts ...string) {
	for _, p := range parts {
		_, _ = io.WriteString(h, p) // a hash takes everything
		_, _ = h.Write([]byte{0})
	}
}

func short(h hash.Hash) (d digest) {
	copy(d[:], h.Sum(nil))
	return d
}

// line makes one printable line of a text, at most so many bytes long.
func line(s string, most int) string {
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) || r == utf8.RuneError }), " ")
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most-len("…")], "") + "…"
}
