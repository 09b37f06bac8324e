package verify

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// LeastQuotation is how many characters a quotation has at least that counts as
// evidence: what is shorter stands anywhere. Of a text with fewer, it is all of them.
const LeastQuotation = 8

// Evidence is what a verdict is held against: the files that it is about, and any other
// that it names.
type Evidence struct {
	files fs.FS
	own   []*source
	other map[string]*source
	said  *source // nil where nothing was said
}

// maxEvidence is how many bytes of files are read for verdicts that name none. The rest
// counts where it is named.
const maxEvidence = 32 << 20

// source is a text that quotations are looked for in.
type source struct {
	name, text string
	numbers    map[string]bool
	// unread says that it has more than could be read. Who names such a file is believed
	// in what is not found; in the name of others it vouches for nothing.
	unread bool
}

// NewEvidence takes the named files, which a verdict need not name, and what their author
// said of them, which proves nothing but for a rule about that. A file that is no text, or that cannot be read, has nothing to quote.
func NewEvidence(files fs.FS, names []string, said string) *Evidence {
	e := &Evidence{files: files, other: map[string]*source{}}
	room := int64(maxEvidence)
	for _, name := range names {
		info, err := fs.Stat(files, name)
		if err != nil || info.Size() > room {
			continue
		}
		if s := e.read(name); s != nil && s.text != "" {
			room -= info.Size()
			e.own = append(e.own, s)
		}
	}
	if strings.TrimSpace(said) != "" {
		e.said = newSource(InOutput, said, false)
	}
	return e
}

// of is what an answer to a question is held against.
func (e *Evidence) of(q Question) *Evidence {
	if !q.Said || e.said == nil {
		return e
	}
	with := *e
	with.own = append(slices.Clone(e.own), e.said)
	return &with
}

func newSource(name, text string, unread bool) *source {
	s := &source{name: name, text: even(text), numbers: map[string]bool{}, unread: unread}
	for _, n := range number.FindAllString(text, -1) {
		s.numbers[plainNumber(n)] = true
		for part := range strings.SplitSeq(n, ",") { // three cells of a row, or one number
			s.numbers[plainNumber(part)] = true
		}
	}
	return s
}

