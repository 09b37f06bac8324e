// Package setups keeps what the setup of a project has made, so that another
// checkout which asks for the same is made ready by a copy.
//
// A result is one file, PROJECT/KEY: a tar archive and its SHA-256. It is there
// whole or not at all, and what was damaged since is not used. Who calls Keep
// decides what may be kept: here nothing is known of trust.
package setups

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/loomrun/loom/internal/base/discard"
)

const (
	// Most is how many results are kept of a project; those go first that were not
	// used for the longest time.
	Most = 8
	// MostBytes is how much they take.
	MostBytes = 4 << 30

	unfinished = ".unfinished-"
	listed     = ".made" // the archive's first entry: when it was made, and what it is
)

// ErrNone says that there is no such result.
var ErrNone = errors.New("no such result is kept")

// Store keeps results in a directory. It is safe for concurrent use.
type Store struct{ dir string }

// Open returns the store in a directory, without what was unfinished when an earlier
// process died. No other process may use it.
func Open(dir string) (*Store, error) {
	left, err := filepath.Glob(filepath.Join(dir, "*", unfinished+"*"))
	for _, path := range left {
		err = errors.Join(err, os.Remove(path))
	}
	return &Store{dir}, err
}

func (s *Store) file(project, key string) string { return filepath.Join(s.dir, project, key) }

// Has reports whether a result is there; it may be damaged.
func (s *Store) Has(project, key string) bool {
	_, err := os.Lstat(s.file(project, key))
	return err == nil
}

// Keep takes the directories that a setup has made in a checkout, in which nothing
// runs any more. It refuses what would not serve in another checkout: a directory
// that is not there, files other than regular ones and links, and any that name the
// checkout in which they were made.
func (s *Store) Keep(ctx context.Context, project, key, checkout string, makes []string) error {
	if err := os.MkdirAll(filepath.Join(s.dir, project), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Join(s.dir, project), unfinished)
	if err != nil {
		return err
	}
	err = pack(ctx, f, checkout, makes)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), s.file(project, key))
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return s.prune(project, key)
}

// prune removes the results that are too many or too much, but not the newest.
func (s *Store) prune(project, newest string) error {
	entries, err := os.ReadDir(filepath.Join(s.dir, project))
	if err != nil {
		return err
	}
	var all []fs.FileInfo
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && info.Mode().IsRegular() && !strings.HasPrefix(e.Name(), unfinished) {
			all = append(all, info)
		}
	}
	slices.SortFunc(all, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	var size int64
	for i, info := range all {
		size += info.Size()
		if (i >= Most || size > MostBytes) && info.Name() != newest {
			err = errors.Join(err, os.Remove(s.file(project, info.Name())))
		}
	}
	return err
}

// Lay puts a copy of a result into a checkout, in the place of what is there, and
// returns when it was made. It returns ErrNone where there is no such result; one
// that is damaged is removed, and nothing of it stays in the checkout.
func (s *Store) Lay(ctx context.Context, project, key, checkout string, makes []string) (made time.Time, err error) {
	f, err := os.Open(s.file(project, key))
	if errors.Is(err, fs.ErrNotExist) {
		return made, ErrNone
	}
	if err != nil {
		return made, err
	}
	defer f.Close()
	root, err := os.OpenRoot(checkout)
	if err != nil {
		return made, err
	}
	defer root.Close()
	for _, dir := range makes {
		if err := discard.In(root, dir); err != nil {
			return made, err
		}
	}
	made, err = unpack(ctx, f, root, makes)
	if err != nil {
		for _, dir := range makes {
			err = errors.Join(err, discard.In(root, dir))
		}
		if ctx.Err() == nil && !intact(f) {
			err = errors.Join(err, os.Remove(f.Name()))
		}
		return made, err
	}
	now := time.Now()
	return made, os.Chtimes(f.Name(), now, now) // it was used
}

