package powerloss

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"
)

// sector is the most that a disk writes whole.
const sector = 512

// The kind of a file, as Linux numbers it.
const (
	modeKind = 0o170000
	modeDir  = 0o040000
)

// promise is what an fsync makes durable beside the bytes of its file.
type promise string

const (
	// journal: every change of a name so far, as one journal of the file system
	// does (ext4, XFS).
	journal promise = "journal"
	// own: the names of that file, and the directories that they are in (btrfs).
	own promise = "own"
	// posix: nothing; the name of a file is durable after an fsync of its
	// directory.
	posix promise = "posix"
)

// disk is a file system twice: as programs see it, and as it would be after a
// power cut. Its files are guarded by mu.
type disk struct {
	mu      sync.Mutex
	promise promise
	root    *file
	last    uint64    // number of the newest file
	pending []*change // of names, that no fsync has made durable, oldest first

	steps int           // changes so far
	until int           // the step before which the power fails; zero for never
	off   bool          // it has failed
	slow  time.Duration // that making something durable takes
	dark  chan struct{} // closed when it fails
	gone  chan struct{} // closed when those that wait in the dark may end
}

// file is a file, directory or symbolic link.
type file struct {
	number   uint64
	mode     uint32 // kind and permissions
	target   string // of a link
	modified time.Time
	links    int

	now, kept []byte
	pending   []write // oldest first

	names, keptNames map[string]*file // of a directory
}

// write is bytes at a place; without bytes, a new length.
type write struct {
	at   int64
	data []byte
	trim bool
}

// entry is a name in a directory.
type entry struct {
	dir  *file
	name string
}

// change is what one call did to names; a rename is two edits that stay
// together.
type change struct{ edits []edit }

// edit gives a name to a file, or to none.
type edit struct {
	entry
	file *file
}

func newDisk(p promise) *disk {
	d := &disk{promise: p, dark: make(chan struct{}), gone: make(chan struct{})}
	d.root = d.create(modeDir | 0o755)
	d.root.links = 1
	return d
}

// lag makes the disk slow from now on.
func (d *disk) lag(slow time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.slow = slow
}

// create makes a file without a name.
func (d *disk) create(mode uint32) *file {
	d.last++
	f := &file{number: d.last, mode: mode, modified: time.Now()}
	if f.isDir() {
		f.names, f.keptNames = map[string]*file{}, map[string]*file{}
	}
	return f
}

func (f *file) isDir() bool { return f.mode&modeKind == modeDir }

// rename applies edits to what programs see.
func (d *disk) rename(edits ...edit) {
	for _, e := range edits {
		if old := e.dir.names[e.name]; old != nil {
			old.links--
		}
		if e.file == nil {
			delete(e.dir.names, e.name)
		} else {
			e.dir.names[e.name] = e.file
			e.file.links++
		}
		e.dir.modified = time.Now()
	}
	d.pending = append(d.pending, &change{edits})
}

// put writes, as programs see it.
func (f *file) put(w write) {
	f.now = w.into(f.now)
	f.pending = append(f.pending, w)
	f.modified = time.Now()
}

// into returns data after the write.
func (w write) into(data []byte) []byte {
	end := w.at + int64(len(w.data))
	if w.trim && int64(len(data)) > end {
		return data[:end]
	}
	if grow := end - int64(len(data)); grow > 0 {
		data = append(data, make([]byte, grow)...)
	}
	copy(data[w.at:], w.data)
	return data
}

// sync makes a file durable, and names as far as was promised.
func (d *disk) sync(f *file) {
	for _, w := range f.pending {
		f.kept = w.into(f.kept)
	}
	f.pending = nil
	switch {
	case d.promise == journal:
		d.keep(func(*change) bool { return true })
	case d.promise == own || f.isDir():
		d.keep(func(c *change) bool {
			return slices.ContainsFunc(c.edits, func(e edit) bool { return e.dir == f || d.promise == own && e.file == f })
		})
	}
}

// keep makes changes durable, and those before them that they rest on: of the
// same name, and where it was promised, of the directories they are in.
func (d *disk) keep(wanted func(*change) bool) {
	names, dirs := map[entry]bool{}, map[*file]bool{}
	var kept, left []*change
	for _, c := range slices.Backward(d.pending) {
		if !wanted(c) && !slices.ContainsFunc(c.edits, func(e edit) bool { return names[e.entry] || dirs[e.file] }) {
			left = append(left, c)
			continue
		}
		kept = append(kept, c)
		for _, e := range c.edits {
			names[e.entry] = true
			if d.promise == own {
				dirs[e.dir] = true
			}
		}
	}
	slices.Reverse(left)
	d.pending = left
	for _, c := range slices.Backward(kept) {
		c.settle()
	}
}

