//go:build !linux

package doctor

import (
	"context"
	"errors"
	"runtime"
)

const onLinux = "run hosts on Linux; this system is built for, and not tested"

func system(_ context.Context, _ *Machine, n *notes) {
	n.warn(runtime.GOOS+", "+runtime.GOARCH, onLinux)
}

func memory(context.Context, *Machine, *notes)        {}
func clock(ctx context.Context, m *Machine, n *notes) { journalTime(ctx, m, n) }
func openFiles(context.Context, *Machine, *notes)     {}
func namespaces(context.Context, *Machine, *notes)    {}
func seccomp(context.Context, *Machine, *notes)       {}
func controlGroups(context.Context, *Machine, *notes) {}

func spaceOf(string) (space, error) { return space{}, errors.ErrUnsupported }