// pack writes an archive of directories and its hash.
func pack(ctx context.Context, to io.Writer, checkout string, makes []string) error {
	real, err := filepath.EvalSymlinks(checkout)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(real)
	if err != nil {
		return err
	}
	defer root.Close()
	sum := sha256.New()
	w := tar.NewWriter(io.MultiWriter(to, sum))
	p := &packer{root: root, at: real, tar: w, buf: make([]byte, 1<<20)}
	err = w.WriteHeader(&tar.Header{Name: listed, Typeflag: tar.TypeReg, ModTime: time.Now().Truncate(time.Second)})
	for _, dir := range makes {
		if err != nil {
			return err
		}
		if info, err := root.Lstat(dir); err != nil || !info.IsDir() {
			return errors.Join(fmt.Errorf("%s is not a directory", dir), err)
		}
		err = fs.WalkDir(root.FS(), dir, func(name string, d fs.DirEntry, err error) error {
			return errors.Join(ctx.Err(), err, p.add(name, d))
		})
	}
	if err = errors.Join(err, w.Close()); err != nil {
		return err
	}
	_, err = to.Write(sum.Sum(nil))
	return err
}

type packer struct {
	root *os.Root
	at   string // what no file may name
	tar  *tar.Writer
	buf  []byte
	size int64
}

func (p *packer) add(name string, d fs.DirEntry) error {
	if d == nil {
		return nil // the walk's error says why
	}
	info, err := d.Info()
	if err != nil {
		return err
	}
	target := ""
	switch {
	case info.IsDir(), info.Mode().IsRegular():
	case info.Mode()&fs.ModeSymlink != 0:
		if target, err = p.root.Readlink(name); err != nil {
			return err
		}
		if strings.HasPrefix(target, p.at) {
			return fmt.Errorf("%s leads to the directory in which it was made", name)
		}
	default:
		return fmt.Errorf("%s is neither a file nor a link", name)
	}
	h, err := tar.FileInfoHeader(info, target)
	if err != nil {
		return err
	}
	// Half the archive would be fractions of seconds.
	h = &tar.Header{Name: name, Typeflag: h.Typeflag, Linkname: target, Size: h.Size, Mode: int64(info.Mode().Perm()), ModTime: info.ModTime().Truncate(time.Second)}
	if p.size += h.Size; p.size > MostBytes {
		return fmt.Errorf("it is more than %d MiB", MostBytes>>20)
	}
	if err := p.tar.WriteHeader(h); err != nil || !info.Mode().IsRegular() {
		return err
	}
	f, err := p.root.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	look := finder{want: []byte(p.at)}
	if _, err := io.CopyBuffer(io.MultiWriter(struct{ io.Writer }{p.tar}, &look), struct{ io.Reader }{f}, p.buf); err != nil {
		return err
	}
	if look.found {
		return fmt.Errorf("%s names the directory in which it was made", name)
	}
	return nil
}

// finder is a writer that finds bytes in what is written.
type finder struct {
	want, tail []byte
	found      bool
}

func (f *finder) Write(p []byte) (int, error) {
	most := len(f.want) - 1
	joined := append(f.tail, p[:min(len(p), most)]...)
	f.found = f.found || bytes.Contains(joined, f.want) || bytes.Contains(p, f.want)
	if len(p) >= most {
		joined = p
	}
	f.tail = append([]byte(nil), joined[max(0, len(joined)-most):]...)
	return len(p), nil
}

var errDamaged = errors.New("the result is damaged")

// hashed reads an archive, but for the hash at its end, and hashes it.
type hashed struct {
	io.Reader
	sum hash.Hash
}

func (h hashed) Read(p []byte) (int, error) {
	n, err := h.Reader.Read(p)
	h.sum.Write(p[:n])
	return n, err
}

