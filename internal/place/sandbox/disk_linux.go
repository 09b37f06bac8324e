//go:build amd64 || arm64

package sandbox

import (
	"errors"
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
// counts then are files, directories and links that were changed after the start,
// by a time that no command can set, and open ones that have no name any more.
type disks struct {
	places []string
	began  time.Time
	before map[uint64]int64 // bytes in use on each device at the start
	next   time.Time        // when files may be looked for again
	looked int64            // how much the devices had grown by when they were
}

// perEntry is what each file, directory or link counts for at least: a file system
// has room for so many of them, however small they are.
const perEntry = 4 << 10

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

// onDisk returns the device that a place is on, and how much is on it: bytes, and
// what its entries count for.
func onDisk(place string) (device uint64, used int64, ok bool) {
	var at unix.Stat_t
	var info unix.Statfs_t
	if unix.Stat(place, &at) != nil || unix.Statfs(place, &info) != nil {
		return 0, 0, false
	}
	return at.Dev, int64(info.Blocks-info.Bfree)*info.Bsize + int64(info.Files-info.Ffree)*perEntry, true
}

// restFor is how many times as long as files were looked for they are left alone,
// unless there is meanwhile as much more on the disk as a command may write.
const restFor = 10

// over returns what the command has written when that is more than most. What is
// nameless is told of files that are open and of whether others, of these places,
// are mapped.
func (d *disks) over(most int64, nameless func(places []string) (open map[file]int64, mapped bool)) (written int64, over bool) {
	var grown int64 // of the device that has grown most
	for _, place := range d.places {
		if device, used, ok := onDisk(place); ok {
			grown = max(grown, used-d.before[device])
		}
	}
	began := time.Now()
	if grown <= most || began.Before(d.next) && grown-d.looked <= most {
		return 0, false
	}
	open, hidden := nameless(d.places)
	for f, size := range open {
		if _, own := d.before[f.device]; own {
			written += size
		}
	}
	counted := map[file]bool{}
	for _, place := range d.places {
		size, deep := d.changed(place, counted)
		written, hidden = written+size, hidden || deep
	}
	if hidden {
		written = max(written, grown)
	}
	d.next, d.looked = time.Now().Add(restFor*time.Since(began)), grown
	return written, written > most
}

// changed returns the size of what was changed below a place after the start; hidden
// says that something lies too deep to be looked at, which only a command does that
// means to. A kernel's clock ticks up to 10 ms behind.
func (d *disks) changed(place string, counted map[file]bool) (size int64, hidden bool) {
	since := d.began.Add(-10 * time.Millisecond)
	_ = filepath.WalkDir(place, func(_ string, e fs.DirEntry, err error) error {
		hidden = hidden || errors.Is(err, unix.ENAMETOOLONG)
		if err != nil {
			return nil //nolint:nilerr // it has gone, or is hidden
		}
		info, err := e.Info()
		hidden = hidden || errors.Is(err, unix.ENAMETOOLONG)
		if err != nil {
			return nil //nolint:nilerr // as before
		}
		at, ok := info.Sys().(*syscall.Stat_t)
		if !ok || time.Unix(at.Ctim.Unix()).Before(since) {
			return nil
		}
		if f := (file{at.Dev, at.Ino}); !counted[f] {
			counted[f] = true
			size += max(at.Blocks*512, perEntry)
		}
		return nil
	})
	return size, hidden
}
