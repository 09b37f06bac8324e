package verify

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"

	"github.com/loomrun/loom/internal/base/lazy"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// textKinds are the types of rules about words.
var textKinds = []Kind{
	{
		Name: "word_count", Type: loomv1.RuleType_RULE_TYPE_WORD_COUNT, Output: true, look: (*look).words, sound: boundsSound,
		About: "the number of words, without code and tags, is within min and max",
		Params: []Param{
			{"min", "count", "the least", false},
			{"max", "count", "the most", false},
		},
		Example: `{name: length, type: word_count, with: {min: 300, max: 1500}, target: memo.md}`,
	},
	{
		Name: "sections", Type: loomv1.RuleType_RULE_TYPE_SECTIONS, Files: outlined, look: (*look).sections,
		About: "the headings are there, whatever their level, number and capitals, in this order",
		Params: []Param{
			{"headings", "texts", "the headings", true},
			{"ordered", "truth", "`false`: in any order; true", false},
			{"words", "count", "how many words stand at least under each; 0", false},
		},
		Example: `{name: parts, type: sections, with: {headings: [Summary, Risks], words: 20}, target: memo.md}`,
	},
	{
		Name: "dates", Type: loomv1.RuleType_RULE_TYPE_DATES, Output: true, look: (*look).dates, sound: datesSound,
		About: "each date (2026-01-31, 31 January 2026, January 31, 2026) is recent, or within a range",
		Params: []Param{
			{"days", "count", "how many days before the work began a date may be", false},
			{"from", "day", "the first day that may be", false},
			{"to", "day", "the last", false},
			{"behind", "texts", "words: only dates directly behind one of them count, and there is one", false},
		},
		Example: `{name: fresh, type: dates, with: {days: 90, behind: [as of]}, target: prices.md}`,
	},
	{
		Name: "spelling", Type: loomv1.RuleType_RULE_TYPE_SPELLING, Output: true, look: (*look).spelling,
		About: "a name is written as it is: with its capitals, blanks and hyphens, and in none of its wrong ways",
		Params: []Param{
			{"name", "text", "the name", true},
			{"wrong", "texts", "wrong ways, whatever their capitals", false},
		},
		Example: `{name: our-name, type: spelling, with: {name: Harbour Tools, wrong: [Harbor Tools]}}`,
	},
	{
		Name: "placeholder", Type: loomv1.RuleType_RULE_TYPE_PLACEHOLDER, Output: true, look: (*look).placeholder,
		About:   "nothing is left to fill in: TBD, lorem ipsum, `[insert name]`, `[...]`, `{{name}}`, an error of a formula",
		Params:  []Param{{"allow", "texts", "what may stand, as it is written", false}},
		Example: `{name: complete, type: placeholder, severity: error}`,
	},
}