func (e *Evidence) read(name string) *source {
	info, err := fs.Stat(e.files, name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > MaxFile {
		return nil
	}
	data, err := fs.ReadFile(e.files, name)
	if err != nil {
		return nil
	}
	c := lookInto(name, data)
	if c.blind != "" {
		return newSource(name, "", true)
	}
	return newSource(name, c.whole, c.cut)
}

// Empty says that there is no text that anything could be quoted from.
func (e *Evidence) Empty() bool {
	return !slices.ContainsFunc(e.own, func(s *source) bool { return s.name != InOutput })
}

// Quotes says whether words, or a part of them in quotation marks, stand in one of the
// texts. The name of a file quotes nothing.
func (e *Evidence) Quotes(words string) bool {
	parts := slices.DeleteFunc(append([]string{words}, quotations(words)...), e.names)
	return slices.ContainsFunc(e.own, func(s *source) bool {
		return slices.ContainsFunc(parts, func(p string) bool { return s.has(p) && s.counts(p) })
	})
}

// Wrong says why words are no evidence for what is said to be so, or not so; "" if they
// are. A quotation must be in the file that is named beside it, or, where none is, in one of
// those that the verdict is about; so must the numbers of what is said to be so. What is
// said not to be so may quote what is missing, and name a file that is missing, as long as
// it does not say in which file it stands. Where nothing can be read, words are believed.
func (e *Evidence) Wrong(holds bool, words string) string {
	words = strings.TrimSpace(words)
	if words == "" {
		return "there is no evidence"
	}
	quoted, named, missing := e.cited(holds, words)
	switch {
	case missing != "":
		return fmt.Sprintf("there is no file %s", missing)
	case !holds:
		return e.wrongRefusal(quoted)
	case e.Empty() && len(named) == 0:
		return ""
	}
	proof := false
	for _, q := range quoted {
		in := q.in
		if len(in) == 0 {
			in = e.own
		}
		switch {
		case stitched(q.text):
			return fmt.Sprintf("%s leaves too much out: each part between dots has %d characters or more", short(fmt.Sprintf("%q", q.text)), LeastQuotation)
		case !found(in, q.text, len(q.in) > 0):
			return fmt.Sprintf("%s not in %s", short(fmt.Sprintf("%q", q.text)), namesOf(in))
		}
		proof = proof || slices.ContainsFunc(in, func(s *source) bool { return s.counts(q.text) })
	}
	in := named
	if len(in) == 0 {
		in = e.own
	}
	if n := absent(in, words, len(named) > 0); n != "" {
		return fmt.Sprintf("the number %s is not in %s", n, namesOf(in))
	}
	if !proof && !e.Quotes(words) && !e.Empty() {
		return fmt.Sprintf(`it quotes nothing: copy words of a file, %d characters or more, as in FILE: "the words"`, LeastQuotation)
	}
	return ""
}

// wrongRefusal holds only those quotations against the files of which it is said in which
// file they stand.
func (e *Evidence) wrongRefusal(quoted []quotation) string {
	for _, q := range quoted {
		if q.said != nil && !found([]*source{q.said}, q.text, true) {
			return fmt.Sprintf("%s not in %s", short(fmt.Sprintf("%q", q.text)), q.said.name)
		}
	}
	return ""
}

// quotation is a part of evidence in quotation marks.
type quotation struct {
	text string
	in   []*source // the files that are named beside it
	said *source   // the file in which it is said to stand: FILE: "words"
}

var (
	marks     = strings.NewReplacer("“", `"`, "”", `"`, "„", `"`, "‟", `"`, "«", `"`, "»", `"`, "`", `"`, "‘", "'", "’", "'", "‚", "'", "–", "-", "—", "-", "‑", "-", "−", "-", "…", "...")
	quoteMark = regexp.MustCompile(`"([^"]+)"`)
	address   = regexp.MustCompile(`\b[a-z][a-z0-9+.-]*://\S+`)
	fileName  = regexp.MustCompile(`[A-Za-z0-9_][A-Za-z0-9_./-]*\.[A-Za-z][A-Za-z0-9]{0,7}`)
	// standsIn is what is between a file's name and what is said to stand in it.
	standsIn = regexp.MustCompile(`^(?::\d+)?(?:,? lines? [\d-]+)?\s*(?::|says:?|has:?|reads:?)\s*$`)
	// number has groups of three digits, or none.
	number  = regexp.MustCompile(`\d{1,3}(?:,\d{3})+(?:\.\d+)?\b|\d+(?:\.\d+)?`)
	notData = regexp.MustCompile(`(?i)\[\d+\]|\b(?:lines?|rows?|pages?|slides?|sections?|columns?)\s+\d+(?:\s*(?:-|to|and)\s*\d+)?|[A-Za-z_][\w./-]*:\d+`)
)

// cited takes evidence apart; missing is a document that there is not, and that it names
// for what holds, or quotes.
func (e *Evidence) cited(holds bool, words string) (list []quotation, named []*source, missing string) {
	words = marks.Replace(words)
	// In addresses of the web are no names of files.
	local := address.ReplaceAllStringFunc(words, func(a string) string { return strings.Repeat(" ", len(a)) })
	type place struct {
		from, to int
		s        *source
	}
	var places []place
	for _, at := range fileName.FindAllStringIndex(local, -1) {
		name := words[at[0]:at[1]]
		s := e.named(name)
		if s == nil && readers[kindOf(name)] != nil && !there(e.files, name) && !within(words, at[0]) && (holds || quotes(words[at[1]:])) {
			return nil, nil, name
		}
		if s != nil {
			places = append(places, place{at[0], at[1], s})
			if !slices.Contains(named, s) {
				named = append(named, s)
			}
		}
	}
	for _, at := range quoteMark.FindAllStringSubmatchIndex(words, -1) {
		q := quotation{text: strings.TrimSpace(words[at[2]:at[3]])}
		for _, p := range places {
			if p.to <= at[0] { // the last before it
				q.in, q.said = []*source{p.s}, nil
				if standsIn.MatchString(words[p.to:at[0]]) {
					q.said = p.s
				}
			}
		}
		for _, p := range places {
			if p.from >= at[1] { // and the first behind it
				q.in = append(q.in, p.s)
				break
			}
		}
		if q.text != "" && !e.names(q.text) {
			list = append(list, q)
		}
	}
	return list, named, ""
}

// quotes says whether words behind a file's name say what stands in it.
func quotes(behind string) bool {
	between, _, quoted := strings.Cut(behind, `"`)
	return quoted && standsIn.MatchString(between)
}

// within says whether a place is inside of quotation marks.
func within(words string, at int) bool { return strings.Count(words[:at], `"`)%2 == 1 }

// named is the text that a name means: a file that the verdict is about, also by its last
// part, or any other of the workspace.
func (e *Evidence) named(name string) *source {
	for _, s := range e.own {
		if s.name == name || path.Base(s.name) == name {
			return s
		}
	}
	if s, known := e.other[name]; known {
		return s
	}
	var s *source
	if fs.ValidPath(name) && len(e.other) < maxNamed {
		s = e.read(name)
	}
	e.other[name] = s
	return s
}

// names says whether words are the name of a file, and nothing else.
func (e *Evidence) names(words string) bool {
	words = strings.TrimSpace(words)
	return slices.ContainsFunc(e.own, func(s *source) bool { return s.name == words || path.Base(s.name) == words }) || there(e.files, words)
}

// maxNamed is how many other files a verdict may name.
const maxNamed = 64

// there says whether there is a file, whatever it holds.
func there(files fs.FS, name string) bool {
	if !fs.ValidPath(name) {
		return false
	}
	_, err := fs.Stat(files, name)
	return err == nil
}

// found says whether words stand in one of the texts, or, where these are named, may stand
// in what could not be read of one.
func found(in []*source, text string, named bool) bool {
	return len(in) == 0 || slices.ContainsFunc(in, func(s *source) bool { return named && s.unread || s.has(text) })
}

// parts are those of a quotation between dots, which stand for what was left out.
func parts(words string) (list []string) {
	for part := range strings.SplitSeq(even(words), "...") {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, part)
		}
	}
	return list
}

