package cowork

import (
	"errors"
	"io"
	"testing"
)

// A line that ends with a backslash goes on in the next one, and is said as it is where
// there is none.
func TestHUM02_LinesThatGoOn(t *testing.T) {
	broken := errors.New("broken")
	for _, tt := range []struct {
		lines []string
		end   error
		want  string
		err   error
	}{
		{[]string{"one", "two"}, io.EOF, "one", nil},
		{[]string{`one\`, `two\`, "three"}, io.EOF, "one\ntwo\nthree", nil},
		{[]string{`the last\`}, io.EOF, "the last", nil},
		{nil, io.EOF, "", io.EOF},
		{[]string{`one\`}, broken, "", broken},
	} {
		got, err := nextText(func() (string, error) {
			if len(tt.lines) == 0 {
				return "", tt.end
			}
			line := tt.lines[0]
			tt.lines = tt.lines[1:]
			return line, nil
		})
		if got != tt.want || !errors.Is(err, tt.err) {
			t.Errorf("%q (%v), want %q (%v)", got, err, tt.want, tt.err)
		}
	}
}
