//go:build amd64 || arm64

package sandbox

import (
	"io/fs"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// disks measures what a command writes in the places that are its to change.
//
// How much more a file system has on it than at the start costs one call. Only
// where that is over the limit are files looked for: others write there too. What
// counts then are files that were changed after the start, by a time that no
// command can set, and open ones that have no name any more.
type disks struct {
	places []string
	began  time.Time
	before map[uint64]int64 // bytes in use on each device at the start
	next   time.Time        // when files may be looked for again
}

// newDisks begins to measure.
func newDisks(s Spec) *disks {
	d := &disks{began: time.Now(), before: map[uint64]int64{}}
	d.places = append(d.places, s.Write...)
	for _, l := range s.Layers {
		d.places = append(d.places, l.Path)
	}
	for _, place := range d.places {
		if device, used, ok := onDisk(place); ok {
			d.before[device] = used
		}
	}
	return d
}

// onDisk returns the device that a place is on, and how much is on it.
func onDisk(place string) (device uint64, used int64, ok bool) {
	var at unix.Stat_t
	var info unix.Statfs_t
	if unix.Stat(place, &at) != nil || unix.Statfs(place, &info) != nil {
		return 0, 0, false
	}
	return at.Dev, int64(info.Blocks-info.Bfree) * info.Bsize, true
}

// restFor is how many times as long as files were looked for they are left alone.
const restFor = 10

// over returns what the command has written when that is more than most.
func (d *disks) over(most int64, unlinked map[uint64]int64) (written int64, over bool) {
	grown := false
	for _, place := range d.places {
		device, used, ok := onDisk(place)
		grown = grown || ok && used-d.before[device] > most
	}
	began := time.Now()
	if !grown || began.Before(d.next) {
		return 0, false
	}
	for device, size := range unlinked {
		if _, own := d.before[device]; own {
			written += size
		}
	}
	counted := map[file]bool{}
	for _, place := range d.places {
		written += d.changed(place, counted)
	}
	d.next = time.Now().Add(restFor * time.Since(began))
	return written, written > most
}

// status returns what the kernel says of a regular file; false for what has gone or
// is no file.
func status(e fs.DirEntry, err error) (*syscall.Stat_t, bool) {
	if err != nil || !e.Type().IsRegular() {
		return nil, false
	}
	info, err := e.Info()
	if err != nil {
		return nil, false
	}
	at, ok := info.Sys().(*syscall.Stat_t)
	return at, ok
}

// changed returns the size of the files below a place that were changed after the
// start. A kernel's clock ticks up to 10 ms behind.
func (d *disks) changed(place string, counted map[file]bool) (size int64) {
	since := d.began.Add(-10 * time.Millisecond)
	_ = filepath.WalkDir(place, func(_ string, e fs.DirEntry, err error) error {
		at, ok := status(e, err)
		if !ok || time.Unix(at.Ctim.Unix()).Before(since) {
			return nil
		}
		if f := (file{at.Dev, at.Ino}); !counted[f] {
			counted[f] = true
			size += at.Blocks * 512
		}
		return nil
	})
	return size
}
