//go:build unix

package replicas

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// nextVersion builds this test with one more migration than there is: what the
// program of the next version will be.
func nextVersion(t *testing.T, migration string) string {
	const folder = "../../migrations"
	out := t.TempDir()
	file, overlay, program := filepath.Join(out, "next.sql"), filepath.Join(out, "overlay.json"), filepath.Join(out, "next.test")
	require.NoError(t, os.WriteFile(file, []byte(migration), 0o644))
	replace := map[string]string{}
	for _, d := range databases {
		there, err := filepath.Glob(filepath.Join(folder, d.name, "*.sql"))
		require.NoError(t, err)
		require.NotEmpty(t, there)
		added, err := filepath.Abs(filepath.Join(folder, d.name, fmt.Sprintf("%03d_next.sql", len(there)+1)))
		require.NoError(t, err)
		replace[added] = file
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(overlay, list, 0o644))
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-overlay", overlay, "-o", program, ".")
	log, err := build.CombinedOutput()
	require.NoError(t, err, "%s", log)
	return program
}

// The programs of two versions work side by side on one database while one
// replaces the other, and nothing that runs notices.
func TestRollingUpgrade(t *testing.T) {
	t.Parallel()
	next := launch{program: nextVersion(t, `ALTER TABLE mcp_task ADD COLUMN next text`)}
	onEach(t, func(t *testing.T, dsn string) {
		c := newCluster(t, dsn)
		c.settings.Patience = 2 * time.Second // more than what runs takes
		old := []*replica{c.start(launch{}), c.start(launch{})}
		u := caller{user: "ada"}
		var tasks []string
		on := func(r *replica) {
			for _, tool := range []string{"record", "once"} {
				n := len(tasks)
				tasks = append(tasks, u.create(c, r, tool, object{"job": fmt.Sprint("job", n), "millis": 600}))
			}
		}
		on(old[0])
		on(old[1])
		question := u.create(c, old[0], "ask", object{"job": "asked"})
		u.await(c, old[1], question, "input_required")

		replaced := c.start(next) // migrates, while the others work
		for _, r := range []*replica{old[0], old[1], replaced} {
			on(r)
		}
		for _, task := range tasks {
			u.await(c, c.any(), task, "completed")
		}
		c.stop(old[0])
		another := c.start(next)
		on(another)
		on(old[1])
		back := c.start(launch{}) // a deployment that is rolled back
		on(back)
		c.stop(old[1])
		for _, task := range tasks[:len(tasks)-1] {
			u.await(c, back, task, "completed")
		}
		for key := range u.await(c, another, question, "input_required").Result["inputRequests"].(object) {
			a := u.ask(c, another, "tasks/update", object{"taskId": question, "inputResponses": object{key: object{"action": "accept", "content": object{"sure": true}}}})
			require.Nil(t, a.Error)
		}
		u.await(c, back, question, "completed")
		found, err := c.ledger.all(t.Context())
		require.NoError(t, err)
		require.Len(t, found, len(tasks)+1)
	})
}

// A program that cannot work with what a newer one has made says so, and does
// nothing.
func TestDatabaseIsNewer(t *testing.T) {
	t.Parallel()
	next := launch{program: nextVersion(t, "-- min_reader: 2\nALTER TABLE mcp_task ADD COLUMN next text")}
	onEach(t, func(t *testing.T, dsn string) {
		c := newCluster(t, dsn)
		c.stop(c.start(next))
		_, err := c.tryStart(launch{})
		require.ErrorContains(t, err, "upgraded by a newer program")
		b := c.start(next)
		u := caller{user: "ada"}
		u.await(c, b, u.create(c, b, "record", object{"job": "j"}), "completed")
		require.Less(t, c.stop(b), 10*time.Second)
	})
}
