//go:build linux || darwin || freebsd

package watermark

import "golang.org/x/sys/unix"

// free returns the bytes that this user may still write, and all of the disk's.
func free(path string) (left, total uint64, err error) {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return 0, 0, err
	}
	return uint64(max(0, int64(s.Bavail))) * uint64(s.Bsize), s.Blocks * uint64(s.Bsize), nil
}
