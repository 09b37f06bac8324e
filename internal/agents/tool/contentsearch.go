package tool

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"regexp/syntax"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/loomrun/loom/internal/base/fault"
)

// Bounds of what content_search names that it did not look at.
const (
	namedFiles       = 10
	namedDirectories = 20
)

var contentSearch = &tool{
	Spec: Spec{
		Name:  "content_search",
		Class: reads,
		Description: "Find lines in text files by a regular expression (RE2; (?i) ignores case): PATH:LINE:TEXT. " +
			"What git ignores is left out.",
		Schema: schema(`"pattern"`, `
			"pattern": {"type": "string", "minLength": 1, "maxLength": 512},
			"path": {"type": "string", "description": "directory or file"},
			"glob": {"type": "string", "minLength": 1, "maxLength": 512, "description": "only these paths, as **/*.go"},
			"mode": {"enum": ["lines", "files", "count"]},
			"context": {"type": "integer", "minimum": 0, "maximum": 20, "description": "lines around each"},
			"limit": {"type": "integer", "minimum": 1, "maximum": 1000, `+quiet+`}`),
	},
	run: with(searchContent),
}

func searchContent(ctx context.Context, j job, a searchArguments) (Result, error) {
	if len(a.Pattern) > maxPattern {
		return Result{}, unfit("/pattern", "it has %d bytes; at most %d are taken", len(a.Pattern), maxPattern)
	}
	pattern, err := regexp.Compile(a.Pattern)
	note := ""
	if err != nil { // a call such as "open(" is what most of these are
		note = fmt.Sprintf("[the pattern was looked for as it stands, because it is no regular expression (RE2): %s; there is no lookahead and no backreference]\n",
			strings.TrimPrefix(err.Error(), "error parsing regexp: "))
		a.Pattern = regexp.QuoteMeta(a.Pattern)
		pattern = regexp.MustCompile(a.Pattern)
	}
	list, err := j.matching(ctx, a, "glob")
	if err != nil {
		return Result{}, err
	}
	h := hits{set: j.Set, arguments: a, pattern: pattern, needed: needed(a.Pattern), listing: list}
	if err := h.search(ctx, list.files); err != nil {
		return Result{}, err
	}
	found := h.result()
	found.Output += note
	return found, nil
}

// needed returns the longest text that every match of a pattern has, empty
// where there is none: what lacks it is passed over without the pattern.
func needed(pattern string) []byte {
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil
	}
	return literal(tree.Simplify())
}

func literal(t *syntax.Regexp) []byte {
	switch t.Op {
	case syntax.OpLiteral:
		if t.Flags&syntax.FoldCase == 0 && !slices.Contains(t.Rune, '\uFFFD') { // which also matches what is not UTF-8
			return []byte(string(t.Rune))
		}
	case syntax.OpCapture, syntax.OpPlus:
		return literal(t.Sub[0])
	case syntax.OpConcat:
		var longest []byte
		for _, part := range t.Sub {
			if l := literal(part); len(l) > len(longest) {
				longest = l
			}
		}
		return longest
	}
	return nil
}

// hits are what a search has found so far, in the order of the paths.
type hits struct {
	set       *Set
	arguments searchArguments
	pattern   *regexp.Regexp
	needed    []byte
	full      atomic.Bool // nothing more is shown; the rest is counted

	out                          strings.Builder
	shown                        int // lines or files
	lines, files, looked         int
	large, binary, closed, clips []string // over maxSearched; no text; unreadable; with lines over maxLine
	rest                         []string // not reached in time
	listing                      listing
}

// part is a run of files in the order of their paths, which one goroutine
// searches.
type part struct {
	files []string
	found []found // as many as were searched before the time was over
}

// found is what a search met in one file.
type found struct {
	state int
	count int      // lines that match
	shown []string // one for each line that matches, with its context
	long  bool
}

// States of a file that was searched.
const (
	searched = iota
	gone     // known to git, but deleted
	large
	closed
	notText
)

