package registry

import (
	"log/slog"
)

// RegistrationRefused says that a tool was not registered.
type RegistrationRefused struct {
	Tool   string
	Reason string
}

// EventName returns "registry.refused".
func (RegistrationRefused) EventName() string { return "registry.refused" }

// EventLevel returns Error: a tool that its author wanted is not there.
func (RegistrationRefused) EventLevel() slog.Level { return slog.LevelError }

// LogValue returns the event's fields.
func (e RegistrationRefused) LogValue() slog.Value {
	return slog.GroupValue(slog.String("tool", e.Tool), slog.String("reason", e.Reason))
}

// SchemaCleaned says that the schemas of a tool are advertised otherwise than
// they were written. There is one for each kind of change.
type SchemaCleaned struct {
	Tool   string
	Change string
	// Count is the number of places.
	Count int
	// Pointers are the JSON pointers of the first few places, below inputSchema
	// or outputSchema.
	Pointers []string
	// Loss is true if clients see less than was written: a recursion that was
	// cut, references that could not be inlined.
	Loss bool
}

// EventName returns "registry.cleaned".
func (SchemaCleaned) EventName() string { return "registry.cleaned" }

// EventLevel returns Warn for a loss and Debug for what only clients notice.
func (e SchemaCleaned) EventLevel() slog.Level {
	if e.Loss {
		return slog.LevelWarn
	}
	return slog.LevelDebug
}

// LogValue returns the event's fields.
func (e SchemaCleaned) LogValue() slog.Value {
	return slog.GroupValue(slog.String("tool", e.Tool), slog.String("change", e.Change), slog.Int("count", e.Count), slog.Any("pointers", e.Pointers))
}

// FormerNameCalled says that a tool was called by a name that it used to have.
type FormerNameCalled struct {
	Name string
	Tool string
	// Gone is true if the name's sunset is over: the call was answered and the
	// tool did not run.
	Gone bool
	// Calls counts the calls of this name since the registry was made.
	Calls uint64
}

// EventName returns "registry.former_name".
func (FormerNameCalled) EventName() string { return "registry.former_name" }

// EventLevel returns Warn for a call that was refused and Info for others.
func (e FormerNameCalled) EventLevel() slog.Level {
	if e.Gone {
		return slog.LevelWarn
	}
	return slog.LevelInfo
}

// LogValue returns the event's fields.
func (e FormerNameCalled) LogValue() slog.Value {
	return slog.GroupValue(slog.String("name", e.Name), slog.String("tool", e.Tool), slog.Bool("gone", e.Gone), slog.Uint64("calls", e.Calls))
}
