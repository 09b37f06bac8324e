package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

var fileEdit = &tool{
	Spec: Spec{
		Name:  "file_edit",
		Class: writes,
		Description: "Replace old_text by new_text in a text file. old_text must stand in it exactly once, to the last " +
			"blank: give enough of the lines around it. Several edits are made in their order, all or none.",
		Schema: schema(`"path"`, `
			"path": {"type": "string", "minLength": 1},
			"old_text": {"type": "string", "minLength": 1},
			"new_text": {"type": "string"},
			"replace_all": {"type": "boolean", "description": "wherever it stands"},
			"edits": {"type": "array", "minItems": 1, "maxItems": 100, "description": "in place of the three above", "items": {
				"type": "object", "additionalProperties": false, "required": ["old_text", "new_text"], "properties": {
					"old_text": {"type": "string", "minLength": 1}, "new_text": {"type": "string"}, "replace_all": {"type": "boolean"}}}}`),
	},
	run:       with(editFile),
	reconcile: reconcileEdit,
}

type editArguments struct {
	Path  string        `json:"path"`
	Old   *string       `json:"old_text"`
	New   *string       `json:"new_text"`
	All   bool          `json:"replace_all"`
	Edits []replacement `json:"edits"`
}

// replacement is one edit: where says which argument it is.
type replacement struct {
	Old   string `json:"old_text"`
	New   string `json:"new_text"`
	All   bool   `json:"replace_all"`
	where string
}

// replacements returns the edits of a call, at least one.
func (a editArguments) replacements() ([]replacement, error) {
	single := a.Old != nil || a.New != nil || a.All
	switch {
	case single && len(a.Edits) > 0:
		return nil, unfit("edits", "they stand in place of old_text, new_text and replace_all, not beside them")
	case len(a.Edits) > 0:
		for i := range a.Edits {
			a.Edits[i].where = fmt.Sprintf("edits/%d/", i)
		}
		return a.Edits, nil
	case a.Old == nil || a.New == nil:
		return nil, unfit("arguments", "old_text and new_text are needed, or edits")
	}
	return []replacement{{Old: *a.Old, New: *a.New, All: a.All}}, nil
}

func editFile(_ context.Context, j job, a editArguments) (Result, error) {
	edits, err := a.replacements()
	if err != nil {
		return Result{}, err
	}
	p, err := j.target(a.Path, "", false)
	if err != nil {
		return Result{}, err
	}
	defer p.close()
	data, _, err := p.content(maxWrite)
	if err != nil {
		return Result{}, err
	}
	if binary(data) {
		return Result{}, fault.New("tool/failed", "the file is not text").At("path").Got(a.Path)
	}
	text, lines := string(data), []int(nil)
	for _, e := range edits {
		var at []int
		if text, at, err = e.apply(text); err != nil {
			return Result{}, err
		}
		lines = append(lines, at...)
	}
	if err := p.replace([]byte(text), j.id); err != nil {
		return Result{}, err
	}
	return edited(p.path, lines...), nil
}

// apply makes an edit in a text and returns the lines where it did, as they
// were counted before it.
func (e replacement) apply(text string) (after string, lines []int, err error) {
	if e, err = e.meant(text); err != nil {
		return "", nil, err
	}
	if e.Old == e.New {
		return "", nil, unfit(e.where+"new_text", "it is the same as old_text")
	}
	at := occurrences(text, e.Old)
	if len(at) == 0 || len(at) > 1 && !e.All {
		return "", nil, noMatch(text, e, at)
	}
	size, end := len(text)+strings.Count(text, e.Old)*(len(e.New)-len(e.Old)), 0
	if size > maxWrite {
		return "", nil, fault.New("tool/too-large", "the file would have %d bytes; at most %d are written", size, maxWrite).At(e.where + "new_text")
	}
	for _, i := range at {
		if i >= end { // not inside the one before
			lines, end = append(lines, lineAt(text, i)), i+len(e.Old)
		}
	}
	return strings.ReplaceAll(text, e.Old, e.New), lines, nil
}

