package document

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/loomrun/loom/internal/base/lazy"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// texts are all that people read in sentences.
func (v *validation) texts() (list []text) {
	for _, p := range v.parts {
		list = append(list, p.texts...)
	}
	return append(list, v.footnotes()...)
}

// headings are the titles of the parts.
func (v *validation) headings() (list []text) {
	for _, p := range v.parts {
		list = append(list, text{p.headingPath, p.heading})
	}
	return list
}

// flesch scores the running text: 206.835 - 1.015 words a sentence - 84.6 syllables a
// word.
func (v *validation) flesch() {
	words, count, beats := 0, 0, 0
	for _, p := range v.parts {
		for _, s := range sentences(plain(p.body)) {
			count++
			for _, w := range wordsOf(s) {
				words++
				beats += syllables(w)
			}
		}
	}
	r := v.report.Checks.Readability
	if words < int(bound(v.rule.Min, 40)) {
		r.NotJudged = fmt.Sprintf("%d words of running text are too few to judge", words)
		return
	}
	length := math.Round(float64(words)/float64(count)*10) / 10
	score := math.Round((206.835-1.015*float64(words)/float64(count)-84.6*float64(beats)/float64(words))*10) / 10
	target := v.target()
	ok := score >= target
	r.Score, r.Target, r.Ok, r.SentenceLength = &score, &target, &ok, &length
	if !ok {
		v.found("", "", "the text is hard to read: Flesch score %.1f, and %.0f is the target", score, target)
	}
}

// target is the score to reach: the document's, the outline's, or that of the reading
// level.
func (v *validation) target() float64 {
	m := metadataOf(v.spec)
	if m != nil && m.ReadabilityTarget != nil {
		return *m.ReadabilityTarget
	}
	level := m.GetReadingLevel()
	if s := v.Outline.GetStyleProfile(); s != nil {
		if s.ReadabilityTarget != nil {
			return *s.ReadabilityTarget
		}
		if level == "" {
			level = s.ReadingLevel
		}
	}
	if level == "" {
		level = "professional"
	}
	if t, ok := v.rule.Targets[level]; ok {
		return t
	}
	return 35
}

func (v *validation) sentenceLength() {
	most := bound(v.rule.Max, 25)
	for _, p := range v.parts {
		list := sentences(plain(p.body))
		words := 0
		for _, s := range list {
			words += len(wordsOf(s))
		}
		if len(list) > 1 && float64(words)/float64(len(list)) > most {
			v.found(p.path+".body", "", "the sentences have %.0f words on average; at most %.0f are easy to read", float64(words)/float64(len(list)), most)
		}
	}
}

func (v *validation) longSentence() {
	most := int(bound(v.rule.Max, 45))
	for _, t := range v.texts() {
		for _, s := range sentences(plain(t.text)) {
			if n := len(wordsOf(s)); n > most {
				v.found(t.path, "", "a sentence has %d words: %q", n, cut(s, 60))
			}
		}
	}
}

var passiveVoice = lazy.Compile(`(?i)\b(?:is|are|was|were|be|been|being)\s+(?:\w+ly\s+)?(?:\w{2,}ed|done|made|given|taken|shown|known|seen|found|held|kept|built|sent|paid|set|written|driven|chosen|broken|drawn|grown|lost|met|put|read|run|sold|told|won)\b`)

func (v *validation) passive() {
	passive, all := 0, 0
	for _, p := range v.parts {
		for _, s := range sentences(plain(p.body)) {
			if all++; passiveVoice.MatchString(s) {
				passive++
			}
		}
	}
	if most := bound(v.rule.Max, 0.3); all >= int(bound(v.rule.Min, 8)) && float64(passive) > most*float64(all) {
		v.found("", "", "%d of %d sentences are passive; more than %.0f in 100", passive, all, most*100)
	}
}

