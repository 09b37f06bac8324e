//go:build !linux

package cgroup

import (
	"os"
	"runtime"

	"github.com/loomrun/loom/internal/base/fault"
)

// Tree is where groups are made: nowhere, but on Linux.
type Tree struct{}

// Group is a command's.
type Group struct{ Procs, Events *os.File }

// Delegated refuses with cgroup/unavailable.
func Delegated() (*Tree, error) {
	return nil, fault.New("cgroup/unavailable", "commands have no control groups of their own: %s", Look())
}

// Look says why.
func Look() string { return "there are none on " + runtime.GOOS }

// Group refuses.
func (*Tree) Group(int64, int) (*Group, error) {
	return nil, fault.New("cgroup/unavailable", "%s", Look())
}

// Close does nothing.
func (*Group) Close() {}
