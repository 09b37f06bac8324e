package condition_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/loomrun/loom/internal/lang/condition"
)

func TestWF01_AFieldHasATypeOrWords(t *testing.T) {
	for text, want := range map[string]bool{
		"string": true, "object": true, "low | high": true, "low|high|none": true, "p1 | p-2 | p_3": true,
		"": false, "float": false, "low": false, "low |": false, "| low": false, "low | low": false, "Low | high": false,
		"low | " + strings.Repeat("x", 33): false, strings.Repeat("a | ", 8) + "b": false, "string | int |": false,
	} {
		if got := condition.IsFieldType(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	if !condition.Allows("low | high", "high") || !condition.Allows("low | high", "") || condition.Allows("low | high", "urgent") || condition.Allows("int", "") {
		t.Error("a text that is none of the words is taken, or one of them is not")
	}
}

// A field that chooses from words is a text to expressions.
func TestWF01_AFieldOfWordsIsReadAsText(t *testing.T) {
	scope := condition.Scope{Outcome: map[string]string{"severity": "low | high"}}
	p, err := condition.Compile(`outcome.severity == "high"`, scope, condition.Bool)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{"high": true, "low": false} {
		given, _ := structpb.NewStruct(map[string]any{"severity": text})
		if got, err := p.Holds(condition.Input{Outcome: given}); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	if got, err := p.Holds(condition.Input{Outcome: &structpb.Struct{}}); err != nil || got {
		t.Errorf("without it: %v, %v", got, err)
	}
}
