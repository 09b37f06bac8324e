package verify

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/loomrun/loom/internal/base/lazy"
)

// leastWords is how many words in quotation marks are taken for a quotation: fewer are a
// title, a term or irony.
const leastWords = 4

// quotations wants what is quoted beside citations to stand in a page that is cited there:
// in the same paragraph, item or row. Where the words of one of the pages are not at hand,
// nothing can be said. Findings name the line in which the paragraph begins.
func (s *cites) quotations(lines []string, entries map[int]bool) {
	if s.l.run.Page == nil {
		return
	}
	for _, p := range paragraphs(lines, entries) {
		quoted := slices.DeleteFunc(quotations(p.text), func(q string) bool {
			return len(strings.Fields(q)) < leastWords || utf8.RuneCountInString(q) < LeastQuotation
		})
		if len(quoted) == 0 {
			continue
		}
		pages, addresses := s.citedPages(p.text)
		for _, q := range quoted {
			if len(pages) > 0 && !slices.ContainsFunc(pages, func(page *source) bool { return page.has(spoken(q)) }) {
				s.l.wrong(s.c, p.line, "found the quotation %s, wanted words of %s as it was read", short(fmt.Sprintf("%q", q)), short(strings.Join(addresses, " or ")))
			}
		}
	}
}

// citedPages are the pages that a text cites, and their addresses: none unless all are at
// hand.
func (s *cites) citedPages(text string) (pages []*source, addresses []string) {
	for _, a := range s.cited(text) {
		page := s.page(a)
		if page == nil {
			return nil, nil
		}
		addresses, pages = append(addresses, a), append(pages, page)
	}
	return pages, addresses
}

// cited are the addresses that a text cites, each once: those that stand there, and those of
// the entries of the list of sources that it names.
func (s *cites) cited(text string) (list []string) {
	for _, words := range append([]string{text}, s.named(text)...) {
		for _, a := range webAddress.FindAllString(words, -1) {
			if a = trimAddress(a); !slices.Contains(list, a) {
				list = append(list, a)
			}
		}
	}
	return list
}

// page is the page of an address, which is read once for a text; nil where its words are
// not at hand.
func (s *cites) page(address string) *source {
	page, known := s.pages[address]
	if known {
		return page
	}
	if words := s.l.run.Page(address); words != "" {
		page = newSource(address, spoken(markdownText.ReplaceAllString(words, "$1")), false)
	}
	s.pages[address] = page
	return page
}

// markdownText is a link or picture of Markdown, which is how pages are kept.
var markdownText = lazy.Compile(`!?\[([^\]\n]*)\]\([^)\n]*\)`)

// spoken is a text without emphasis, and with one kind of quotation marks: those within a
// quotation differ from those around it.
func spoken(text string) string {
	return strings.NewReplacer("*", "", "_", "", `"`, "'").Replace(strings.ReplaceAll(marks.Replace(strings.ReplaceAll(text, "`", "")), "\\", ""))
}

// named are the entries of the list of sources that a text names by `[n]` and `[^n]`.
func (s *cites) named(text string) (list []string) {
	for _, m := range numbered.FindAllStringSubmatch(text, -1) {
		for _, k := range numbersIn(m[1]) {
			list = append(list, s.list[k])
		}
	}
	for _, m := range footnote.FindAllStringSubmatch(text, -1) {
		list = append(list, s.list["^"+m[1]])
	}
	return list
}

// paragraph is a paragraph, an item of a list or a row of a table, in one line.
type paragraph struct {
	line int // in which it begins, from 1
	text string
}

// paragraphs parts a text, without the entries of its list of sources.
func paragraphs(lines []string, entries map[int]bool) (list []paragraph) {
	var open []string // the lines of the last
	end := func() {
		if len(open) > 0 {
			list[len(list)-1].text, open = strings.Join(open, " "), nil
		}
	}
	for i, line := range lines {
		line = strings.TrimSpace(line)
		begins := len(open) == 0 || strings.HasPrefix(line, "|") || strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "* ") || strings.HasPrefix(line, "#") || entry.MatchString(line)
		if line == "" || entries[i] {
			end()
			continue
		}
		if begins {
			end()
			list = append(list, paragraph{line: i + 1})
		}
		open = append(open, line)
	}
	end()
	return list
}
