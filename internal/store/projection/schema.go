package projection

import (
	"context"
	"crypto/sha256"
	"database/sql"
	_ "embed" // for the schema
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/loomrun/loom/internal/base/fault"
)

// applicationID marks a database file as a projection: "Loom".
const applicationID = 0x4c6f6f6d

// schema makes the tables.
//
//go:embed schema.sql
var schema string

// digest is of schema, as the version that SQLite keeps for an application: 31 bits,
// not 0, which is that of an empty file.
var digest = func() int {
	sum := sha256.Sum256([]byte(schema))
	return int(binary.BigEndian.Uint32(sum[:])&^(1<<31) | 1)
}()

// errOtherSchema is told of a projection that another schema made.
var errOtherSchema = errors.New("the tables are those of another build")

// begun makes the tables of an empty file. It returns errOtherSchema where they were
// made by another schema, and projection/foreign for a file of something else.
func (d *DB) begun(ctx context.Context) error {
	var application, version, tables int
	err := d.write.QueryRowContext(ctx,
		"SELECT (SELECT * FROM pragma_application_id), (SELECT * FROM pragma_user_version), (SELECT count(*) FROM sqlite_schema)").
		Scan(&application, &version, &tables)
	switch {
	case err != nil:
		return failed("read the version", err)
	case application == 0 && version == 0 && tables == 0:
		return d.make(ctx)
	case application != applicationID:
		return fault.New("projection/foreign", "the file is a database of something else (application id %#x)", application)
	case version != digest:
		return errOtherSchema
	}
	return nil
}

func (d *DB) make(ctx context.Context) error {
	err := inTx(ctx, d.write, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, schema+fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d;", applicationID, digest))
		return err
	})
	if err != nil {
		return failed("make the tables", err)
	}
	return nil
}

// remove deletes the closed projection at path: it is derived, and made anew.
func remove(path string) error {
	for _, suffix := range suffixes {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return failed("remove the tables of another build", err)
		}
	}
	return nil
}

// inTx runs f in a transaction, which ends with f's error or is committed.
func inTx(ctx context.Context, db *sql.DB, f func(*sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := f(tx); err != nil {
		return err
	}
	return tx.Commit()
}
