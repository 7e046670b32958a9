package observe_test

import (
	"context"
	"fmt"

	"github.com/steadymcp/steady/observe"
)

// Count events by name, for a metric, and log them as well.
func Example() {
	counts := map[string]int{} // guard it by a mutex in a server
	count := observe.Func(func(_ context.Context, e observe.Event) { counts[e.EventName()]++ })
	observer := observe.Multi(count, observe.Discard) // or observe.Slog(logger)

	observer.Observe(context.Background(), observe.Dropped{Events: 2})
	fmt.Println(counts)
	// Output: map[observe.dropped:1]
}
