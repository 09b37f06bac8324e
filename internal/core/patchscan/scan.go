package patchscan

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Modes of a path, as git writes them.
const (
	None     = "000000"
	Runnable = "100755"
	Symlink  = "120000"
	Gitlink  = "160000"
)

// Bounds of an examination.
const (
	// LargeFile is the size in bytes beyond which a file is large.
	LargeFile = 1 << 20
	// MaxText is how many bytes of one version of a file are looked at. A caller
	// need not give more, see [File].
	MaxText = 16 << 20
	// MaxTotal is how many bytes of all files are.
	MaxTotal = 64 << 20
	// MaxKeyed is how many bytes are held against rules for keys, each byte as often
	// as there are rules that look at it: some seconds' work.
	MaxKeyed = 16 << 20
	// MaxFindings is how many findings there are at most; one for each kind stands
	// for what is left out.
	MaxFindings = 200

	findingsBytes = 24 << 10 // of paths and sentences
	longestPath   = 1 << 10  // bytes of a path in a finding
)

// File is one path of a change: what stood there, and what shall.
type File struct {
	Path             string
	OldMode, NewMode string // "000000" for none
	OldSize, NewSize int64  // bytes of the whole content
	// Old and New are the contents; of a link its target. What is shorter than its
	// size was not read to the end, and the rest is reported as unexamined.
	Old, New []byte
}

func (f File) deleted() bool { return f.NewMode == None }
func (f File) regular() bool { return strings.HasPrefix(f.NewMode, "100") }

// Scanner looks at changes. It may be used by several goroutines.
type Scanner struct{ rules *rules }

// New returns a scanner with the built-in rules. It compiles them, which takes
// some tens of milliseconds.
func New() (*Scanner, error) {
	r, err := builtin()
	return &Scanner{r}, err
}

// Scan returns what a change contains that a person should know, and what the
// policy makes of each: what is refused first, secrets before the rest, then by
// path, line and kind. Kinds that the policy allows are left out. known names the secrets of the host that
// stand in a text; nil knows none.
func (s *Scanner) Scan(files []File, p Policy, known func(text string) []string) []*loomv1.PatchWarning {
	if known == nil {
		known = func(string) []string { return nil }
	}
	e := &examination{rules: s.rules, known: known, policy: p, left: MaxTotal, keyed: MaxKeyed}
	for _, f := range files {
		e.file(f)
	}
	e.missingTests()
	return e.report()
}

// Refused returns the findings that keep a change from being proposed.
func Refused(found []*loomv1.PatchWarning) []*loomv1.PatchWarning { return at(found, Refuse) }

// Gated returns the findings that a person has to approve.
func Gated(found []*loomv1.PatchWarning) []*loomv1.PatchWarning { return at(found, Gate) }

func at(found []*loomv1.PatchWarning, level loomv1.PatchAction) (list []*loomv1.PatchWarning) {
	for _, w := range found {
		if w.Action == level {
			list = append(list, w)
		}
	}
	return list
}

// Text is a finding in one line: its place, kind and sentence.
func Text(w *loomv1.PatchWarning) string {
	place := ""
	if w.Path != "" {
		place = fmt.Sprintf("%q", w.Path)
	}
	if w.Line > 0 {
		place += fmt.Sprintf(", line %d", w.Line)
	}
	if place != "" {
		place += ": "
	}
	return place + w.Text + " (" + w.Kind + ")"
}

// examination is one change being looked at.
type examination struct {
	rules  *rules
	known  func(text string) []string
	policy Policy
	found  []*loomv1.PatchWarning
	left   int64 // bytes that may still be looked at
	keyed  int   // bytes that may still be held against rules for keys
	tests  tally
}

// add notes a finding unless its kind is allowed.
func (e *examination) add(k Kind, path string, line int, format string, args ...any) {
	does := e.policy.Of(k)
	if does == Allow {
		return
	}
	e.found = append(e.found, &loomv1.PatchWarning{
		Kind: string(k), Path: shortened(path), Line: uint32(line), Text: strings.ToValidUTF8(fmt.Sprintf(format, args...), "\uFFFD"), Action: does,
	})
}

// shortened is a path as a message carries it.
func shortened(path string) string {
	path = strings.ToValidUTF8(path, "\uFFFD")
	if len(path) <= longestPath {
		return path
	}
	return strings.ToValidUTF8(path[:longestPath], "") + "…"
}

// file looks at one path.
func (e *examination) file(f File) {
	e.place(f)
	switch {
	case f.NewMode == Gitlink || f.OldMode == Gitlink:
		e.add(Submodule, f.Path, 0, "a submodule is added, moved or taken out")
		return
	case f.NewMode == Symlink:
		e.link(f)
		if old, _ := e.take(f.Old, f.OldSize, strings.HasPrefix(f.OldMode, "100")); old != nil {
			e.tests.count(f, newText(readable(old)), text{})
		}
		return
	}
	if f.NewMode == Runnable && f.OldMode != Runnable {
		e.add(Executable, f.Path, 0, "the file becomes executable")
	}
	if f.regular() && f.NewSize > LargeFile {
		e.add(Large, f.Path, 0, "the file has %d bytes, more than %d", f.NewSize, LargeFile)
	}
	e.content(f)
}

