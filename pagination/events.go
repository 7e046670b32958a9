package pagination

import "log/slog"

// CursorRejected is observed when a cursor was not followed.
type CursorRejected struct {
	Tool   string
	Reason Rejection
}

// EventName is part of [observe.Event].
func (CursorRejected) EventName() string { return "pagination.cursor_rejected" }

// LogValue is part of [observe.Event].
func (e CursorRejected) LogValue() slog.Value {
	return slog.GroupValue(slog.String("tool", e.Tool), slog.String("reason", string(e.Reason)))
}

// Cut is observed when a result was shortened to fit its budget.
type Cut struct {
	// Tool is the name of the tool, or empty for resources/read.
	Tool string
	// Bytes is about what the whole result takes on the wire.
	Bytes int
	// Limit is what it may take.
	Limit int
	// Shown and Total count what was cut most: items of an array, and so on.
	Shown, Total int
	Unit         string
	// Kept is whether the whole result was kept for read_result.
	Kept bool
}

// EventName is part of [observe.Event].
func (Cut) EventName() string { return "pagination.cut" }

// LogValue is part of [observe.Event].
func (e Cut) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String("tool", e.Tool), slog.Int("bytes", e.Bytes), slog.Int("limit", e.Limit),
		slog.Int("shown", e.Shown), slog.Int("total", e.Total), slog.String("unit", e.Unit), slog.Bool("kept", e.Kept),
	)
}

// Refused is observed when a result was too large and could not be cut: its
// caller got an error in its place.
type Refused struct {
	// Tool is the name of the tool, or empty for resources/read.
	Tool string
	// Bytes is the size of the result; of one that was not looked at, the least
	// that it takes.
	Bytes int
	// Limit is what it may take.
	Limit int
}

// EventName is part of [observe.Event].
func (Refused) EventName() string { return "pagination.refused" }

// EventLevel is part of [observe.Leveler].
func (Refused) EventLevel() slog.Level { return slog.LevelWarn }

// LogValue is part of [observe.Event].
func (e Refused) LogValue() slog.Value {
	return slog.GroupValue(slog.String("tool", e.Tool), slog.Int("bytes", e.Bytes), slog.Int("limit", e.Limit))
}

func (d *draft) event() Cut {
	e := Cut{Tool: d.name(), Bytes: d.size, Limit: d.limit, Kept: d.kept != nil}
	if m := mainCut(d.cuts); m.total > 0 {
		e.Shown, e.Total, e.Unit = m.shown, m.total, m.unit
	}
	return e
}
