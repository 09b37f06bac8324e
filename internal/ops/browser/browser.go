// Package browser shows an address in the person's own browser.
package browser

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"time"
)

// within bounds how long a program may take to hand an address to a browser.
const within = 5 * time.Second

// Command is the program that hands an address to the browser: what BROWSER says, else
// what the system has for it. "" means none: there is no program, or nowhere to show it.
func Command() string {
	if own := os.Getenv("BROWSER"); own != "" {
		return found(own)
	}
	if runtime.GOOS == "darwin" {
		return found("open")
	}
	if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
		return ""
	}
	return found("xdg-open")
}

func found(name string) string {
	path, err := exec.LookPath(name)
	if err != nil {
		return ""
	}
	return path
}

// Show hands an address to the command, and returns when that has taken it.
func Show(ctx context.Context, command, address string) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	return exec.CommandContext(ctx, command, address).Run()
}
