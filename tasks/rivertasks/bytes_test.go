package rivertasks_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/tasks"
	"github.com/steadymcp/steady/tasks/rivertasks"
)

// TestTextsOfAnyKind come back as they were, and keep nothing from going on: an owner
// may be a digest, for example, and arguments are whatever a client sends.
func TestTextsOfAnyKind(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		s, other := open(t, dsn, nil), open(t, dsn, nil)
		for i, any := range []string{
			"", "a", "a\x00b", "a\xffb\xc0", "\xed\xa0\x80", "\ufffd", `["YQ=="]`, `{"a":"\ud800","b":"\u0000"}`, `{"n":12345678901234567890123.5e300}`,
			"{ \"a\" :  1 }", strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000), strings.Repeat("x\xff\x00", 10_000),
		} {
			r := tasks.Record{
				ID: fmt.Sprintf("%s-%032d", s.Epoch(), i), Owner: any, Tool: "t", Worker: "w", Arguments: json.RawMessage(any), ArgumentsHash: "h",
				Key: any, Identity: "i" + any, RequestState: any, Status: tasks.Working, Run: 1, CreatedAt: time.Now(), TTL: time.Hour,
				Caller: tasks.Caller{Subject: any},
			}
			created, isNew, err := s.Create(t.Context(), time.Now(), r)
			require.NoError(t, err)
			require.True(t, isNew)
			created.Status, created.Result, created.StatusMessage = tasks.Completed, json.RawMessage(any), any
			_, err = s.Update(t.Context(), time.Now(), created)
			require.NoError(t, err)
			got, err := other.Get(t.Context(), r.ID)
			require.NoError(t, err)
			for _, text := range []string{got.Owner, string(got.Arguments), got.Key, got.Identity[1:], got.RequestState, got.Caller.Subject, string(got.Result), got.StatusMessage} {
				require.True(t, text == any, "%.50q instead of %.50q", text, any)
			}
		}
	})
}

// TestLeaseOfAnyLength: neither one that nobody could keep nor one that never ends.
func TestLeaseOfAnyLength(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		for _, lease := range []time.Duration{1, 1<<63 - 1} {
			r := startReplica(t, dsn, &rivertasks.Options{Lease: lease}, crashPolicies, crashTools(false))
			require.Contains(t, textOf(r.result(r.start("safe", map[string]any{"lease": lease}))), "done")
			r.stop()
		}
	})
}

// TestLostTasksAreReadOneByOne: what a dead process has left may be more than what
// fits into memory.
func TestLostTasksAreReadOneByOne(t *testing.T) {
	const count, size = 24, 8 << 20
	s := open(t, sqliteDSN(t)+"?synchronous=normal", &rivertasks.Options{Workers: rivertasks.NoWorkers, Lease: time.Second})
	arguments := json.RawMessage(strings.Repeat("x", size))
	for i := range count {
		_, _, err := s.Create(t.Context(), time.Now(), tasks.Record{
			ID: fmt.Sprintf("%s-%032d", s.Epoch(), i), Owner: "o", Tool: "t", Identity: fmt.Sprint(i), Worker: "gone", Arguments: arguments,
			Status: tasks.Working, Run: 1, CreatedAt: time.Now(), TTL: time.Hour,
		})
		require.NoError(t, err)
	}
	memory := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := memory()
	var most atomic.Uint64
	seen := make(chan string, 10*count)
	a, err := s.Attach(tasks.Process{Worker: "w", Lost: func(_ context.Context, r tasks.Record) {
		if now := memory(); now > most.Load() {
			most.Store(now)
		}
		select {
		case seen <- r.ID:
		default:
		}
	}})
	require.NoError(t, err)
	defer a.Detach(t.Context())
	for range count {
		select {
		case <-seen:
		case <-time.After(30 * time.Second):
			t.Fatal("not all lost tasks are found")
		}
	}
	require.Less(t, most.Load(), before+count*size/2)
}
