package tool

import (
	"context"
	"regexp"
)

// Draft names the draft of a call that writes the file.
func (s *Set) Draft(file, id string) string { return place{name: file}.draft(id) }

// SearchListed searches these files of the workspace for a pattern.
func (s *Set) SearchListed(ctx context.Context, pattern string, files []string) (Result, error) {
	h := hits{set: s, arguments: searchArguments{Pattern: pattern}, pattern: regexp.MustCompile(pattern), needed: needed(pattern)}
	err := h.search(ctx, files)
	return h.result(), err
}
