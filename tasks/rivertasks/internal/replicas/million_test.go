//go:build unix

package replicas

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/tasks"
)

// BenchmarkMillion compares a database with a million finished tasks to one with
// none: creating a task and looking at one must take as long.
func BenchmarkMillion(b *testing.B) {
	if !long {
		b.Skip("it writes a million records: set STEADY_LONG=1, as make bench-million does")
	}
	for _, d := range databases {
		b.Run(d.name, func(b *testing.B) {
			full := d.dsn(b)
			crowded, empty := openStore(b, full), openStore(b, d.dsn(b))
			ended := fill(b, crowded, full, 1_000_000)
			some := create(b, empty, "somebody")
			for _, m := range []struct {
				name string
				run  func(s tasks.Store, id string)
			}{
				{"create", func(s tasks.Store, _ string) { create(b, s, "") }},
				{"get", func(s tasks.Store, id string) {
					_, err := s.Get(b.Context(), id)
					require.NoError(b, err)
				}},
			} {
				b.Run(m.name, func(b *testing.B) {
					n := 0
					compare(b, func() time.Duration { return timed(func() { m.run(empty, some.ID) }) }, func() time.Duration {
						n++
						return timed(func() { m.run(crowded, ended[n%len(ended)]) })
					})
				})
			}
		})
	}
}

// fill makes n copies of a finished task, and returns the handles of a thousand of
// them.
func fill(b *testing.B, s tasks.Store, dsn string, n int) (some []string) {
	r := create(b, s, "somebody")
	now := time.Now()
	r.Status, r.Done, r.Worker, r.Result = tasks.Completed, true, "", json.RawMessage(`{"content":[{"type":"text","text":"exported 5000 orders"}]}`)
	r.ExpiresAt, r.KeyUntil, r.IdentityUntil = now.Add(time.Hour), now.Add(time.Hour), now.Add(time.Hour)
	_, err := s.Update(b.Context(), now, r)
	require.NoError(b, err)

	book, err := openLedger(dsn)
	require.NoError(b, err)
	defer book.close()
	id, digest := `md5(i::text || 'x')`, `sha256(i::text::bytea)`
	if book.sqlite {
		id, digest = `hex(randomblob(16))`, `randomblob(32)`
	}
	rows, err := book.db.Query(`SELECT * FROM mcp_task LIMIT 0`)
	require.NoError(b, err)
	columns, err := rows.Columns()
	require.NoError(b, err)
	require.NoError(b, rows.Close())
	values := slices.Clone(columns)
	for i, column := range columns {
		switch column {
		case "id":
			values[i] = id
		case "seq":
			values[i] = "-i"
		case "expires_at":
			values[i] = "expires_at + i"
		}
	}
	const numbers = `WITH RECURSIVE numbers(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < %d) `
	for _, statement := range []string{
		fmt.Sprintf(`INSERT INTO mcp_task (%s) `+numbers+`SELECT %s FROM numbers, mcp_task WHERE id = '%s'`,
			strings.Join(columns, ", "), n, strings.Join(values, ", "), r.ID),
		fmt.Sprintf(`INSERT INTO mcp_hold (hold, task_id) `+numbers+`SELECT %s, 'somebody else''s' FROM numbers`, 2*n, digest),
		`ANALYZE`,
	} {
		_, err := book.db.Exec(statement)
		require.NoError(b, err, statement)
	}
	ids, err := book.db.Query(`SELECT id FROM mcp_task ORDER BY expires_at LIMIT 1000`)
	require.NoError(b, err)
	defer ids.Close()
	for ids.Next() {
		var id string
		require.NoError(b, ids.Scan(&id))
		some = append(some, id)
	}
	require.NoError(b, ids.Err())
	return some
}
