package doctor

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/cmd/steady/internal/session"
)

// What a server says that was started again is not what a call has changed.
func TestStatesOfTwoLaunches(t *testing.T) {
	t.Parallel()
	one, other := &session.Session{}, &session.Session{}
	before := state{one, map[string]string{"count": "3 notes", "get": "open"}}
	name, by := before.changed(state{one, map[string]string{"count": "5 notes", "get": "open"}})
	require.Equal(t, "count", name)
	require.InDelta(t, 2, by, 0)
	name, _ = before.changed(state{other, map[string]string{"count": "5 notes"}})
	require.Empty(t, name)
	name, _ = before.changed(state{})
	require.Empty(t, name)
}
