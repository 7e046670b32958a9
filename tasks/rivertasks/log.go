package rivertasks

import (
	"context"
	"log/slog"
	"slices"

	"github.com/steadymcp/steady/observe"
)

// riverLog makes events of what River logs. River's own default writes to stdout,
// which on stdio belongs to the protocol, so it never gets to use it.
type riverLog struct {
	observer observe.Observer
	attrs    []slog.Attr
	group    string
}

func riverLogger(o observe.Observer) *slog.Logger { return slog.New(riverLog{observer: o}) }

func (l riverLog) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }

func (l riverLog) Handle(ctx context.Context, r slog.Record) error {
	e := RiverLogged{Level: r.Level, Message: r.Message, Attrs: slices.Clone(l.attrs)}
	r.Attrs(func(a slog.Attr) bool {
		e.Attrs = append(e.Attrs, l.grouped(a))
		return true
	})
	l.observer.Observe(ctx, e)
	return nil
}

func (l riverLog) grouped(a slog.Attr) slog.Attr {
	a.Key = l.group + a.Key
	return a
}

func (l riverLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	l.attrs = slices.Clone(l.attrs)
	for _, a := range attrs {
		l.attrs = append(l.attrs, l.grouped(a))
	}
	return l
}

func (l riverLog) WithGroup(name string) slog.Handler {
	if name != "" {
		l.group += name + "."
	}
	return l
}