// settle makes a change durable.
func (c *change) settle() {
	for _, e := range c.edits {
		if e.file == nil {
			delete(e.dir.keptNames, e.name)
		} else {
			e.dir.keptNames[e.name] = e.file
		}
	}
}

// settle makes everything durable, as time does.
func (d *disk) settle() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.keep(func(*change) bool { return true })
	d.root.walk(map[*file]bool{}, func(f *file) {
		for _, w := range f.pending {
			f.kept = w.into(f.kept)
		}
		f.pending = nil
	})
}

// walk calls do for each file below f that programs see, once.
func (f *file) walk(seen map[*file]bool, do func(*file)) {
	if seen[f] {
		return
	}
	seen[f] = true
	do(f)
	for _, name := range slices.Sorted(maps.Keys(f.names)) {
		f.names[name].walk(seen, do)
	}
}

// off is how long the machine stays off.
const off = time.Hour

// lost says what a cut did.
type lost struct{ names, writes, torn int }

func (l lost) String() string {
	return fmt.Sprintf("%d names and %d writes lost, %d torn", l.names, l.writes, l.torn)
}

// restart returns the disk as it is when the power comes back. Of what was not
// durable, r draws what is there.
func (d *disk) restart(r *rand.Rand) (*disk, lost) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var l lost
	d.drawNames(r, &l)
	next := newDisk(d.promise)
	next.last = d.last
	copies := map[*file]*file{d.root: next.root}
	d.root.copyTo(next.root, copies, r, &l)
	return next, l
}

// drawNames keeps some of the changes of names: all before one of them, as file
// systems do that write them in order; else any, but of one name none after one
// that is lost.
func (d *disk) drawNames(r *rand.Rand, l *lost) {
	first := r.IntN(len(d.pending) + 1)
	missing := map[entry]bool{}
	for i, c := range d.pending {
		drop := i >= first
		if d.promise == posix {
			drop = r.IntN(2) == 0 || slices.ContainsFunc(c.edits, func(e edit) bool { return missing[e.entry] })
		}
		if !drop {
			c.settle()
			continue
		}
		l.names++
		for _, e := range c.edits {
			missing[e.entry] = true
		}
	}
}

// copyTo copies what is durable of a directory.
func (f *file) copyTo(to *file, copies map[*file]*file, r *rand.Rand, l *lost) {
	for _, name := range slices.Sorted(maps.Keys(f.keptNames)) {
		old := f.keptNames[name]
		c := copies[old]
		if c == nil {
			c = &file{number: old.number, mode: old.mode, target: old.target, modified: old.modified, now: old.draw(r, l)}
			c.kept = slices.Clone(c.now)
			copies[old] = c
			if old.isDir() {
				c.names, c.keptNames = map[string]*file{}, map[string]*file{}
				old.copyTo(c, copies, r, l)
			}
		}
		if strings.HasSuffix(name, ".lock") {
			c.modified = c.modified.Add(-off) // only locks are looked at for their age
		}
		c.links++
		to.names[name], to.keptNames[name] = c, c
	}
}

// draw returns the bytes of a file of which some writes were not durable:
// those, the first few of them with the last torn, or any sectors of any.
func (f *file) draw(r *rand.Rand, l *lost) []byte {
	data := slices.Clone(f.kept)
	if len(f.pending) == 0 {
		return data
	}
	first, wild := r.IntN(len(f.pending)+1), r.IntN(3) == 0
	for i, w := range f.pending {
		switch {
		case !wild && i < first:
			data = w.into(data)
		case wild && r.IntN(2) == 0, !wild && i == first && r.IntN(2) == 0:
			data = w.tear(data, r)
			l.torn++
		default:
			l.writes++
		}
	}
	return data
}

// tear writes some of the sectors of w; which others there are, nobody knows.
func (w write) tear(data []byte, r *rand.Rand) []byte {
	if len(w.data) == 0 {
		return w.into(data)
	}
	for at := w.at; at < w.at+int64(len(w.data)); {
		next := min((at/sector+1)*sector, w.at+int64(len(w.data)))
		if r.IntN(2) == 0 {
			data = write{at: at, data: w.data[at-w.at : next-w.at]}.into(data)
		}
		at = next
	}
	return data
}
