package tasks

import "context"

// A Dispatcher is a [Store] that decides where and when runs start, and that
// knows by itself which processes are alive.
//
// A record that is [Working] and has no Worker is a run that waits. Whenever a
// record becomes one, or is one and its Run grows, the store notes in the same
// transaction that the run is to be started, and has it started in one of the
// processes that share it. Everything else, such as who may write to the record,
// is the [Manager]'s business.
//
// A Manager whose store is a Dispatcher leaves [Store.Beat] and [Store.Lost]
// alone.
type Dispatcher interface {
	Store

	// Attach makes a process take part: the store shows the others that the worker
	// p.Worker is alive, gives it runs, and tells it of lost tasks. It returns
	// an error only if that can never work; a database that is away is tried again.
	//
	Attach(p Process) (Attachment, error)

	// RunsHere reports whether a call whose caller waits is run by the process that
	// received it. If false, only others run anything.
	RunsHere() bool
}

// An Attachment is the part that a process takes. Both methods may be called many
// times.
type Attachment interface {
	// Drain makes the store give no more runs to the process, which goes on to show
	// that it is alive.
	Drain()
	// Detach ends the part. It waits for every call of the [Process]'s functions to
	// have returned; when ctx is done it cancels their contexts.
	Detach(ctx context.Context)
}

// A Process is what a [Dispatcher] needs to know of a process that runs tasks.
type Process struct {
	// Worker is the name of the process in [Record.Worker].
	Worker string

	// Tools are the tools that have a policy by name, each with how many of its runs
	// the process wants at the same time, zero meaning any number. It can be given
	// runs of others as well: those that have their policy by [Handler].
	Tools map[string]int

	// Start starts a run that waits. It returns when the run needs no worker any
	// more: it has ended, was given back, or waits for input. The context ends
	// when the store learns that the run is not to go on; whether it does is decided
	// by the record.
	//
	// It returns [ErrNotHere] if this process has no such tool, or cannot tell yet.
	// Then the run is to be offered to another one.
	Start func(ctx context.Context, id string, run int64) error

	// Lost is called with a task that nobody would carry on with otherwise: its
	// worker is dead, or died before it began; its run was lost; or it has waited
	// for input until [Record.ParkedUntil]. It may be called more than once, in
	// several processes: the record decides.
	Lost func(ctx context.Context, rec Record)
}
