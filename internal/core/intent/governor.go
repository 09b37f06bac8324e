package intent

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/loomrun/loom/internal/base/lazy"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// MaxQuestion is the longest question, in bytes.
const MaxQuestion = 300

// Rules of the governor, in the order in which they are tried.
const (
	RuleText      = "form/text"     // plain text on one line, of one script
	RuleSize      = "form/size"     // 1 to MaxQuestion bytes
	RuleMark      = "form/question" // ends with a question mark
	RuleSentence  = "form/sentence" // one sentence
	RuleList      = "list"
	RuleLanguage  = "language" // one that the rules know, where the person's is
	RuleReframing = "reframing"
	RuleSummary   = "summary"
	RuleProposal  = "proposal"
	RuleOption    = "option"
	RuleJudge     = "judge" // none of the governor's: a second judge said so
)

// reasons are what is said of a refusal. They quote nothing, because they reach
// people before the seal.
var reasons = map[string]string{
	RuleText:      "a question is plain text on one line, without markup and without letters of several scripts in one word",
	RuleSize:      "a question has 1 to 300 bytes",
	RuleMark:      "a question ends with a question mark",
	RuleSentence:  "a question is one sentence",
	RuleList:      "a question lists nothing",
	RuleLanguage:  "a question is asked in the language of the person, where the rules know that",
	RuleReframing: "a question leaves the goal as the person put it",
	RuleSummary:   "a question does not repeat what was said for assent",
	RuleProposal:  "a question brings in nothing that the person has not spoken of",
	RuleOption:    "a question names no options or examples that the person has not named",
	RuleJudge:     "a second judge would not have it asked",
}

// Verdict is what the governor says of a question.
type Verdict struct {
	// Rule is what it breaks; empty where it may be asked.
	Rule string
	// Language by whose rules it was judged, "en" or "de"; empty where it was
	// judged by its structure alone.
	Language string
}

// Reason is one sentence about a refusal, which quotes nothing.
func (v Verdict) Reason() string { return reasons[v.Rule] }

// Governor judges what a model would ask in primacy. It knows what the person
// has said; the zero value knows nothing. It refuses what it is not sure of:
// after three refusals the pattern's own questions are asked.
type Governor struct {
	said      string // all of it, in lower case
	words     vocabulary
	languages map[string]bool
}

// NewGovernor returns a governor that knows what the person has said, and the
// words of the pattern that they have chosen.
func NewGovernor(said []string, pattern *loomv1.Pattern) *Governor {
	g := &Governor{words: vocabulary{}, languages: map[string]bool{}}
	for _, text := range said {
		g.said += "\n" + strings.ToLower(text)
		g.words.add(text)
		if lang := languageOf(tokens(text)); lang != "" {
			g.languages[lang] = true
		}
	}
	g.words.add(strings.ReplaceAll(pattern.GetName(), "-", " "))
	g.words.add(pattern.GetPurpose())
	for _, q := range pattern.GetQuestions() {
		g.words.add(q.Text)
	}
	return g
}

// Judge says whether a question may be asked.
func (g *Governor) Judge(question string) Verdict {
	text := strings.TrimSpace(question)
	if rule := form(text); rule != "" {
		return Verdict{Rule: rule}
	}
	words := tokens(text)
	lang := languageOf(words)
	if lang == "" {
		if len(g.languages) > 0 {
			return Verdict{Rule: RuleLanguage}
		}
		return Verdict{Rule: g.foreignOptions(text)}
	}
	v := Verdict{Language: lang}
	line := " " + strings.Join(lower(words), " ") + " "
	know := lexicons[lang]
	switch {
	case know.reframing.MatchString(line):
		v.Rule = RuleReframing
	case know.summary.MatchString(line):
		v.Rule = RuleSummary
	case know.proposal.MatchString(line):
		v.Rule = RuleProposal
	case g.brings(know, text, words, line):
		v.Rule = RuleOption
	case g.closed(know, words), g.presumes(know, words):
		v.Rule = RuleProposal
	case !know.opens(words) && know.states(strings.ToLower(words[0])):
		v.Rule = RuleSummary // a statement with a question mark
	}
	return v
}

var (
	listMark = lazy.Compile(`(^|[\s:,(])(\d{1,2}\)|[a-zA-Z]\)|\([a-zA-Z0-9]{1,2}\)|[-*•–—·▪‣]\s)`)
	// One number with a point is a date or an ordinal, several are a list.
	ordinal = lazy.Compile(`\b\d{1,2}\.\s`)
	markup  = lazy.Compile("https?://|www\\.|[`<>\\[\\]{}|#*_=~^\\\\]")
	// short are words with a point that ends no sentence.
	short = lazy.Compile(`(?i)\b(e\.\s?g|i\.\s?e|z\.\s?b|u\.\s?a|d\.\s?h|bzw|ca|nr|dr|mr|mrs|ms|prof|vs|approx|etc|usw|inkl|max|min|str|st|no)\.`)
	inner = lazy.Compile(`\d[.,]\d|\w\.\w`)
)