// numbered is the beginning of a line as file_read shows it.
var numbered = regexp.MustCompile(`^ *([0-9]+)\t`)

// meant returns an edit without the line numbers of file_read, where its texts
// were pasted with them: neither text stands in the file as it is, and each line
// of old_text has the next number. Where new_text has numbers on some lines alone,
// what was meant cannot be told.
func (e replacement) meant(text string) (replacement, error) {
	plainOld, all, _ := unnumbered(e.Old, true)
	if !all || strings.Contains(text, e.Old) {
		return e, nil
	}
	plainNew, all, some := unnumbered(e.New, false)
	if some && strings.Contains(text, e.New) { // the numbers are the file's own
		return e, nil
	}
	if some && !all {
		return e, fault.New("tool/no-match", "some lines of the text begin with the line numbers of file_read, which are no part of the file").
			At(e.where + "new_text").Want("give old_text and new_text without the numbers and the tabs behind them")
	}
	if all {
		e.New = plainNew
	}
	e.Old = plainOld
	return e, nil
}

// unnumbered returns a text without the line numbers of file_read, and whether
// all of its lines, or some, have one: in a row, each is one more than the one
// before.
func unnumbered(text string, row bool) (bare string, all, some bool) {
	var out strings.Builder
	all, last := true, 0
	for line := range strings.Lines(text) {
		m := numbered.FindStringSubmatch(line)
		if m == nil {
			all = false
			continue
		}
		n, err := strconv.Atoi(m[1])
		if err != nil || row && last > 0 && n != last+1 {
			all = false
		}
		some, last = true, n
		out.WriteString(line[len(m[0]):])
	}
	return out.String(), all && some, some
}

func edited(path string, lines ...int) Result {
	r := done("", "%s: edited at line %s", path, numbers(lines))
	if len(lines) > 1 {
		r = done("", "%s: %d edits, at lines %s", path, len(lines), numbers(lines))
	}
	r.Output, r.Changed = r.Summary+"\n", []string{path}
	return r
}

// numbers lists the first of some lines.
func numbers(lines []int) string {
	var list []string
	for _, n := range lines[:min(len(lines), 10)] {
		list = append(list, fmt.Sprint(n))
	}
	if len(lines) > len(list) {
		list = append(list, "...")
	}
	return strings.Join(list, ", ")
}

// occurrences returns where sub begins in text, overlapping ones too.
func occurrences(text, sub string) []int {
	var at []int
	for from := 0; ; {
		i := strings.Index(text[from:], sub)
		if i < 0 {
			return at
		}
		at = append(at, from+i)
		from += i + 1
	}
}

// lineAt returns the number of the line that holds byte i.
func lineAt(text string, i int) int { return strings.Count(text[:i], "\n") + 1 }

// noMatch says how often old stands in text, and where it nearly does.
func noMatch(text string, edit replacement, at []int) error {
	if len(at) > 1 {
		var lines []int
		for _, i := range at {
			lines = append(lines, lineAt(text, i))
		}
		return fault.New("tool/no-match", "old_text stands in the file %d times, at lines %s", len(at), numbers(lines)).
			At(edit.where + "old_text").Want("add lines around the one you mean, or say replace_all")
	}
	e := fault.New("tool/no-match", "old_text does not stand in the file").At(edit.where + "old_text")
	e.Hint = nearMiss(strings.Split(text, "\n"), strings.Split(strings.Trim(edit.Old, "\r\n"), "\n"), "old_text")
	return e
}

// nearMiss looks for lines that differ from old only in white space, else for
// the longest beginning of old, line by line; what is the name of old.
func nearMiss(lines, old []string, what string) string {
	best, length := -1, 0
	for i := range lines {
		if n := alike(lines[i:], old); n > length {
			best, length = i, n
		}
	}
	if best < 0 {
		return noBeginning(lines, old, what)
	}
	if length == len(old) {
		return fmt.Sprintf("line %d differs in white space; it is %s", differing(lines, old, best)+1, fault.Echo(lines[differing(lines, old, best)]))
	}
	have := "the end of the file"
	if best+length < len(lines) {
		have = fault.Echo(lines[best+length])
	}
	return fmt.Sprintf("it begins at line %d, but line %d is %s where %s has %s",
		best+1, best+length+1, have, what, fault.Echo(old[length]))
}

