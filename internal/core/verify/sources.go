package verify

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"

	"github.com/loomrun/loom/internal/base/lazy"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// sourceKinds are the types of rules about what a file rests on and refers to.
var sourceKinds = []Kind{
	{
		Name: "citations", Type: loomv1.RuleType_RULE_TYPE_CITATIONS, Output: true, look: (*look).citations, sound: citationsSound,
		About: "each address, `[n]`, `[^n]`, `[Source: …]` and `doi:` resolves to what was read in the run, or to a file of the workspace; " +
			"what is quoted beside the citation of a page that the same agent read stands there",
		Params: []Param{
			{"least", "count", "how many different sources are cited at least; 0", false},
			{"style", "text", "`address`, `number` or `footnote`: how all citations are written", false},
			{"of", "text", "`citations` or `quotations`: what is looked at alone; both", false},
		},
		Example: `{name: sourced, type: citations, with: {least: 3}, target: report.md, severity: error}`,
	},
	{
		Name: "links", Type: loomv1.RuleType_RULE_TYPE_LINKS, Files: []string{"md", "html"}, look: (*look).links,
		About:   "each relative link leads to a file of the workspace, and one with `#` to a heading or id that is there",
		Example: `{name: links-lead, type: links, target: "*.md"}`,
	},
	{
		Name: "schema", Type: loomv1.RuleType_RULE_TYPE_SCHEMA, Files: []string{"json", "yaml", "csv", "tsv", "xlsx"}, look: (*look).schema, sound: schemaSound,
		About:   "what the file holds is as a JSON Schema says; of a table each row, with columns as in `row`",
		Params:  []Param{{"schema", "schema", "the schema; it can refer to parts of itself only", true}},
		Example: `{name: shape, type: schema, with: {schema: {type: object, required: [name]}}, target: company.json}`,
	},
}

var citationStyles = []string{"address", "number", "footnote"}

func citationsSound(r *loomv1.Rule) []RuleFault {
	var wrong []RuleFault
	if style := toldOf(r).text("style", "address"); !slices.Contains(citationStyles, style) {
		wrong = append(wrong, wrongAt(ruleError("there is no such style").Got(style).Want("%s", strings.Join(citationStyles, ", ")), "with", "style"))
	}
	if of := toldOf(r).text("of", "citations"); of != "citations" && of != "quotations" {
		wrong = append(wrong, wrongAt(ruleError("that is not looked at").Got(of).Want("citations or quotations"), "with", "of"))
	}
	return wrong
}

var (
	webAddress   = lazy.Compile(`(?i)\bhttps?://[^\s<>"'\x60|\\^{}]+`)
	doi          = lazy.Compile(`(?i)\bdoi:\s?(10\.\d{4,9}/[^\s<>"')\]]+)`)
	numbered     = lazy.Compile(`\[(\d{1,3}(?:\s?[,–-]\s?\d{1,3})*)\]`)
	footnote     = lazy.Compile(`\[\^([^\]\s]{1,40})\]`)
	sourceNamed  = lazy.Compile(`(?i)[\[(]source:\s*([^\])\n]+)[\])]`)
	entry        = lazy.Compile(`^\s*(?:[-*]\s+)?(?:\[(\^?[^\]\s]{1,40})\]:?|(\d{1,3})[.)])\s+(.*)$`)
	listHeadings = []string{
		"sources", "references", "bibliography", "works cited", "footnotes", "notes", "citations", "endnotes", "literature",
		"quellen", "quellenverzeichnis", "quellenangaben", "literatur", "literaturverzeichnis", "referenzen", "fußnoten", "fussnoten", "nachweise", "belege",
		"références", "bibliographie", "fuentes", "referencias", "bibliografía",
	}
)

// cites is what a text cites.
type cites struct {
	l     *look
	c     *content
	known map[string]bool    // addresses that were read
	list  map[string]string  // entries of its list of sources, by number or name
	found map[string]bool    // different sources that it cites and that there are
	pages map[string]*source // pages that it cites, by address; nil where the words are not at hand
}