// content looks at the text of a file.
func (e *examination) content(f File) {
	old, whole := e.take(f.Old, f.OldSize, strings.HasPrefix(f.OldMode, "100"))
	now, all := e.take(f.New, f.NewSize, f.regular())
	if !whole || !all {
		e.add(Unexamined, f.Path, 0, "only the first %d bytes were looked at", len(now))
	}
	binary := isBinary(now)
	if binary {
		e.add(Binary, f.Path, 0, "the file is binary: no diff shows its %d bytes", f.NewSize)
	}
	// A zero byte hides a text from diffs, and not from those who read it.
	before, after := newText(readable(old)), newText(readable(now))
	e.tests.count(f, before, after)
	if f.deleted() {
		return
	}
	added := after.addedTo(before)
	e.conflicts(f.Path, after, added)
	e.attributes(f.Path, after, added)
	e.scripts(f.Path, before, after, added)
	e.skips(f.Path, after, added)
	e.secrets(f.Path, after, added, binary)
}

// take returns what may be looked at of a content of so many bytes, and whether
// that is all of it.
func (e *examination) take(content []byte, size int64, file bool) (part []byte, whole bool) {
	if !file {
		return nil, true
	}
	part = content[:min(int64(len(content)), MaxText, e.left)]
	e.left -= int64(len(part))
	return part, int64(len(part)) >= size
}

// near is how much of a content git looks at to know what is binary.
const near = 8000

// isBinary says so where git does: there is a zero byte near the beginning.
func isBinary(content []byte) bool {
	return bytes.IndexByte(content[:min(len(content), near)], 0) >= 0
}

// readable is a content without zero bytes: text in UTF-16 loses those of its ASCII
// characters, in all else each is a space. Lines stay what they are.
func readable(content []byte) []byte {
	zeros := [2]int{} // at even and at odd places
	head := content[:min(len(content), near)]
	for i, b := range head {
		if b == 0 {
			zeros[i%2]++
		}
	}
	switch {
	case bytes.IndexByte(content, 0) < 0:
		return content
	case max(zeros[0], zeros[1]) > len(head)/5 && min(zeros[0], zeros[1]) < len(head)/50:
		return bytes.ReplaceAll(content, []byte{0}, nil)
	}
	return bytes.ReplaceAll(content, []byte{0}, []byte{' '})
}

// text is a content by its lines.
type text struct {
	whole  string
	starts []int // of each line
}

func newText(content []byte) text {
	t := text{whole: string(content)}
	for at := 0; at < len(t.whole); {
		t.starts = append(t.starts, at)
		end := strings.IndexByte(t.whole[at:], '\n')
		if end < 0 {
			break
		}
		at += end + 1
	}
	return t
}

// line returns a line without its end; i counts from 0.
func (t text) line(i int) string {
	return strings.TrimRight(t.whole[t.starts[i]:t.end(i)], "\r\n")
}

// end is where the line after line i begins.
func (t text) end(i int) int {
	if i+1 < len(t.starts) {
		return t.starts[i+1]
	}
	return len(t.whole)
}

// lineAt returns the line that an offset lies in, from 0.
func (t text) lineAt(offset int) int {
	i, exact := slices.BinarySearch(t.starts, offset)
	if !exact {
		i--
	}
	return max(i, 0)
}

// addedTo returns the lines, from 0, that stand in t more often than in old. A
// line that was only moved is not added.
func (t text) addedTo(old text) []int {
	had := map[string]int{}
	for i := range old.starts {
		had[old.line(i)]++
	}
	var added []int
	for i := range t.starts {
		line := t.line(i)
		if had[line]--; had[line] < 0 {
			added = append(added, i)
		}
	}
	return added
}

// rank puts secrets before all else of their level.
func rank(w *loomv1.PatchWarning) int {
	if w.Kind == string(Secret) {
		return 1
	}
	return 0
}

// report sorts and bounds the findings.
func (e *examination) report() []*loomv1.PatchWarning {
	order := kindNames()
	slices.SortStableFunc(e.found, func(a, b *loomv1.PatchWarning) int {
		return cmp.Or(
			cmp.Compare(b.Action, a.Action), cmp.Compare(rank(b), rank(a)), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line),
			cmp.Compare(slices.Index(order, a.Kind), slices.Index(order, b.Kind)), cmp.Compare(a.Text, b.Text),
		)
	})
	e.found = slices.CompactFunc(e.found, func(a, b *loomv1.PatchWarning) bool {
		return a.Kind == b.Kind && a.Path == b.Path && a.Line == b.Line && a.Text == b.Text
	})
	return e.bounded(order)
}

// bounded cuts a long list: for each kind that something was left out of, one
// finding says of how much.
func (e *examination) bounded(order []string) []*loomv1.PatchWarning {
	size, keep := 0, 0
	for keep < len(e.found) && keep < MaxFindings-len(kinds) {
		if size += len(e.found[keep].Path) + len(e.found[keep].Text); size > findingsBytes {
			break
		}
		keep++
	}
	more := map[string]int{}
	for _, w := range e.found[keep:] {
		more[w.Kind]++
	}
	list := e.found[:keep:keep]
	for _, kind := range order {
		if n := more[kind]; n > 0 {
			list = append(list, &loomv1.PatchWarning{Kind: kind, Text: fmt.Sprintf("there are %d more findings of this kind", n), Action: e.policy.Of(Kind(kind))})
		}
	}
	return list
}
