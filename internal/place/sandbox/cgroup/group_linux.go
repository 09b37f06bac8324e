package cgroup

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// Group is a command's.
type Group struct {
	path string
	tree *Tree
	// Procs is where a process writes "0" to move into it: at its start, since
	// clone3, which could start it there, is refused by some filters of services.
	Procs *os.File
	// Events tell what the kernel did to keep its memory, see [Killed].
	Events *os.File
}

// bound sets limits. What cannot be kept in memory is not written to a swap
// instead, where there is one.
func (g *Group) bound(memory int64, processes int) (err error) {
	for _, limit := range []struct{ name, value string }{
		{"memory.max", strconv.FormatInt(memory, 10)},
		{"pids.max", strconv.Itoa(processes)},
		{"memory.swap.max", "0"},
	} {
		err := os.WriteFile(filepath.Join(g.path, limit.name), []byte(limit.value), 0)
		if err != nil && (limit.name != "memory.swap.max" || !errors.Is(err, os.ErrNotExist)) {
			return err
		}
	}
	if g.Procs, err = os.OpenFile(filepath.Join(g.path, "cgroup.procs"), os.O_WRONLY, 0); err != nil {
		return err
	}
	g.Events, err = os.Open(filepath.Join(g.path, "memory.events"))
	return err
}

// Close kills what is in the group and takes it away, now or, if the kernel is
// not done with it, before the next one is made. It may be called again. Procs and
// Events are left to the collector: a process that is being started may have them.
func (g *Group) Close() {
	_ = os.WriteFile(filepath.Join(g.path, "cgroup.kill"), []byte("1"), 0) // since Linux 5.14
	g.tree.ended(g)
	_ = unix.Rmdir(g.path)
}
