package document

import (
	"strings"

	"github.com/loomrun/loom/internal/base/lazy"
)

var (
	headingLine = lazy.Compile(`^ {0,3}#{1,6} +\S`)
	tableRule   = lazy.Compile(`^ {0,3}\|? *:?-{3,}:? *(\| *:?-{3,}:? *)+\|?$`)
)

// markup: what has a place of its own in a section is not written into its text, where
// no file makes of it what it would be in Markdown.
func (v *validation) markup() {
	for _, t := range v.texts() {
		fenced, before := false, ""
		for line := range strings.Lines(t.text) {
			line = strings.TrimRight(line, "\r\n")
			if strings.HasPrefix(strings.TrimSpace(line), "```") {
				fenced = !fenced
			}
			switch {
			case fenced:
			case headingLine.MatchString(line):
				v.found(t.path, "", "%q is a heading within a text, which no table of contents has; make it a section", strings.TrimSpace(line))
			case tableRule.MatchString(line) && strings.Contains(before, "|"):
				v.found(t.path, "", "the text has a table in Markdown, which is shown as lines of text; a section has a table of its own")
			}
			before = line
		}
	}
}
