package agent

import (
	"context"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// evidenced says which success criteria of a session are said to be met by words that no
// file of its steps has; nil for none. Where a file is no text, its words cannot be looked
// for, and the judge is believed.
func (j *job) evidenced(files fs.FS) func(context.Context, *loomv1.Outcome) (*fault.Error, error) {
	return func(_ context.Context, out *loomv1.Outcome) (*fault.Error, error) {
		texts, whole := j.leftTexts(files)
		if !whole {
			return nil, nil
		}
		fields := out.GetFields().AsMap()
		var wrong []string
		for i := range j.brief.Step.GetEnvelope().GetSuccess() {
			met, _ := fields[processes.MetField(i+1)].(bool)
			words, _ := fields[processes.EvidenceField(i+1)].(string)
			if met && !quotesOne(texts, words) {
				wrong = append(wrong, fmt.Sprintf("%s: no file that the steps have left has these words; copy the words of one, or say that the criterion is not met", processes.EvidenceField(i+1)))
			}
		}
		if len(wrong) == 0 {
			return nil, nil
		}
		return fault.New("verify/evidence", "%s", strings.Join(wrong, "\n")), nil
	}
}

// leftTexts are the texts that the steps of a session have left, with their blanks made
// even. whole is false if one cannot be read as a text, or there are none.
func (j *job) leftTexts(files fs.FS) (texts []string, whole bool) {
	for _, o := range j.brief.Step.GetEarlier() {
		data, err := fs.ReadFile(files, o.Name)
		if err != nil || !utf8.Valid(data) {
			return nil, false
		}
		texts = append(texts, even(string(data)))
	}
	return texts, len(texts) > 0
}

// even makes one blank of all between two words.
func even(text string) string { return strings.Join(strings.Fields(text), " ") }

// quoted finds what stands in quotation marks.
var quoted = regexp.MustCompile("[\"“”„`]([^\"“”„`]{8,})[\"“”„`]")

// quotesOne says whether words, or a part of them in quotation marks, stand in a text.
func quotesOne(texts []string, words string) bool {
	words = even(words)
	parts := []string{words}
	for _, m := range quoted.FindAllStringSubmatch(words, -1) {
		parts = append(parts, strings.TrimSpace(m[1]))
	}
	for _, text := range texts {
		for _, part := range parts {
			if part != "" && strings.Contains(text, part) {
				return true
			}
		}
	}
	return false
}
