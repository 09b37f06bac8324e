package broker

import (
	"os"

	"golang.org/x/sys/unix"
)

// unwritten says whether a file has pages that are not on the disk, or returns
// errBlind.
func unwritten(name string) (bool, error) {
	f, err := os.Open(name)
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }()
	var stat unix.Cachestat_t
	if err := unix.Cachestat(uint(f.Fd()), &unix.CachestatRange{}, &stat, 0); err != nil {
		return false, errBlind
	}
	return stat.Dirty+stat.Writeback > 0, nil
}
