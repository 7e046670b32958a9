package stdioguard

import (
	"log/slog"
	"strconv"
)

// Late says that [Guard] was called after something had been written.
type Late struct {
	// Unread is how many bytes wait, unread, on the real standard output: the
	// client will read them as protocol. Zero if there are none, or if they
	// have been read already.
	Unread int64
	// Written is how many bytes the process had written before, to any
	// descriptor. If some of them went to standard output, the client has
	// them. A single byte is not counted: clients on Node write it before the
	// program begins.
	Written int64
}

// Misplaced says that standard output is not what a client can read from.
type Misplaced struct {
	// Problem says what is the matter.
	Problem string
}

// Diverted says that something other than the protocol was written to
// standard output. After the first one at once, it is sent at most every ten
// seconds.
type Diverted struct {
	// FirstLine is the beginning of the first line since the last event, at
	// most 200 bytes.
	FirstLine string
	// Lines and Bytes were written since the last event.
	Lines, Bytes int64
	// Dropped is how many of Bytes were dropped, because nobody reads
	// standard error.
	Dropped int64
}

// Rejected says that a message of the client's was not passed on. After the
// first ten of a session it is sent at most every ten seconds, and when the
// session ends, with what is known of the last one.
type Rejected struct {
	// Count is how many messages were rejected since the last event, this one
	// included.
	Count int64
	// Code is that of the JSON-RPC error.
	Code int64
	// Reason is its text.
	Reason string
	// Bytes is the length of the message.
	Bytes int64
	// Answered says whether the client was told.
	Answered bool
}

// TooLarge says that a message was too large to send.
type TooLarge struct {
	// Method is what was called, Tool is the name of the tool if the method
	// is tools/call.
	Method, Tool string
	// Bytes is how large the message was, Limit what it must not exceed.
	Bytes, Limit int
	// Refused says that this was a call or notification of the server's, whose
	// sender got an error. Otherwise it was a result, and the client got an
	// error in its place.
	Refused bool
}

// Overloaded says that requests are refused because too many others are
// unanswered, or too many replies unread. It is sent at most every ten
// seconds.
type Overloaded struct {
	// InFlight counts the requests without a reply, Backlog the bytes of
	// replies that wait for the client to read.
	InFlight int
	Backlog  int64
}

// Draining says that no new requests are taken.
type Draining struct {
	// Cause says why: the end of input, a signal, a cancelled context.
	Cause error
	// InFlight counts the requests that are still waited for.
	InFlight int
}

// A Request names a request in an event. Its arguments are not part of it.
type Request struct {
	// ID is the request's id as JSON.
	ID string
	// Method is what was called, Name which tool or prompt, if the method is
	// tools/call or prompts/get. Each of the three is cut at 128 bytes.
	Method, Name string
}

// String returns the method and the name, quoted, and the id.
func (r Request) String() string {
	s := strconv.Quote(r.Method)
	if r.Name != "" {
		s += " " + strconv.Quote(r.Name)
	}
	return s + " (id " + r.ID + ")"
}

// Cancelled says that the requests in flight were cancelled, with the cause
// that their contexts have.
type Cancelled struct {
	Cause    error
	InFlight int
	// Requests are those of them that have waited longest, at most five.
	Requests []Request
}

// Missed says that events were left out, because the observer did not take them
// as fast as they came, 16 of a kind can wait, or panicked.
type Missed struct {
	// Events counts what was left out since the last event, by name.
	Events map[string]int
}

// Abandoned says that [Transport.Serve] has returned although handlers were
// still running or replies still unread.
type Abandoned struct {
	// InFlight counts the requests without a reply. It is zero where only
	// handlers are running whose replies nobody waits for: those of
	// notifications and of requests that the client had cancelled.
	InFlight int
	// Requests are those that have waited longest, at most five. After the
	// ones that InFlight counts come those that the client had cancelled.
	Requests []Request
}

