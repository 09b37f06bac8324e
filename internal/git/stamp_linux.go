package git

import (
	"io/fs"
	"syscall"
)

// stamp is what an inode says of itself. Whatever is done to a file, its content,
// mode, owner, links or attributes, moves changed.
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
