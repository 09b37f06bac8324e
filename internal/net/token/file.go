package token

import "github.com/loomrun/loom/internal/base/privatefile"

// list is where the tokens of a data directory are kept.
func list(dir string) privatefile.List[Token] {
	return privatefile.List[Token]{Dir: dir, Name: "tokens.json", Code: "token/file"}
}

// List returns the tokens of a data directory, by name.
func List(dir string) ([]Token, error) {
	all, _, err := list(dir).Load()
	return all, err
}
