package tasks

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A call that cannot start leaves nothing behind for those that have joined it:
// they start anew and are refused by themselves, as rate limited.
func TestDiscardedCallIsGoneForThoseWhoJoined(t *testing.T) {
	m := New(nil)
	rec := Record{ID: newHandle(m.epoch), Owner: "o", Tool: "t", Identity: "i", Status: Working, Run: 1, TTL: time.Hour}
	created, _, err := m.store.Create(t.Context(), time.Now(), rec)
	require.NoError(t, err)
	rec.Key = "k"
	_, _, err = m.store.Create(t.Context(), time.Now(), rec) // joins, and changes the version
	require.NoError(t, err)
	m.discard(t.Context(), created)
	_, err = m.store.Get(t.Context(), rec.ID)
	require.ErrorIs(t, err, ErrNotFound)
	require.NoError(t, m.Close(t.Context()))
}
