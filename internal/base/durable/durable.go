// Package durable makes names survive a power cut. An fsync of a file promises
// its bytes; that the file is there under its name is promised by an fsync of
// the directory, and some file systems do not promise it otherwise.
//
// It promises that what a call made is there after a power cut once the call
// has returned. It knows nothing of what is in the files.
package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Directory makes the names in a directory durable as they are now.
func Directory(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// File makes the bytes of a file durable as they are now, whoever wrote them.
func File(path string) error { return Directory(path) }

// Tree makes everything below a directory durable, and the directory itself,
// but not its own name.
func Tree(path string) error {
	return filepath.WalkDir(path, func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() && !e.Type().IsRegular() {
			return err
		}
		return File(name)
	})
}

// Rename gives a file another name, durably. The file's bytes are the caller's
// to sync, before.
func Rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	err := Directory(filepath.Dir(to))
	if filepath.Dir(from) != filepath.Dir(to) {
		err = errors.Join(err, Directory(filepath.Dir(from)))
	}
	return err
}

// MakeAll makes a directory and those above it that are missing, durably. One
// that is there already is left as it is.
func MakeAll(path string, mode os.FileMode) error {
	path = filepath.Clean(path)
	var made []string
	for at := path; ; at = filepath.Dir(at) {
		if _, err := os.Stat(at); err == nil || at == filepath.Dir(at) {
			break
		}
		made = append(made, at)
	}
	if err := os.MkdirAll(path, mode); err != nil {
		return err
	}
	var err error
	for _, dir := range made {
		err = errors.Join(err, Directory(filepath.Dir(dir)))
	}
	return err
}