// occurrences finds phrases as whole words, capitals aside, the longest first.
func occurrences(phrases []string) *regexp.Regexp {
	list := slices.Clone(phrases)
	slices.SortFunc(list, func(a, b string) int {
		if d := len(b) - len(a); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	for i, p := range list {
		quoted := strings.ReplaceAll(regexp.QuoteMeta(p), " ", `\s+`)
		if begin := rune(p[0]); unicode.IsLetter(begin) {
			quoted = `\b` + quoted
		}
		if end := rune(p[len(p)-1]); unicode.IsLetter(end) {
			quoted += `\b`
		}
		list[i] = quoted
	}
	return regexp.MustCompile(`(?i)` + strings.Join(list, "|"))
}

// jargon: each word of the list is told when there are more of them than max allows.
func (v *validation) jargon() {
	if len(v.rule.Phrases) == 0 {
		return
	}
	find := occurrences(slices.Collect(maps.Keys(v.rule.Phrases)))
	type hit struct {
		text
		found string
	}
	var hits []hit
	words := 0
	for _, t := range v.texts() {
		words += len(wordsOf(t.text))
		for _, m := range find.FindAllString(t.text, -1) {
			hits = append(hits, hit{t, m})
		}
	}
	if len(hits) == 0 || float64(len(hits)) <= bound(v.rule.Max, 0.01)*float64(words) {
		return
	}
	for _, h := range hits {
		v.worded(h.text, h.found)
	}
}

// phrase: what must not be written.
func (v *validation) phrase() {
	if len(v.rule.Phrases) == 0 {
		return
	}
	find := occurrences(slices.Collect(maps.Keys(v.rule.Phrases)))
	for _, t := range slices.Concat(v.headings(), v.texts()) {
		for _, m := range find.FindAllString(t.text, -1) {
			v.worded(t, m)
		}
	}
}

// worded tells of a phrase, and rewrites the text where another one is known.
func (v *validation) worded(t text, found string) {
	key := strings.ToLower(strings.Join(strings.Fields(found), " "))
	instead := ""
	for phrase, other := range v.rule.Phrases {
		if strings.EqualFold(phrase, key) {
			instead = other
		}
	}
	if instead == "" {
		v.found(t.path, "", "%q should not be written", found)
		return
	}
	begin := []rune(found)[0]
	id := v.rewrite(t.path, t.text, func(s string) string {
		if unicode.IsUpper(begin) {
			return strings.Replace(s, found, capital(instead), 1)
		}
		return strings.Replace(s, found, instead, 1)
	})
	v.found(t.path, id, "%q should be %q", found, instead)
}

// unwritten: what is marked in brackets as to be written, in whatever language.
func (v *validation) unwritten() {
	for _, t := range slices.Concat(v.headings(), v.texts()) {
		for _, m := range marked.FindAllStringSubmatch(t.text, -1) {
			if slices.Contains(v.rule.Words, m[1]) {
				v.found(t.path, "", "%s: this is still to be written", m[0])
			}
		}
	}
}

var marked = lazy.Compile(`\[([A-Z]+)[^\]]*\]`)

func (v *validation) duplicateHeading() {
	headings := v.headings()
	for _, t := range v.twins(headings) {
		*v.report.Checks.Consistency.DuplicateHeadings++
		h := headings[t[1]]
		v.found(h.path, "", "the heading %q is there twice, first at %s", h.text, headings[t[0]].path)
	}
}

// twins are the headings, one a part, that say what one before them says, with that one: the
// same words in another chapter are another heading.
func (v *validation) twins(headings []text) (list [][2]int) {
	first, chapter := map[string]int{}, make([]string, 8)
	for i, p := range v.parts {
		level := min(p.level, 6)
		chapter[level] = strings.ToLower(strings.Join(strings.Fields(headings[i].text), " "))
		clear(chapter[level+1:])
		key := strings.Join(chapter[1:level+1], "\x00")
		if at, twice := first[key]; twice {
			list = append(list, [2]int{at, i})
			continue
		}
		first[key] = i
	}
	return list
}

var suffix = lazy.Compile(`(?i),?\s+(corp|corporation|inc|incorporated|ltd|limited|llc|gmbh|ag|plc|co|company)\.?$`)

// entitySpelling: a name has one spelling: those of the document's list, and words
// with capitals inside.
func (v *validation) entitySpelling() {
	tell := func(t text, wrong, right string) {
		id := v.rewrite(t.path, t.text, func(s string) string { return strings.ReplaceAll(s, wrong, right) })
		line := fmt.Sprintf("%q should be %q", wrong, right)
		v.report.Checks.Consistency.EntityMismatches = append(v.report.Checks.Consistency.EntityMismatches, t.path+": "+line)
		v.found(t.path, id, "%s", line)
	}
	all := slices.Concat(v.headings(), v.texts())
	for _, name := range metadataOf(v.spec).GetEntities() {
		find := spellings(name)
		if find == nil {
			continue
		}
		for _, t := range all {
			told := map[string]bool{}
			for _, m := range find.FindAllString(t.text, -1) {
				if m = strings.TrimSpace(m); m != name && !told[m] && !(strings.HasPrefix(name, m) && strings.Contains(t.text, name)) {
					told[m] = true
					tell(t, m, name)
				}
			}
		}
	}
	v.capitals(all, tell)
}

// spellings finds a name with other capitals, blanks or hyphens, or another legal form.
func spellings(name string) *regexp.Regexp {
	base := suffix.ReplaceAllString(name, "")
	var letters []string
	for _, r := range base {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			letters = append(letters, regexp.QuoteMeta(string(r)))
		}
	}
	if len(letters) < 3 {
		return nil
	}
	form := `(?i)\b` + strings.Join(letters, `[ -]?`) + `\b`
	if base != name {
		form += `(?:,?\s+(?:corporation|corp\.|corp\b|incorporated|inc\.|inc\b|limited|ltd\.|ltd\b|llc\b|gmbh\b|ag\b|plc\b|company\b))`
	}
	return regexp.MustCompile(form)
}

// capitals finds words that have capitals inside in one place and others in another:
// GitHub and Github. The more frequent spelling is right; of equal ones that with the
// capitals.
func (v *validation) capitals(all []text, tell func(t text, wrong, right string)) {
	count := map[string]map[string]int{}
	for _, t := range all {
		for _, w := range wordsOf(plain(t.text)) {
			if key := strings.ToLower(w); len(w) >= 4 && unicode.IsUpper([]rune(w)[0]) && w != strings.ToUpper(w) {
				if count[key] == nil {
					count[key] = map[string]int{}
				}
				count[key][w]++
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(count)) {
		spelt := slices.Sorted(maps.Keys(count[key]))
		if len(spelt) < 2 || !slices.ContainsFunc(spelt, ownCapitals) {
			continue
		}
		right := slices.MaxFunc(spelt, func(a, b string) int {
			if d := count[key][a] - count[key][b]; d != 0 {
				return d
			}
			return map[bool]int{true: 1, false: -1}[ownCapitals(a)]
		})
		for _, t := range all {
			for _, wrong := range spelt {
				if wrong != right && slices.Contains(wordsOf(t.text), wrong) {
					tell(t, wrong, right)
				}
			}
		}
	}
}

// headingForm: headings of one level are all Doing or all names of things, as soon as
// min of each are there.
func (v *validation) headingForm() {
	byLevel := map[int][2][]part{}
	for _, p := range v.parts {
		first, _, more := strings.Cut(p.heading, " ")
		list := byLevel[p.level]
		k := 0
		if more && len(first) > 5 && strings.HasSuffix(first, "ing") {
			k = 1
		}
		list[k] = append(list[k], p)
		byLevel[p.level] = list
	}
	for _, level := range slices.Sorted(maps.Keys(byLevel)) {
		list := byLevel[level]
		least := int(bound(v.rule.Min, 2))
		if len(list[0]) < least || len(list[1]) < least {
			continue
		}
		odd := list[1]
		if len(list[0]) < len(list[1]) {
			odd = list[0]
		}
		for _, p := range odd {
			v.found(p.headingPath, "", "the heading %q has another form than most of its level", p.heading)
		}
	}
}

func (v *validation) fonts() {
	s := stylesOf(v.spec)
	for path, font := range map[string]string{"styles.bodyFont": s.GetBodyFont(), "styles.headingFont": s.GetHeadingFont()} {
		if font != "" && !slices.ContainsFunc(v.rule.Words, func(w string) bool { return strings.EqualFold(w, font) }) {
			v.found(path, "", "the font %q is not one of the style's", font)
		}
	}
	slices.SortStableFunc(v.report.Findings, func(a, b *loomv1.ReviewFinding) int {
		if a.Rule == v.rule.ID && b.Rule == v.rule.ID {
			return strings.Compare(a.Path, b.Path)
		}
		return 0
	})
}

func (v *validation) contrast() {
	s := stylesOf(v.spec)
	for _, c := range []text{{"styles.primaryColor", s.GetPrimaryColor()}, {"styles.accentColor", s.GetAccentColor()}} {
		if c.text == "" {
			continue
		}
		if ratio := contrastWithWhite(c.text); ratio < bound(v.rule.Min, 4.5) {
			v.found(c.path, "", "the colour %s has a contrast of %.1f with white; %.1f can be read", c.text, ratio, bound(v.rule.Min, 4.5))
		}
	}
}

// contrastWithWhite is the ratio that WCAG 2 defines, from 1 to 21.
func contrastWithWhite(color string) float64 {
	var rgb [3]int
	if _, err := fmt.Sscanf(color, "#%02x%02x%02x", &rgb[0], &rgb[1], &rgb[2]); err != nil {
		return 21
	}
	light := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		c := float64(rgb[i]) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		light += weight * c
	}
	return 1.05 / (light + 0.05)
}

// headingCase: the headings are all like titles or all like sentences; the more
// frequent way is right.
func (v *validation) headingCase() {
	if _, workbook := v.spec.(*loomv1.SheetSpec); workbook {
		return
	}
	names := metadataOf(v.spec).GetEntities()
	var title, sentence, neither []part
	for _, p := range v.parts {
		isTitle, isSentence := titleCase(p.heading) == p.heading, sentenceCase(p.heading, names) == p.heading
		switch {
		case isTitle && !isSentence:
			title = append(title, p)
		case isSentence && !isTitle:
			sentence = append(sentence, p)
		case !isTitle && !isSentence:
			neither = append(neither, p)
		}
	}
	odd, form := title, "sentence-case"
	if len(title) > 0 && len(sentence) == 0 {
		odd, form = nil, "title-case"
	} else if len(title) > len(sentence) {
		odd, form = sentence, "title-case"
	}
	for _, p := range append(odd, neither...) {
		id := ""
		if v.edits[p.headingPath] == nil {
			id = v.patch(p.headingPath, "normalize", form)
		}
		v.found(p.headingPath, id, "heading capitalization varies: %q is not in %s, as most are", p.heading, strings.ReplaceAll(form, "-", " "))
	}
}

// units: a number and its unit have a blank between them.
func (v *validation) units() {
	var list []string
	for _, w := range v.rule.Words {
		list = append(list, regexp.QuoteMeta(w))
	}
	if len(list) == 0 {
		return
	}
	find := regexp.MustCompile(`\b(\d+(?:[.,]\d+)*)(` + strings.Join(list, "|") + `)\b`)
	for _, t := range v.texts() {
		for _, m := range find.FindAllStringSubmatch(t.text, -1) {
			id := v.rewrite(t.path, t.text, func(s string) string { return strings.ReplaceAll(s, m[0], m[1]+" "+m[2]) })
			v.found(t.path, id, "%q should be %q", m[0], m[1]+" "+m[2])
		}
	}
}
