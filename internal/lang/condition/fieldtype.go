package condition

import (
	"regexp"
	"slices"
	"strings"
)

// FieldTypes are the types of an outcome field that a word names; see [IsFieldType].
var FieldTypes = []string{"string", "int", "bool", "double", "object"}

// MaxChoices is how many words a field can have to choose from.
const MaxChoices = 16

var choice = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,31}$`)

// IsFieldType says whether an outcome field may have a type: one of [FieldTypes],
// or two to [MaxChoices] different words of a-z, 0-9, _ and -, parted by "|", of
// which its text is one: "low | high".
func IsFieldType(t string) bool {
	if slices.Contains(FieldTypes, t) {
		return true
	}
	words := Choices(t)
	sorted := slices.Sorted(slices.Values(words))
	return len(words) > 1 && len(words) <= MaxChoices && len(slices.Compact(sorted)) == len(words) &&
		!slices.ContainsFunc(words, func(w string) bool { return !choice.MatchString(w) })
}

// Choices returns the words that a field of a type chooses from, in their order;
// nil where the type names none.
func Choices(t string) []string {
	if !strings.Contains(t, "|") {
		return nil
	}
	words := strings.Split(t, "|")
	for i := range words {
		words[i] = strings.TrimSpace(words[i])
	}
	return words
}

// BaseType returns the type of [FieldTypes] that a field's values have: "string"
// where it chooses from words.
func BaseType(t string) string {
	if strings.Contains(t, "|") {
		return "string"
	}
	return t
}

// Allows says whether a field of a type takes a text: any, or one of its words, or
// none where the field does not apply.
func Allows(t, text string) bool {
	return t == "string" || strings.Contains(t, "|") && (text == "" || slices.Contains(Choices(t), text))
}
