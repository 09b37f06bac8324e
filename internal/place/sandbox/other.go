//go:build !darwin && !(linux && (amd64 || arm64))

package sandbox

import (
	"context"
	"os/exec"
	"runtime"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/place/sandbox/cgroup"
)

// Check says what the system can do.
func Check() Report {
	return Report{Missing: []string{"there is no sandbox on " + runtime.GOOS + "/" + runtime.GOARCH}}
}

func command(context.Context, Spec, []string) (*exec.Cmd, error) {
	return nil, fault.New("sandbox/unavailable", "there is no sandbox on %s/%s", runtime.GOOS, runtime.GOARCH)
}

// End kills a command.
func End(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

// Sweep has nothing to do: no command runs in a sandbox here.
func Sweep(*exec.Cmd) {}

// UseGroups refuses with cgroup/unavailable.
func UseGroups() error {
	_, err := cgroup.Delegated()
	return err
}

// Grouped says that commands have no control groups.
func Grouped() bool { return false }

// LandlockABI returns 0: only Linux has it.
func LandlockABI() int { return 0 }

// System lists nothing: no command runs in a sandbox here.
func System() []string { return nil }
