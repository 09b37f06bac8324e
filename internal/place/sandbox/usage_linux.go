//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// file names an inode.
type file struct{ device, inode uint64 }

// used is what a command has at one moment.
type used struct {
	threads int
	memory  int64 // bytes
}

// meter measures what the processes of a sandbox use, beside the first one.
type meter struct {
	// anonymous is the device on which the kernel keeps memory that has no file:
	// of memfd_create, of System V, and what is mapped as shared.
	anonymous uint64
}

// newMeter finds the device of memory without files by one: the order.
func newMeter() meter {
	var order unix.Stat_t
	if unix.Fstat(3, &order) != nil {
		return meter{}
	}
	return meter{anonymous: order.Dev}
}

// read measures. Memory is what is private to the processes, and what they can
// share: the larger of what they have mapped and what lies in files in memory,
// memfds that are open and System V segments, each of which can be the same.
func (m meter) read() used {
	var u used
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return u
	}
	var private, mapped int64
	counted := map[file]int64{}
	files := onTmpfs("/tmp") + onTmpfs("/dev/shm") + systemV()
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err != nil || pid == os.Getpid() {
			continue
		}
		status, err := os.ReadFile("/proc/" + e.Name() + "/status")
		if err != nil {
			continue // it has ended
		}
		u.threads += int(max(field(status, "Threads:"), 1))
		private += field(status, "RssAnon:")<<10 + field(status, "VmSwap:")<<10
		mapped += field(status, "RssShmem:") << 10
		m.open("/proc/"+e.Name()+"/fd", counted)
	}
	for f, size := range counted {
		if f.device == m.anonymous {
			files += size
		}
	}
	u.memory = private + max(mapped, files)
	return u
}

// nameless returns the bytes of open files that have no name, by file, and whether
// processes have mapped others of these places: they need not be open, and how large
// they are cannot be asked.
func (m meter) nameless(places []string) (open map[file]int64, mapped bool) {
	open = map[file]int64{}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return open, false
	}
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil && pid != os.Getpid() {
			m.open("/proc/"+e.Name()+"/fd", open)
		}
	}
	inodes := map[uint64]bool{}
	for f := range open {
		inodes[f.inode] = true
	}
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil && pid != os.Getpid() {
			mapped = mapped || mapsNameless("/proc/"+e.Name()+"/maps", places, inodes)
		}
	}
	return open, mapped
}

// mapsNameless reports whether a process has mapped a file of these places that has
// no name any more, and is none of the known ones.
func mapsNameless(maps string, places []string, known map[uint64]bool) bool {
	data, err := os.ReadFile(maps)
	if err != nil {
		return false // it has ended
	}
	for line := range bytes.Lines(data) { // "from-to mode offset device inode path (deleted)"
		words := bytes.Fields(line)
		if len(words) < 7 || !bytes.Equal(words[len(words)-1], []byte("(deleted)")) {
			continue
		}
		inode, err := strconv.ParseUint(string(words[4]), 10, 64)
		at := bytes.IndexByte(line, '/')
		if err != nil || known[inode] || at < 0 {
			continue
		}
		for _, place := range places {
			if bytes.HasPrefix(line[at:], []byte(place+"/")) {
				return true
			}
		}
	}
	return false
}

// open adds the sizes of the memfds and of the unlinked files that a process has
// open. Nothing is counted twice.
func (m meter) open(dir string, counted map[file]int64) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // it has ended
	}
	for _, e := range entries {
		var info unix.Stat_t
		if unix.Stat(dir+"/"+e.Name(), &info) != nil || info.Mode&unix.S_IFMT != unix.S_IFREG || info.Nlink != 0 && info.Dev != m.anonymous {
			continue
		}
		counted[file{info.Dev, info.Ino}] = info.Blocks * 512
	}
}

// perInode is what the kernel needs of memory for a file in memory, beside its
// content.
const perInode = 1 << 10

// onTmpfs returns how much lies in a file system in memory.
func onTmpfs(dir string) int64 {
	var info unix.Statfs_t
	if unix.Statfs(dir, &info) != nil || info.Type != unix.TMPFS_MAGIC {
		return 0
	}
	return int64(info.Blocks-info.Bfree)*info.Bsize + int64(info.Files-info.Ffree)*perInode
}

// systemV returns the size of the sandbox's own System V segments, attached or
// not: what of them is in memory or swapped out.
func systemV() (size int64) {
	data, err := os.ReadFile("/proc/sysvipc/shm")
	if err != nil {
		return 0 // a kernel without
	}
	for i, line := range bytes.Split(data, []byte("\n")) {
		words := bytes.Fields(line)
		if i == 0 || len(words) < 16 {
			continue // the heading
		}
		for _, word := range words[14:16] {
			n, _ := strconv.ParseInt(string(word), 10, 64)
			size += n
		}
	}
	return size
}

// field returns the number after a name in a status file, or 0.
func field(status []byte, name string) int64 {
	_, rest, ok := bytes.Cut(status, []byte("\n"+name))
	if !ok {
		return 0
	}
	words := bytes.Fields(rest[:min(len(rest), 40)])
	if len(words) == 0 {
		return 0
	}
	n, _ := strconv.ParseInt(string(words[0]), 10, 64)
	return n
}
