package token

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"

	"github.com/loomrun/loom/internal/fault"
)

// file is where tokens are kept, in the data directory.
const file = "tokens.json"

// List returns the tokens of a data directory, by name.
func List(dir string) ([]Token, error) {
	all, _, err := load(dir)
	return all, err
}

// mark tells whether the file is another one than before.
type mark struct{ info fs.FileInfo }

func (m mark) same(o mark) bool {
	if m.info == nil || o.info == nil {
		return m.info == nil && o.info == nil
	}
	return os.SameFile(m.info, o.info) && m.info.Size() == o.info.Size() && m.info.ModTime().Equal(o.info.ModTime())
}

// look returns what the file is now; one that is absent is no error.
func look(dir string) (mark, error) {
	info, err := os.Stat(filepath.Join(dir, file))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return mark{}, nil
	case err != nil:
		return mark{}, broken("cannot be read").Because(err)
	case info.Mode().Perm()&0o077 != 0:
		return mark{}, broken("others may read or write it (mode %04o)", info.Mode().Perm()).Want("chmod 600 it, and revoke what may have been seen")
	}
	return mark{info}, nil
}

func load(dir string) ([]Token, mark, error) {
	m, err := look(dir)
	if err != nil || m.info == nil {
		return nil, m, err
	}
	data, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		return nil, mark{}, broken("cannot be read").Because(err)
	}
	var all []Token
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, mark{}, broken("is damaged").Because(err)
	}
	return all, m, nil
}

func broken(format string, args ...any) *fault.Error {
	return fault.New("token/file", format, args...).At(file)
}

// change replaces the tokens, whole or not at all, one process after another.
func change(dir string, f func([]Token) ([]Token, error)) error {
	if _, err := os.Stat(filepath.Join(dir, "manifest.json")); err != nil {
		return fault.New("data/manifest", "no host has used this data directory yet").At(dir).Want("start one first: loom up")
	}
	lock := flock.New(filepath.Join(dir, file+".lock"), flock.SetPermissions(0o600))
	if err := lock.Lock(); err != nil {
		return broken("cannot be locked").Because(err)
	}
	defer func() { _ = lock.Unlock() }()
	all, _, err := load(dir)
	if err != nil {
		return err
	}
	if all, err = f(all); err != nil {
		return err
	}
	return store(dir, all)
}

func store(dir string, all []Token) error {
	data, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return broken("cannot be written").Because(err)
	}
	if err := replace(filepath.Join(dir, file), append(data, '\n')); err != nil {
		return broken("cannot be written").Because(err)
	}
	return nil
}

func replace(path string, data []byte) (err error) {
	t, err := os.CreateTemp(filepath.Dir(path), file+".*") // of mode 0600
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
	return os.Rename(t.Name(), path)
}
