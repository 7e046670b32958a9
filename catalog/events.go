package catalog

import (
	"log/slog"
	"time"
)

// Refreshed says that new entries were loaded.
type Refreshed struct {
	Version  string
	Entries  int
	LeftOut  int
	Duration time.Duration
}

// EventName implements [observe.Event].
func (Refreshed) EventName() string { return "catalog.refreshed" }

// LogValue implements [slog.LogValuer].
func (e Refreshed) LogValue() slog.Value {
	return slog.GroupValue(slog.String("version", e.Version), slog.Int("entries", e.Entries), slog.Int("left_out", e.LeftOut), slog.Duration("duration", e.Duration))
}

// RefreshFailed says that the entries could not be loaded. The last good ones
// stay in use.
type RefreshFailed struct {
	Err error
	Age time.Duration // of the entries in use; zero if there are none
}

// EventName implements [observe.Event].
func (RefreshFailed) EventName() string { return "catalog.refresh_failed" }

// EventLevel implements [observe.Leveler].
func (RefreshFailed) EventLevel() slog.Level { return slog.LevelWarn }

// LogValue implements [slog.LogValuer].
func (e RefreshFailed) LogValue() slog.Value {
	return slog.GroupValue(slog.Any("error", e.Err), slog.Duration("age", e.Age))
}

// LeftOut says that an entry is malformed and was left out of the catalog.
type LeftOut struct{ Problem Problem }

// EventName implements [observe.Event].
func (LeftOut) EventName() string { return "catalog.left_out" }

// EventLevel implements [observe.Leveler].
func (LeftOut) EventLevel() slog.Level { return slog.LevelWarn }

// LogValue implements [slog.LogValuer].
func (e LeftOut) LogValue() slog.Value {
	return slog.GroupValue(slog.String("entry", e.Problem.ID), slog.Any("error", e.Problem.Err))
}

// Missed says that a question found nothing, or only weak hits. The words are
// kept for [Catalog.Gaps], not here.
type Missed struct {
	Weak       bool // there were hits
	Unmatched  int  // words that matched nothing
	Confidence float64
}

// EventName implements [observe.Event].
func (Missed) EventName() string { return "catalog.missed" }

// LogValue implements [slog.LogValuer].
func (e Missed) LogValue() slog.Value {
	return slog.GroupValue(slog.Bool("weak", e.Weak), slog.Int("unmatched", e.Unmatched), slog.Float64("confidence", e.Confidence))
}

// Called says that an entry was called.
type Called struct {
	Entry     string
	Failed    bool
	Rewritten bool // the id or the arguments were written differently
	Duration  time.Duration
}

// EventName implements [observe.Event].
func (Called) EventName() string { return "catalog.called" }

// EventLevel implements [observe.Leveler].
func (Called) EventLevel() slog.Level { return slog.LevelDebug }

// LogValue implements [slog.LogValuer].
func (e Called) LogValue() slog.Value {
	return slog.GroupValue(slog.String("entry", e.Entry), slog.Bool("failed", e.Failed), slog.Bool("rewritten", e.Rewritten), slog.Duration("duration", e.Duration))
}

// PathRefused says that the guard refused a path. The path may hold what it
// should not; it is not repeated.
type PathRefused struct{ Reason string }

// EventName implements [observe.Event].
func (PathRefused) EventName() string { return "catalog.path_refused" }

// EventLevel implements [observe.Leveler].
func (PathRefused) EventLevel() slog.Level { return slog.LevelWarn }

// LogValue implements [slog.LogValuer].
func (e PathRefused) LogValue() slog.Value { return slog.GroupValue(slog.String("reason", e.Reason)) }

// FeedbackGiven says that a report was handed to the sink, or was already
// there.
type FeedbackGiven struct {
	Category, Severity string
	Endpoint           string // the id of an entry, or ""
	Duplicate          bool
}

// EventName implements [observe.Event].
func (FeedbackGiven) EventName() string { return "catalog.feedback" }

// LogValue implements [slog.LogValuer].
func (e FeedbackGiven) LogValue() slog.Value {
	return slog.GroupValue(slog.String("category", e.Category), slog.String("severity", e.Severity), slog.String("endpoint", e.Endpoint), slog.Bool("duplicate", e.Duplicate))
}

// FeedbackLost says that the sink did not take a report.
type FeedbackLost struct{ Err error }

// EventName implements [observe.Event].
func (FeedbackLost) EventName() string { return "catalog.feedback_lost" }

// EventLevel implements [observe.Leveler].
func (FeedbackLost) EventLevel() slog.Level { return slog.LevelError }

// LogValue implements [slog.LogValuer].
func (e FeedbackLost) LogValue() slog.Value { return slog.GroupValue(slog.Any("error", e.Err)) }