// stitched says whether a quotation is made of parts so short that they stand anywhere.
func stitched(words string) bool {
	list := parts(words)
	return len(list) > 1 && slices.ContainsFunc(list, func(p string) bool { return utf8.RuneCountInString(p) < LeastQuotation })
}

// has says whether words stand in a text, also with dots in place of what was left out.
func (s *source) has(words string) bool {
	from, list := 0, parts(words)
	for _, part := range list {
		at := s.index(part, from)
		if at < 0 {
			return false
		}
		from = at + len(part)
	}
	return len(list) > 0
}

// index is where a part stands that neither begins nor ends inside of a word or a number,
// or -1: "known" is not in "unknown", nor "15" in "1500" or "15.5".
func (s *source) index(part string, from int) int {
	for {
		at := strings.Index(s.text[from:], part)
		if at < 0 {
			return -1
		}
		at += from
		end := at + len(part)
		if !joined(s.text[:at], part) && !joined(part, s.text[end:]) {
			return at
		}
		from = at + 1
	}
}

// joined says whether two pieces of a text are cut inside of a word or a number. Only
// scripts with small letters have words that are told apart so.
func joined(before, behind string) bool {
	l, _ := utf8.DecodeLastRuneInString(before)
	r, size := utf8.DecodeRuneInString(behind)
	switch {
	case unicode.IsLower(l) && unicode.IsLower(r), unicode.IsDigit(l) && unicode.IsDigit(r):
		return true
	case l == '.': // of a fraction
		return unicode.IsDigit(r) && endsInDigit(strings.TrimSuffix(before, "."))
	case r == '.':
		next, _ := utf8.DecodeRuneInString(behind[size:])
		return unicode.IsDigit(l) && unicode.IsDigit(next)
	}
	return false
}

func endsInDigit(s string) bool {
	r, _ := utf8.DecodeLastRuneInString(s)
	return unicode.IsDigit(r)
}

