package console

import "testing"

// A spinner's line never goes on in the next, whatever a model has named what it does.
func TestCLI01_ASpinnerFitsItsLine(t *testing.T) {
	for _, tt := range []struct {
		text, want string
		width      int
	}{
		{"reads a.go", "⠋ reads a.go", 20},
		{"reads a file of many names", "⠋ reads a f…", 10},
		{"\x1b[31mred\n\tand more", "⠋ [31mred and more", 20},
		{"仕事をしています", "⠋ 仕事をして…", 11},
	} {
		got := frame(10, tt.text, tt.width)
		if got != tt.want || Columns(got) > tt.width+2 {
			t.Errorf("%q in %d columns: %q, want %q", tt.text, tt.width, got, tt.want)
		}
	}
}