// unpack writes an archive's directories into a checkout, where nothing is in their
// place.
func unpack(ctx context.Context, f *os.File, root *os.Root, makes []string) (made time.Time, err error) {
	info, err := f.Stat()
	if err != nil || info.Size() < sha256.Size {
		return made, errors.Join(errDamaged, err)
	}
	from := hashed{io.NewSectionReader(f, 0, info.Size()-sha256.Size), sha256.New()}
	r := tar.NewReader(from)
	u := &unpacker{dirs: []open{{root: root}}, buf: make([]byte, 1<<20)}
	defer u.close(0)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		switch {
		case ctx.Err() != nil:
			return made, ctx.Err()
		case err != nil:
			return made, errors.Join(errDamaged, err)
		case made.IsZero():
			if h.Name != listed {
				return made, errDamaged
			}
			made = h.ModTime
			continue
		case !within(h.Name, makes):
			return made, errDamaged
		}
		if err := u.add(h, r); err != nil {
			return made, err
		}
	}
	if _, err := io.Copy(io.Discard, from); err != nil || !ends(f, info.Size(), from.sum) {
		return made, errors.Join(errDamaged, err)
	}
	return made, u.finish()
}

// ends reports whether a file of a size ends with the hash of what is before.
func ends(f *os.File, size int64, sum hash.Hash) bool {
	want := make([]byte, sha256.Size)
	_, err := f.ReadAt(want, size-sha256.Size)
	return err == nil && bytes.Equal(want, sum.Sum(nil))
}

// intact reports whether a result is what was written.
func intact(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Size() < sha256.Size {
		return false
	}
	sum := sha256.New()
	_, err = io.Copy(sum, io.NewSectionReader(f, 0, info.Size()-sha256.Size))
	return err == nil && ends(f, info.Size(), sum)
}

func within(name string, makes []string) bool {
	return fs.ValidPath(name) && slices.ContainsFunc(makes, func(dir string) bool { return name == dir || strings.HasPrefix(name, dir+"/") })
}

// unpacker writes entries into a checkout that somebody may work in: whatever is
// there, it stays in it, and follows none of its links.
type unpacker struct {
	dirs []open // those that lead to the last entry's directory
	late []late
	buf  []byte
}

// open is a directory that is being written to.
type open struct {
	path string
	root *os.Root
}

// late is a directory that gets its mode and time when everything is in it.
type late struct {
	path string
	mode fs.FileMode
	time time.Time
}

func (u *unpacker) top() open { return u.dirs[len(u.dirs)-1] }

// enter opens the directory of an entry.
func (u *unpacker) enter(dir string) (*os.Root, error) {
	if dir == "." {
		dir = ""
	}
	for t := u.top(); t.path != "" && t.path != dir && !strings.HasPrefix(dir, t.path+"/"); t = u.top() {
		u.close(len(u.dirs) - 1)
	}
	for t := u.top(); t.path != dir; t = u.top() {
		next, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(dir, t.path), "/"), "/")
		if err := t.root.Mkdir(next, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		root, err := t.root.OpenRoot(next)
		if err != nil {
			return nil, err
		}
		u.dirs = append(u.dirs, open{path.Join(t.path, next), root})
	}
	return u.top().root, nil
}

// close closes all directories from the nth on; the first is the caller's.
func (u *unpacker) close(n int) {
	for _, d := range u.dirs[max(1, n):] {
		d.root.Close()
	}
	u.dirs = u.dirs[:max(1, n)]
}

func (u *unpacker) add(h *tar.Header, from io.Reader) error {
	root, err := u.enter(path.Dir(h.Name))
	if err != nil {
		return err
	}
	name, mode := path.Base(h.Name), fs.FileMode(h.Mode).Perm()
	switch h.Typeflag {
	case tar.TypeDir:
		u.late = append(u.late, late{h.Name, mode, h.ModTime})
		return root.Mkdir(name, 0o700)
	case tar.TypeSymlink:
		return root.Symlink(h.Linkname, name)
	case tar.TypeReg:
	default:
		return errDamaged
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.CopyBuffer(struct{ io.Writer }{f}, from, u.buf)
	return errors.Join(err, f.Chmod(mode), f.Close(), root.Chtimes(name, h.ModTime, h.ModTime))
}

// finish gives directories their modes and times, inner ones first.
func (u *unpacker) finish() error {
	u.close(0)
	root := u.dirs[0].root
	for _, d := range slices.Backward(u.late) {
		if err := errors.Join(root.Chtimes(d.path, d.time, d.time), root.Chmod(d.path, d.mode)); err != nil {
			return err
		}
	}
	return nil
}