// citations wants each citation to resolve.
func (l *look) citations(c *content) {
	s := &cites{l: l, c: c, known: map[string]bool{}, list: map[string]string{}, found: map[string]bool{}, pages: map[string]*source{}}
	for _, a := range l.run.Sources {
		s.known[plainAddress(a)] = true
	}
	text := c.prose()
	switch c.kind {
	case "html":
		text = c.prosePage() // addresses stand in tags
		s.listItems(c.text)
	case "md":
		text = inlineCode.ReplaceAllString(text, " ")
	}
	lines := strings.Split(text, "\n")
	entries := s.entries(lines)
	of := l.with.text("of", "")
	if of != "citations" {
		s.quotations(lines, entries)
	}
	if of == "quotations" {
		return
	}
	style := l.with.text("style", "")
	for i, line := range lines {
		s.addresses(i+1, line)
		if entries[i] {
			continue
		}
		if style != "" {
			s.styled(i+1, line, style)
		}
		s.references(i+1, line)
	}
	if least := int(l.with.number("least", 0)); len(s.found) < least {
		l.wrong(c, 0, "found %d sources that it cites and that there are, wanted at least %d", len(s.found), least)
	}
}

// entries reads the list of sources of a text, and says which lines are of it.
func (s *cites) entries(lines []string) map[int]bool {
	of := map[int]bool{}
	inList, last := false, ""
	parts := map[string][]string{}
	for i, line := range lines {
		if m := atxHeading.FindStringSubmatch(strings.TrimRight(line, "\r")); m != nil {
			inList, last = slices.Contains(listHeadings, headingName(m[2])), ""
			continue
		}
		m := entry.FindStringSubmatch(line)
		if goesOn := strings.HasPrefix(line, "  ") || strings.HasPrefix(line, "\t"); m == nil && last != "" && goesOn && strings.TrimSpace(line) != "" {
			of[i] = true
			parts[last] = append(parts[last], strings.TrimSpace(line))
			continue
		}
		last = ""
		if m == nil || !inList && (m[1] == "" || !strings.Contains(line, "]:")) && !(m[1] != "" && webAddress.MatchString(m[3])) {
			continue
		}
		of[i] = true
		last = m[1] + m[2]
		parts[last] = []string{m[3]}
	}
	for name, lines := range parts {
		s.list[name] = strings.Join(lines, " ")
	}
	return of
}

// inlineCode is code within a line.
var inlineCode = lazy.Compile("`[^`\n]+`")

// listItems reads the ordered lists under a heading of sources in a page: with their texts,
// and the addresses that they link to.
func (s *cites) listItems(page string) {
	heading, inList, open, n := "", false, 0, 0
	items := map[int][]string{}
	item := func(words string) {
		if n > 0 && open > 0 {
			items[n] = append(items[n], words)
		}
	}
	eachToken(page, func(t html.Token, _ int) {
		begins := t.Type == html.StartTagToken
		switch {
		case t.Type == html.TextToken && heading != "":
			inList = slices.Contains(listHeadings, headingName(t.Data))
		case t.Type == html.TextToken:
			item(strings.TrimSpace(t.Data))
		case len(t.Data) == 2 && t.Data[0] == 'h' && t.Data[1] >= '1' && t.Data[1] <= '6':
			if heading = ""; begins {
				heading = t.Data
			}
		case t.Data == "ol" && begins && inList:
			open, n = open+1, 0
		case t.Data == "ol" && !begins && open > 0:
			open--
		case t.Data == "li" && begins && open > 0:
			n++
			items[n] = nil
		case t.Data == "a" && begins:
			for _, a := range t.Attr {
				if a.Key == "href" {
					item(a.Val)
				}
			}
		}
	})
	for n, words := range items {
		s.list[strconv.Itoa(n)] = strings.Join(words, " ")
	}
}

// addresses wants each address of a line to be one that was read.
func (s *cites) addresses(n int, line string) {
	for _, a := range webAddress.FindAllString(line, -1) {
		a = trimAddress(a)
		if !s.read(a) {
			s.l.wrong(s.c, n, "found the address %s, which was not read in this run; wanted one of the %d that were", short(a), len(s.known))
		}
	}
	for _, m := range doi.FindAllStringSubmatch(line, -1) {
		id := strings.ToLower(strings.TrimRight(m[1], ".,;"))
		hit := false
		for a := range s.known {
			hit = hit || strings.Contains(strings.ToLower(a), id)
		}
		if hit {
			s.found["doi:"+id] = true
		} else {
			s.l.wrong(s.c, n, "found doi:%s, of which nothing was read in this run", short(m[1]))
		}
	}
}

