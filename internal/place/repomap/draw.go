package repomap

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Draw returns the map of files in at most limit bytes, in tiers: the files
// that have most to do with the work with what they declare, the next with the
// names of that, the next by name alone, and the directories of the rest. What
// is left out is said.
func Draw(files []File, w Work, limit int) string {
	ranked := Rank(files, w)
	if len(ranked) == 0 {
		return ""
	}
	d := &drawing{ranked: ranked, terms: ask(w.Text).terms, limit: limit - roomForRest}
	d.declarations(d.limit * 50 / 100)
	d.names(d.limit * 75 / 100)
	d.files(d.limit * 90 / 100)
	d.directories()
	return d.text(limit)
}

// roomForRest is kept for the last line, in bytes.
const roomForRest = 60

type drawing struct {
	ranked []Ranked
	terms  map[string]bool // words of the work
	limit  int

	lines []string
	used  int
	shown int // files of the ranking that are on the map
	left  int // directories that are not
}

// put adds a line if it stays within the first until bytes.
func (d *drawing) put(line string, until int) bool {
	if d.used+len(line)+1 > until {
		return false
	}
	d.lines = append(d.lines, line)
	d.used += len(line) + 1
	return true
}

// Bounds of what is shown of one file.
const (
	maxDeclarations = 14
	maxNames        = 30
)

// declarations shows files with the signatures of what they declare.
func (d *drawing) declarations(until int) {
	for d.shown < len(d.ranked) {
		f := d.ranked[d.shown]
		text := printable(f.Path)
		for _, s := range d.chosen(f, maxDeclarations) {
			text += fmt.Sprintf("\n  %d: %s", s.Line, cmp.Or(s.Signature, s.Name))
		}
		if n := len(f.Outline.Symbols) - maxDeclarations; n > 0 {
			text += fmt.Sprintf("\n  %d more", n)
		}
		if !d.put(text, until) {
			return
		}
		d.shown++
	}
}

// names shows files with the names of what they declare.
func (d *drawing) names(until int) {
	for d.shown < len(d.ranked) {
		f := d.ranked[d.shown]
		var list []string
		for _, s := range d.chosen(f, maxNames) {
			if !slices.Contains(list, s.Name) { // a method may be named like a function
				list = append(list, s.Name)
			}
		}
		text := printable(f.Path)
		if len(list) > 0 {
			text += ": " + strings.Join(list, ", ")
		}
		if n := len(f.Outline.Symbols) - maxNames; n > 0 {
			text += fmt.Sprintf(", %d more", n)
		}
		if !d.put(text, until) {
			return
		}
		d.shown++
	}
}

// chosen returns at most n symbols of a file, by line: those with words of the
// work first, then those that others can use.
func (d *drawing) chosen(f Ranked, n int) []Symbol {
	list := slices.Clone(f.Outline.Symbols)
	if len(list) <= n {
		return list
	}
	value := func(s Symbol) (v int) {
		eachWord(s.Name, func(w string) {
			if d.terms[w] {
				v += 4
			}
		})
		if !s.Local {
			v += 2
		}
		if s.Kind != Value {
			v++
		}
		return v
	}
	slices.SortStableFunc(list, func(a, b Symbol) int { return cmp.Compare(value(b), value(a)) })
	list = list[:n]
	slices.SortStableFunc(list, func(a, b Symbol) int { return cmp.Compare(a.Line, b.Line) })
	return list
}

// files shows files by name, those of a directory together.
func (d *drawing) files(until int) {
	var dirs []string
	names := map[string][]string{}
	used := d.used
	for d.shown < len(d.ranked) {
		p := d.ranked[d.shown].Path
		dir, base := printable(path.Dir(p)), printable(path.Base(p))
		size := len(base) + 1
		if names[dir] == nil {
			size += len(dir) + 2
		}
		if used+size > until {
			break
		}
		if names[dir] == nil {
			dirs = append(dirs, dir)
		}
		names[dir] = append(names[dir], base)
		used += size
		d.shown++
	}
	for _, dir := range dirs {
		d.put(dir+"/: "+strings.Join(names[dir], " "), until+roomForRest/2)
	}
}

// directories counts the files that are left, those with most to do with the
// work first.
func (d *drawing) directories() {
	number, weight := map[string]int{}, map[string]float64{}
	for _, f := range d.ranked[d.shown:] {
		dir := printable(path.Dir(f.Path))
		number[dir]++
		weight[dir] += f.Score
	}
	if len(number) == 0 {
		return
	}
	dirs := slices.SortedFunc(maps.Keys(number), func(a, b string) int { return cmp.Or(cmp.Compare(weight[b], weight[a]), strings.Compare(a, b)) })
	for i, dir := range dirs {
		if !d.put(fmt.Sprintf("%s/ (%d more files)", dir, number[dir]), d.limit) {
			d.left = len(dirs) - i
			break
		}
	}
}

func (d *drawing) text(limit int) string {
	if d.left > 0 {
		d.lines = append(d.lines, fmt.Sprintf("%d more directories are left out", d.left))
	}
	text := strings.Join(d.lines, "\n") + "\n"
	if len(text) > limit {
		return ""
	}
	return text
}

// printable is a path on one line, whatever its bytes are.
func printable(p string) string {
	if quoted := strconv.Quote(p); quoted != `"`+p+`"` {
		return quoted
	}
	return p
}
