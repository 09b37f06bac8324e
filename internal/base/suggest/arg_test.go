package suggest_test

import (
	"testing"

	"github.com/loomrun/loom/internal/base/suggest"
)

// A command in a hint can be copied, whatever the names in it are.
func TestCLI01_ArgumentsOfHintsAreQuoted(t *testing.T) {
	for arg, want := range map[string]string{
		"/src/shop": "/src/shop", "shop=/src/a shop": "'shop=/src/a shop'", "": "''", "it's": `'it'\''s'`, "$HOME": "'$HOME'", "scripted:demo": "scripted:demo", "a\nb": "'a\nb'",
	} {
		if got := suggest.Arg(arg); got != want {
			t.Errorf("%q is %s, want %s", arg, got, want)
		}
	}
}
