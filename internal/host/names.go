package host

import (
	"os"
	"path/filepath"
)

// Version is this release. A build may give itself another name:
//
//	go build -ldflags "-X github.com/loomrun/loom/internal/host.Version=0.1.0-mine" ./cmd/loom
var Version = "0.1.0"

// DefaultData returns the data directory of this user's host:
// $XDG_STATE_HOME/loom, or ~/.local/state/loom.
func DefaultData() string {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "loom")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return filepath.Join(os.TempDir(), "loom")
	}
	return filepath.Join(home, ".local", "state", "loom")
}
