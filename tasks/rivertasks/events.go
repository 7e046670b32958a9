package rivertasks

import (
	"log/slog"
)

// RiverLogged is observed when River logs something, from level warning on.
type RiverLogged struct {
	Level   slog.Level
	Message string
	Attrs   []slog.Attr
}

func (RiverLogged) EventName() string        { return "rivertasks.river" }
func (e RiverLogged) EventLevel() slog.Level { return e.Level }
func (e RiverLogged) LogValue() slog.Value {
	return slog.GroupValue(append([]slog.Attr{slog.String("message", e.Message)}, e.Attrs...)...)
}

// WorkerLost is observed by the process that finds out that another one is dead.
type WorkerLost struct {
	Worker string
	Host   string
	// Unlocked says that the process has ended, rather than been silent for the
	// whole lease.
	Unlocked bool
}

func (WorkerLost) EventName() string      { return "rivertasks.worker_lost" }
func (WorkerLost) EventLevel() slog.Level { return slog.LevelWarn }
func (e WorkerLost) LogValue() slog.Value {
	return slog.GroupValue(slog.String("worker", e.Worker), slog.String("host", e.Host), slog.Bool("unlocked", e.Unlocked))
}

// OperationFailed is observed when something that goes on in the background does
// not work. It is tried again, and only a failure after a success is observed.
type OperationFailed struct {
	Operation string // "watch", "beat", "look", "reap", "work", "leave"
	Err       error
}

func (OperationFailed) EventName() string      { return "rivertasks.operation_failed" }
func (OperationFailed) EventLevel() slog.Level { return slog.LevelError }
func (e OperationFailed) LogValue() slog.Value {
	return slog.GroupValue(slog.String("operation", e.Operation), slog.Any("error", e.Err))
}
