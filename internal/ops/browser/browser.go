// Package browser shows an address in the person's own browser.
package browser

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"time"
)

// within is how long a program takes at most that only hands an address to a browser.
var within = 5 * time.Second

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

// Show hands an address to the command. It returns when that has ended, or goes on for
// some seconds: then the command is the browser itself, and is left alone.
func Show(ctx context.Context, command, address string) error {
	shown := exec.CommandContext(context.WithoutCancel(ctx), command, address)
	if err := shown.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- shown.Wait() }()
	select {
	case err := <-ended:
		return err
	case <-time.After(within):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
