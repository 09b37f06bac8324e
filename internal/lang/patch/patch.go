package patch

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
)

// MaxFiles is how many files one patch may change.
const MaxFiles = 50

// Action says what becomes of a file.
type Action string

// The actions, as their headers name them.
const (
	Add    Action = "Add"
	Update Action = "Update"
	Delete Action = "Delete"
)

// File is what a patch does to one file.
type File struct {
	Action Action
	Path   string
	To     string   // where an updated file is moved; empty where it stays
	Lines  []string // of a file that is added
	Hunks  []Hunk   // of one that is updated
}

// Hunk is one place of a file that changes.
type Hunk struct {
	Under []string // lines above it, from the outermost on, that tell where to look
	Lines []Line
	End   bool // it is the end of the file
}

// Line is one line of a hunk.
type Line struct {
	Kind Kind
	Text string
}

// Kind is the character that a line of a hunk begins with.
type Kind byte

// The kinds.
const (
	Stays Kind = ' '
	Goes  Kind = '-'
	Comes Kind = '+'
)

// Old returns the lines that a hunk looks for.
func (h Hunk) Old() []string { return h.without(Comes) }

// New returns the lines that stand there afterwards.
func (h Hunk) New() []string { return h.without(Goes) }

func (h Hunk) without(k Kind) (list []string) {
	for _, l := range h.Lines {
		if l.Kind != k {
			list = append(list, l.Text)
		}
	}
	return list
}

const (
	begin     = "*** Begin Patch"
	end       = "*** End Patch"
	endOfFile = "*** End of File"
)

var headers = []string{"*** Add File:", "*** Update File:", "*** Delete File:", moveTo}

const moveTo = "*** Move to:"

// header takes a line apart that names a file.
func header(line string) (kind, path string, ok bool) {
	for _, h := range headers {
		if rest, found := strings.CutPrefix(line, h); found {
			return h, strings.TrimSpace(rest), true
		}
	}
	return "", "", false
}

// Paths returns every path that a text would change, were it a patch: those of all
// its headers, in their order.
func Paths(text string) (list []string) {
	for line := range strings.SplitSeq(text, "\n") {
		if _, path, ok := header(line); ok && !slices.Contains(list, path) {
			list = append(list, path)
		}
	}
	return list
}

// Parse reads a patch. It refuses, with tool/arguments and the line, what is none.
func Parse(text string) ([]File, error) {
	r := reader{lines: strings.Split(strings.ReplaceAll(strings.TrimSpace(text), "\r\n", "\n"), "\n")}
	last := len(r.lines) - 1
	switch {
	case r.lines[0] != begin:
		return nil, r.refuse(0, "a patch begins with the line %q", begin)
	case r.lines[last] != end:
		return nil, r.refuse(last, "a patch ends with the line %q", end)
	}
	r.lines, r.at = r.lines[:last], 1
	var files []File
	for r.blanks(); r.at < len(r.lines); r.blanks() {
		f, err := r.file()
		if err != nil {
			return nil, err
		}
		if files = append(files, f); len(files) > MaxFiles {
			return nil, r.refuse(r.at-1, "a patch changes at most %d files", MaxFiles)
		}
	}
	if len(files) == 0 {
		return nil, r.refuse(last, "the patch names no file")
	}
	return files, nil
}

// reader goes through the lines of a patch.
type reader struct {
	lines []string
	at    int
}

func (r *reader) refuse(at int, format string, args ...any) *fault.Error {
	e := fault.New("tool/arguments", format, args...).At(fmt.Sprintf("patch, line %d", at+1))
	if at < len(r.lines) {
		e = e.Got(r.lines[at])
	}
	return e
}

// file reads what the patch does to one file.
func (r *reader) file() (File, error) {
	start := r.at
	kind, path, ok := header(r.lines[start])
	switch {
	case !ok || kind == moveTo:
		return File{}, r.refuse(start, "it is not the beginning of a file").Want("%s PATH, or Add File, or Delete File", headers[1])
	case path == "":
		return File{}, r.refuse(start, "it names no file")
	}
	r.at++
	switch f := (File{Path: path}); kind {
	case headers[0]:
		f.Action = Add
		return r.added(f)
	case headers[2]:
		f.Action = Delete
		r.blanks()
		return f, nil
	default:
		f.Action = Update
		return r.updated(f, start)
	}
}

// blanks passes over empty lines between files and hunks. One with a blank is a
// line of a hunk.
func (r *reader) blanks() {
	for r.at < len(r.lines) && r.lines[r.at] == "" {
		r.at++
	}
}

func (r *reader) added(f File) (File, error) {
	for ; r.at < len(r.lines); r.at++ {
		line, ok := strings.CutPrefix(r.lines[r.at], "+")
		if !ok {
			break
		}
		f.Lines = append(f.Lines, line)
	}
	r.blanks()
	if r.at < len(r.lines) {
		if _, _, ok := header(r.lines[r.at]); !ok {
			return f, r.refuse(r.at, "each line of a file that is added begins with +")
		}
	}
	return f, nil
}

func (r *reader) updated(f File, start int) (File, error) {
	if r.at < len(r.lines) {
		if kind, to, ok := header(r.lines[r.at]); ok && kind == moveTo {
			if f.To = to; to == "" || to == f.Path {
				return f, r.refuse(r.at, "it names no other file")
			}
			r.at++
		}
	}
	for r.blanks(); r.at < len(r.lines); r.blanks() {
		if _, _, ok := header(r.lines[r.at]); ok {
			break
		}
		h, err := r.hunk()
		if err != nil {
			return f, err
		}
		f.Hunks = append(f.Hunks, h)
	}
	if len(f.Hunks) == 0 && f.To == "" {
		return f, r.refuse(start, "nothing of the file changes").Want("hunks: lines that begin with a blank, - or +")
	}
	return f, nil
}

// unified is what a hunk of another format begins with: its numbers are not what
// a model can count, and are passed over.
var unified = regexp.MustCompile(`^-\d+(,\d+)? \+\d+(,\d+)? @@`)

func (r *reader) hunk() (h Hunk, err error) {
	start, bare := r.at, 0
	for ; r.at < len(r.lines); r.at++ {
		under, ok := strings.CutPrefix(r.lines[r.at], "@@")
		if !ok {
			break
		}
		if under = strings.TrimSpace(under); under != "" && !unified.MatchString(under) {
			h.Under = append(h.Under, under)
		}
	}
read:
	for ; r.at < len(r.lines); r.at++ {
		line := r.lines[r.at]
		_, _, next := header(line)
		switch {
		case line == endOfFile:
			h.End = true
			r.at++
			break read
		case next || strings.HasPrefix(line, "@@"):
			break read
		case line == "": // a line that stays and is empty, written without its blank
			h.Lines = append(h.Lines, Line{Kind: Stays})
			bare++
			continue
		case strings.HasPrefix(line, `\ No newline`):
		case strings.IndexByte(" -+", line[0]) >= 0:
			h.Lines = append(h.Lines, Line{Kind(line[0]), line[1:]})
		default:
			return h, r.refuse(r.at, "a line of a hunk begins with a blank, - or +")
		}
		bare = 0
	}
	h.Lines = h.Lines[:len(h.Lines)-bare] // they part it from what follows
	if !slices.ContainsFunc(h.Lines, func(l Line) bool { return l.Kind != Stays }) {
		return h, r.refuse(start, "nothing changes in this hunk").Want("lines that begin with - or +")
	}
	return h, nil
}
