// Package manuscript makes documents of titled sections, as Markdown and as a
// page of HTML.
//
// It promises one structure: a title, what the document is about, an optional
// list of contents, sections with headings one below the other, and numbered
// sources; that every citation [n] has a source; and that the page runs no
// script and loads nothing.
//
// It does not check what is said.
package manuscript

import (
	"bytes"
	"fmt"
	"html"
	"regexp"
	"strconv"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"

	"github.com/loomrun/loom/internal/base/fault"
)

// Limits of a document.
const (
	MaxSections = 200
	MaxSources  = 500
	MaxBytes    = 1 << 20 // of all text
	maxLine     = 300     // bytes of a title
	maxLevel    = 5
)

// Document is what is written.
type Document struct {
	Title string
	// About is a line under the title: author, date, status.
	About string
	// Contents says that a list of the sections comes first.
	Contents bool
	Sections []Section
	Sources  []Source
}

// Section is a heading and what stands under it, in Markdown.
type Section struct {
	Title string
	// Level is 1 for a section, 2 for a part of one, up to 5; 0 is 1.
	Level   int
	Content string
}

// Source is what is cited by its number, from 1.
type Source struct {
	Title string
	// URL is one of http or https, or empty.
	URL string
	// Accessed is when it was read, in any words.
	Accessed string
}

func refused(where, format string, args ...any) *fault.Error {
	return fault.New("tool/arguments", format, args...).At(where)
}

// Check reports all that is wrong with the document, as tool/arguments.
func (d Document) Check() error {
	var errs []*fault.Error
	add := func(e *fault.Error) {
		if e != nil {
			errs = append(errs, e)
		}
	}
	add(line("title", d.Title, true))
	add(line("about", d.About, false))
	if n := len(d.Sections); n == 0 || n > MaxSections {
		add(refused("sections", "there are %d, not 1 to %d", n, MaxSections))
	}
	if n := len(d.Sources); n > MaxSources {
		add(refused("sources", "there are %d, at most %d are taken", n, MaxSources))
	}
	size, above := 0, 0
	for i, s := range d.Sections {
		where := fmt.Sprintf("sections[%d]", i)
		add(line(where+".title", s.Title, true))
		level := s.level()
		if level > maxLevel || level > above+1 {
			add(refused(where+".level", "level %d does not come below level %d", level, above))
		}
		above = level
		if size += len(s.Content); size > MaxBytes {
			add(refused(where, "the document has more than %d bytes", MaxBytes))
			break
		}
		add(d.cited(where+".content", s.Content))
	}
	for i, s := range d.Sources {
		add(s.check(fmt.Sprintf("sources[%d]", i)))
	}
	return fault.Join(errs)
}

func line(where, s string, needed bool) *fault.Error {
	if needed && strings.TrimSpace(s) == "" || len(s) > maxLine || strings.ContainsAny(s, "\r\n") {
		return refused(where, "it is not one line of at most %d bytes", maxLine)
	}
	return nil
}

func (s Section) level() int { return max(s.Level, 1) }

func (s Source) check(where string) *fault.Error {
	if e := line(where+".title", s.Title, true); e != nil {
		return e
	}
	if s.URL == "" {
		return nil
	}
	if !address.MatchString(s.URL) {
		return refused(where+".url", "it is not a URL of http or https").Got(s.URL)
	}
	return nil
}

// address is what may stand between < and > as a link.
var address = regexp.MustCompile(`^https?://[A-Za-z0-9\[][^\x00-\x20<>"]*$`)

// citation is [3] or [3, 4].
var citation = regexp.MustCompile(`\[\d{1,4}(?:, ?\d{1,4})*\]`)

