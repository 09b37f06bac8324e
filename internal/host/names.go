package host

import (
	"os"
	"path/filepath"

	"github.com/loomrun/loom/internal/base/fault"
)

// Version is this release. A build may give itself another name:
//
//	go build -ldflags "-X github.com/loomrun/loom/internal/host.Version=0.1.0-mine" ./cmd/loom
var Version = "0.1.0"

// DefaultData returns the data directory of this user's host:
// $XDG_STATE_HOME/loom, or ~/.local/state/loom. Where neither can be told it is an error:
// no directory that others can write takes its place.
func DefaultData() (string, error) {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "loom"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fault.New("usage/argument", "there is no directory for the data of a host: neither XDG_STATE_HOME nor HOME is set").At("--data").
			Want("--data DIR, or LOOM_DATA")
	}
	return filepath.Join(home, ".local", "state", "loom"), nil
}
