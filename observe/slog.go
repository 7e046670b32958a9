package observe

import (
	"context"
	"log/slog"
)

// Slog returns an observer that writes each event as one record to logger:
// the event's name is the message, its fields are the attributes, and its
// level is that of [Leveler] or else Info.
//
// A nil logger means [slog.Default], looked up at each event, so that an
// application may set its default logger after it has built its server.
//
// The record is written before Observe returns. Where that may block (standard
// error is a pipe that nobody reads, say), wrap the observer in [Patient].
func Slog(logger *slog.Logger) Observer {
	return slogObserver{logger}
}

// Or returns o, or the observer for [slog.Default] if o is nil, wrapped in
// [Patient]. Packages call it on their option structs.
func Or(o Observer) Observer {
	if o != nil {
		return o
	}
	return Patient(Slog(nil))
}

type slogObserver struct{ logger *slog.Logger }

func (s slogObserver) Observe(ctx context.Context, e Event) {
	logger := s.log()
	level := levelOf(e)
	if !logger.Enabled(ctx, level) {
		return
	}
	v := e.LogValue().Resolve()
	if v.Kind() == slog.KindGroup {
		logger.LogAttrs(ctx, level, e.EventName(), v.Group()...)
		return
	}
	logger.LogAttrs(ctx, level, e.EventName(), slog.Any("event", v))
}

// ignores reports whether an event would leave no record.
func (s slogObserver) ignores(ctx context.Context, e Event) bool {
	return !s.log().Enabled(ctx, levelOf(e))
}

func (s slogObserver) log() *slog.Logger {
	if s.logger != nil {
		return s.logger
	}
	return slog.Default()
}

func levelOf(e Event) slog.Level {
	if l, ok := e.(Leveler); ok {
		return l.EventLevel()
	}
	return slog.LevelInfo
}
