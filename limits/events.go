package limits

import (
	"log/slog"
	"time"
)

// Refused is observed when a call is not started.
type Refused struct {
	Tool   string
	Reason string // "rate", "queue full" or "no place in time"
	// Bound is whose bound was reached, of rate or of calls that run: "caller",
	// the caller's for all tools together; "tool", that of the tool's [Limit]; or
	// "server".
	Bound string
	// Caller is who called: "user:" and the subject of the token, "session:" and a
	// fingerprint of the session's id, or "" where callers are not told apart.
	Caller string
}

// EventName returns "limits.refused".
func (Refused) EventName() string { return "limits.refused" }

// EventLevel returns slog.LevelWarn.
func (Refused) EventLevel() slog.Level { return slog.LevelWarn }

// LogValue implements slog.LogValuer.
func (e Refused) LogValue() slog.Value {
	return slog.GroupValue(slog.String("tool", quote(e.Tool)), slog.String("reason", e.Reason),
		slog.String("bound", e.Bound), slog.String("caller", e.Caller))
}

// Overran is observed when a call is answered because its deadline has passed.
type Overran struct {
	Tool     string
	Deadline time.Duration
}

// EventName returns "limits.overran".
func (Overran) EventName() string { return "limits.overran" }

// EventLevel returns slog.LevelWarn.
func (Overran) EventLevel() slog.Level { return slog.LevelWarn }

// LogValue implements slog.LogValuer.
func (e Overran) LogValue() slog.Value {
	return slog.GroupValue(slog.String("tool", quote(e.Tool)), slog.Duration("deadline", e.Deadline))
}

// Returned is observed when a handler that ignored its context returns at
// last. Its result was dropped.
type Returned struct {
	Tool  string
	After time.Duration // since the call began to run
}

// EventName returns "limits.returned".
func (Returned) EventName() string { return "limits.returned" }

// EventLevel returns slog.LevelWarn.
func (Returned) EventLevel() slog.Level { return slog.LevelWarn }

// LogValue implements slog.LogValuer.
func (e Returned) LogValue() slog.Value {
	return slog.GroupValue(slog.String("tool", quote(e.Tool)), slog.Duration("after", e.After))
}