// form returns the rule of form that a text breaks, or "".
func form(text string) string {
	switch {
	case len(text) == 0 || len(text) > MaxQuestion:
		return RuleSize
	case !utf8.ValidString(text):
		return RuleText
	case strings.ContainsAny(text, "\n\r\v\f\u0085\u2028\u2029"):
		return RuleList
	case strings.ContainsFunc(text, unprintable) || markup.MatchString(text) || mixed(text):
		return RuleText
	}
	if last, _ := utf8.DecodeLastRuneInString(text); !strings.ContainsRune("?？؟", last) {
		return RuleMark
	}
	if listMark.MatchString(text) || len(ordinal.FindAllString(text, 2)) > 1 {
		return RuleList
	}
	body := inner.ReplaceAllString(short.ReplaceAllString(ordinal.ReplaceAllString(text, "x "), "x"), "x")
	body = strings.TrimRightFunc(body, func(r rune) bool { return strings.ContainsRune("?？؟ ", r) })
	if strings.ContainsAny(body, ".!?;…？؟。！") {
		return RuleSentence
	}
	return ""
}

// unprintable are control and format characters, and letters in a form that
// only looks like others.
func unprintable(r rune) bool {
	return r != ' ' && r != '\u00a0' && r != '\u202f' && (!unicode.IsPrint(r) || unicode.In(r, unicode.Cf, unicode.Co)) || r >= 0xff00 && r <= 0xffef && r != '？'
}

// mixed says whether a word has letters of several scripts, which look like one
// word and are another.
func mixed(text string) bool {
	for _, w := range tokens(text) {
		latin, other := false, false
		for _, r := range w {
			if unicode.IsLetter(r) {
				latin = latin || unicode.Is(unicode.Latin, r)
				other = other || unicode.In(r, unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Cherokee)
			}
		}
		if latin && other {
			return true
		}
	}
	return false
}

var quoted = lazy.Compile(`["“”„«»‚‘]\s*([^"“”„«»‚‘]+?)\s*["“”„«»‘]`)

// quotes says whether a text quotes what the person has not said.
func (g *Governor) quotes(text string) bool {
	for _, q := range quoted.FindAllStringSubmatch(text, -1) {
		if !strings.Contains(g.said, strings.ToLower(q[1])) {
			return true
		}
	}
	return false
}

// foreignOptions judges a question in a language whose words are not known.
func (g *Governor) foreignOptions(text string) string {
	_, after, colon := strings.Cut(text, ":")
	if g.quotes(text) || colon && !g.knows(tokens(after)) || strings.Count(text, ",") > 1 || slashed.MatchString(text) {
		return RuleOption
	}
	return ""
}

var slashed = lazy.Compile(`\pL/\pL`)

// brings says whether a question names options or examples that the person has
// not named: after an "or", a colon or "such as", in quotation marks, or as a
// name.
func (g *Governor) brings(know *lexicon, text string, words []string, line string) bool {
	if g.quotes(text) || know.example.MatchString(line) {
		return true
	}
	if _, after, colon := strings.Cut(text, ":"); colon && !g.knownIn(know, tokens(after)) {
		return true
	}
	for _, pair := range slashed.FindAllStringIndex(text, -1) {
		if !g.knownIn(know, tokens(text[max(0, pair[0]-12):min(len(text), pair[1]+12)])) {
			return true
		}
	}
	for i, w := range words {
		if strings.ToLower(w) == know.or && !know.openOr.MatchString(" "+strings.Join(lower(words[i:]), " ")+" ") &&
			(!g.known(know, nearest(know, words[:i], true)) || !g.known(know, nearest(know, words[i+1:], false))) {
			return true
		}
		if know.namesStandOut && i > 0 && unicode.IsUpper([]rune(w)[0]) && !strings.EqualFold(w, "i") && !g.known(know, w) {
			return true
		}
	}
	return false
}

// nearest returns the content word that is nearest to the end, or to the
// beginning, of words; "" where there is none.
func nearest(know *lexicon, words []string, end bool) string {
	for i := range words {
		w := words[i]
		if end {
			w = words[len(words)-1-i]
		}
		if !know.stop[strings.ToLower(w)] {
			return w
		}
	}
	return ""
}

// closed says whether a question that is answered by yes or no brings in what
// the person has not spoken of: then it is a proposal in the form of a question.
func (g *Governor) closed(know *lexicon, words []string) bool {
	return !know.opens(words) && !g.knownIn(know, words)
}

// presumes says whether a question takes for granted a thing that the person has
// not spoken of.
func (g *Governor) presumes(know *lexicon, words []string) bool {
	for i, w := range words {
		if !know.definite[strings.ToLower(w)] {
			continue
		}
		if thing := know.thing(words[i+1:]); thing != "" && !g.known(know, thing) {
			return true
		}
	}
	return false
}

func (g *Governor) knownIn(know *lexicon, words []string) bool {
	for _, w := range words {
		if !g.known(know, w) {
			return false
		}
	}
	return true
}

// known says whether a word is one of asking, or one that the person has used.
func (g *Governor) known(know *lexicon, word string) bool {
	w := strings.ToLower(word)
	return w == "" || know.stop[w] || know.neutral.has(w) || g.words.has(w)
}

func (g *Governor) knows(words []string) bool {
	for _, w := range words {
		if !g.words.has(strings.ToLower(w)) {
			return false
		}
	}
	return true
}
