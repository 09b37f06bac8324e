package verify

import (
	"fmt"
	"io/fs"
	"strings"
	"time"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Run is what is known of the execution that a phase belongs to. Rules about sources and
// about the age of dates need it.
type Run struct {
	// Began is when it began: ages count from there, so that a rule finds the same
	// whenever it looks. Zero if it is not known.
	Began time.Time
	// Sources are the addresses that were read in it.
	Sources []string
	// Page returns the words of an address as they were read, "" where they are not at
	// hand: quotations that cite it are held against them. Nil is none.
	Page func(address string) string
}

// look is one rule that looks at one file.
type look struct {
	rule  *loomv1.Rule
	with  told
	files fs.FS
	run   Run
	found []Finding
	more  int                        // findings that are not told
	parts map[string]map[string]bool // of files that links lead to, by name; nil for one that has no parts
}

// wrong reports what breaks the rule: where, what was found and what is wanted.
func (l *look) wrong(c *content, line int, format string, args ...any) {
	if len(l.found) == maxFound {
		l.more++
		return
	}
	text := about(l.rule) + ": " + fmt.Sprintf(format, args...)
	l.found = append(l.found, Finding{Rule: l.rule.Name, Severity: severity(l.rule), File: c.name, Line: line, Text: text})
}

// unseen reports what could not be looked at, which breaks nothing.
func (l *look) unseen(c *content, format string, args ...any) {
	l.found = append(l.found, Finding{Rule: l.rule.Name, Severity: isWarning, File: c.name, Text: unseen + fmt.Sprintf(format, args...)})
}

func (l *look) pattern(c *content) { l.found = search(l.rule, c.name, c.text) }

// table wants a table with the columns and rows that the rule names, and then its
// expression to hold for the rows of it.
func (l *look) table(c *content) {
	if unsound(c.wrong) && len(c.grids) == 0 {
		return // it cannot be read, which was said
	}
	if len(l.with) > 0 && !l.hasTable(c) {
		return
	}
	if strings.TrimSpace(l.rule.Check) != "" {
		l.found = append(l.found, tableRule(l.rule, c)...)
	}
}

// hasTable says whether one table has all that the rule names, and reports what the
// nearest lacks.
func (l *look) hasTable(c *content) bool {
	grids := c.tables()
	if len(grids) == 0 {
		l.wrong(c, 0, "found no table, wanted one%s", l.wantedTable())
		return false
	}
	var nearest *grid
	var lacks []string
	for i := range grids {
		missing := grids[i].without(l.with.texts("columns"))
		if nearest == nil || len(missing) < len(lacks) || len(missing) == len(lacks) && len(grids[i].rows) > len(nearest.rows) {
			nearest, lacks = &grids[i], missing
		}
	}
	line, where := nearest.top()
	switch rows := int(l.with.number("rows", 0)); {
	case len(lacks) > 0:
		l.wrong(c, line, "%sfound the columns %s, wanted %s, too", where, quoted(nearest.header), quoted(lacks))
	case len(nearest.rows) < rows:
		l.wrong(c, line, "%sfound %d rows, wanted at least %d", where, len(nearest.rows), rows)
	default:
		return true
	}
	return false
}

func (l *look) wantedTable() string {
	var parts []string
	if list := l.with.texts("columns"); len(list) > 0 {
		parts = append(parts, " with the columns "+quoted(list))
	}
	if l.with.has("rows") {
		parts = append(parts, fmt.Sprintf(" with at least %s rows", number64(l.with.number("rows", 0))))
	}
	return strings.Join(parts, " and")
}

// quoted lists names as people read them.
func quoted(names []string) string {
	var list []string
	for _, n := range names {
		list = append(list, fmt.Sprintf("%q", short(strings.TrimSpace(n))))
	}
	return strings.Join(list, ", ")
}

// examine has a rule look at all files that it is aimed at, or at what was said.
func examine(r *loomv1.Rule, there []*content, output string, files fs.FS, run Run) (found []Finding) {
	k := kindOfRule(r)
	if k == nil || k.look == nil {
		return nil
	}
	if r.Target == InOutput {
		return lookAt(k, r, &content{name: InOutput, kind: "md", text: output, whole: output}, files, run)
	}
	for _, c := range there {
		if !aimedAt(r.Target, c.name) {
			continue
		}
		if c.blind != "" {
			if !unsound(c.wrong) { // which was said already
				found = append(found, Finding{Rule: r.Name, Severity: isWarning, File: c.name, Text: unseen + c.blind})
			}
			continue
		}
		found = append(found, lookAt(k, r, c, files, run)...)
		for _, left := range c.left {
			found = append(found, Finding{Rule: r.Name, Severity: isWarning, File: c.name, Text: unseen + "a part; " + left})
		}
	}
	return found
}

// lookAt is what a rule finds in a file. A rule that is not sound finds nothing but that.
func lookAt(k *Kind, r *loomv1.Rule, c *content, files fs.FS, run Run) []Finding {
	if err := CheckRule(r); err != nil {
		return []Finding{{Rule: r.Name, Severity: severity(r), File: c.name, Text: firstLine(err)}}
	}
	l := &look{rule: r, with: toldOf(r), files: files, run: run}
	k.look(l, c)
	if l.more > 0 {
		l.found[maxFound-1].Text += fmt.Sprintf(" (and %d more of the kind)", l.more)
	}
	return l.found
}
