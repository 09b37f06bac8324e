package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/loomrun/loom/internal/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

var fileEdit = &tool{
	Spec: Spec{
		Name:  "file_edit",
		Class: writes,
		Description: "Replace old_text by new_text in a text file of the workspace. old_text must stand in the file " +
			"exactly once, to the last blank: give enough of the lines around it.",
		Schema: schema(`"path","old_text","new_text"`, `
			"path": {"type": "string", "minLength": 1, "description": "relative to the workspace"},
			"old_text": {"type": "string", "minLength": 1},
			"new_text": {"type": "string"}`),
	},
	run:       with(editFile),
	reconcile: reconcileEdit,
}

type editArguments struct {
	Path string `json:"path"`
	Old  string `json:"old_text"`
	New  string `json:"new_text"`
}

func editFile(_ context.Context, j job, a editArguments) (Result, error) {
	p, err := j.target(a.Path, a.New, false)
	if err != nil {
		return Result{}, err
	}
	defer p.close()
	if a.Old == a.New {
		return Result{}, unfit("new_text", "it is the same as old_text")
	}
	data, _, err := p.content(maxWrite)
	if err != nil {
		return Result{}, err
	}
	if binary(data) {
		return Result{}, fault.New("tool/failed", "the file is not text").At("path").Got(a.Path)
	}
	text := string(data)
	at := occurrences(text, a.Old)
	if len(at) != 1 {
		return Result{}, noMatch(text, a.Old, at)
	}
	after := text[:at[0]] + a.New + text[at[0]+len(a.Old):]
	if len(after) > maxWrite {
		return Result{}, fault.New("tool/too-large", "the file would have %d bytes; at most %d are written", len(after), maxWrite).At("new_text")
	}
	if err := p.replace([]byte(after), j.id); err != nil {
		return Result{}, err
	}
	return edited(p.path, lineAt(text, at[0])), nil
}

func edited(path string, line int) Result {
	r := done("", "%s: edited at line %d", path, line)
	r.Output, r.Changed = r.Summary+"\n", []string{path}
	return r
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
func noMatch(text, old string, at []int) error {
	if len(at) > 1 {
		var lines []string
		for _, i := range at[:min(len(at), 10)] {
			lines = append(lines, fmt.Sprint(lineAt(text, i)))
		}
		return fault.New("tool/no-match", "old_text stands in the file %d times, at lines %s", len(at), strings.Join(lines, ", ")).
			At("old_text").Want("add lines around the one you mean")
	}
	e := fault.New("tool/no-match", "old_text does not stand in the file").At("old_text")
	e.Hint = nearMiss(strings.Split(text, "\n"), strings.Split(strings.Trim(old, "\r\n"), "\n"))
	return e
}

// nearMiss looks for lines that differ from old only in white space, else for
// the longest beginning of old, line by line.
func nearMiss(lines, old []string) string {
	best, length := -1, 0
	for i := range lines {
		if n := alike(lines[i:], old); n > length {
			best, length = i, n
		}
	}
	if best < 0 {
		return "read the file again; not even the first line of old_text is there"
	}
	if length == len(old) {
		return fmt.Sprintf("line %d differs in white space; it is %s", differing(lines, old, best)+1, fault.Echo(lines[differing(lines, old, best)]))
	}
	have := "the end of the file"
	if best+length < len(lines) {
		have = fault.Echo(lines[best+length])
	}
	return fmt.Sprintf("it begins at line %d, but line %d is %s where old_text has %s",
		best+1, best+length+1, have, fault.Echo(old[length]))
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

// reconcileEdit looks at the file: new_text there once, and old_text nowhere
// but inside of it, is an edit that was made; old_text once and not as a part of
// new_text is one that was not. Of anything else it cannot tell.
func reconcileEdit(_ context.Context, s *Set, call *loomv1.ToolCall) (Result, bool) {
	var a editArguments
	if json.Unmarshal([]byte(call.Arguments), &a) != nil || s.ws.ReadOnly || a.Old == a.New {
		return Result{}, false
	}
	data, path, err := s.left(a.Path, call.Id)
	if err != nil {
		return Result{}, false // it says so itself when it is made again
	}
	text := string(data)
	old := len(occurrences(text, a.Old))
	var added []int
	if a.New != "" {
		added = occurrences(text, a.New)
	}
	switch {
	case len(added) == 1 && old == len(occurrences(a.New, a.Old)):
		return edited(path, lineAt(text, added[0])), true
	case old == 1 && (len(added) == 0 || !strings.Contains(a.New, a.Old)):
		return Result{}, false
	}
	return unknown("the file fits neither an edit that was made nor one that was not"), true
}
