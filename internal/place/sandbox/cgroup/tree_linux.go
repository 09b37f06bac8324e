package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/loomrun/loom/internal/base/fault"
)

// Names of groups within a tree.
const (
	leaf    = "host"     // of this process: where groups are made nobody may be
	command = "command-" // and what is unique
)

// Tree is where groups are made.
type Tree struct {
	dir string

	mu   sync.Mutex
	made int
	open map[string]bool // names of groups that are not closed: nobody may be in one yet
}

// Delegated returns the tree that was delegated to this process, which moves to
// a leaf of it. It refuses with cgroup/unavailable, and then nothing has
// changed. It may be called again.
func Delegated() (*Tree, error) {
	dir, why := here()
	if why == "" {
		t := &Tree{dir: dir}
		if why = t.take(); why == "" {
			t.sweep()
			return t, nil
		}
	}
	return nil, fault.New("cgroup/unavailable", "commands have no control groups of their own: %s", why).
		Want("Delegate=memory pids in the unit, or systemd-run --user --scope -p Delegate=yes loom up")
}

// Look says why [Delegated] would refuse, or "", and changes nothing.
func Look() (why string) {
	dir, why := here()
	if why != "" {
		return why
	}
	return (&Tree{dir: dir}).refuse()
}

// here is the top of the tree that this process is in.
func here() (dir, why string) {
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", "this system has no control groups"
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", err.Error()
	}
	dir, why = find(string(groups), string(mounts))
	if filepath.Base(dir) == leaf { // made by systemd's DelegateSubgroup=, or by us
		dir = filepath.Dir(dir)
	}
	return dir, why
}

// refuse returns why groups cannot be made in the tree, or "".
func (t *Tree) refuse() string {
	has := strings.Fields(t.read("cgroup.controllers"))
	if !slices.Contains(has, "memory") || !slices.Contains(has, "pids") {
		return "the group of this process has not the controllers memory and pids"
	}
	for _, name := range []string{"", "cgroup.procs", "cgroup.subtree_control"} {
		if unix.Access(filepath.Join(t.dir, name), unix.W_OK) != nil {
			return "the group of this process is not delegated to it"
		}
	}
	if os.Geteuid() == 0 && !t.marked() {
		return "the group of this process belongs to systemd, and no unit says Delegate="
	}
	for _, pid := range strings.Fields(t.read("cgroup.procs")) {
		if pid != strconv.Itoa(os.Getpid()) {
			return "others run in the group of this process"
		}
	}
	return ""
}

// marked says whether systemd has delegated the group, if there is a systemd:
// root may write each.
func (t *Tree) marked() bool {
	if _, err := os.Stat("/run/systemd/system"); err != nil {
		return true
	}
	for _, name := range []string{"user.delegate", "trusted.delegate"} {
		value := make([]byte, 8)
		if n, err := unix.Getxattr(t.dir, name, value); err == nil && string(value[:n]) == "1" {
			return true
		}
	}
	return false
}

// take moves this process into the leaf and has the kernel bound what is beside
// it, or puts it back and says why.
func (t *Tree) take() string {
	if why := t.refuse(); why != "" {
		return why
	}
	if err := os.Mkdir(filepath.Join(t.dir, leaf), 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return err.Error()
	}
	err := t.write(leaf+"/cgroup.procs", strconv.Itoa(os.Getpid()))
	if err == nil {
		err = t.write("cgroup.subtree_control", "+memory +pids")
	}
	if err != nil {
		_ = t.write("cgroup.procs", strconv.Itoa(os.Getpid()))
		_ = os.Remove(filepath.Join(t.dir, leaf))
		return err.Error()
	}
	return ""
}

// Group makes a group for a command, whose processes may have so many bytes of
// memory, files in memory counted, and which may be so many. The caller hands
// it Procs, and closes the group when it is done.
func (t *Tree) Group(memory int64, processes int) (*Group, error) {
	g, err := t.begin()
	if err != nil {
		return nil, broken(err)
	}
	if err := g.bound(memory, processes); err != nil {
		g.Close()
		return nil, broken(err)
	}
	return g, nil
}

// begin makes a group that nothing bounds yet, and takes away those that have
// ended.
func (t *Tree) begin() (*Group, error) {
	t.sweep()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.made++
	name := fmt.Sprint(command, os.Getpid(), "-", t.made)
	g := &Group{path: filepath.Join(t.dir, name), tree: t}
	if err := os.Mkdir(g.path, 0o755); err != nil {
		return nil, err
	}
	if t.open == nil {
		t.open = map[string]bool{}
	}
	t.open[name] = true
	return g, nil
}

// ended notes that a group is closed.
func (t *Tree) ended(g *Group) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.open, filepath.Base(g.path))
}

func broken(err error) error {
	return fault.New("cgroup/unavailable", "a command cannot have a control group").Because(err)
}

// sweep takes away groups that have ended. The kernel refuses for those in which
// somebody is, and not for those whose command has not moved in yet.
func (t *Tree) sweep() {
	t.mu.Lock()
	defer t.mu.Unlock()
	entries, err := os.ReadDir(t.dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), command) && !t.open[e.Name()] {
			_ = unix.Rmdir(filepath.Join(t.dir, e.Name()))
		}
	}
}

func (t *Tree) read(name string) string {
	data, _ := os.ReadFile(filepath.Join(t.dir, name))
	return string(data)
}

func (t *Tree) write(name, value string) error {
	return os.WriteFile(filepath.Join(t.dir, name), []byte(value), 0)
}
