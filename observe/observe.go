// Package observe is how the packages of steady tell an operator what they
// did. Every package defines its own event types; this one defines what an
// event is, who receives it, and the adapter to log/slog.
//
//	var observer observe.Observer = observe.Func(func(ctx context.Context, e observe.Event) {
//		if cut, ok := e.(pagination.Cut); ok { // or by e.EventName()
//			count(cut.Tool)
//		}
//	})
//	steady.Wrap(server, &steady.Options{Observer: observe.Multi(observer, observe.Or(nil))})
//
// [Or] of nil is the log, [slog.Default]; without an observer all goes there.
//
// No event has a field for arguments, tokens or result bodies: a log that holds
// them is a second place to leak them from. The texts that events do carry (a
// failure's, as the caller was told it; an error's; the beginning of a line that
// was printed) are whoever's words they were, and may quote an argument.
//
// # Concurrency
//
// An [Observer] is called from many goroutines at once, on the path of the
// call that it describes. It must be safe for that, and it should return at
// once: hand slow work to a queue of your own. It must not panic: in the
// background, where some events come from, that ends the process.
package observe

import (
	"context"
	"log/slog"
)

// An Event says that something happened. Its concrete type is declared by the
// package that emits it, so that an observer can switch on it.
type Event interface {
	// EventName is stable, lower case and dotted: "errors.panicked",
	// "discovery.routed". It begins with the package's name.
	EventName() string
	// LogValue returns the event's fields as a group.
	slog.LogValuer
}

// A Leveler is an event that knows how much attention it deserves. Events that
// are not Levelers are logged at [slog.LevelInfo].
type Leveler interface {
	EventLevel() slog.Level
}

// An Observer receives events.
type Observer interface {
	Observe(context.Context, Event)
}

// Func is a function that is an [Observer].
type Func func(context.Context, Event)

// Observe calls f.
func (f Func) Observe(ctx context.Context, e Event) { f(ctx, e) }

// Multi returns an observer that passes each event to every one of observers,
// in order. Nil observers are left out.
func Multi(observers ...Observer) Observer {
	kept := make(multi, 0, len(observers))
	for _, o := range observers {
		if o != nil {
			kept = append(kept, o)
		}
	}
	return kept
}

type multi []Observer

func (m multi) Observe(ctx context.Context, e Event) {
	for _, o := range m {
		o.Observe(ctx, e)
	}
}

// Discard is the observer that ignores every event. It exists so that
// silence is written down: a nil Observer in an option struct is not silent.
var Discard Observer = Func(func(context.Context, Event) {})
