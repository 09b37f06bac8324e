// Package privatefile keeps a small list in a file of a data directory that its
// owner alone may read: JSON, mode 0600, one entry of the list after another,
// and a line with the checksum of all of it.
//
// It promises that a change is whole or not there at all, that two processes
// change the file one after the other, that a flipped bit is found, and that a
// file which others may read or write is refused and never believed. It knows nothing of what the list means.
package privatefile

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"

	"github.com/loomrun/loom/internal/base/durable"
	"github.com/loomrun/loom/internal/base/fault"
)

// List is a list of T in the file Name of the directory Dir. Refusals about the
// file have the code Code.
type List[T any] struct {
	Dir, Name, Code string
}

// Mark is what a file was when it was read; it tells whether it is another one
// now.
type Mark struct{ info fs.FileInfo }

// Same says whether both marks are of one state of the file.
func (m Mark) Same(o Mark) bool {
	if m.info == nil || o.info == nil {
		return m.info == nil && o.info == nil
	}
	return os.SameFile(m.info, o.info) && m.info.Size() == o.info.Size() && m.info.ModTime().Equal(o.info.ModTime())
}

// Look returns what the file is now, without reading it; one that is absent is
// no error, one that others may read or write is.
func (l List[T]) Look() (Mark, error) {
	info, err := os.Stat(l.path())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Mark{}, nil
	case err != nil:
		return Mark{}, l.broken("cannot be read").Because(err)
	case info.Mode().Perm()&0o077 != 0:
		return Mark{}, l.broken("others may read or write it (mode %04o)", info.Mode().Perm()).Want("chmod 600 it, and revoke what may have been seen")
	}
	return Mark{info}, nil
}

// Load reads the list, which is empty when there is no file.
func (l List[T]) Load() ([]T, Mark, error) {
	m, err := l.Look()
	if err != nil || m.info == nil {
		return nil, m, err
	}
	data, err := os.ReadFile(l.path())
	if err != nil {
		return nil, Mark{}, l.broken("cannot be read").Because(err)
	}
	if data, err = Whole(data); err != nil {
		return nil, Mark{}, l.broken("is damaged").Because(err)
	}
	var all []T
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, Mark{}, l.broken("is damaged").Because(err)
	}
	return all, m, nil
}

// sumLine begins the line with the checksum, which is the last.
const sumLine = "sum "

// sumOf returns that line for what stands before it.
func sumOf(data []byte) string { return fmt.Sprintf("%s%x\n", sumLine, sha256.Sum256(data)) }

// Summed returns JSON, in lines of its own, with the line of its checksum behind it.
func Summed(data []byte) []byte {
	data = append(bytes.TrimRight(data, "\n"), '\n')
	return append(data, sumOf(data)...)
}

// Whole returns the JSON that stands before the checksum. A file that was edited by
// hand has none, and is JSON alone. It says nothing of what the JSON holds.
func Whole(data []byte) ([]byte, error) {
	at := bytes.LastIndexByte(bytes.TrimSuffix(data, []byte("\n")), '\n') + 1
	list, sum := data[:at], string(data[at:])
	switch {
	case sum == sumOf(list):
		return list, nil
	case bytes.HasSuffix(bytes.TrimSpace(data), []byte("]")), bytes.HasSuffix(bytes.TrimSpace(data), []byte("}")):
		return data, nil
	}
	return nil, errors.New("its checksum is wrong; who edits it by hand removes the last line")
}

// Change replaces the list by what f makes of it. It blocks while another
// process does the same. It returns f's error, and data/manifest when no host
// has used the directory yet.
func (l List[T]) Change(f func([]T) ([]T, error)) error {
	if _, err := os.Stat(filepath.Join(l.Dir, "manifest.json")); err != nil {
		return fault.New("data/manifest", "no host has used this data directory yet").At(l.Dir).Want("start one first: loom up")
	}
	lock := flock.New(l.path()+".lock", flock.SetPermissions(0o600))
	if err := lock.Lock(); err != nil {
		return l.broken("cannot be locked").Because(err)
	}
	defer func() { _ = lock.Unlock() }()
	all, _, err := l.Load()
	if err != nil {
		return err
	}
	if all, err = f(all); err != nil {
		return err
	}
	return l.store(all)
}

func (l List[T]) store(all []T) error {
	data, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return l.broken("cannot be written").Because(err)
	}
	if err := Replace(l.path(), Summed(data)); err != nil {
		return l.broken("cannot be written").Because(err)
	}
	return nil
}

func (l List[T]) path() string { return filepath.Join(l.Dir, l.Name) }

func (l List[T]) broken(format string, args ...any) *fault.Error {
	return fault.New(l.Code, format, args...).At(l.Name)
}

// Replace puts data in the place of the file at path, with mode 0600: the old
// file stays, or the new one is there, whole and on the disk.
func Replace(path string, data []byte) (err error) {
	t, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // of mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(t.Name())
		}
	}()
	_, werr := t.Write(data)
	if err = errors.Join(werr, t.Sync(), t.Close()); err != nil {
		return err
	}
	return durable.Rename(t.Name(), path)
}
