package tasks

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/steadymcp/steady/errors"
)

// Created is observed when a call has been given a record, before its work
// starts.
type Created struct{ Task, Tool string }

func (Created) EventName() string      { return "tasks.created" }
func (Created) EventLevel() slog.Level { return slog.LevelDebug }
func (e Created) LogValue() slog.Value {
	return slog.GroupValue(slog.String("task", e.Task), slog.String("tool", e.Tool))
}

// Joined is observed when a call repeats another one and was not run.
type Joined struct {
	Task, Tool string
	ByKey      bool          // it carried the idempotency key of the first call
	Age        time.Duration // since the first call
}

func (Joined) EventName() string { return "tasks.joined" }
func (e Joined) LogValue() slog.Value {
	return slog.GroupValue(slog.String("task", e.Task), slog.String("tool", e.Tool),
		slog.Bool("by_key", e.ByKey), slog.Duration("age", e.Age))
}

// Ended is observed when a task has reached a terminal state.
type Ended struct {
	Task, Tool string
	Status     Status
	ToolError  bool          // completed with a result that is an error
	Ran        time.Duration // since the call
	Cause      error         // private: why it failed. Nil otherwise.
}

func (Ended) EventName() string { return "tasks.ended" }
func (e Ended) EventLevel() slog.Level {
	if e.Status == Failed {
		return slog.LevelWarn
	}
	return slog.LevelInfo
}
func (e Ended) LogValue() slog.Value {
	attrs := []slog.Attr{slog.String("task", e.Task), slog.String("tool", e.Tool), slog.String("status", string(e.Status)),
		slog.Bool("tool_error", e.ToolError), slog.Duration("ran", e.Ran)}
	if e.Cause != nil {
		attrs = append(attrs, slog.String("cause", e.Cause.Error()))
	}
	return slog.GroupValue(attrs...)
}

// Panicked is observed when a handler panicked. The process goes on.
type Panicked struct {
	Task, Tool string
	Incident   string // the id in the error that the client gets
	Value      any
	Stack      string
}

func (Panicked) EventName() string      { return "tasks.panicked" }
func (Panicked) EventLevel() slog.Level { return slog.LevelError }
func (e Panicked) LogValue() slog.Value {
	return slog.GroupValue(slog.String("task", e.Task), slog.String("tool", e.Tool), slog.String("incident", e.Incident),
		slog.String("value", errors.Mask(fmt.Sprint(e.Value))), slog.String("stack", e.Stack))
}

// Dropped is observed when a handler succeeded after its task had ended: the
// result came after a cancellation, after the maximum run time, or after the
// record had expired or been given to another run.
type Dropped struct {
	Task, Tool string
	Reason     string
}

func (Dropped) EventName() string { return "tasks.dropped" }
func (e Dropped) LogValue() slog.Value {
	return slog.GroupValue(slog.String("task", e.Task), slog.String("tool", e.Tool), slog.String("reason", e.Reason))
}

// Denied is observed when a handle was not answered for. On the wire all
// reasons look the same.
type Denied struct {
	Verb   string
	Task   string // as sent; "" if it is no handle
	Reason string // "foreign", "expired", "unknown", "anonymous"
	// Caller is who asked: "sub:" and the subject of the token, "own:" and what
	// [Options.Owner] says, "ses:" and a fingerprint of the session's id, "con:" and
	// a name for the connection, "anonymous", or "" if nothing tells.
	Caller string
}

func (Denied) EventName() string { return "tasks.denied" }
func (e Denied) EventLevel() slog.Level {
	if e.Reason == deniedForeign {
		return slog.LevelWarn
	}
	return slog.LevelInfo
}
func (e Denied) LogValue() slog.Value {
	return slog.GroupValue(slog.String("verb", e.Verb), slog.String("task", e.Task), slog.String("reason", e.Reason), slog.String("caller", e.Caller))
}

// Refused is observed when a call was not started: the tool's queue is full,
// the store is full, the idempotency key was used for something else, or the
// manager is closed.
type Refused struct{ Tool, Reason string }

func (Refused) EventName() string      { return "tasks.refused" }
func (Refused) EventLevel() slog.Level { return slog.LevelWarn }
func (e Refused) LogValue() slog.Value {
	return slog.GroupValue(slog.String("tool", e.Tool), slog.String("reason", e.Reason))
}

// Lost is observed when the process that ran a task is gone.
type Lost struct {
	Task, Tool string
	RunAgain   bool
}

func (Lost) EventName() string      { return "tasks.lost" }
func (Lost) EventLevel() slog.Level { return slog.LevelWarn }
func (e Lost) LogValue() slog.Value {
	return slog.GroupValue(slog.String("task", e.Task), slog.String("tool", e.Tool), slog.Bool("run_again", e.RunAgain))
}

// HandedOver is observed when a process that stops leaves a task to the others.
type HandedOver struct{ Task, Tool string }

func (HandedOver) EventName() string { return "tasks.handed_over" }
func (e HandedOver) LogValue() slog.Value {
	return slog.GroupValue(slog.String("task", e.Task), slog.String("tool", e.Tool))
}

// OperationFailed is observed when something that tasks need did not work: the
// store, a policy's identity function, the push of a notification.
type OperationFailed struct {
	Operation string
	Task      string
	Err       error
}

func (OperationFailed) EventName() string      { return "tasks.operation_failed" }
func (OperationFailed) EventLevel() slog.Level { return slog.LevelError }
func (e OperationFailed) LogValue() slog.Value {
	return slog.GroupValue(slog.String("operation", e.Operation), slog.String("task", e.Task), slog.Any("error", e.Err))
}
