package document

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/loomrun/loom/internal/base/lazy"
)

// minor are the words that titles do not capitalise.
var minor = []string{"a", "an", "and", "as", "at", "but", "by", "for", "from", "in", "into", "nor", "of", "on", "or", "over", "per", "the", "to", "vs", "with"}

func titleCase(s string) string {
	list := strings.Split(s, " ")
	for i, w := range list {
		if lower := strings.ToLower(w); i > 0 && i < len(list)-1 && slices.Contains(minor, lower) {
			list[i] = lower
		} else if !ownCapitals(w) {
			list[i] = capital(w)
		}
	}
	return strings.Join(list, " ")
}

// sentenceCase capitalises the first word and those that are names: what is among
// names, what has capitals inside or digits.
func sentenceCase(s string, names []string) string {
	keep := map[string]bool{}
	for _, n := range names {
		for w := range strings.FieldsSeq(n) {
			keep[w] = true
		}
	}
	list := strings.Split(s, " ")
	for i, w := range list {
		switch bare := strings.TrimFunc(w, unicode.IsPunct); {
		case keep[bare] || ownCapitals(w):
		case i == 0 || strings.HasSuffix(list[i-1], ":"):
			list[i] = capital(w)
		default:
			list[i] = strings.ToLower(w)
		}
	}
	return strings.Join(list, " ")
}

// ownCapitals says that a word's capitals mean something: APIs, Q4, iPhone.
func ownCapitals(w string) bool {
	_, first := utf8.DecodeRuneInString(w)
	return strings.ContainsFunc(w[first:], func(r rune) bool { return unicode.IsUpper(r) || unicode.IsDigit(r) })
}

func capital(w string) string {
	r, n := utf8.DecodeRuneInString(w)
	return string(unicode.ToUpper(r)) + w[n:]
}

var numeric = lazy.Compile(`^[-+]?(\d{1,3}(,\d{3})+|\d+)(\.\d+)?$`)

// NumberIn is the number that a text is: 1,234.50, with a currency's sign before it,
// or in parentheses for less than none.
func NumberIn(s string) (float64, bool) {
	s = strings.TrimSpace(s)
	negative := false
	if inner, ok := strings.CutPrefix(s, "("); ok {
		if inner, ok = strings.CutSuffix(inner, ")"); ok {
			s, negative = inner, true
		}
	}
	s = strings.TrimSpace(strings.TrimFunc(s, func(r rune) bool { return unicode.Is(unicode.Sc, r) }))
	if !numeric.MatchString(s) {
		return 0, false
	}
	n, err := strconv.ParseFloat(strings.ReplaceAll(s, ",", ""), 64)
	if negative {
		n = -n
	}
	return n, err == nil
}

// paragraphs of a body, and whether one is a list, code or a table of its own.
func paragraphs(body string) (list []string) {
	for p := range strings.SplitSeq(strings.ReplaceAll(body, "\r\n", "\n"), "\n\n") {
		if p = strings.TrimSpace(p); p != "" {
			list = append(list, p)
		}
	}
	return list
}

var (
	linked  = lazy.Compile(`!?\[([^\]]*)\]\([^)\s]*\)`)
	markers = strings.NewReplacer("**", "", "__", "", "`", "")
	starred = lazy.Compile(`(^|\W)[*_]([^*_\s][^*_]*)[*_]($|\W)`)
)

// plain is a text without the marks of emphasis, links and footnotes.
func plain(s string) string {
	s = footnoteRefs.ReplaceAllString(s, "")
	s = markers.Replace(linked.ReplaceAllString(s, "$1"))
	return starred.ReplaceAllString(s, "$1$2$3")
}

// sentences of a text: up to a full stop, question or exclamation mark before a blank
// and a capital or digit, or a paragraph's end.
func sentences(text string) (list []string) {
	for p := range strings.SplitSeq(text, "\n") {
		begin := 0
		runes := []rune(p)
		for i, r := range runes {
			if !strings.ContainsRune(".!?", r) || i+1 < len(runes) && !unicode.IsSpace(runes[i+1]) {
				continue
			}
			rest := strings.TrimSpace(string(runes[i+1:]))
			next, _ := utf8.DecodeRuneInString(rest)
			if r == '.' && (rest != "" && !unicode.IsUpper(next) && !unicode.IsDigit(next) || abbreviation(string(runes[begin:i+1]))) {
				continue
			}
			list = append(list, strings.TrimSpace(string(runes[begin:i+1])))
			begin = i + 1
		}
		if rest := strings.TrimSpace(string(runes[begin:])); rest != "" {
			list = append(list, rest)
		}
	}
	return slices.DeleteFunc(list, func(s string) bool { return len(wordsOf(s)) == 0 })
}

func abbreviation(s string) bool {
	last := s[strings.LastIndexByte(s, ' ')+1:]
	return slices.Contains([]string{"e.g.", "i.e.", "etc.", "Mr.", "Ms.", "Mrs.", "Dr.", "No.", "vs.", "approx.", "Inc.", "Ltd.", "Fig."}, last) ||
		len(last) == 2 && unicode.IsUpper(rune(last[0]))
}

func wordsOf(s string) []string {
	return slices.DeleteFunc(strings.FieldsFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\'' && r != '’' && r != '-'
	}),
		func(w string) bool { return !strings.ContainsFunc(w, unicode.IsLetter) })
}

// syllables of an English word: groups of vowels, without a silent e at the end.
func syllables(w string) int {
	w = strings.ToLower(w)
	n, inside := 0, false
	for _, r := range w {
		vowel := strings.ContainsRune("aeiouyáéíóúàèäöüâêîôû", r)
		if vowel && !inside {
			n++
		}
		inside = vowel
	}
	silent := strings.HasSuffix(w, "e") && !strings.HasSuffix(w, "le") || strings.HasSuffix(w, "es") && !strings.HasSuffix(w, "ies") && !strings.HasSuffix(w, "ses") && !strings.HasSuffix(w, "xes") && !strings.HasSuffix(w, "ches") && !strings.HasSuffix(w, "shes") || strings.HasSuffix(w, "ed") && !strings.HasSuffix(w, "ted") && !strings.HasSuffix(w, "ded")
	if silent && n > 1 {
		n--
	}
	return max(n, 1)
}