// read says whether an address was read, and notes that it is cited.
func (s *cites) read(a string) bool {
	plain := plainAddress(a)
	if !s.known[plain] {
		return false
	}
	s.found[plain] = true
	return true
}

// styled refuses citations that are written in another way.
func (s *cites) styled(n int, line, style string) {
	for _, has := range []struct {
		style string
		found string
	}{
		{"address", webAddress.FindString(line)},
		{"number", firstNumbered(line)},
		{"footnote", footnote.FindString(line)},
	} {
		if has.found != "" && has.style != style {
			s.l.wrong(s.c, n, "found the citation %s, wanted all as %s", short(has.found), map[string]string{"address": "addresses", "number": "[1]", "footnote": "[^1]"}[style])
		}
	}
}

func firstNumbered(line string) string {
	for _, at := range numbered.FindAllStringIndex(line, -1) {
		if at[1] >= len(line) || line[at[1]] != '(' { // which is a link
			return line[at[0]:at[1]]
		}
	}
	return ""
}

// references wants numbers, footnotes and names to be in the list of sources, or to name a
// file.
func (s *cites) references(n int, line string) {
	for _, at := range numbered.FindAllStringSubmatchIndex(line, -1) {
		if at[1] < len(line) && (line[at[1]] == '(' || line[at[1]] == '[') {
			continue
		}
		for _, k := range numbersIn(line[at[2]:at[3]]) {
			s.listed(n, k, "["+k+"]")
		}
	}
	for _, m := range footnote.FindAllStringSubmatch(line, -1) {
		s.listed(n, "^"+m[1], m[0])
	}
	for _, m := range sourceNamed.FindAllStringSubmatch(line, -1) {
		if webAddress.MatchString(m[1]) || doi.MatchString(m[1]) || numbered.MatchString("["+m[1]+"]") {
			continue
		}
		if !s.file(m[1]) {
			s.l.wrong(s.c, n, "found the source %q, wanted an address that was read or a file of the workspace", short(strings.TrimSpace(m[1])))
		}
	}
}

// listed wants an entry of the list of sources that leads somewhere.
func (s *cites) listed(n int, key, written string) {
	text, ok := s.list[key]
	switch {
	case !ok:
		s.l.wrong(s.c, n, "found %s, wanted an entry %s in its list of sources", written, written)
	case webAddress.MatchString(text) || doi.MatchString(text): // which is looked at where it stands
	case !s.file(text):
		s.l.wrong(s.c, n, "found %s, whose entry %q has neither an address nor a file of the workspace", written, short(text))
	}
}

// file says whether words name a file of the workspace.
func (s *cites) file(words string) bool {
	for _, name := range fileName.FindAllString(words, -1) {
		if there(s.l.files, name) {
			s.found[name] = true
			return true
		}
	}
	return false
}

// numbersIn are the numbers of "1, 3-5".
func numbersIn(s string) (list []string) {
	for part := range strings.SplitSeq(s, ",") {
		first, last, span := strings.Cut(strings.ReplaceAll(part, "–", "-"), "-")
		a, _ := strconv.Atoi(strings.TrimSpace(first)) // digits
		b := a
		if span {
			b, _ = strconv.Atoi(strings.TrimSpace(last))
		}
		for k := a; k <= min(b, a+50); k++ {
			list = append(list, strconv.Itoa(k))
		}
	}
	return list
}

// trimAddress takes off what ends a sentence, and a bracket that was opened before it.
func trimAddress(a string) string {
	for {
		t := strings.TrimRight(a, ".,;:!?*_")
		for _, pair := range []string{"()", "[]"} {
			if strings.HasSuffix(t, pair[1:]) && strings.Count(t, pair[1:]) > strings.Count(t, pair[:1]) {
				t = t[:len(t)-1]
			}
		}
		if t == a {
			return a
		}
		a = t
	}
}