// citations returns the numbers that a text cites; what is a link, or what a
// link is defined by, is none.
func citations(content string) (list []int) {
	for _, m := range citation.FindAllStringIndex(content, -1) {
		if rest := content[m[1]:]; strings.HasPrefix(rest, "(") || strings.HasPrefix(rest, ":") {
			continue
		}
		for n := range strings.SplitSeq(content[m[0]+1:m[1]-1], ",") {
			i, err := strconv.Atoi(strings.TrimSpace(n))
			if err == nil {
				list = append(list, i)
			}
		}
	}
	return list
}

// cited looks for citations without a source.
func (d Document) cited(where, content string) *fault.Error {
	for _, n := range citations(content) {
		if n < 1 || n > len(d.Sources) {
			return refused(where, "it cites [%d], and there are %d sources", n, len(d.Sources))
		}
	}
	return nil
}

// Uncited returns the numbers of sources that no section cites.
func (d Document) Uncited() (list []int) {
	seen := map[int]bool{}
	for _, s := range d.Sections {
		for _, n := range citations(s.Content) {
			seen[n] = true
		}
	}
	for i := range d.Sources {
		if !seen[i+1] {
			list = append(list, i+1)
		}
	}
	return list
}

// Markdown writes the document. It must be sound, see Check.
func (d Document) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", heading(d.Title))
	if d.About != "" {
		fmt.Fprintf(&b, "%s\n\n", d.About)
	}
	if d.Contents {
		d.contents(&b)
	}
	for _, s := range d.Sections {
		fmt.Fprintf(&b, "%s %s\n\n", strings.Repeat("#", s.level()+1), heading(s.Title))
		if text := strings.TrimSpace(strings.ReplaceAll(s.Content, "\r\n", "\n")); text != "" {
			b.WriteString(text + "\n\n")
		}
	}
	if len(d.Sources) > 0 {
		b.WriteString("## Sources\n\n")
		for i, s := range d.Sources {
			fmt.Fprintf(&b, "%d. %s\n", i+1, s.text())
		}
		b.WriteString("\n")
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

func heading(s string) string { return strings.TrimSpace(s) }

func (d Document) contents(b *strings.Builder) {
	for _, s := range d.Sections {
		fmt.Fprintf(b, "%s- %s\n", strings.Repeat("  ", s.level()-1), heading(s.Title))
	}
	b.WriteString("\n")
}

func (s Source) text() string {
	text := strings.TrimSpace(s.Title)
	if s.URL != "" {
		text += " <" + s.URL + ">"
	}
	if s.Accessed != "" {
		text += ", accessed " + strings.Join(strings.Fields(s.Accessed), " ")
	}
	return text
}

// page is HTML without scripts; its policy lets a browser load nothing.
const page = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>%s</title>
<style>
body { font: 16px/1.5 "Liberation Sans", Arial, Helvetica, sans-serif; color: #222; max-width: 46em; margin: 2em auto; padding: 0 1em; }
h1, h2, h3, h4 { line-height: 1.25; margin: 1.6em 0 0.5em; }
table { border-collapse: collapse; margin: 1em 0; }
th, td { border: 1px solid #bbb; padding: 0.3em 0.7em; vertical-align: top; }
th { background: #eef2f8; text-align: left; }
code, pre { font: 14px/1.4 "Liberation Mono", Consolas, monospace; background: #f4f4f4; }
pre { padding: 0.8em; overflow-x: auto; }
blockquote { border-left: 3px solid #bbb; margin-left: 0; padding-left: 1em; color: #555; }
</style>
</head>
<body>
%s</body>
</html>
`

// HTML writes the document as one page: what is Markdown in it as HTML, and
// HTML in it left out.
func (d Document) HTML() (string, error) {
	var body bytes.Buffer
	m := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithParserOptions(parser.WithAutoHeadingID()))
	if err := m.Convert([]byte(d.Markdown()), &body); err != nil {
		return "", fmt.Errorf("document %q as HTML: %w", d.Title, err)
	}
	return fmt.Sprintf(page, html.EscapeString(d.Title), body.String()), nil
}