// counts says whether words are long enough to be evidence of a text.
func (s *source) counts(words string) bool {
	words = even(words)
	return utf8.RuneCountInString(words) >= LeastQuotation || words != "" && words == s.text
}

// unmarked takes out what marks a text up, and what quotations leave out of it.
var unmarked = strings.NewReplacer(`"`, "", "*", "", "\\", "")

// even is a text as it is compared: one blank between two words, one kind of dashes, no
// quotation marks, no capitals.
func even(text string) string {
	return strings.ToLower(strings.Join(strings.Fields(unmarked.Replace(marks.Replace(text))), " "))
}

// quotations are the parts of words in quotation marks.
func quotations(words string) (list []string) {
	for _, m := range quoteMark.FindAllStringSubmatch(marks.Replace(words), -1) {
		list = append(list, strings.TrimSpace(m[1]))
	}
	return list
}

// absent is a number of evidence that no text has, or "". Small whole numbers count things
// and are not looked for; nor are those of lines and sources.
func absent(in []*source, words string, named bool) string {
	words = fileName.ReplaceAllString(notData.ReplaceAllString(marks.Replace(words), " "), " ")
	for _, at := range number.FindAllStringIndex(words, -1) {
		n := words[at[0]:at[1]]
		plain, rest := plainNumber(n), strings.TrimLeft(words[at[1]:], " ")
		measured := strings.Contains(n, ".") || strings.HasPrefix(rest, "%") || strings.HasSuffix(words[:at[0]], "$") || strings.HasSuffix(words[:at[0]], "€")
		if len(plain) < 3 && !measured {
			continue
		}
		if len(in) > 0 && !slices.ContainsFunc(in, func(s *source) bool { return named && s.unread || s.numbers[plain] || s.cells(n) }) {
			return n
		}
	}
	return ""
}

// cells says whether a text has all that stands between the commas of a number: then it
// may be a row that was copied.
func (s *source) cells(n string) bool {
	list := strings.Split(n, ",")
	return len(list) > 1 && !slices.ContainsFunc(list, func(c string) bool { return !s.numbers[plainNumber(c)] })
}

// plainNumber spells a number without separators, and without zeros at its end.
func plainNumber(n string) string {
	n = strings.ReplaceAll(n, ",", "")
	if strings.Contains(n, ".") {
		n = strings.TrimRight(strings.TrimRight(n, "0"), ".")
	}
	return n
}

func namesOf(in []*source) string {
	var names []string
	for _, s := range in {
		if s.name != InOutput {
			names = append(names, s.name)
		}
	}
	if len(names) == 0 {
		return "what was said"
	}
	return strings.Join(names, " or ")
}

// Unproven is a verifier's answer that does not count, because its evidence is none.
type Unproven struct {
	Question
	Why string
}

// Proven parts a verifier's answers: what is found by those that count, and those whose
// evidence is not there.
func Proven(questions []Question, answers map[string]any, e *Evidence) (found []Finding, unproven []Unproven) {
	var counted []Question
	for _, q := range questions {
		holds, _ := answers[q.Field].(bool)
		words, _ := answers[q.Evidence].(string)
		if why := e.of(q).Wrong(holds, words); why != "" {
			unproven = append(unproven, Unproven{q, why})
			continue
		}
		counted = append(counted, q)
	}
	return Verdict(counted, answers), unproven
}

// UnprovenText says for whoever judged which answers do not count, and why.
func UnprovenText(list []Unproven) string {
	var b strings.Builder
	for _, u := range list {
		fmt.Fprintf(&b, "%s: %s\n", u.Evidence, u.Why)
	}
	return b.String()
}

// NotJudged are findings about answers that do not count.
func NotJudged(list []Unproven) (found []Finding) {
	for _, u := range list {
		found = append(found, Finding{Rule: u.Rule, Severity: isWarning, Text: "not judged: the verifier's evidence does not count: " + u.Why, Phase: u.Phase, Tier: 2})
	}
	return found
}

// Severe says whether one of the answers that do not count is about what must hold.
func Severe(list []Unproven) bool {
	return slices.ContainsFunc(list, func(u Unproven) bool { return u.Severity == loomv1.Severity_SEVERITY_ERROR })
}