// noBeginning names the line that is nearest to the first of old, which is not there.
func noBeginning(lines, old []string, what string) string {
	trimmed := make([]string, len(lines))
	for i, l := range lines {
		trimmed[i] = strings.TrimSpace(l)
	}
	const why = "not even the first line of %s is there"
	near := suggest.Nearest(strings.TrimSpace(old[0]), trimmed)
	if near == "" {
		return fmt.Sprintf("read the file again; "+why, what)
	}
	at := slices.Index(trimmed, near)
	return fmt.Sprintf(why+"; the nearest to it is line %d, %s", what, at+1, fault.Echo(lines[at]))
}

// alike counts how many lines of old agree with lines but for white space. A
// blank line alone is no likeness.
func alike(lines, old []string) int {
	n, solid := 0, false
	for n < len(old) && n < len(lines) && strings.TrimSpace(lines[n]) == strings.TrimSpace(old[n]) {
		solid = solid || strings.TrimSpace(old[n]) != ""
		n++
	}
	if !solid {
		return 0
	}
	return n
}

// differing returns the first of the lines from best on that is not exactly
// what old has; the first itself when they all are.
func differing(lines, old []string, best int) int {
	for i := range old {
		if lines[best+i] != old[i] {
			return best + i
		}
	}
	return best
}

// reconcileEdit looks at the file that an edit which was cut off has left.
func reconcileEdit(_ context.Context, s *Set, call *loomv1.ToolCall) (Result, bool) {
	var a editArguments
	if json.Unmarshal([]byte(call.Arguments), &a) != nil || s.ws.ReadOnly {
		return Result{}, false
	}
	edits, err := a.replacements()
	if err != nil || slices.ContainsFunc(edits, func(e replacement) bool { return e.Old == e.New }) {
		return Result{}, false // it is refused again
	}
	data, path, err := s.left(a.Path, call.Id)
	if err != nil {
		return Result{}, false // it says so itself when it is made again
	}
	text := string(data)
	for i, e := range edits {
		if edits[i], err = e.meant(text); err != nil || edits[i].Old == edits[i].New {
			return Result{}, false // it is refused again
		}
		if edits[i].Old != e.Old && strings.Contains(text, edits[i].Old) && strings.Contains(text, edits[i].New) {
			return unknown("the numbers in old_text may have been the file's own, and be gone"), true
		}
	}
	if len(edits) == 1 && !edits[0].All {
		return reconcileOne(path, text, edits[0])
	}
	if last := edits[len(edits)-1].New; last != "" && !strings.Contains(text, last) {
		return Result{}, false // the file is replaced in one step, and would have it
	}
	var lines []int
	for _, e := range edits {
		if e.New == "" || !strings.Contains(text, e.New) || strings.Contains(text, e.Old) {
			return unknown("the file fits neither edits that were made nor ones that were not"), true
		}
		lines = append(lines, lineAt(text, strings.Index(text, e.New)))
	}
	return edited(path, lines...), true
}

// reconcileOne tells of one edit: new_text there once, and old_text nowhere
// but inside of it, is an edit that was made; old_text once and not as a part of
// new_text is one that was not. Of anything else it cannot tell.
func reconcileOne(path, text string, e replacement) (Result, bool) {
	old := len(occurrences(text, e.Old))
	var added []int
	if e.New != "" {
		added = occurrences(text, e.New)
	}
	switch {
	case len(added) == 1 && old == len(occurrences(e.New, e.Old)):
		return edited(path, lineAt(text, added[0])), true
	case old == 1 && (len(added) == 0 || !strings.Contains(e.New, e.Old)):
		return Result{}, false
	}
	return unknown("the file fits neither an edit that was made nor one that was not"), true
}
