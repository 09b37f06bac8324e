package powerloss

import (
	"context"
	"io"
	"log"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// mount serves a disk at a directory.
func mount(d *disk, dir string) (*fuse.Server, error) {
	long := time.Hour // nobody but the kernel changes the disk
	return fs.Mount(dir, &node{d: d, f: d.root}, &fs.Options{
		EntryTimeout: &long, AttrTimeout: &long,
		RootStableAttr: &fs.StableAttr{Ino: d.root.number},
		MountOptions: fuse.MountOptions{
			FsName: "powerloss", DirectMountStrict: true, DisableXAttrs: true, MaxWrite: 1 << 20,
			Logger: log.New(io.Discard, "", 0),
		},
	})
}

// enter takes the disk for a call. A call that changes something is a step.
// When the power is off it waits for the end, and nothing happens.
func (d *disk) enter(changes bool) syscall.Errno {
	d.mu.Lock()
	if changes && !d.off {
		d.steps++
		if d.until > 0 && d.steps >= d.until {
			d.fail()
		}
	}
	if !d.off {
		return 0
	}
	d.mu.Unlock()
	<-d.gone
	return syscall.EIO
}

// drag lets the time pass that making something durable takes.
func (d *disk) drag() {
	d.mu.Lock()
	slow := d.slow
	d.mu.Unlock()
	if slow == 0 {
		return
	}
	select {
	case <-time.After(slow):
	case <-d.dark:
	}
}

// fail ends the power; mu is held.
func (d *disk) fail() {
	if !d.off {
		d.off = true
		close(d.dark)
	}
}

// node is a file as the kernel knows it.
type node struct {
	fs.Inode
	d *disk
	f *file
}

// opened is an open file; what is written to some is durable at once.
type opened struct{ sync bool }

func (n *node) attr(a *fuse.Attr) {
	a.Ino, a.Mode, a.Nlink = n.f.number, n.f.mode, uint32(max(n.f.links, 1))
	a.Size = uint64(len(n.f.now) + len(n.f.target))
	a.Blocks = (a.Size + sector - 1) / sector
	a.SetTimes(nil, &n.f.modified, &n.f.modified)
}

// child is what the kernel is told of a file.
func (n *node) child(ctx context.Context, f *file, out *fuse.EntryOut) *fs.Inode {
	c := &node{d: n.d, f: f}
	c.attr(&out.Attr)
	return n.NewInode(ctx, c, fs.StableAttr{Mode: f.mode & modeKind, Ino: f.number})
}

func (n *node) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	if e := n.d.enter(false); e != 0 {
		return nil, e
	}
	defer n.d.mu.Unlock()
	f := n.f.names[name]
	if f == nil {
		return nil, syscall.ENOENT
	}
	return n.child(ctx, f, out), 0
}

func (n *node) Readdir(context.Context) (fs.DirStream, syscall.Errno) {
	if e := n.d.enter(false); e != 0 {
		return nil, e
	}
	defer n.d.mu.Unlock()
	var list []fuse.DirEntry
	for name, f := range n.f.names {
		list = append(list, fuse.DirEntry{Name: name, Mode: f.mode & modeKind, Ino: f.number})
	}
	return fs.NewListDirStream(list), 0
}

// add makes a file with a name.
func (n *node) add(ctx context.Context, name string, f *file, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	if n.f.names[name] != nil {
		return nil, syscall.EEXIST
	}
	n.d.rename(edit{entry{n.f, name}, f})
	return n.child(ctx, f, out), 0
}

func (n *node) Create(ctx context.Context, name string, flags, mode uint32, out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	if e := n.d.enter(true); e != 0 {
		return nil, nil, 0, e
	}
	defer n.d.mu.Unlock()
	in, e := n.add(ctx, name, n.d.create(syscall.S_IFREG|mode&0o7777), out)
	return in, &opened{flags&syscall.O_DSYNC != 0}, 0, e
}

func (n *node) Mknod(ctx context.Context, name string, mode, _ uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	if e := n.d.enter(true); e != 0 {
		return nil, e
	}
	defer n.d.mu.Unlock()
	return n.add(ctx, name, n.d.create(mode), out)
}

func (n *node) Mkdir(ctx context.Context, name string, mode uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	return n.Mknod(ctx, name, modeDir|mode&0o7777, 0, out)
}

