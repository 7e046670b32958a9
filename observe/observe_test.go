package observe_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/observe"
)

type event struct {
	name  string
	level slog.Level
}

func (e event) EventName() string      { return e.name }
func (e event) EventLevel() slog.Level { return e.level }
func (e event) LogValue() slog.Value   { return slog.GroupValue(slog.String("tool", "x")) }

// plain is an event without a level or a group.
type plain struct{}

func (plain) EventName() string    { return "pkg.plain" }
func (plain) LogValue() slog.Value { return slog.StringValue("text") }

// names keeps the names of what it observes, and may be stuck.
type names struct {
	mu    sync.Mutex
	list  []string
	block chan struct{} // if non-nil, Observe waits until it is closed
}

func (n *names) Observe(_ context.Context, e observe.Event) {
	if n.block != nil {
		<-n.block
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list = append(n.list, e.EventName())
}

func (n *names) all() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.list
}

func TestSlog(t *testing.T) {
	var out bytes.Buffer
	o := observe.Slog(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	})))
	o.Observe(t.Context(), event{"pkg.happened", slog.LevelWarn})
	o.Observe(t.Context(), plain{})
	o.Observe(t.Context(), event{"pkg.detail", slog.LevelDebug})
	require.Equal(t, "level=WARN msg=pkg.happened tool=x\nlevel=INFO msg=pkg.plain event=text\n", out.String())
}

func TestMulti(t *testing.T) {
	a, b := &names{}, &names{}
	o := observe.Multi(a, nil, b)
	o.Observe(t.Context(), plain{})
	require.Equal(t, []string{"pkg.plain"}, a.all())
	require.Equal(t, []string{"pkg.plain"}, b.all())
}

func TestOr(t *testing.T) {
	n := &names{}
	require.Same(t, n, observe.Or(n))

	previous := slog.Default()
	defer slog.SetDefault(previous)
	o := observe.Or(nil)
	var out bytes.Buffer
	slog.SetDefault(slog.New(slog.NewTextHandler(&out, nil))) // after the server was built
	o.Observe(t.Context(), event{"pkg.happened", slog.LevelInfo})
	require.Contains(t, out.String(), "pkg.happened", "it has been written when Observe returns")
}

func TestPatientWaitsForWhoKeepsUp(t *testing.T) {
	n := &names{}
	o := observe.Patient(n)
	for i := range 1000 {
		o.Observe(t.Context(), plain{})
		require.Len(t, n.all(), i+1)
	}
}

func TestPatientDoesNotWaitForWhoIsStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &names{block: make(chan struct{})}
		o := observe.Patient(n)
		start := time.Now()
		for range 1000 {
			o.Observe(t.Context(), plain{})
		}
		require.Equal(t, 100*time.Millisecond, time.Since(start), "one call waits, once")
		close(n.block)
		synctest.Wait()
		got := n.all()
		require.Len(t, got, 1+256+1, "the one in its hands, those that were kept, and the count of the rest")
		require.Equal(t, "observe.dropped", got[len(got)-1])

		start = time.Now()
		o.Observe(t.Context(), plain{})
		require.Zero(t, time.Since(start))
		require.Len(t, n.all(), 1+256+1+1, "it is waited for again")
	})
}

func TestPatientFromManyGoroutines(t *testing.T) {
	n := &names{}
	o := observe.Patient(n)
	var wait sync.WaitGroup
	for range 16 {
		wait.Go(func() {
			for range 100 {
				o.Observe(context.Background(), plain{})
			}
		})
	}
	wait.Wait()
	require.Len(t, n.all(), 1600)
}

func TestPatientOutlivesAPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &names{}
		o := observe.Patient(observe.Func(func(ctx context.Context, e observe.Event) {
			if e.EventName() == "pkg.plain" {
				panic("no")
			}
			n.Observe(ctx, e)
		}))
		o.Observe(t.Context(), plain{})
		o.Observe(t.Context(), event{"pkg.next", slog.LevelInfo})
		synctest.Wait()
		require.ElementsMatch(t, []string{"pkg.next", "observe.dropped"}, n.all())
	})
}

func TestDiscard(t *testing.T) {
	observe.Discard.Observe(t.Context(), plain{})
}

func TestEventNamesOfThisPackage(t *testing.T) {
	require.True(t, strings.HasPrefix(observe.Dropped{}.EventName(), "observe."))
	require.Equal(t, slog.LevelWarn, observe.Dropped{}.EventLevel())
	require.Equal(t, int64(3), observe.Dropped{Events: 3}.LogValue().Group()[0].Value.Int64())
}
