package reading

import "testing"

// What a model thought is in its transcript where the provider gives it in the clear, and
// what is sealed is not.
func TestGRAPH02_ThoughtsThatCanBeReadAreInTheTranscript(t *testing.T) {
	for data, want := range map[string]string{
		`[{"type":"thinking","thinking":"First the test.","signature":"c2ln"},{"type":"redacted_thinking","data":"c2VjcmV0"},{"type":"thinking","thinking":"Then the sum."}]`: "First the test.\nThen the sum.",
		`[{"type":"redacted_thinking","data":"c2VjcmV0"}]`: "",
		`{"thoughtSignature":"c2ln"}`:                      "",
		`not JSON`:                                         "",
		"":                                                 "",
	} {
		if got := thoughtsIn([]byte(data)); got != want {
			t.Errorf("%s: %q, want %q", data, got, want)
		}
	}
}