// plainAddress is an address as it is compared: without scheme, www, fragment and the
// slash at its end, and with what is written as %20 and the like as what it stands for.
func plainAddress(a string) string {
	a, _, _ = strings.Cut(strings.TrimSpace(a), "#")
	if at := strings.Index(a, "://"); at >= 0 {
		a = a[at+3:]
	}
	host, rest, _ := strings.Cut(a, "/")
	host = strings.TrimPrefix(strings.ToLower(host), "www.")
	return strings.TrimRight(host+"/"+unescaped(strings.ReplaceAll(rest, "&amp;", "&")), "/")
}

var (
	markdownLink = lazy.Compile(`\]\(\s*<?([^)\s>]*)>?[^)\n]*\)`)
	linkEntry    = lazy.Compile(`^ {0,3}\[[^\]^][^\]]*\]:\s*<?([^\s>]+)`)
	scheme       = lazy.Compile(`^[A-Za-z][A-Za-z0-9+.-]*:|^//`)
)

// links wants relative links to lead somewhere.
func (l *look) links(c *content) {
	if c.kind == "html" {
		eachToken(c.text, func(t html.Token, line int) {
			for _, a := range t.Attr {
				if (a.Key == "href" || a.Key == "src") && (t.Type == html.StartTagToken || t.Type == html.SelfClosingTagToken) {
					l.leads(c, line, a.Val)
				}
			}
		})
		return
	}
	n := 0
	for line := range strings.Lines(c.prose()) {
		n++
		for _, m := range append(markdownLink.FindAllStringSubmatch(line, -1), linkEntry.FindAllStringSubmatch(line, -1)...) {
			l.leads(c, n, m[1])
		}
	}
}

func (l *look) leads(c *content, line int, to string) {
	if to == "" || scheme.MatchString(to) {
		return
	}
	name, anchor, _ := strings.Cut(to, "#")
	name, _, _ = strings.Cut(name, "?")
	name, anchor = unescaped(name), unescaped(anchor)
	at := path.Join(path.Dir(c.name), name)
	switch {
	case strings.HasPrefix(name, "/"):
		l.wrong(c, line, "found the link %q, wanted one that is relative to the file", short(to))
		return
	case name == "":
		at = c.name
	case !there(l.files, at):
		l.wrong(c, line, "found the link %q, wanted a file of the workspace: there is no %s", short(to), short(at))
		return
	}
	if anchor == "" {
		return
	}
	parts, known := l.parts[at]
	if !known {
		parts = l.partsOf(c, at)
		if l.parts == nil {
			l.parts = map[string]map[string]bool{}
		}
		l.parts[at] = parts
	}
	if parts != nil && !parts[anchor] && !parts[strings.ToLower(anchor)] {
		l.wrong(c, line, "found the link %q, wanted a heading or id %q in %s", short(to), short(anchor), at)
	}
}

// partsOf are the headings and ids that a link can lead to in a file, c's own or another;
// nil of a file that has no parts, and of a directory.
func (l *look) partsOf(c *content, at string) map[string]bool {
	there := c
	if at != c.name {
		data, err := fs.ReadFile(l.files, at)
		if err != nil || len(data) > MaxFile {
			return nil
		}
		there = lookInto(at, data)
	}
	if there.kind != "md" && there.kind != "html" {
		return nil
	}
	parts := map[string]bool{}
	for _, h := range there.outline() {
		name := slug(h.text)
		for n := 1; parts[name]; n++ {
			name = fmt.Sprintf("%s-%d", slug(h.text), n)
		}
		parts[name] = true
	}
	eachToken(there.text, func(t html.Token, _ int) {
		for _, a := range t.Attr {
			if a.Key == "id" || a.Key == "name" {
				parts[a.Val] = true
			}
		}
	})
	return parts
}

// slug is what links call a heading.
func slug(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case isWordRune(r) || r == '-' || r == '_':
			return r
		}
		return -1
	}, strings.ToLower(strings.TrimSpace(text)))
}

// unescaped reads %20 and the like.
func unescaped(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if v, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(v))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(fmt.Sprint(err), "\n")
	return line
}