func boundsSound(r *loomv1.Rule) []RuleFault {
	with := toldOf(r)
	switch {
	case !with.has("min") && !with.has("max"):
		return []RuleFault{wrongAt(ruleError("rule %q has neither min nor max", r.Name), "with")}
	case with.has("max") && with.number("min", 0) > with.number("max", 0):
		return []RuleFault{wrongAt(ruleError("min is more than max").Got(number64(with.number("min", 0))), "with", "min")}
	}
	return nil
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// target of a link, which is no word of the text.
var linkTarget = lazy.Compile(`\]\([^)\n]*\)`)

// countWords counts what has a letter or digit between blanks.
func countWords(text string) (n int) {
	for w := range strings.FieldsSeq(linkTarget.ReplaceAllString(text, "]")) {
		if strings.ContainsFunc(w, isWordRune) {
			n++
		}
	}
	return n
}

func (l *look) words(c *content) {
	text := c.whole
	if c.kind == "md" || c.kind == "html" {
		text = c.prose()
	}
	n := countWords(text)
	if l.with.has("min") && n < int(l.with.number("min", 0)) || l.with.has("max") && n > int(l.with.number("max", 0)) {
		l.wrong(c, 0, "found %d words, wanted a number %s", n, l.bounds())
	}
}

// heading is a heading of a file, and what stands under it.
type heading struct {
	text        string
	level, line int
	words       int // up to the next heading of its level
}

var (
	atxHeading    = lazy.Compile(`^ {0,3}(#{1,6})(?:[ \t]+|$)(.*?)(?:[ \t]+#+)?[ \t]*$`)
	setextHeading = lazy.Compile(`^ {0,3}(=+|-+)[ \t]*$`)
	sectionNumber = lazy.Compile(`^(?:\d+(?:\.\d+)*[.):]?|[ivxIVX]+[.)]|[A-Z][.)])\s+`)
)

// outline are the headings of a file.
func (c *content) outline() (list []heading) {
	under := func(text string) { // counts for all headings that are open
		n := countWords(text)
		level := 7
		for i := len(list) - 1; i >= 0; i-- {
			if list[i].level < level {
				level = list[i].level
				list[i].words += n
			}
		}
	}
	switch c.kind {
	case "docx", "pptx":
		for _, b := range c.blocks {
			if b.Kind == "heading" {
				list = append(list, heading{text: b.Text, level: max(b.Level, 1)})
				continue
			}
			under(b.Text)
			for _, r := range b.Rows {
				under(strings.Join(r, " "))
			}
		}
	case "html":
		open := false
		eachToken(c.prosePage(), func(t html.Token, line int) {
			isHeading := len(t.Data) == 2 && t.Data[0] == 'h' && t.Data[1] >= '1' && t.Data[1] <= '6'
			switch {
			case t.Type == html.StartTagToken && isHeading:
				list = append(list, heading{level: int(t.Data[1] - '0'), line: line})
				open = true
			case t.Type == html.EndTagToken && isHeading:
				open = false
			case t.Type == html.TextToken && open:
				list[len(list)-1].text += t.Data
			case t.Type == html.TextToken:
				under(t.Data)
			}
		})
	default:
		c.markdownOutline(func(h heading) { list = append(list, h) }, under)
	}
	return list
}

var hiddenParts = lazy.Compile(`(?is)<(?:script|style)\b.*?</(?:script|style)\s*>`)

// prosePage is a page without scripts and styles; lines keep their numbers.
func (c *content) prosePage() string {
	return hiddenParts.ReplaceAllStringFunc(c.text, func(s string) string { return strings.Repeat("\n", strings.Count(s, "\n")) })
}

func (c *content) markdownOutline(head func(heading), under func(string)) {
	lines := strings.Split(c.prose(), "\n")
	for i := 0; i < len(lines); i++ {
		line := strings.TrimRight(lines[i], "\r")
		if m := atxHeading.FindStringSubmatch(line); m != nil {
			head(heading{text: m[2], level: len(m[1]), line: i + 1})
			continue
		}
		if i+1 < len(lines) && strings.TrimSpace(line) != "" && len(pipeCells(line)) == 0 {
			if m := setextHeading.FindStringSubmatch(strings.TrimRight(lines[i+1], "\r")); m != nil {
				level := 2
				if m[1][0] == '=' {
					level = 1
				}
				head(heading{text: strings.TrimSpace(line), level: level, line: i + 1})
				i++
				continue
			}
		}
		under(line)
	}
}

// headingName is a heading as it is compared: without its number, marks and capitals.
func headingName(s string) string {
	s = sectionNumber.ReplaceAllString(strings.Join(strings.Fields(unmarked.Replace(marks.Replace(s))), " "), "")
	return strings.ToLower(strings.Trim(s, " .:#`_"))
}

// isHeading says whether a heading is the wanted one, also with more behind a dash or colon.
func isHeading(text, wanted string) bool {
	text, wanted = headingName(text), headingName(wanted)
	rest, ok := strings.CutPrefix(text, wanted)
	return ok && (rest == "" || strings.HasPrefix(rest, ":") || strings.HasPrefix(rest, " - ") || strings.HasPrefix(rest, " ("))
}

func (l *look) sections(c *content) {
	list := c.outline()
	after, last := 0, ""
	for _, wanted := range l.with.texts("headings") {
		i := slices.IndexFunc(list[after:], func(h heading) bool { return isHeading(h.text, wanted) })
		if i < 0 {
			l.noSection(c, list, wanted, last)
			continue
		}
		h := list[after+i]
		if least := int(l.with.number("words", 0)); h.words < least {
			l.wrong(c, h.line, "found %d words under %q, wanted at least %d", h.words, wanted, least)
		}
		if l.with.truth("ordered", true) {
			after, last = after+i+1, wanted
		}
	}
}

// noSection says what there is in place of a heading, or that it stands too early.
func (l *look) noSection(c *content, list []heading, wanted, last string) {
	if i := slices.IndexFunc(list, func(h heading) bool { return isHeading(h.text, wanted) }); i >= 0 {
		l.wrong(c, list[i].line, "found the heading %q before %q, wanted it behind", wanted, last)
		return
	}
	var names []string
	for _, h := range list[:min(len(list), 12)] {
		names = append(names, h.text)
	}
	there := "no headings"
	if len(names) > 0 {
		there = "the headings " + quoted(names)
	}
	l.wrong(c, 0, "found %s, wanted %q", there, wanted)
}

func datesSound(r *loomv1.Rule) []RuleFault {
	with := toldOf(r)
	from, low := with.day("from")
	to, high := with.day("to")
	switch {
	case !with.has("days") && !low && !high:
		return []RuleFault{wrongAt(ruleError("a rule of type dates has neither days, from nor to"), "with")}
	case low && high && to.Before(from):
		return []RuleFault{wrongAt(ruleError("from is behind to").Got(from.Format(day)), "with", "from")}
	}
	return nil
}

var (
	months    = `(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?`
	anyDate   = lazy.Compile(`(?i)\b(\d{4})-(\d\d)-(\d\d)(?:T|\b)|\b(\d{1,2})(?:st|nd|rd|th)?\s(` + months + `)\s(\d{4})\b|\b(` + months + `)\s(\d{1,2})(?:st|nd|rd|th)?,?\s(\d{4})\b`)
	monthName = []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}
)

