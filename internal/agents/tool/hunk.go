package tool

import (
	"fmt"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/lang/patch"
)

// hunks makes the changes of an updated file in its text, and returns the lines
// where it did.
func hunks(f patch.File, text string) (after string, lines []int, err error) {
	t := patching{lines: split(text)}
	t.crlf = len(t.lines) > 0 && strings.HasSuffix(t.lines[0], "\r")
	var wrong []*fault.Error
	for i, h := range f.Hunks {
		if e := t.make(h); e != nil {
			wrong = append(wrong, e.At(fmt.Sprintf("%s, hunk %d", f.Path, i+1)))
		}
	}
	if err := fault.Join(wrong); err != nil {
		return "", nil, err
	}
	t.out = append(t.out, t.lines[t.next:]...)
	data := textOf(t.out, text == "" || strings.HasSuffix(text, "\n"))
	if len(data) > maxWrite {
		return "", nil, fault.New("tool/too-large", "the file would have %d bytes; at most %d are written", len(data), maxWrite).At(f.Path)
	}
	return string(data), t.at, nil
}

// split returns the lines of a text, without their ends.
func split(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// textOf is the inverse of split; ended says whether the last line has an end.
func textOf(lines []string, ended bool) []byte {
	if len(lines) == 0 {
		return []byte{}
	}
	text := strings.Join(lines, "\n")
	if ended {
		text += "\n"
	}
	return []byte(text)
}

// patching is a file on its way from old to new lines.
type patching struct {
	lines []string
	next  int // the first of them that no hunk has passed
	out   []string
	at    []int
	crlf  bool // lines that come end as the file's own do
}

// make makes one hunk in the file.
func (t *patching) make(h patch.Hunk) *fault.Error {
	i, err := t.find(h)
	if err != nil {
		return err
	}
	t.out = append(t.out, t.lines[t.next:i]...)
	first := 0
	for _, l := range h.Lines {
		if l.Kind != patch.Stays && first == 0 {
			first = i + 1
		}
		switch {
		case l.Kind == patch.Comes && t.crlf && !strings.HasSuffix(l.Text, "\r"):
			t.out = append(t.out, l.Text+"\r")
		case l.Kind == patch.Comes:
			t.out = append(t.out, l.Text)
		case l.Kind == patch.Goes:
			i++
		default: // as the file has it
			t.out = append(t.out, t.lines[i])
			i++
		}
	}
	t.next, t.at = i, append(t.at, first)
	return nil
}

// find returns where a hunk begins.
func (t *patching) find(h patch.Hunk) (int, *fault.Error) {
	from := t.next
	for _, under := range h.Under {
		i := t.under(from, under)
		if i < 0 {
			e := fault.New("tool/no-match", "the line behind @@ does not stand in the file").Got(under)
			e.Hint = nearMiss(t.lines, []string{under}, "it")
			return 0, e
		}
		from = i + 1
	}
	old := h.Old()
	if len(old) == 0 {
		switch {
		case h.End || len(t.lines) == 0:
			return len(t.lines), nil
		case len(h.Under) > 0:
			return from, nil
		}
		return 0, fault.New("tool/no-match", "the hunk does not say where its lines come").Want("lines around them, or @@ and the line above")
	}
	places := t.places(from, old, h.End)
	if len(places) == 0 && len(h.Under) > 0 && from > t.next { // the line behind @@ may be the hunk's first, too
		places = t.places(from-1, old, h.End)
	}
	switch {
	case len(places) == 1, len(places) > 1 && len(h.Under) > 0:
		return places[0], nil
	case len(places) > 1:
		var lines []int
		for _, i := range places {
			lines = append(lines, i+1)
		}
		return 0, fault.New("tool/no-match", "its lines stand in the file %d times, at lines %s", len(lines), numbers(lines)).
			Want("lines around the one you mean, or @@ and a line above it")
	}
	e := fault.New("tool/no-match", "its lines do not stand in the file")
	switch before := t.places(0, old, false); {
	case len(before) > 0 && h.End:
		e.Hint = fmt.Sprintf("they stand at line %d, which is not the end of the file", before[0]+1)
	case len(before) > 0:
		e.Hint = fmt.Sprintf("they stand at line %d, above the hunk or the @@ before: hunks follow each other as the file does", before[0]+1)
	default:
		e.Hint = nearMiss(t.lines, old, "the hunk")
	}
	return 0, e
}

// under returns the first line from one on that is, or else begins with, a text;
// -1 where none does.
func (t *patching) under(from int, text string) int {
	rest := t.lines[from:]
	i := slices.IndexFunc(rest, func(l string) bool { return strings.TrimSpace(l) == text })
	if i < 0 {
		i = slices.IndexFunc(rest, func(l string) bool { return strings.HasPrefix(strings.TrimSpace(l), text) })
	}
	if i < 0 {
		return -1
	}
	return from + i
}

// places returns where lines stand, from one on: to the last blank, or else but
// for blanks at the ends of lines.
func (t *patching) places(from int, old []string, atEnd bool) []int {
	for _, same := range []func(a, b string) bool{
		func(a, b string) bool { return a == b },
		func(a, b string) bool { return strings.TrimRight(a, " \t\r") == strings.TrimRight(b, " \t\r") },
	} {
		var list []int
		for i := from; i+len(old) <= len(t.lines); i++ {
			if atEnd && i+len(old) != len(t.lines) {
				continue
			}
			if slices.EqualFunc(t.lines[i:i+len(old)], old, same) {
				list = append(list, i)
			}
		}
		if len(list) > 0 {
			return list
		}
	}
	return nil
}