func (n *node) Symlink(ctx context.Context, target, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	if e := n.d.enter(true); e != 0 {
		return nil, e
	}
	defer n.d.mu.Unlock()
	f := n.d.create(syscall.S_IFLNK | 0o777)
	f.target = target
	return n.add(ctx, name, f, out)
}

func (n *node) Link(ctx context.Context, target fs.InodeEmbedder, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	if e := n.d.enter(true); e != 0 {
		return nil, e
	}
	defer n.d.mu.Unlock()
	return n.add(ctx, name, target.(*node).f, out)
}

func (n *node) Readlink(context.Context) ([]byte, syscall.Errno) { return []byte(n.f.target), 0 }

func (n *node) Unlink(_ context.Context, name string) syscall.Errno {
	if e := n.d.enter(true); e != 0 {
		return e
	}
	defer n.d.mu.Unlock()
	f := n.f.names[name]
	switch {
	case f == nil:
		return syscall.ENOENT
	case len(f.names) > 0:
		return syscall.ENOTEMPTY
	}
	n.d.rename(edit{entry{n.f, name}, nil})
	return 0
}

func (n *node) Rmdir(ctx context.Context, name string) syscall.Errno { return n.Unlink(ctx, name) }

func (n *node) Rename(_ context.Context, name string, to fs.InodeEmbedder, as string, flags uint32) syscall.Errno {
	if e := n.d.enter(true); e != 0 {
		return e
	}
	defer n.d.mu.Unlock()
	dir := to.(*node).f
	f, old := n.f.names[name], dir.names[as]
	switch {
	case f == nil:
		return syscall.ENOENT
	case flags&^unix.RENAME_NOREPLACE != 0:
		return syscall.EINVAL
	case flags != 0 && old != nil:
		return syscall.EEXIST
	case old != nil && len(old.names) > 0:
		return syscall.ENOTEMPTY
	case f == old:
		return 0
	}
	n.d.rename(edit{entry{dir, as}, f}, edit{entry{n.f, name}, nil})
	return 0
}

func (n *node) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	if e := n.d.enter(false); e != 0 {
		return e
	}
	defer n.d.mu.Unlock()
	n.attr(&out.Attr)
	return 0
}

func (n *node) Setattr(_ context.Context, _ fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	if e := n.d.enter(true); e != 0 {
		return e
	}
	defer n.d.mu.Unlock()
	if size, ok := in.GetSize(); ok {
		n.f.put(write{at: int64(size), trim: true})
	}
	if mode, ok := in.GetMode(); ok {
		n.f.mode = n.f.mode&modeKind | mode&0o7777
	}
	if at, ok := in.GetMTime(); ok {
		n.f.modified = at
	}
	n.attr(&out.Attr)
	return 0
}

func (n *node) Open(_ context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	return &opened{flags&syscall.O_DSYNC != 0}, fuse.FOPEN_KEEP_CACHE, 0
}

func (n *node) Read(_ context.Context, _ fs.FileHandle, dest []byte, at int64) (fuse.ReadResult, syscall.Errno) {
	if e := n.d.enter(false); e != 0 {
		return nil, e
	}
	defer n.d.mu.Unlock()
	if at >= int64(len(n.f.now)) {
		return fuse.ReadResultData(nil), 0
	}
	return fuse.ReadResultData(dest[:copy(dest, n.f.now[at:])]), 0
}

func (n *node) Write(_ context.Context, h fs.FileHandle, data []byte, at int64) (uint32, syscall.Errno) {
	o, ok := h.(*opened)
	durable := ok && o.sync
	if durable {
		n.d.drag()
	}
	if e := n.d.enter(true); e != 0 {
		return 0, e
	}
	defer n.d.mu.Unlock()
	n.f.put(write{at: at, data: append([]byte(nil), data...)})
	if durable {
		n.d.sync(n.f)
	}
	return uint32(len(data)), 0
}

func (n *node) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno {
	n.d.drag()
	if e := n.d.enter(true); e != 0 {
		return e
	}
	defer n.d.mu.Unlock()
	n.d.sync(n.f)
	return 0
}

func (n *node) Statfs(_ context.Context, out *fuse.StatfsOut) syscall.Errno {
	out.Bsize, out.Frsize, out.NameLen = 4096, 4096, 255
	out.Blocks, out.Bfree, out.Bavail = 1<<24, 1<<24, 1<<24
	out.Files, out.Ffree = 1<<24, 1<<24
	return 0
}
