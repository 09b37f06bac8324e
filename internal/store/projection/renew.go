package projection

import (
	"context"
	"os"
)

// suffixes are those of the names of a projection's files: the database, and
// what SQLite keeps beside it.
var suffixes = [...]string{"", "-wal", "-shm"}

// files are those of a projection; nil where there is none.
type files [len(suffixes)]os.FileInfo

// filesAt looks at the files of a projection.
func filesAt(path string) (list files) {
	for i, suffix := range suffixes {
		if info, err := os.Lstat(path + suffix); err == nil {
			list[i] = info
		}
	}
	return list
}

// missing says whether one of the files is not there any more, or is another.
func (f files) missing(now files) bool {
	for i, was := range f {
		if was != nil && (now[i] == nil || !os.SameFile(was, now[i])) {
			return true
		}
	}
	return false
}

// gone says whether the files that are open are not those at the path: then
// nobody else sees what is written, and it is lost with the process.
func (d *DB) gone() bool {
	now := filesAt(d.path)
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.files.missing(now)
}

// which tells apart the files that are open from those that are begun later.
func (d *DB) which() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.serial
}

// renew sets aside what is at the path and begins new files, unless that was
// done since the files were those of serial, or the projection is closed.
func (d *DB) renew(ctx context.Context, serial int) error {
	d.writing.Lock()
	defer d.writing.Unlock()
	select {
	case <-d.closed:
		return nil
	default:
	}
	if d.which() != serial {
		return nil
	}
	if filesAt(d.path) != (files{}) {
		if _, err := setAside(d.path); err != nil {
			return err
		}
	}
	if _, err := create(d.path); err != nil {
		return failed("create", err)
	}
	next, err := open(ctx, d.path)
	if err != nil {
		return err
	}
	d.become(next)
	return nil
}

// become takes over the files of another projection that nobody else has, and
// lets its own go; writing is held.
func (d *DB) become(next *DB) {
	d.write.Close()
	d.write, d.queries = next.write, next.queries
	d.beads, d.executions, d.untold = next.beads, next.executions, next.untold
	d.read.Swap(next.read.Load()).Close() // who reads, reads to the end
	d.mu.Lock()
	defer d.mu.Unlock()
	d.files, d.applied, d.tallies = next.files, next.applied, next.tallies
	d.serial++
}
