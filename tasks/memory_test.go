package tasks_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/tasks"
	"github.com/steadymcp/steady/tasks/taskstest"
)

func TestMemoryStore(t *testing.T) {
	taskstest.Run(t, func(*testing.T) tasks.Store { return tasks.NewMemoryStore(nil) })
}

func TestMemoryStoreIsBounded(t *testing.T) {
	record := func(i, size int) tasks.Record {
		return tasks.Record{ID: fmt.Sprint(i), Owner: "o", Tool: "t", Status: tasks.Working, Run: 1,
			Arguments: make(json.RawMessage, size)}
	}
	now := time.Now()

	s := tasks.NewMemoryStore(&tasks.MemoryOptions{MaxTasks: 2, MaxPerOwner: 2})
	for i := range 2 {
		_, _, err := s.Create(t.Context(), now, record(i, 0))
		require.NoError(t, err)
	}
	_, _, err := s.Create(t.Context(), now, record(2, 0))
	require.ErrorIs(t, err, tasks.ErrFull)
	r, err := s.Get(t.Context(), "0")
	require.NoError(t, err)
	r.Status, r.ExpiresAt = tasks.Completed, now.Add(time.Second)
	_, err = s.Update(t.Context(), now, r)
	require.NoError(t, err)
	_, _, err = s.Create(t.Context(), now, record(2, 0))
	require.ErrorIs(t, err, tasks.ErrFull, "a task is kept for its time to live")
	_, _, err = s.Create(t.Context(), now.Add(time.Second), record(2, 0))
	require.NoError(t, err, "creating sweeps")

	s = tasks.NewMemoryStore(&tasks.MemoryOptions{MaxPerOwner: 1})
	_, _, err = s.Create(t.Context(), now, record(0, 0))
	require.NoError(t, err)
	_, _, err = s.Create(t.Context(), now, record(1, 0))
	require.ErrorIs(t, err, tasks.ErrFull)
	other := record(1, 0)
	other.Owner = "p"
	_, _, err = s.Create(t.Context(), now, other)
	require.NoError(t, err, "another owner has room")

	s = tasks.NewMemoryStore(&tasks.MemoryOptions{MaxBytes: 100_000})
	_, _, err = s.Create(t.Context(), now, record(0, 50_000))
	require.NoError(t, err)
	_, _, err = s.Create(t.Context(), now, record(1, 50_000))
	require.ErrorIs(t, err, tasks.ErrFull)
	r, err = s.Get(t.Context(), "0")
	require.NoError(t, err)
	r.Result = make(json.RawMessage, 50_000)
	_, err = s.Update(t.Context(), now, r)
	require.ErrorIs(t, err, tasks.ErrFull)
	require.NoError(t, s.Delete(t.Context(), "0", r.Version))
	_, _, err = s.Create(t.Context(), now, record(1, 50_000))
	require.NoError(t, err, "what is gone takes no room")
}
