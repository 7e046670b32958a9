package discovery

import (
	"log/slog"

	"github.com/steadymcp/steady/observe"
)

// Exact is the event of a call that named a tool by its very name.
type Exact struct{ Tool string }

// Routed is the event of a call that reached a tool under another name, or of a
// request that reached a prompt or a resource so.
type Routed struct {
	// Method is "tools/call", "prompts/get" or "resources/read".
	Method string
	// Requested is the name that was sent, cut to 80 characters and without
	// those that cannot be seen.
	Requested string
	// Tool is the name of the tool or the prompt, or the resource's URI.
	Tool   string
	Step   Step
	Reason string
}

// Suggested is the event of a call that was answered with the names of other
// tools.
type Suggested struct {
	Requested string
	Names     []string
	Reason    string
}

// Missed is the event of a call for which there was nothing to propose.
type Missed struct{ Requested string }

// Repaired is the event of one change in a call's arguments.
type Repaired struct {
	Tool string
	Change
}

// Refused is the event of a call whose arguments could not be repaired.
type Refused struct {
	Tool string
	// Paths are the JSON pointers of what does not fit.
	Paths []string
}

// Leaked is the event of call markup inside a text argument.
type Leaked struct {
	Tool string
	Path string
}

// The names of the events, as observers and logs see them.
func (Exact) EventName() string     { return "discovery.exact" }
func (Routed) EventName() string    { return "discovery.routed" }
func (Suggested) EventName() string { return "discovery.suggested" }
func (Missed) EventName() string    { return "discovery.missed" }
func (Repaired) EventName() string  { return "discovery.repaired" }
func (Refused) EventName() string   { return "discovery.refused" }
func (Leaked) EventName() string    { return "discovery.leaked" }

// EventLevel is Debug: this is what should happen.
func (Exact) EventLevel() slog.Level { return slog.LevelDebug }

// EventLevel is Warn: part of one argument may have ended up in another.
func (Leaked) EventLevel() slog.Level { return slog.LevelWarn }

// LogValue returns the event's fields.
func (e Exact) LogValue() slog.Value { return slog.GroupValue(slog.String("tool", e.Tool)) }

// LogValue returns the event's fields.
func (e Routed) LogValue() slog.Value {
	return slog.GroupValue(slog.String("method", e.Method), slog.String("requested", e.Requested), slog.String("tool", e.Tool), slog.String("step", string(e.Step)), slog.String("reason", e.Reason))
}

// LogValue returns the event's fields.
func (e Suggested) LogValue() slog.Value {
	return slog.GroupValue(slog.String("requested", e.Requested), slog.Any("names", e.Names), slog.String("reason", e.Reason))
}

// LogValue returns the event's fields.
func (e Missed) LogValue() slog.Value {
	return slog.GroupValue(slog.String("requested", e.Requested))
}

// LogValue returns the event's fields.
func (e Repaired) LogValue() slog.Value {
	return slog.GroupValue(slog.String("tool", e.Tool), slog.String("path", e.Path), slog.String("kind", e.Kind), slog.String("from", e.From))
}

// LogValue returns the event's fields.
func (e Refused) LogValue() slog.Value {
	return slog.GroupValue(slog.String("tool", e.Tool), slog.Any("paths", e.Paths))
}

// LogValue returns the event's fields.
func (e Leaked) LogValue() slog.Value {
	return slog.GroupValue(slog.String("tool", e.Tool), slog.String("path", e.Path))
}

var _ = []observe.Event{Exact{}, Routed{}, Suggested{}, Missed{}, Repaired{}, Refused{}, Leaked{}}
