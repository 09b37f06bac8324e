package git

import (
	"crypto/sha256"
	"encoding/binary"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// stamp is what an inode says of itself. Whatever is done to a file, its content,
// mode, owner, links or attributes, moves changed; content that is written through a
// mapping does so on most file systems, see [mappingsTell], and the sandbox refuses
// the calls that exchange the contents of two files.
type stamp struct {
	inode, links             uint64
	mode, owner, group       uint32
	size                     int64
	written, changed         int64 // seconds
	writtenNano, changedNano int64
}

// fine says that the times of the file system are finer than a second.
func (s stamp) fine() bool { return s.changedNano != 0 }

func stampOf(info fs.FileInfo) (stamp, bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return stamp{}, false
	}
	return stamp{
		inode: s.Ino, links: uint64(s.Nlink), mode: s.Mode, owner: s.Uid, group: s.Gid, size: s.Size, //nolint:unconvert // 32 bits on some machines
		written: int64(s.Mtim.Sec), writtenNano: int64(s.Mtim.Nsec), changed: int64(s.Ctim.Sec), changedNano: int64(s.Ctim.Nsec), //nolint:unconvert // as above
	}, true
}

// digest is what the stamp is known again by.
func (s stamp) digest() [16]byte {
	var b [10 * 8]byte
	for i, v := range [...]uint64{
		s.inode, s.links, uint64(s.mode), uint64(s.owner), uint64(s.group), uint64(s.size),
		uint64(s.written), uint64(s.writtenNano), uint64(s.changed), uint64(s.changedNano),
	} {
		binary.LittleEndian.PutUint64(b[8*i:], v)
	}
	full := sha256.Sum256(b[:])
	return [16]byte(full[:])
}

// mappingsTell reports whether the file system of a directory moves the time at which
// an inode changed when a page that was mapped and read before is written. One that
// lies in memory does not.
func mappingsTell(dir string) bool {
	f, err := os.CreateTemp(dir, ".probe-")
	if err != nil {
		return false
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if _, err := f.Write(make([]byte, 4096)); err != nil {
		return false
	}
	before, err := f.Stat()
	if err != nil {
		return false
	}
	page, err := syscall.Mmap(int(f.Fd()), 0, 4096, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return false
	}
	seen := page[0]
	time.Sleep(still)
	page[0] = seen + 1
	if syscall.Munmap(page) != nil {
		return false
	}
	after, err := f.Stat()
	if err != nil {
		return false
	}
	was, _ := stampOf(before)
	is, ok := stampOf(after)
	return ok && is.fine() && (is.changed != was.changed || is.changedNano != was.changedNano)
}
