package suggest

import (
	"regexp"
	"strings"
)

// plain is what no shell reads as anything but itself.
var plain = regexp.MustCompile(`^[\w@%+=:,./-]+$`)

// Arg is an argument as a shell takes it, for a command in a hint.
func Arg(arg string) string {
	if plain.MatchString(arg) {
		return arg
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}
