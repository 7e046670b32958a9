package steady

import "log/slog"

// Serving is observed when [Run] has begun to serve HTTP.
type Serving struct {
	URL string // of the endpoint, with the port that was taken
}

// EventName returns "steady.serving".
func (Serving) EventName() string { return "steady.serving" }

// LogValue implements slog.LogValuer.
func (e Serving) LogValue() slog.Value { return slog.GroupValue(slog.String("url", e.URL)) }

// Draining is observed when an [Endpoint] takes no more calls, and waits for
// those that it has.
type Draining struct {
	Calls int // in flight
}

// EventName returns "steady.draining".
func (Draining) EventName() string { return "steady.draining" }

// LogValue implements slog.LogValuer.
func (e Draining) LogValue() slog.Value { return slog.GroupValue(slog.Int("calls", e.Calls)) }

// Cancelled is observed when the time for calls in flight is over and they are
// cancelled.
type Cancelled struct {
	Calls int
}

// EventName returns "steady.cancelled".
func (Cancelled) EventName() string { return "steady.cancelled" }

// EventLevel returns slog.LevelWarn.
func (Cancelled) EventLevel() slog.Level { return slog.LevelWarn }

// LogValue implements slog.LogValuer.
func (e Cancelled) LogValue() slog.Value { return slog.GroupValue(slog.Int("calls", e.Calls)) }

// TurnedAway is observed when an [Endpoint] refuses a request before the SDK sees it.
type TurnedAway struct {
	Status int    // of the HTTP answer
	Reason string // fixed text
}

// EventName returns "steady.turned_away".
func (TurnedAway) EventName() string { return "steady.turned_away" }

// EventLevel returns slog.LevelWarn.
func (TurnedAway) EventLevel() slog.Level { return slog.LevelWarn }

// LogValue implements slog.LogValuer.
func (e TurnedAway) LogValue() slog.Value {
	return slog.GroupValue(slog.Int("status", e.Status), slog.String("reason", e.Reason))
}