// search looks through files with every processor, in parts of so many that
// their results stay few while the parts before them are awaited. When ctx's
// time is over, what was found until then counts, and the rest is named.
func (h *hits) search(ctx context.Context, list []string) error {
	const size = 64
	workers := runtime.GOMAXPROCS(0)
	type pending chan part
	order, tasks := make(chan pending, 4*workers), make(chan func(room *bytes.Buffer))
	var working sync.WaitGroup
	for range workers {
		working.Go(func() {
			var room bytes.Buffer // for the files, one after the other
			for task := range tasks {
				task(&room)
			}
		})
	}
	go func() {
		for files := range slices.Chunk(list, size) {
			answer := make(pending, 1)
			order <- answer
			tasks <- func(room *bytes.Buffer) { answer <- h.searchPart(ctx, files, room) }
		}
		close(order)
		close(tasks)
	}()
	for answer := range order {
		h.take(<-answer)
	}
	working.Wait()
	if errors.Is(ctx.Err(), context.Canceled) || len(h.rest) > 0 && h.looked == 0 {
		return ended(ctx)
	}
	return nil
}

// searchPart searches files; those of one directory through one place.
func (h *hits) searchPart(ctx context.Context, files []string, room *bytes.Buffer) part {
	p := part{files: files}
	var at place
	dir, open := "", false
	defer func() {
		if open {
			at.close()
		}
	}()
	for _, file := range files {
		if ctx.Err() != nil {
			return p
		}
		if d := path.Dir(file); !open || d != dir {
			if open {
				at.close()
			}
			var err error
			if at, err = h.set.locate(file, how{}); err != nil {
				open = false
				p.found = append(p.found, found{state: stateOf(err)})
				continue
			}
			dir, open = d, true
		}
		p.found = append(p.found, h.look(place{at.dir, path.Base(file), file}, room))
	}
	return p
}

func stateOf(err error) int {
	switch fault.Code(err) {
	case "tool/too-large":
		return large
	case "tool/not-found":
		return gone
	}
	return closed
}

// load reads a file into room. Of what is no text it reads the beginning only.
func load(p place, room *bytes.Buffer) (state int) {
	f, info, err := p.open()
	if err != nil {
		return stateOf(err)
	}
	defer f.Close()
	const head = 8 << 10
	room.Reset()
	room.Grow(int(min(info.Size(), maxSearched)) + bytes.MinRead + 1)
	_, err = room.ReadFrom(io.LimitReader(f, head))
	switch {
	case err != nil:
		return closed
	case binary(room.Bytes()):
		return notText
	case info.Size() > maxSearched:
		return large
	}
	switch _, err = room.ReadFrom(io.LimitReader(f, maxSearched-head+1)); {
	case err != nil:
		return closed
	case room.Len() > maxSearched: // it grew
		return large
	}
	return searched
}

// look searches one file.
func (h *hits) look(p place, room *bytes.Buffer) found {
	if state := load(p, room); state != searched {
		return found{state: state}
	}
	data := room.Bytes()
	if !bytes.Contains(data, h.needed) {
		return found{}
	}
	var f found
	var lines [][]byte // of the whole file, where there is context to show
	if h.arguments.Context > 0 {
		lines = bytes.SplitAfter(data, []byte("\n"))
	}
	number, until := 0, 0 // until is the last line that is shown already
	for line := range bytes.Lines(data) {
		number++
		if !bytes.Contains(line, h.needed) {
			continue
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) > maxLine {
			line, f.long = line[:maxLine], true
		}
		if !h.pattern.Match(line) {
			continue
		}
		f.count++
		if h.mode() == "lines" && len(f.shown) < h.arguments.limit() && !h.full.Load() {
			var text strings.Builder
			if lines != nil {
				until = h.around(&text, p.path, lines, number, until)
			} else {
				writeLine(&text, p.path, ':', number, line)
			}
			f.shown = append(f.shown, text.String())
		}
	}
	return f
}

// around writes a line with those around it that were not written before, and
// returns the number of the last one written. The lines after it end before
// the next match, which is written as one.
func (h *hits) around(out *strings.Builder, file string, lines [][]byte, number, until int) int {
	first := max(number-h.arguments.Context, until+1)
	if first > until+1 && until > 0 {
		out.WriteString("--\n")
	}
	last := min(number+h.arguments.Context, len(lines))
	for n := first; n <= last; n++ {
		line := lines[n-1]
		if n == len(lines) && len(line) == 0 {
			break // what follows the last line break is no line
		}
		mark := byte('-')
		if n == number {
			mark = ':'
		} else if n > number && h.pattern.Match(bytes.TrimRight(line[:min(len(line), maxLine)], "\r\n")) {
			return n - 1
		}
		writeLine(out, file, mark, n, line)
	}
	return last
}

