package tool

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Bounds of searches.
const (
	maxPattern  = 512           // bytes
	maxSearched = 8 << 20       // bytes of a file; larger ones are named and not searched
	maxLine     = 64 << 10      // bytes of a line that a pattern is tried on
	shownLine   = 300           // bytes of a line that is shown
	defaultHits = 200           // of a search that does not say
	roomForHits = Shown - 4<<10 // bytes
)

var fileSearch = &tool{
	Spec: Spec{
		Name:        "file_search",
		Class:       reads,
		Description: "Find files by a glob pattern on their paths, such as \"**/*_test.go\". What git ignores is left out.",
		Schema: schema(`"pattern"`, `
			"pattern": {"type": "string", "minLength": 1, "maxLength": 512},
			"path": {"type": "string", "description": "directory that the pattern is relative to"},
			"limit": {"type": "integer", "minimum": 1, "maximum": 1000, `+quiet+`}`),
	},
	run: with(searchFiles),
}

type searchArguments struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path"`
	Glob    string `json:"glob"`
	Mode    string `json:"mode"`
	Context int    `json:"context"`
	Limit   int    `json:"limit"`
}

func (a searchArguments) limit() int {
	if a.Limit == 0 {
		return defaultHits
	}
	return a.Limit
}

func searchFiles(ctx context.Context, j job, a searchArguments) (Result, error) {
	glob, err := soundGlob(a.Pattern, "pattern")
	if err != nil {
		return Result{}, err
	}
	all, err := j.searchable(ctx, cmp.Or(a.Path, "."))
	if err != nil {
		return Result{}, err
	}
	list, err := all.matching(ctx, glob)
	if err != nil {
		return Result{}, err
	}
	var out strings.Builder
	given := 0
	anywhere := false
	if len(list.files) == 0 && !strings.HasPrefix(glob, "**/") {
		if list, err = all.matching(ctx, "**/"+glob); err != nil {
			return Result{}, err
		}
		anywhere = len(list.files) > 0
	}
	for _, f := range list.files {
		if given == a.limit() || out.Len()+len(f) > roomForHits {
			break
		}
		out.WriteString(shown(f) + "\n")
		given++
	}
	if given < len(list.files) {
		fmt.Fprintf(&out, "[%d of %d paths]\n", given, len(list.files))
	}
	if anywhere {
		fmt.Fprintf(&out, "[nothing matches %s from the top; these match **/%s]\n", a.Pattern, glob)
	}
	if len(list.files) == 0 {
		out.WriteString("no file matches\n")
	}
	summary := fmt.Sprintf("%s: %d files", a.Pattern, len(list.files))
	if given < len(list.files) {
		summary += fmt.Sprintf(", %d given", given)
	}
	for _, text := range list.notes() {
		fmt.Fprintf(&out, "[%s]\n", text)
		summary += "; " + text
	}
	return done(out.String(), "%s", summary), nil
}

// soundGlob returns a glob pattern as it is tried on paths, or says in which
// argument it is not sound.
func soundGlob(pattern, argument string) (string, error) {
	glob := strings.TrimPrefix(pattern, "./")
	if pattern != "" && (len(glob) > maxPattern || strings.Count(glob, "{") > 4 || !doublestar.ValidatePattern(glob)) {
		return "", unfit("/"+argument, "it is not a sound glob pattern of at most %d bytes and 4 groups", maxPattern).Got(pattern)
	}
	return glob, nil
}

// matching lists the files below a.Path that a.Glob matches, all without one.
func (s *Set) matching(ctx context.Context, a searchArguments, argument string) (listing, error) {
	glob, err := soundGlob(a.Glob, argument)
	if err != nil {
		return listing{}, err
	}
	l, err := s.searchable(ctx, cmp.Or(a.Path, "."))
	if err != nil || glob == "" {
		return l, err
	}
	return l.matching(ctx, glob)
}

// matching returns the listing with those of its files alone that a sound glob
// pattern matches.
func (l listing) matching(ctx context.Context, glob string) (listing, error) {
	var list []string
	for i, f := range l.files {
		if i%256 == 0 && ctx.Err() != nil {
			return listing{}, ended(ctx)
		}
		if doublestar.MatchUnvalidated(glob, strings.TrimPrefix(f, l.prefix)) {
			list = append(list, f)
		}
	}
	l.files = list
	return l, nil
}
