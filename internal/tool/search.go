package tool

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/loomrun/loom/internal/fault"
)

// Bounds of searches.
const (
	maxPattern  = 512       // bytes
	maxSearched = 1 << 20   // bytes of a file; larger ones are passed over
	maxTotal    = 64 << 20  // bytes of all files
	maxLine     = 4 << 10   // bytes of a line that a pattern is tried on
	shownLine   = 300       // bytes of a line that is shown
	defaultHits = 200       // of a search that does not say
	roomForHits = 200 << 10 // bytes
)

var fileSearch = &tool{
	Spec: Spec{
		Name:  "file_search",
		Class: reads,
		Description: "Find files of the workspace by a glob pattern on their paths, such as \"**/*_test.go\" or \"cmd/*/main.go\" " +
			"(** is any number of directories). Files that git ignores are left out.",
		Schema: schema(`"pattern"`, `
			"pattern": {"type": "string", "minLength": 1, "maxLength": 512},
			"path": {"type": "string", "description": "directory to look in; its name is not part of what the pattern is tried on"},
			"limit": {"type": "integer", "minimum": 1, "maximum": 1000, "description": "most paths; 200 when not given"}`),
	},
	run: with(searchFiles),
}

var contentSearch = &tool{
	Spec: Spec{
		Name:  "content_search",
		Class: reads,
		Description: "Find lines in the text files of the workspace by a regular expression (RE2; (?i) ignores case). " +
			"Gives PATH:LINE: TEXT. Binary files, files over 1 MiB and what git ignores are left out.",
		Schema: schema(`"pattern"`, `
			"pattern": {"type": "string", "minLength": 1, "maxLength": 512},
			"path": {"type": "string", "description": "directory to look in"},
			"glob": {"type": "string", "minLength": 1, "maxLength": 512, "description": "only files whose path matches, such as \"**/*.go\""},
			"limit": {"type": "integer", "minimum": 1, "maximum": 1000, "description": "most lines; 200 when not given"}`),
	},
	run: with(searchContent),
}

type searchArguments struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path"`
	Glob    string `json:"glob"`
	Limit   int    `json:"limit"`
}

func (a searchArguments) limit() int {
	if a.Limit == 0 {
		return defaultHits
	}
	return a.Limit
}

func searchFiles(ctx context.Context, j job, a searchArguments) (Result, error) {
	a.Glob = a.Pattern
	list, more, err := j.matching(ctx, a, "pattern")
	if err != nil {
		return Result{}, err
	}
	var out strings.Builder
	given := 0
	for _, f := range list {
		if given == a.limit() || out.Len()+len(f) > roomForHits {
			break
		}
		out.WriteString(shown(f) + "\n")
		given++
	}
	if given < len(list) {
		fmt.Fprintf(&out, "[%d of %d paths]\n", given, len(list))
	}
	if more {
		fmt.Fprintf(&out, "[only the first %d files were looked at]\n", maxFiles)
	}
	if len(list) == 0 {
		out.WriteString("no file matches\n")
	}
	return done(out.String(), "%s: %d files", a.Pattern, len(list)), nil
}

// matching lists the files below a.Path that a.Glob matches, all without one.
func (s *Set) matching(ctx context.Context, a searchArguments, argument string) (list []string, more bool, err error) {
	glob := strings.TrimPrefix(a.Glob, "./")
	if a.Glob != "" && (len(glob) > maxPattern || strings.Count(glob, "{") > 4 || !doublestar.ValidatePattern(glob)) {
		return nil, false, unfit("/"+argument, "it is not a sound glob pattern of at most %d bytes and 4 groups", maxPattern).Got(a.Glob)
	}
	under := a.Path
	if under == "" {
		under = "."
	}
	all, more, err := s.files(ctx, under)
	if err != nil || glob == "" {
		return all, more, err
	}
	elements, _ := elements(under)
	prefix := strings.Join(append(elements, ""), "/")
	for i, f := range all {
		if i%256 == 0 && ctx.Err() != nil {
			return nil, false, ended(ctx)
		}
		if doublestar.MatchUnvalidated(glob, strings.TrimPrefix(f, prefix)) {
			list = append(list, f)
		}
	}
	return list, more, nil
}

func searchContent(ctx context.Context, j job, a searchArguments) (Result, error) {
	pattern, err := regexp.Compile(a.Pattern)
	if err != nil || len(a.Pattern) > maxPattern {
		return Result{}, unfit("/pattern", "it is not a regular expression (RE2) of at most %d bytes: %v", maxPattern, err).Got(a.Pattern)
	}
	list, more, err := j.matching(ctx, a, "glob")
	if err != nil {
		return Result{}, err
	}
	h := hits{set: j.Set, pattern: pattern, limit: a.limit(), cutFiles: more}
	for _, f := range list {
		if err := h.look(ctx, f); err != nil {
			return Result{}, err
		}
		if h.full {
			break
		}
	}
	return h.result(a.Pattern), nil
}

// hits are the lines found so far.
type hits struct {
	set     *Set
	pattern *regexp.Regexp
	limit   int

	out                         strings.Builder
	lines, files, looked        int
	bytes                       int64
	binary, large, closed, long int // what was passed over
	full, cutFiles              bool
}

// look searches one file; one that cannot be read is counted.
func (h *hits) look(ctx context.Context, file string) error {
	if h.bytes > maxTotal {
		h.full = true
		return nil
	}
	p, err := h.set.locate(file, how{})
	if err != nil {
		h.closed++
		return nil
	}
	defer p.close()
	data, _, err := p.content(maxSearched)
	switch {
	case fault.Code(err) == "tool/too-large":
		h.large++
	case fault.Code(err) == "tool/not-found": // deleted, but known to git
	case err != nil:
		h.closed++
	case binary(data):
		h.binary++
	default:
		return h.scan(ctx, file, data)
	}
	return nil
}

func (h *hits) scan(ctx context.Context, file string, data []byte) error {
	h.looked++
	h.bytes += int64(len(data))
	found, number := false, 0
	for line := range bytes.Lines(data) {
		if number++; ctx.Err() != nil {
			return ended(ctx)
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) > maxLine {
			line = line[:maxLine]
			h.long++
		}
		if !h.pattern.Match(line) {
			continue
		}
		if h.lines == h.limit || h.out.Len() > roomForHits {
			h.full = true
			return nil
		}
		h.lines++
		if !found {
			found = true
			h.files++
		}
		fmt.Fprintf(&h.out, "%s:%d: %s\n", file, number, cutEnd(plain(string(line)), shownLine))
	}
	return nil
}

func (h *hits) result(pattern string) Result {
	if h.lines == 0 {
		fmt.Fprintf(&h.out, "no line matches in %d files\n", h.looked)
	}
	if h.full {
		fmt.Fprintf(&h.out, "[there may be more: the search ended after %d lines in %d files]\n", h.lines, h.looked)
	}
	for _, n := range []struct {
		count int
		what  string
	}{
		{h.binary, "binary files were passed over"},
		{h.large, "files over 1 MiB were passed over"},
		{h.closed, "files could not be read"},
		{h.long, "lines were searched only in their first 4 KiB"},
	} {
		if n.count > 0 {
			fmt.Fprintf(&h.out, "[%d %s]\n", n.count, n.what)
		}
	}
	if h.cutFiles {
		fmt.Fprintf(&h.out, "[only the first %d files were looked at]\n", maxFiles)
	}
	return done(h.out.String(), "%s: %d lines in %d files", pattern, h.lines, h.files)
}