// writeLine writes one line as it is shown: PATH:LINE:TEXT, or PATH-LINE-TEXT
// where it is context, as grep does: no blank is added that an edit would not find.
func writeLine(out *strings.Builder, file string, mark byte, number int, line []byte) {
	text := bytes.TrimRight(line, "\r\n")
	fmt.Fprintf(out, "%s%c%d%c%s\n", shown(file), mark, number, mark, cutEnd(plain(string(text)), shownLine))
}

func (h *hits) mode() string { return cmp.Or(h.arguments.Mode, "lines") }

// take adds the next part in order.
func (h *hits) take(p part) {
	for i, f := range p.found {
		switch f.state {
		case searched:
			h.looked++
			h.add(p.files[i], f)
		case large:
			h.large = append(h.large, p.files[i])
		case closed:
			h.closed = append(h.closed, p.files[i])
		case notText:
			h.binary = append(h.binary, p.files[i])
		}
	}
	h.rest = append(h.rest, p.files[len(p.found):]...)
}

func (h *hits) add(file string, f found) {
	if f.long {
		h.clips = append(h.clips, file)
	}
	if f.count == 0 {
		return
	}
	h.lines += f.count
	h.files++
	switch h.mode() {
	case "files":
		f.shown = []string{shown(file) + "\n"}
	case "count":
		f.shown = []string{fmt.Sprintf("%s: %d\n", shown(file), f.count)}
	}
	for _, text := range f.shown {
		if h.full.Load() || h.shown == h.arguments.limit() || h.out.Len()+len(text) > roomForHits {
			h.full.Store(true)
			return
		}
		h.out.WriteString(text)
		h.shown++
	}
}

// result says what was found and what was not looked at, to the model and, in
// the summary, to people.
func (h *hits) result() Result {
	if h.lines == 0 {
		fmt.Fprintf(&h.out, "no line matches in %d files\n", h.looked)
	}
	summary := fmt.Sprintf("%s: %d lines in %d files", h.arguments.Pattern, h.lines, h.files)
	note := func(format string, args ...any) {
		text := fmt.Sprintf(format, args...)
		fmt.Fprintf(&h.out, "[%s]\n", text)
		summary += "; " + text
	}
	of, all := "lines", h.lines
	if h.mode() != "lines" {
		of, all = "files", h.files
	}
	if h.shown < all {
		note("%d of %d %s are given", h.shown, all, of)
	}
	if len(h.rest) > 0 {
		note("the time was over before %d files were searched, in %s; search there with path", len(h.rest), directories(h.rest))
	}
	if n := len(h.closed); n > 0 {
		note("%d files could not be read: %s", n, some(h.closed))
	}
	if n := len(h.large); n > 0 {
		note("%d files over %d MiB were not searched: %s", n, maxSearched>>20, some(h.large))
	}
	if n := len(h.clips); n > 0 {
		note("in %d files lines were searched only in their first %d KiB: %s", n, maxLine>>10, some(h.clips))
	}
	if n := len(h.binary); n > 0 {
		note("%d binary files were not searched: %s", n, some(h.binary))
	}
	for _, text := range h.listing.notes() {
		note("%s", text)
	}
	return done(h.out.String(), "%s", summary)
}

// some names the first of a list of files.
func some(files []string) string {
	names := make([]string, 0, namedFiles+1)
	for _, f := range files[:min(len(files), namedFiles)] {
		names = append(names, shown(f))
	}
	if len(files) > namedFiles {
		names = append(names, "...")
	}
	return strings.Join(names, ", ")
}

// directories names where files lie, by as many elements of their paths as
// leave few names.
func directories(files []string) string {
	var names []string
	for depth := 3; depth > 0; depth-- {
		names = names[:0]
		for _, f := range files {
			elements := strings.Split(path.Dir(f), "/")
			names = append(names, strings.Join(elements[:min(depth, len(elements))], "/"))
		}
		slices.Sort(names)
		if names = slices.Compact(names); len(names) <= namedDirectories {
			return strings.Join(names, ", ")
		}
	}
	return fmt.Sprintf("%s and %d more, up to %s", strings.Join(names[:namedDirectories], ", "), len(names)-namedDirectories, names[len(names)-1])
}
