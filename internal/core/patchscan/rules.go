package patchscan

import (
	_ "embed"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// gitleaks are the rules of gitleaks, see the README beside them.
//
//go:embed gitleaks/rules.toml
var gitleaks []byte

// own are rules for keys that those do not know.
//
//go:embed own.toml
var own []byte

// generic are rules that find what only a variable's name, or its place in an
// address, and its entropy make look like a key: they are wrong more often than the
// others.
var generic = []string{"generic-api-key", "url-password"}

// isGeneric reports whether a rule is one of those.
func (r *rule) isGeneric() bool { return slices.Contains(generic, r.ID) }

// rule finds one kind of key, in the format of gitleaks.
type rule struct {
	ID          string
	Description string
	Regex       string
	Path        string
	SecretGroup int
	Entropy     float64
	Keywords    []string
	Allowlists  []*allowlist

	regex, path *regexp.Regexp
	long        bool // what it looks for may have any number of lines
}

// allowlist says what is no key although a rule finds it.
type allowlist struct {
	Description string
	Condition   string // AND, or OR where it is empty
	Paths       []string
	RegexTarget string // what the expressions are held against: match, line, or the secret
	Regexes     []string
	StopWords   []string

	paths, regexes *regexp.Regexp
}

// rules are all rules, with what finds their keywords.
type rules struct {
	Title      string
	MinVersion string
	Allowlist  allowlist
	Rules      []*rule

	words  *words
	byWord [][]int // the rules of a keyword
	always []int   // rules without keywords
}

// hit is what a rule has found, from one offset of a text to another.
type hit struct {
	rule    *rule
	at, end int
	usual   bool // in a file of a kind that has such text and no keys
}

// builtin reads the built-in rules.
func builtin() (*rules, error) { return parseRules(gitleaks, own) }

// parseRules reads rules in the format of gitleaks; the allowlist of the first file
// holds for the rules of all. What it does not know is an error: a condition that is
// passed over would find too much or too little.
func parseRules(files ...[]byte) (*rules, error) {
	var r *rules
	for _, data := range files {
		one := &rules{}
		if err := toml.NewDecoder(strings.NewReader(string(data))).DisallowUnknownFields().Decode(one); err != nil {
			return nil, fmt.Errorf("rules for keys: %w", err)
		}
		if r == nil {
			r = one
			continue
		}
		r.Rules = append(r.Rules, one.Rules...)
	}
	if err := r.Allowlist.compile(); err != nil {
		return nil, fmt.Errorf("rules for keys: %w", err)
	}
	var list []string
	for i, one := range r.Rules {
		if err := one.compile(); err != nil {
			return nil, fmt.Errorf("rules for keys: %s: %w", one.ID, err)
		}
		if len(one.Keywords) == 0 && one.regex != nil {
			r.always = append(r.always, i)
		}
		for _, k := range one.Keywords {
			n := slices.Index(list, strings.ToLower(k))
			if n < 0 {
				n = len(list)
				list, r.byWord = append(list, strings.ToLower(k)), append(r.byWord, nil)
			}
			r.byWord[n] = append(r.byWord[n], i)
		}
	}
	r.words = newWords(list)
	return r, nil
}

func (r *rule) compile() (err error) {
	if r.regex, err = compiled(r.Regex); err != nil {
		return err
	}
	r.long = strings.Contains(r.Regex, `\s\S`) || strings.Contains(r.Regex, `(?s`)
	if r.path, err = compiled(r.Path); err != nil {
		return err
	}
	if r.regex == nil && r.path == nil {
		return fmt.Errorf("neither a text nor a path is looked for")
	}
	for _, a := range r.Allowlists {
		if err := a.compile(); err != nil {
			return err
		}
	}
	return nil
}

func (a *allowlist) compile() (err error) {
	if !slices.Contains([]string{"", "or", "and"}, strings.ToLower(a.Condition)) {
		return fmt.Errorf("condition %q is unknown", a.Condition)
	}
	if !slices.Contains([]string{"", "match", "line"}, a.RegexTarget) {
		return fmt.Errorf("target %q is unknown", a.RegexTarget)
	}
	if len(a.Paths) > 0 {
		if a.paths, err = compiled("(?:" + strings.Join(a.Paths, ")|(?:") + ")"); err != nil {
			return err
		}
	}
	if len(a.Regexes) > 0 {
		a.regexes, err = compiled("(?:" + strings.Join(a.Regexes, ")|(?:") + ")")
	}
	return err
}

// compiled returns nil for no expression.
func compiled(pattern string) (*regexp.Regexp, error) {
	if pattern == "" {
		return nil, nil
	}
	return regexp.Compile(pattern)
}

// named returns the rule that a file breaks by its name alone, or nil.
func (r *rules) named(file string) *rule {
	for _, one := range r.Rules {
		if one.regex == nil && one.path.MatchString(file) {
			return one
		}
	}
	return nil
}

// find returns what the rules find in a text of a file, in the order of the rules.
// It takes what it looks at from budget, in bytes; whole says that it was enough.
func (r *rules) find(file, text string, budget *int) (hits []hit, whole bool) {
	near := make([][]window, len(r.Rules))
	r.words.in(text, func(word, at int) {
		for _, i := range r.byWord[word] {
			near[i] = widened(near[i], text, at, r.Rules[i].long)
		}
	})
	for _, i := range r.always {
		near[i] = []window{{0, len(text)}}
	}
	if !slices.ContainsFunc(near, func(w []window) bool { return len(w) > 0 }) {
		return nil, true
	}
	usual := r.Allowlist.paths != nil && r.Allowlist.paths.MatchString(file)
	for i, windows := range near {
		one := r.Rules[i]
		if len(windows) == 0 || one.regex == nil || one.path != nil && !one.path.MatchString(file) || one.excused(file) || usual && one.isGeneric() {
			continue
		}
		for _, w := range windows {
			if *budget -= w.to - w.from; *budget < 0 {
				return hits, false
			}
			for _, h := range r.within(one, file, text, w) {
				h.usual = usual
				hits = append(hits, h)
			}
		}
	}
	return hits, true
}

// within looks for what one rule finds in a part of a text.
func (r *rules) within(one *rule, file, text string, w window) (hits []hit) {
	for _, m := range one.regex.FindAllStringSubmatchIndex(text[w.from:w.to], -1) {
		match := strings.Trim(text[w.from+m[0]:w.from+m[1]], "\n")
		secret := one.secret(text[w.from:w.to], m, match)
		if one.Entropy > 0 && entropy(secret) <= one.Entropy {
			continue
		}
		line := lineAround(text, w.from+m[0], w.from+m[1])
		if r.Allowlist.allows(file, secret, match, line) || slices.ContainsFunc(one.Allowlists, func(a *allowlist) bool { return a.allows(file, secret, match, line) }) {
			continue
		}
		begin, end := w.from+m[0], w.from+m[1]
		if at := strings.Index(text[begin:end], secret); at >= 0 { // its line, not that of what stands before it
			begin, end = begin+at, begin+at+len(secret)
		}
		hits = append(hits, hit{rule: one, at: begin, end: end})
	}
	return hits
}

// secret returns the part of a match that is the key: the group that the rule
// names, else the first that is not empty, else all.
func (r *rule) secret(text string, m []int, match string) string {
	group := func(g int) string {
		if 2*g+1 >= len(m) || m[2*g] < 0 {
			return ""
		}
		return text[m[2*g]:m[2*g+1]]
	}
	if r.SecretGroup > 0 {
		return group(r.SecretGroup)
	}
	for g := 1; 2*g < len(m); g++ {
		if s := group(g); s != "" {
			return s
		}
	}
	return match
}

// excused says whether a rule does not hold for a file at all.
func (r *rule) excused(file string) bool {
	return slices.ContainsFunc(r.Allowlists, func(a *allowlist) bool {
		return !strings.EqualFold(a.Condition, "and") && a.paths != nil && a.paths.MatchString(file)
	})
}

// allows says whether what was found is no key.
func (a *allowlist) allows(file, secret, match, line string) bool {
	target := map[string]string{"": secret, "match": match, "line": line}[a.RegexTarget]
	lower := strings.ToLower(secret)
	var checks []bool
	if a.regexes != nil {
		checks = append(checks, a.regexes.MatchString(target))
	}
	if len(a.StopWords) > 0 {
		checks = append(checks, slices.ContainsFunc(a.StopWords, func(w string) bool { return strings.Contains(lower, strings.ToLower(w)) }))
	}
	if strings.EqualFold(a.Condition, "and") {
		if a.paths != nil {
			checks = append(checks, a.paths.MatchString(file))
		}
		return len(checks) > 0 && !slices.Contains(checks, false)
	}
	return slices.Contains(checks, true)
}

// entropy is Shannon's, in bits a character.
func entropy(s string) (bits float64) {
	counts := map[rune]int{}
	n := 0
	for _, c := range s {
		counts[c]++
		n++
	}
	list := make([]int, 0, len(counts))
	for _, c := range counts {
		list = append(list, c)
	}
	slices.Sort(list) // the sum of floats depends on its order
	for _, c := range list {
		p := float64(c) / float64(n)
		bits -= p * math.Log2(p)
	}
	return bits
}

// lineAround returns the lines that a match stands in.
func lineAround(text string, from, to int) string {
	from = strings.LastIndexByte(text[:from], '\n') + 1
	if end := strings.IndexByte(text[to:], '\n'); end >= 0 {
		return text[from : to+end]
	}
	return text[from:]
}
