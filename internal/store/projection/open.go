package projection

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/loomrun/loom/internal/base/fault"
)

// Opening says what [Open] found.
type Opening struct {
	// Created is true when the file is new, or its tables were made by another
	// build: it has to be filled from the journals.
	Created bool
	// SetAside is where a file went that could not be used; empty if none.
	SetAside string
	// Reason says why it could not be used; nil if it could.
	Reason error
}

// Open opens the projection in the file at path. One whose tables another schema
// has made is begun anew; a file that is damaged, or is no projection, is renamed
// and a new one begun. The projection is derived, so that is no error, but it is
// told in Opening and the journals have to be applied again from the beginning.
//
// The file is read and checked whole when its last user did not close it, a few
// seconds a gigabyte. Damage that shows only later is projection/corrupt, from
// whatever met it: then close it, [SetAside], and open again.
func Open(ctx context.Context, path string) (*DB, Opening, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, Opening{}, failed("open", err)
	}
	var o Opening
	o.Created, err = create(path)
	if err != nil {
		return nil, o, failed("create", err)
	}
	d, err := open(ctx, path)
	switch {
	case errors.Is(err, errOtherSchema):
		err = remove(path)
	case err == nil || !unusable(err):
		return d, o, err
	default:
		o.Reason = err
		o.SetAside, err = SetAside(path)
	}
	if err != nil {
		return nil, o, err
	}
	if o.Created, err = create(path); err != nil {
		return nil, o, failed("create", err)
	}
	d, err = open(ctx, path)
	return d, o, err
}

// create makes an empty file that only its owner can read, unless there is one.
func create(path string) (bool, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, f.Close()
}

// SetAside renames the closed projection at path, with what SQLite keeps
// beside it, to the first free name PATH.unusable-N, which it returns.
func SetAside(path string) (string, error) {
	if _, err := os.Lstat(path); err != nil {
		return "", failed("set aside", err)
	}
	return setAside(path)
}

// setAside is SetAside of as much as there is.
func setAside(path string) (string, error) {
	aside := ""
	for n := 1; aside == ""; n++ {
		name := fmt.Sprintf("%s.unusable-%d", path, n)
		if filesAt(name) == (files{}) {
			aside = name
		}
	}
	for _, suffix := range suffixes {
		if err := os.Rename(path+suffix, aside+suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", failed("set aside", err)
		}
	}
	return aside, nil
}

func open(ctx context.Context, path string) (_ *DB, err error) {
	_, statErr := os.Stat(path + "-wal")
	d := &DB{
		path: path, changed: make(chan struct{}), closed: make(chan struct{}), applied: map[uint32]uint64{}, tallies: map[tallyKey]int64{},
		untold: untold{}, actors: actors{}, waiting: map[uint32]int{}, asked: map[uint32]chan struct{}{}, broken: map[uint32]error{},
	}
	if d.write, err = connect(path, "_txlock=immediate"); err != nil {
		return nil, failed("open", err)
	}
	d.write.SetMaxOpenConns(1)
	read, err := connect(path, "_pragma=query_only(1)")
	if err != nil {
		d.write.Close()
		return nil, failed("open", err)
	}
	d.read.Store(read)
	if err = d.begin(ctx, statErr == nil); err != nil {
		read.Close()
		d.write.Close()
		return nil, err
	}
	d.files = filesAt(path)
	return d, nil
}

// connect opens lazily: a damaged file shows at the first query.
func connect(path, option string) (*sql.DB, error) {
	u := url.URL{Scheme: "file", Path: path, RawQuery: "_pragma=busy_timeout(5000)&_pragma=journal_mode(wal)" +
		"&_pragma=synchronous(normal)&_pragma=foreign_keys(1)&" + option}
	return sql.Open("sqlite", u.String())
}

// begin checks the file, makes its tables and reads how far it has come.
func (d *DB) begin(ctx context.Context, wasKilled bool) error {
	if err := d.begun(ctx); err != nil {
		return err
	}
	if wasKilled {
		if err := d.check(ctx); err != nil {
			return err
		}
	}
	if err := d.prepare(ctx); err != nil {
		return failed("prepare", err)
	}
	heads, err := d.heads(ctx)
	if err != nil {
		return failed("read the positions", err)
	}
	for partition, h := range heads {
		d.applied[partition] = h.sequence
	}
	if err := d.loadUntold(ctx); err != nil {
		return err
	}
	return d.loadTallies(ctx)
}

func (d *DB) check(ctx context.Context) error {
	var found string
	if err := d.write.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&found); err != nil {
		return failed("check", err)
	}
	if found != "ok" {
		return fault.New("projection/corrupt", "the projection's file is damaged").Because(errors.New(found))
	}
	return nil
}

// failed tells what could not be done; damage has a code of its own.
func failed(what string, err error) error {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		switch e.Code() & 0xff {
		case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT:
			return fault.New("projection/corrupt", "projection: %s: the file is damaged", what).Because(err)
		}
	}
	if fault.Code(err) != "" || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fault.New("projection/failed", "projection: %s", what).Because(err)
}

// unusable reports whether another file must be begun because of err.
func unusable(err error) bool {
	return fault.Code(err) == "projection/corrupt" || fault.Code(err) == "projection/foreign"
}
