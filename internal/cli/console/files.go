package console

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/lang/strictyaml"
)

// WriteTo writes a text to a file, or to standard output.
func (a *Console) WriteTo(file, text string) error {
	if file == "" || file == "-" {
		_, err := io.WriteString(a.Out, text)
		return err
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil { //nolint:gosec // a picture, for whoever may read the directory
		return fault.New("usage/argument", "cannot be written").At(file).Because(errors.Unwrap(err))
	}
	return nil
}

// WriteNew writes a file that must not be there.
func WriteNew(file string, data []byte) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) //nolint:gosec // a file for everybody who may read the directory
	if errors.Is(err, fs.ErrExist) {
		return fault.New("process/output", "there is such a file already").At(file)
	}
	if err != nil {
		return fault.New("usage/argument", "cannot be written").At(file).Because(errors.Unwrap(err))
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// Read reads a file, or standard input for "-", within a submission's limit.
func (a *Console) Read(name string) ([]byte, error) {
	r, err := a.Input(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, actors.MaxSubmission+1))
	if err != nil {
		return nil, fault.New("usage/argument", "cannot be read: %s", err).At(name)
	}
	return data, nil
}

// Exists reports whether there is a file of that name.
func Exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// Input opens a file, or standard input for "-".
func (a *Console) Input(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(a.In), nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fault.New("usage/argument", "cannot be read").At(name).Because(errors.Unwrap(err))
	}
	return f, nil
}

// ReadFile reads a file, or standard input for "-"; of one that is larger than
// any file of YAML may be, only so much that this shows.
func (a *Console) ReadFile(name string) ([]byte, error) {
	r, err := a.Input(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, strictyaml.MaxBytes+1))
	if err != nil {
		return nil, fault.New("usage/argument", "cannot be read").At(name).Because(errors.Unwrap(err))
	}
	return data, nil
}

// IsFile says whether a word names a file and no workflow, whose names have
// neither points nor slashes.
func IsFile(word string) bool {
	return word == "-" || strings.ContainsAny(word, "./") || strings.ContainsRune(word, filepath.Separator)
}
