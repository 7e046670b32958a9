package rivertasks

import (
	"context"
	"crypto/rand"
	"embed"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/riverqueue/river/rivermigrate"
)

//go:embed migrations
var migrations embed.FS

// A migration is one file of migrations/, named NNN_what.sql. Its first line may
// be "-- min_reader: N": the oldest program that can use the database afterwards,
// by the version of the schema that it was made for. Without that line it is the
// program of the version before, so that old and new ones can run side by side.
type migration struct {
	version, minReader int
	sql                string
}

// migrationsOf returns the migrations of a kind of database, in order.
func migrationsOf(kind string) ([]migration, error) {
	files, err := fs.Glob(migrations, "migrations/"+kind+"/*.sql") // sorted
	if err != nil {
		return nil, err
	}
	var out []migration
	for i, file := range files {
		b, err := migrations.ReadFile(file)
		if err != nil {
			return nil, err
		}
		m := migration{version: i + 1, minReader: i, sql: string(b)}
		if first, _, _ := strings.Cut(m.sql, "\n"); strings.HasPrefix(first, "-- min_reader: ") {
			if m.minReader, err = strconv.Atoi(strings.TrimPrefix(first, "-- min_reader: ")); err != nil {
				return nil, err
			}
		}
		out = append(out, m)
	}
	return out, nil
}

// A NewerError says that a database was brought to a schema that this program does
// not know, by one that is newer.
type NewerError struct {
	Have int // version of the schema
	Want int // version that this program knows
	// River is set if it is River's own schema.
	River bool
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("rivertasks: the database has version %d of the schema of %s, and this program knows versions up to %d: "+
		"it was upgraded by a newer program; use that one, or a database of its own", e.Have, whose(e.River), e.Want)
}

// An OlderError says that a database must be migrated first, and that
// [Options.NoMigrate] forbids it.
type OlderError struct {
	Have int // version of the schema, 0 if there is none
	Want int // version that this program needs
	// River is set if it is River's own schema.
	River bool
}

func (e *OlderError) Error() string {
	return fmt.Sprintf("rivertasks: the database has version %d of the schema of %s and this program needs %d: run rivertasks.Migrate, or leave Options.NoMigrate out",
		e.Have, whose(e.River), e.Want)
}

func whose(river bool) string {
	if river {
		return "River"
	}
	return "the tasks"
}

// readVersion returns the version of our schema, 0 if there is none, and the oldest
// program that can use it.
func readVersion(ctx context.Context, q querier) (version, minReader int, err error) {
	_, err = scanOne(ctx, q, `SELECT version, min_reader FROM mcp_schema ORDER BY version DESC LIMIT 1`, nil, &version, &minReader)
	return version, minReader, err
}

// checkVersion returns an error if a program that knows versions up to want cannot
// use a schema.
func checkVersion(have, minReader, want int) error {
	if have > want && minReader > want {
		return &NewerError{Have: have, Want: want}
	}
	return nil
}

// migrateTx brings our part of the schema up to date. Nobody else does so at the
// same time.
func migrateTx(ctx context.Context, q querier, kind string) error {
	all, err := migrationsOf(kind)
	if err != nil {
		return err
	}
	if _, err := q.exec(ctx, `CREATE TABLE IF NOT EXISTS mcp_schema (version bigint NOT NULL, min_reader bigint NOT NULL)`); err != nil {
		return err
	}
	have, minReader, err := readVersion(ctx, q)
	if err != nil {
		return err
	}
	if err := checkVersion(have, minReader, len(all)); err != nil {
		return err
	}
	for _, m := range all[min(have, len(all)):] {
		if _, err := q.exec(ctx, m.sql); err != nil {
			return fmt.Errorf("migration %d: %w", m.version, err)
		}
		if _, err := q.exec(ctx, `INSERT INTO mcp_schema (version, min_reader) VALUES ($1, $2)`, m.version, m.minReader); err != nil {
			return err
		}
	}
	if have == 0 {
		_, err = q.exec(ctx, `INSERT INTO mcp_store (epoch) VALUES ($1)`, strings.ToLower(rand.Text()[:10]))
	}
	return err
}

// checkSchema returns an error if the schema is not one that this program can use
// as it is. The query there has a row if there is one at all.
func checkSchema[TTx any](ctx context.Context, q querier, kind, there string, m *rivermigrate.Migrator[TTx]) error {
	all, err := migrationsOf(kind)
	if err != nil {
		return err
	}
	have, minReader := 0, 0
	migrated, err := exists(ctx, q, there)
	if err == nil && migrated {
		have, minReader, err = readVersion(ctx, q)
	}
	if err != nil {
		return doing("reading the version of the schema", err)
	}
	if have < len(all) {
		return &OlderError{Have: have, Want: len(all)}
	}
	if err := checkVersion(have, minReader, len(all)); err != nil {
		return err
	}
	river, err := m.ExistingVersions(ctx)
	if err := newerRiver(ctx, q, m.AllVersions(), err); err != nil {
		return doing("reading the version of the schema", err)
	}
	if want := len(m.AllVersions()); len(river) < want {
		return &OlderError{Have: len(river), Want: want, River: true}
	}
	return nil
}
