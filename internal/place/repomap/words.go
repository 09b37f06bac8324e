package repomap

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// stopwords say nothing about which file is meant.
var stopwords = func() map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq("the and for not that this with from when are was were has have had but all any can cannot could should would will " +
		"its they them then than there these those what which while who why how into out over use used using make made makes does doesn don isn " +
		"fix fixed fixes bug issue error wrong add adds also only now still more some such see https http com org github www " +
		"func function return returns var let const class def import package self true false nil none null string int new") {
		m[stem(w)] = true
	}
	return m
}()

// stem takes common English endings off a word, crudely: it is enough that the
// same is taken off on both sides.
func stem(w string) string {
	for _, end := range []string{"ing", "ies", "ed", "s"} {
		if cut, ok := strings.CutSuffix(w, end); ok && len(cut) >= 4 && !strings.HasSuffix(cut, "s") {
			w = cut
			break
		}
	}
	if len(w) > 4 {
		w = strings.TrimRight(w, "ey")
	}
	return w
}

// eachName calls do with the names in a text: runs of letters, digits and
// underscores that do not begin with a digit.
func eachName(text string, do func(name string)) {
	start := -1
	for i := 0; i <= len(text); {
		r, n := rune(0), 1
		if i < len(text) {
			r, n = utf8.DecodeRuneInString(text[i:])
		}
		switch in := nameRune(r); {
		case in && start < 0 && !unicode.IsDigit(r):
			start = i
		case !in && start >= 0:
			do(text[start:i])
			start = -1
		}
		i += n
	}
}

func nameRune(r rune) bool {
	return r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
		r >= utf8.RuneSelf && r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

// eachWord calls do with the parts of a name as camelCase, snake_case and
// digits divide it, stemmed, and with the whole name if it has several.
func eachWord(name string, do func(word string)) {
	if len(name) > maxName {
		return
	}
	parts, start, before := 0, 0, rune(0)
	part := func(s string) {
		if s = strings.Trim(s, "_"); s != "" {
			parts++
			if len(s) > 2 {
				do(stem(strings.ToLower(s)))
			}
		}
	}
	for i, r := range name {
		next, _ := utf8.DecodeRuneInString(name[i+utf8.RuneLen(max(r, 0)):])
		switch {
		case i == 0:
		case r == '_', unicode.IsUpper(r) && (!unicode.IsUpper(before) || unicode.IsLower(next)), unicode.IsDigit(r) != unicode.IsDigit(before) && before != '_':
			part(name[start:i])
			start = i
		}
		before = r
	}
	part(name[start:])
	if parts > 1 {
		do(strings.ToLower(name))
	}
}

// wordCounts counts the words of a text by hash.
func wordCounts(text string) map[uint32]int {
	m := map[uint32]int{}
	seen := map[string][]uint32{} // words of names, which repeat
	eachName(text, func(name string) {
		hashes, ok := seen[name]
		if !ok {
			eachWord(name, func(w string) { hashes = append(hashes, hash(w)) })
			seen[name] = hashes
		}
		for _, h := range hashes {
			m[h]++
		}
	})
	return m
}

// question is what the work's text asks for.
type question struct {
	words map[uint32]float64 // hash: weight
	names map[string]bool    // identifiers as written
	paths []string           // what may be a path or the name of a file
	terms map[string]bool    // words as written, stemmed, for choosing among symbols
}

var (
	pathLike = regexp.MustCompile(`[\w@+-][\w.@+-]*(?:/[\w.@+-]+)+|[\w-]+(?:\.[\w-]+)*\.[A-Za-z]\w{0,4}\b`)
	stamped  = regexp.MustCompile(`\b[0-9a-f]{12,64}\b`)
)

// maxQuestion bounds how much of the work's text is read, in bytes.
const maxQuestion = 64 << 10

func ask(text string) question {
	q := question{words: map[uint32]float64{}, names: map[string]bool{}, terms: map[string]bool{}}
	text = stamped.ReplaceAllString(text[:min(len(text), maxQuestion)], " ")
	times := map[string]int{}
	eachName(text, func(name string) {
		if distinctive(name) {
			q.names[name] = true
		}
		eachWord(name, func(w string) { times[w]++ })
	})
	for w, n := range times {
		if stopwords[w] || len(w) < 3 {
			continue
		}
		q.terms[w] = true
		q.words[hash(w)] = 1 + 0.5*float64(min(n, 5)-1)
	}
	for _, p := range pathLike.FindAllString(text, 500) {
		q.paths = append(q.paths, strings.TrimPrefix(p, "./"))
	}
	slices.Sort(q.paths)
	q.paths = slices.Compact(q.paths)
	return q
}

// distinctive reports whether a name can hardly be an English word.
func distinctive(name string) bool {
	if len(name) < 4 || len(name) > maxName {
		return false
	}
	return strings.Contains(strings.Trim(name, "_"), "_") || strings.IndexFunc(name[1:], unicode.IsUpper) >= 0 && strings.IndexFunc(name, unicode.IsLower) >= 0
}
