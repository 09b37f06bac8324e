package doctor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// What a disk should have.
const (
	leastFree  = 512 << 20             // bytes; with less, no work is admitted
	littleFree = 2 << 30               // bytes
	slowSync   = 20 * time.Millisecond // a commit waits for one
	noSync     = 4 * time.Microsecond  // no disk is as fast: it was not asked
	syncs      = 25
)

// space is what the file system says of itself.
type space struct {
	kind        string
	free, total uint64 // bytes, for this user
}

// nearest returns path, or the nearest directory above that is there.
func nearest(path string) string {
	path, err := filepath.Abs(path)
	if err != nil {
		return "."
	}
	for {
		if info, err := os.Stat(path); err == nil && info.IsDir() || path == filepath.Dir(path) {
			return path
		}
		path = filepath.Dir(path)
	}
}

// disk looks at what the journals will stand on.
func disk(_ context.Context, m *Machine, n *notes) {
	dir := nearest(m.Data)
	s, err := spaceOf(dir)
	if err != nil {
		n.warn("the file system of "+dir+" cannot be looked at: "+err.Error(), "see that it is local, and has 2 GiB free")
		return
	}
	judgeKind(n, s.kind)
	said := fmt.Sprintf("%s free of %s", size(s.free), size(s.total))
	switch {
	case s.free < leastFree:
		n.fail(said, "make room: with less than 512 MiB no work is admitted")
	case s.free < littleFree:
		n.warn(said, "make room: journals grow by about a gigabyte in 10,000 executions")
	default:
		n.good(said)
	}
	judgeSync(n, dir)
}

func judgeKind(n *notes, kind string) {
	switch kind {
	case "nfs", "cifs", "smb":
		n.fail("the file system is "+kind+", over a network", "name a directory on a local disk with --data: locks and fsync must be certain")
	case "9p", "fuse":
		n.warn("the file system is "+kind, "use a local disk, unless you know that fsync reaches one")
	case "tmpfs", "ramfs":
		n.warn("the file system is "+kind+": all is gone with the power", "name a directory on a disk with --data")
	case "overlay":
		n.warn("the file system is overlay: all is gone with the container", "mount a volume, and name it with --data")
	default:
		n.good("the file system is " + kind)
	}
}

func judgeSync(n *notes, dir string) {
	times, err := measureSync(dir)
	if err != nil {
		n.fail("no file can be written in "+dir+": "+err.Error(), "let this user write there, or name another directory with --data")
		return
	}
	half, worst := times[len(times)/2], times[len(times)-1]
	said := fmt.Sprintf("fsync of 4 KiB takes %v, at worst %v of %d", half.Round(time.Microsecond), worst.Round(time.Microsecond), len(times))
	switch {
	case half < noSync:
		n.warn(said+": too fast to be true", "use a disk whose fsync reaches it: power loss would cost acknowledged work")
	case half > slowSync:
		n.warn(said+": every commit waits for it", "use a faster disk, best one with power-loss protection")
	default:
		n.good(said)
	}
}

// measureSync writes a file and returns how long it took to reach the disk,
// sorted. Nothing is left.
func measureSync(dir string) ([]time.Duration, error) {
	f, err := os.CreateTemp(dir, ".loom-doctor-")
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	block := make([]byte, 4096)
	times := make([]time.Duration, 0, syncs)
	for range syncs {
		began := time.Now()
		if _, err := f.Write(block); err != nil {
			return nil, err
		}
		if err := f.Sync(); err != nil {
			return nil, err
		}
		times = append(times, time.Since(began))
	}
	slices.Sort(times)
	return times, nil
}

// size writes bytes as one reads them.
func size(b uint64) string {
	switch {
	case b >= 10<<30:
		return fmt.Sprintf("%d GiB", b>>30)
	case b >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(b)/(1<<30))
	}
	return fmt.Sprintf("%d MiB", b>>20)
}