// dated is a date of a text.
type dated struct {
	at       time.Time
	text     string
	from     int // where it stands in its line
	line     int
	notThere bool // as 31 February
}

// group is what a group of an expression matched of a text, by the places that it gives.
func group(text string, places []int, i int) string {
	if places[2*i] < 0 {
		return ""
	}
	return text[places[2*i]:places[2*i+1]]
}

func datesOf(text string) (list []dated) {
	n := 0
	for line := range strings.Lines(text) {
		n++
		for _, m := range anyDate.FindAllStringSubmatchIndex(line, -1) {
			if strings.Contains(line[wordAt(line, m[0]):m[0]], "://") {
				continue // of an address
			}
			part := func(i int) string { return group(line, m, i) }
			spelt := part(1) + "-" + part(2) + "-" + part(3)
			if part(1) == "" {
				month := strings.ToLower(part(5) + part(7))
				spelt = fmt.Sprintf("%s-%02d-%02s", part(6)+part(9), 1+slices.Index(monthName, month[:3]), part(4)+part(8))
			}
			at, err := time.Parse(day, spelt)
			list = append(list, dated{at: at, text: strings.TrimSuffix(part(0), "T"), from: m[0], line: n, notThere: err != nil})
		}
	}
	return list
}

func (l *look) dates(c *content) {
	from, low := l.with.day("from")
	to, high := l.with.day("to")
	if l.with.has("days") {
		if l.run.Began.IsZero() {
			l.unseen(c, "when the work began is not known")
			return
		}
		oldest := l.run.Began.UTC().Truncate(24*time.Hour).AddDate(0, 0, -int(l.with.number("days", 0)))
		if !low || oldest.After(from) {
			from, low = oldest, true
		}
		if !high { // a day later, since it is tomorrow elsewhere
			to, high = l.run.Began.UTC().Truncate(24*time.Hour).AddDate(0, 0, 1), true
		}
	}
	text := c.prose()
	lines := strings.Split(text, "\n")
	behind, some := l.with.texts("behind"), false
	for _, d := range datesOf(text) {
		if len(behind) > 0 && !l.stands(behind, lines[d.line-1][:d.from]) {
			continue
		}
		some = true
		switch {
		case d.notThere:
			l.wrong(c, d.line, "found %q, wanted a day that there is", d.text)
		case low && d.at.Before(from):
			l.wrong(c, d.line, "found %q, wanted %s or later", d.text, from.Format(day))
		case high && d.at.After(to):
			l.wrong(c, d.line, "found %q, wanted %s or earlier", d.text, to.Format(day))
		}
	}
	if len(behind) > 0 && !some {
		l.wrong(c, 0, "found no date behind %s, wanted one", quoted(behind))
	}
}

