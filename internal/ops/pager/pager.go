// Package pager shows a long text in the program that its reader has chosen for that.
package pager

import (
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
)

// usual is the pager of who has chosen none: it keeps colour, and ends at once where the
// text fits the screen.
const usual = "less -FRX"

// Command is the command of the pager to be used: what PAGER says, else less, if it is
// there. "" means none: PAGER is empty or "cat", or nothing is there.
func Command() string {
	said, isSaid := os.LookupEnv("PAGER")
	switch {
	case isSaid && strings.TrimSpace(said) == "cat":
		return ""
	case isSaid:
		return strings.TrimSpace(said)
	}
	if _, err := exec.LookPath("less"); err != nil {
		return ""
	}
	return usual
}

// Show hands text to the command, which the shell reads as it reads PAGER everywhere,
// and returns when that has ended.
func Show(ctx context.Context, command, text string, out, errOut io.Writer) error {
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(text), out, errOut
	return cmd.Run()
}
