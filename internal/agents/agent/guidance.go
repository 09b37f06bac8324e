package agent

import (
	"regexp"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/agents/tool"
)

// named is a tool as a process's guidance names it.
var named = regexp.MustCompile("`([a-z][a-z0-9_]*)`")

// guidance is what a process says of tools, without what is about tools that the role
// does not have: an entry of a list, or a paragraph, that names tools of Loom's and
// none of those offered.
func guidance(text string, offered []string) string {
	var kept []string
	for _, e := range entries(text) {
		about := slices.DeleteFunc(namesIn(e), tool.FromOutside)
		if len(about) == 0 || slices.ContainsFunc(about, func(name string) bool { return tool.Allows(offered, name) }) {
			kept = append(kept, e)
		}
	}
	return strings.TrimSpace(strings.Join(kept, ""))
}

func namesIn(text string) (names []string) {
	for _, m := range named.FindAllStringSubmatch(text, -1) {
		names = append(names, m[1])
	}
	return names
}

// entries are the entries of lists in a text, with the lines that belong to them,
// and the paragraphs between them.
func entries(text string) (list []string) {
	open := false
	for line := range strings.Lines(text) {
		begins := strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "* ")
		if begins || !open {
			list = append(list, "")
		}
		list[len(list)-1] += line
		open = strings.TrimSpace(line) != ""
	}
	return list
}