// stands says whether a line ends in one of the words, and what joins them to a date.
func (l *look) stands(words []string, line string) bool {
	line = strings.TrimRight(strings.ToLower(line), " \t:,(|*")
	return slices.ContainsFunc(words, func(w string) bool {
		return strings.HasSuffix(line, strings.TrimRight(strings.ToLower(w), " :"))
	})
}

// nameParts finds a name in any capitals, with or without what joins its words.
func nameParts(name string) *regexp.Regexp {
	var words []string
	for w := range strings.FieldsFuncSeq(name, func(r rune) bool { return r == ' ' || r == '-' }) {
		words = append(words, regexp.QuoteMeta(w))
	}
	return regexp.MustCompile(`(?i)` + strings.Join(words, `[ \t-]*`))
}

func (l *look) spelling(c *content) {
	name := strings.Join(strings.Fields(l.with.text("name", "")), " ")
	patterns := []*regexp.Regexp{nameParts(name)}
	for _, w := range l.with.texts("wrong") {
		patterns = append(patterns, nameParts(w))
	}
	n := 0
	for line := range strings.Lines(c.prose()) {
		n++
		var taken [][]int
		for _, p := range patterns {
			for _, at := range p.FindAllStringIndex(line, -1) {
				found := strings.Join(strings.Fields(line[at[0]:at[1]]), " ")
				overlaps := slices.ContainsFunc(taken, func(t []int) bool { return at[0] < t[1] && t[0] < at[1] })
				if overlaps || !alone(line, at[0], at[1]) || inAddress(line, at[0]) {
					continue
				}
				taken = append(taken, at)
				if found != name {
					l.wrong(c, n, "found %q, wanted %q", found, name)
				}
			}
		}
	}
}

// alone says whether a part of a line is no part of a longer word.
func alone(line string, from, to int) bool {
	before, _ := utf8.DecodeLastRuneInString(line[:from])
	after, _ := utf8.DecodeRuneInString(line[to:])
	return (from == 0 || !isWordRune(before)) && (to == len(line) || !isWordRune(after))
}

// wordAt is where the word begins that a place of a line is in.
func wordAt(line string, at int) int { return strings.LastIndexAny(line[:at], " \t(<[\"'") + 1 }

// inAddress says whether a place is inside of an address, a path or a mail address, which
// have spellings of their own.
func inAddress(line string, at int) bool {
	from, to := wordAt(line, at), len(line)
	if i := strings.IndexAny(line[at:], " \t)>]\"'\n"); i >= 0 {
		to = at + i
	}
	word := strings.TrimRight(line[from:to], ".,;:!?")
	return strings.ContainsAny(word, "/@\\") || strings.Contains(word, ".")
}

var leftOpen = lazy.Compile(`\b(?:TB[DCA]|TO[-_]?DO|FIX[M]E|X{3,})\b|(?i:\blorem ipsum\b)|\[(?:\.{2,}|…|\?+|_+|[xX]{2,}|(?i:(?:insert|placeholder|your|fill in|to be|tbd|tbc|to-?do|add|name of|client name|company name|project name|company|client|name|date|amount|source needed|citation needed|needs? (?:a )?(?:source|citation))\b)[^\]\n]{0,60})\](?:[^(\[:]|$)|\{\{[^{}\n]{1,60}\}\}|<(?i:insert|your|placeholder)\b[^<>\n]{0,60}>|#(?:REF!|DIV/0!|N/A|NAME\?|VALUE!|NUM!|NULL!)|_{4,}|\?{3,}`)

func (l *look) placeholder(c *content) {
	allowed := l.with.texts("allow")
	text := c.text // of a page also its tags, in which something may be left
	if c.kind == "md" {
		text = withoutCode(text)
	}
	n := 0
	for line := range strings.Lines(text) {
		n++
		for _, found := range leftOpen.FindAllString(strings.TrimRight(line, "\r\n"), -1) {
			if at := strings.LastIndex(found, "]"); strings.HasPrefix(found, "[") && at > 0 {
				found = found[:at+1] // without what follows it
			}
			if !slices.Contains(allowed, found) {
				l.wrong(c, n, "found %q, wanted what belongs there", short(found))
			}
		}
	}
}
