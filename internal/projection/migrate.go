package projection

import (
	"context"
	"database/sql"
	"embed"
	"fmt"

	"github.com/loomrun/loom/internal/fault"
)

// applicationID marks a database file as a projection: "Loom".
const applicationID = 0x4c6f6f6d

// schema holds the migrations, NNNN.sql from 0001 without gaps. A file that
// was released is never changed; the next one changes the tables.
//
//go:embed schema/*.sql
var schema embed.FS

// migrate brings the tables to the newest version, each step in a transaction
// of its own. It refuses, with projection/foreign, a file that something else
// wrote or a later version.
func (d *DB) migrate(ctx context.Context) error {
	steps, err := schema.ReadDir("schema")
	if err != nil {
		return failed("read the migrations", err)
	}
	version, err := d.version(ctx)
	if err != nil {
		return err
	}
	if version > len(steps) {
		return fault.New("projection/foreign", "the projection's file has version %d, this release knows %d", version, len(steps))
	}
	for ; version < len(steps); version++ {
		text, err := schema.ReadFile("schema/" + steps[version].Name())
		if err != nil {
			return failed("read a migration", err)
		}
		if err := d.step(ctx, version+1, string(text)); err != nil {
			return failed(fmt.Sprintf("migrate to version %d", version+1), err)
		}
	}
	return nil
}

// version returns how many migrations the file has had: 0 for an empty one.
func (d *DB) version(ctx context.Context) (int, error) {
	var application, version, tables int
	err := d.write.QueryRowContext(ctx,
		"SELECT (SELECT * FROM pragma_application_id), (SELECT * FROM pragma_user_version), (SELECT count(*) FROM sqlite_schema)").
		Scan(&application, &version, &tables)
	if err != nil {
		return 0, failed("read the version", err)
	}
	if application != applicationID && (application != 0 || version != 0 || tables != 0) {
		return 0, fault.New("projection/foreign", "the file is a database of something else (application id %#x)", application)
	}
	return version, nil
}

func (d *DB) step(ctx context.Context, version int, text string) error {
	return inTx(ctx, d.write, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, text+fmt.Sprintf(";\nPRAGMA application_id = %d; PRAGMA user_version = %d;", applicationID, version))
		return err
	})
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
