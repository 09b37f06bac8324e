package tool

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"unicode/utf8"

	"github.com/loomrun/loom/internal/base/fault"
)

// open opens a regular file for reading. It refuses what is not one, and a
// file with more than one name, as the others may be outside; it never waits
// for a device or a pipe.
func (p place) open() (*os.File, fs.FileInfo, error) {
	before, err := p.regular()
	if err != nil {
		return nil, nil, err
	}
	f, err := p.dir.OpenFile(p.name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, trouble(p.path, err)
	}
	info, err := f.Stat()
	if err == nil && !os.SameFile(before, info) {
		err = outside(p.path, "it changed while it was opened")
	}
	if err == nil {
		err = p.single(info)
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// regular looks at the entry without opening it.
func (p place) regular() (fs.FileInfo, error) {
	info, err := p.dir.Lstat(p.name)
	switch {
	case err != nil:
		return nil, trouble(p.path, err)
	case info.IsDir():
		return nil, fault.New("tool/failed", "it is a directory").At("path").Got(p.path).Want("use directory_list")
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, linked(p.path, p.name)
	case !info.Mode().IsRegular():
		return nil, fault.New("tool/outside", "it is not a regular file").At("path").Got(p.path)
	}
	return info, p.single(info)
}

func (p place) single(info fs.FileInfo) error {
	if names(info) > 1 {
		return fault.New("tool/outside", "the file has more than one name (hard links), and the others may be outside").At("path").Got(p.path)
	}
	return nil
}

// content reads a whole file of at most most bytes.
func (p place) content(most int64) ([]byte, fs.FileInfo, error) {
	f, info, err := p.open()
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, nil, trouble(p.path, err)
	}
	if int64(len(data)) > most {
		return nil, nil, fault.New("tool/too-large", "the file is larger than %d bytes", most).At("path").Got(p.path)
	}
	return data, info, nil
}

// binary reports whether data, the beginning of a file, is no text.
func binary(data []byte) bool {
	const enough = 8 << 10
	if bytes.IndexByte(data[:min(len(data), enough)], 0) >= 0 {
		return true
	}
	bad := 0
	for i := 0; i < min(len(data), enough); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			bad++
		}
		i += size
	}
	return bad > min(len(data), enough)/10
}

// replace puts data in the place of the file, or makes it, in one step: nobody
// ever sees a part of it. An existing file keeps its mode. What a call that was
// cut off left behind under the same id is swept away.
func (p place) replace(data []byte, id string) error {
	mode := fs.FileMode(0o644)
	info, err := p.regular()
	if err == nil {
		mode = info.Mode().Perm()
	} else if fault.Code(err) != "tool/not-found" {
		return err
	}
	if err := p.stage(data, mode, id); err != nil {
		return err
	}
	return p.settle(id)
}

// stage writes the draft of a file.
func (p place) stage(data []byte, mode fs.FileMode, id string) error {
	if err := p.sweep(id); err != nil {
		return err
	}
	if err := p.fill(p.draft(id), data, mode); err != nil {
		_ = p.dir.Remove(p.draft(id))
		return trouble(p.path, err)
	}
	return nil
}

// settle puts the draft in the place of the file.
func (p place) settle(id string) error {
	if err := p.dir.Rename(p.draft(id), p.name); err != nil {
		_ = p.dir.Remove(p.draft(id))
		return trouble(p.path, err)
	}
	return nil
}

// draft names the file that a call writes before it takes its place.
func (p place) draft(id string) string { return fmt.Sprintf(".loom-%s.draft", digest(p.name, id)) }

// sweep removes the draft that a call left.
func (p place) sweep(id string) error {
	err := p.dir.Remove(p.draft(id))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return trouble(p.path, err)
	}
	return nil
}

func (p place) fill(draft string, data []byte, mode fs.FileMode) error {
	f, err := p.dir.OpenFile(draft, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
