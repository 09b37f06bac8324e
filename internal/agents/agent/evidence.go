package agent

import (
	"context"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// insists is how often a judge is told that evidence is not there. Then the criterion is
// not met, and the operator chooses what becomes of it.
const insists = 2

// evidenced says which success criteria of a session are said to be met by words that no
// file of its steps has; nil for none. Where no file is a text, there are no words to look
// for, and the judge is believed.
func (j *job) evidenced(files fs.FS) func(context.Context, *loomv1.Outcome) (*fault.Error, error) {
	told := 0
	return func(_ context.Context, out *loomv1.Outcome) (*fault.Error, error) {
		texts := j.leftTexts(files)
		if len(texts) == 0 {
			return nil, nil
		}
		fields := out.GetFields().GetFields()
		var wrong []string
		for i := range j.brief.Step.GetEnvelope().GetSuccess() {
			met, words := processes.MetField(i+1), processes.EvidenceField(i+1)
			if !fields[met].GetBoolValue() || quotesOne(texts, fields[words].GetStringValue()) {
				continue
			}
			wrong = append(wrong, fmt.Sprintf("%s: no file that the steps have left has these words; copy words of one, %d characters or more, or say that the criterion is not met", words, leastEvidence))
			if told == insists {
				fields[met] = structpb.NewBoolValue(false)
				fields[words] = structpb.NewStringValue("no file that the steps have left has these words: " + fields[words].GetStringValue())
			}
		}
		if len(wrong) == 0 || told == insists {
			return nil, nil
		}
		told++
		return fault.New("verify/evidence", "%s", strings.Join(wrong, "\n")), nil
	}
}

// leftTexts are the texts that the steps of a session have left, with their blanks made
// even. What cannot be read as a text is left out.
func (j *job) leftTexts(files fs.FS) (texts []string) {
	for _, o := range j.brief.Step.GetEarlier() {
		data, err := fs.ReadFile(files, o.Name)
		if err == nil && utf8.Valid(data) {
			texts = append(texts, even(string(data)))
		}
	}
	return texts
}

// even makes one blank of all between two words.
func even(text string) string { return strings.Join(strings.Fields(text), " ") }

// quoted finds what stands in quotation marks.
var quoted = regexp.MustCompile("[\"“”„`]([^\"“”„`]+)[\"“”„`]")

// leastEvidence is how many characters evidence has at least: what is shorter stands
// anywhere. Of a file with fewer, it is all of them.
const leastEvidence = 8

// quotesOne says whether words, or a part of them in quotation marks, stand in a text.
func quotesOne(texts []string, words string) bool {
	words = even(words)
	parts := []string{words}
	for _, m := range quoted.FindAllStringSubmatch(words, -1) {
		parts = append(parts, strings.TrimSpace(m[1]))
	}
	for _, text := range texts {
		for _, part := range parts {
			if long := utf8.RuneCountInString(part) >= leastEvidence; long && strings.Contains(text, part) || part != "" && part == text {
				return true
			}
		}
	}
	return false
}
