package pattern

import (
	"fmt"
	"slices"

	"github.com/loomrun/loom/internal/core/intent"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// notGiven says what of an envelope differs from the texts of a file; nothing where whoever
// signs knows all of it before: each answer is a text of the file, and each field quotes
// the whole of every answer about it, and no other words. Which words are quoted is
// the choice of a model, and "delete them" is a part of "do not delete them".
func notGiven(e *loomv1.IntentEnvelope, given map[loomv1.IntentField][]string) (differs []string) {
	for _, a := range e.GetAnswers() {
		if !slices.Contains(given[a.About], a.Text) {
			differs = append(differs, fmt.Sprintf("answer %d, about %s, is not in the file", a.Number, intent.FieldName(a.About)))
		}
	}
	return append(differs, cropped(e)...)
}

// cropped says where an envelope quotes a part of an answer, or leaves one out, which may
// turn its sense.
func cropped(e *loomv1.IntentEnvelope) (parts []string) {
	for _, f := range intent.Fields {
		parts = append(parts, notWhole(e, f)...)
	}
	return parts
}

// notWhole says where the quotations of a field are other than the answers about it.
func notWhole(e *loomv1.IntentEnvelope, f loomv1.IntentField) (differs []string) {
	whole := map[uint32]bool{}
	for _, q := range intent.Quotations(e, f) {
		same := slices.ContainsFunc(e.GetAnswers(), func(a *loomv1.IntentAnswer) bool {
			return a.Number == q.Answer && a.About == f && a.Text == q.Text
		})
		if !same || whole[q.Answer] {
			differs = append(differs, fmt.Sprintf("%s quotes %q, which is not the whole of an answer about it", intent.FieldName(f), q.Text))
			continue
		}
		whole[q.Answer] = true
	}
	for _, a := range e.GetAnswers() {
		if a.About == f && !whole[a.Number] {
			differs = append(differs, fmt.Sprintf("%s does not have all of answer %d: %q", intent.FieldName(f), a.Number, a.Text))
		}
	}
	return differs
}
