package plan

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// Bounds of what is looked at and told of a workspace.
const (
	maxEntries = 5_000
	maxListed  = 100
	headBytes  = 4 << 10
)

// Workspace tells what a workspace holds, for a prompt, in at most limit bytes:
// how many files of each kind there are, and of those that scan names (all, if
// it names none) the columns of tables, the titles of texts, and the names of
// the others. An entry of scan is globs with commas between them, and perhaps
// " — " and what they are good for. Hidden files and directories are left out.
func Workspace(files fs.FS, scan []string, limit int) string {
	kinds := map[string]int{}
	var named []string
	seen := 0
	_ = fs.WalkDir(files, ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil //nolint:nilerr // what cannot be read is not told of
		case name != "." && strings.HasPrefix(e.Name(), "."):
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		case e.IsDir():
			return nil
		}
		if seen++; seen > maxEntries {
			return fs.SkipAll
		}
		kinds[kind(name)]++
		if wanted(scan, name) {
			named = append(named, name)
		}
		return nil
	})
	return told(files, kinds, named, seen, limit)
}

func told(files fs.FS, kinds map[string]int, named []string, seen, limit int) string {
	if seen == 0 {
		return "The workspace is empty.\n"
	}
	var b strings.Builder
	order := slices.SortedFunc(maps.Keys(kinds), func(x, y string) int {
		return cmp.Or(cmp.Compare(kinds[y], kinds[x]), strings.Compare(x, y))
	})
	for i, k := range order[:min(len(order), 20)] {
		if i > 0 {
			b.WriteString("; ")
		}
		fmt.Fprintf(&b, "%d %s", kinds[k], k)
	}
	if seen > maxEntries {
		fmt.Fprintf(&b, "; more than %d files, the rest were not counted", maxEntries)
	}
	b.WriteByte('\n')
	for i, name := range named {
		line := fmt.Sprintf("%s%s\n", name, about(files, name))
		if i == maxListed || b.Len()+len(line) > limit {
			fmt.Fprintf(&b, "and %d more files\n", len(named)-i)
			break
		}
		b.WriteString(line)
	}
	return b.String()
}

func kind(name string) string {
	if ext := strings.ToLower(path.Ext(name)); len(ext) > 1 && len(ext) < 12 {
		return ext
	}
	return "without ending"
}

// wanted says whether scan names a file.
func wanted(scan []string, name string) bool {
	for _, entry := range scan {
		globs, _, _ := strings.Cut(entry, " — ")
		for glob := range strings.SplitSeq(globs, ",") {
			glob = strings.TrimSpace(glob)
			whole, _ := path.Match(glob, name)
			base, _ := path.Match(glob, path.Base(name))
			if whole || base {
				return true
			}
		}
	}
	return len(scan) == 0
}

// about says what a file is: a table's columns, a text's title.
func about(files fs.FS, name string) string {
	switch strings.ToLower(path.Ext(name)) {
	case ".csv", ".tsv":
		if line := firstLine(head(files, name), func(string) bool { return true }); line != "" {
			return ": columns " + line
		}
	case ".md", ".markdown":
		if line := firstLine(head(files, name), func(l string) bool { return strings.HasPrefix(l, "# ") }); line != "" {
			return ": " + strings.TrimSpace(strings.TrimLeft(line, "# "))
		}
	}
	return ""
}

// head returns the first bytes of a file, if they are text.
func head(files fs.FS, name string) string {
	f, err := files.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, headBytes))
	for len(data) > 0 && !utf8.Valid(data) && len(data) > headBytes-utf8.UTFMax {
		data = data[:len(data)-1]
	}
	if err != nil || !utf8.Valid(data) || bytes.ContainsRune(data, 0) {
		return ""
	}
	return string(data)
}

func firstLine(text string, is func(string) bool) string {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(strings.TrimPrefix(line, "\uFEFF")); line != "" && is(line) {
			if r := []rune(line); len(r) > 200 {
				return string(r[:199]) + "…"
			}
			return line
		}
	}
	return ""
}