func (Late) EventName() string       { return "stdioguard.late" }
func (Misplaced) EventName() string  { return "stdioguard.misplaced" }
func (Diverted) EventName() string   { return "stdioguard.diverted" }
func (Rejected) EventName() string   { return "stdioguard.rejected" }
func (TooLarge) EventName() string   { return "stdioguard.too_large" }
func (Overloaded) EventName() string { return "stdioguard.overloaded" }
func (Draining) EventName() string   { return "stdioguard.draining" }
func (Cancelled) EventName() string  { return "stdioguard.cancelled" }
func (Abandoned) EventName() string  { return "stdioguard.abandoned" }
func (Missed) EventName() string     { return "stdioguard.missed" }

// EventLevel is Warn where it is certain that the client gets the text, and
// Info where something was written that may have gone elsewhere.
func (e Late) EventLevel() slog.Level {
	if e.Unread > 0 {
		return slog.LevelWarn
	}
	return slog.LevelInfo
}

// EventLevel is Warn.
func (Misplaced) EventLevel() slog.Level { return slog.LevelWarn }

// EventLevel is Warn.
func (Diverted) EventLevel() slog.Level { return slog.LevelWarn }

// EventLevel is Warn.
func (Rejected) EventLevel() slog.Level { return slog.LevelWarn }

// EventLevel is Warn.
func (TooLarge) EventLevel() slog.Level { return slog.LevelWarn }

// EventLevel is Warn.
func (Overloaded) EventLevel() slog.Level { return slog.LevelWarn }

// EventLevel is Debug where nothing is in flight, and Info otherwise.
func (e Draining) EventLevel() slog.Level {
	if e.InFlight == 0 {
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

// EventLevel is Warn.
func (Cancelled) EventLevel() slog.Level { return slog.LevelWarn }

// EventLevel is Warn.
func (Missed) EventLevel() slog.Level { return slog.LevelWarn }

// EventLevel is Error.
func (Abandoned) EventLevel() slog.Level { return slog.LevelError }

func (e Late) LogValue() slog.Value {
	advice := "the client reads it as protocol: call stdioguard.Guard before anything that may print"
	if e.Unread == 0 {
		advice = "all descriptors are counted, so this is harmless if it was the log; if it was printed, call stdioguard.Guard before"
	}
	return slog.GroupValue(
		slog.Int64("unread", e.Unread),
		slog.Int64("written", e.Written),
		slog.String("advice", advice),
	)
}

func (e Misplaced) LogValue() slog.Value {
	return slog.GroupValue(slog.String("problem", e.Problem))
}

func (e Diverted) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String("first_line", e.FirstLine),
		slog.Int64("lines", e.Lines),
		slog.Int64("bytes", e.Bytes),
		slog.Int64("dropped", e.Dropped),
	)
}

func (e Rejected) LogValue() slog.Value {
	return slog.GroupValue(
		slog.Int64("count", e.Count),
		slog.Int64("code", e.Code),
		slog.String("reason", e.Reason),
		slog.Int64("bytes", e.Bytes),
		slog.Bool("answered", e.Answered),
	)
}

func (e TooLarge) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String("method", e.Method),
		slog.String("tool", e.Tool),
		slog.Int("bytes", e.Bytes),
		slog.Int("limit", e.Limit),
		slog.Bool("refused", e.Refused),
	)
}

func (e Overloaded) LogValue() slog.Value {
	return slog.GroupValue(slog.Int("in_flight", e.InFlight), slog.Int64("backlog", e.Backlog))
}

func (e Draining) LogValue() slog.Value {
	return slog.GroupValue(slog.Any("cause", e.Cause), slog.Int("in_flight", e.InFlight))
}

func (e Cancelled) LogValue() slog.Value {
	return slog.GroupValue(slog.Any("cause", e.Cause), slog.Int("in_flight", e.InFlight), requestsAttr(e.Requests))
}

func (e Abandoned) LogValue() slog.Value {
	return slog.GroupValue(slog.Int("in_flight", e.InFlight), requestsAttr(e.Requests))
}

func (e Missed) LogValue() slog.Value {
	return slog.GroupValue(slog.Any("events", e.Events))
}

func requestsAttr(requests []Request) slog.Attr {
	texts := make([]string, len(requests))
	for i, r := range requests {
		texts[i] = r.String()
	}
	return slog.Any("requests", texts)
}
