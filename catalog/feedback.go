package catalog

import (
	"context"
	"crypto/sha256"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/errors"
	"github.com/steadymcp/steady/internal/wire"
)

// FeedbackOptions configures the feedback tool. The zero value is ready to use.
type FeedbackOptions struct {
	// Sink receives the reports. If nil, a [FileSink] on feedback.jsonl in the
	// working directory, which is made at the first report.
	Sink Sink
	// PerHour is how many reports one caller may make in an hour. If zero, 20.
	// Callers without a token or session count as one.
	PerHour int
	// Remember is for how long an equal report is answered as known. If zero,
	// 24 hours.
	Remember time.Duration
}

// A Sink receives reports. It must be safe for concurrent use, and should
// return soon: the model waits. If it has a method Close() error,
// [Catalog.Close] calls it.
type Sink interface {
	Report(context.Context, Report) error
}

// SinkFunc is a function that is a [Sink].
type SinkFunc func(context.Context, Report) error

// Report calls f.
func (f SinkFunc) Report(ctx context.Context, r Report) error { return f(ctx, r) }

// A Report is what a model says about data that looks wrong. Everything but
// Time, Caller and Known is the model's word.
type Report struct {
	Time     time.Time `json:"time"`
	Caller   string    `json:"caller,omitempty"` // from the token or session, never from an argument
	Category string    `json:"category"`
	Severity string    `json:"severity"`
	Endpoint string    `json:"endpoint"`
	Known    bool      `json:"known"` // the endpoint is an entry
	Expected string    `json:"expected"`
	Got      string    `json:"got"`
	Source   string    `json:"source"`
}

const (
	maxReportText    = 2000
	maxRemembered    = 4096
	maxReportCallers = 1024
)

type feedback struct {
	sink     Sink
	perHour  int
	remember time.Duration

	mu      sync.Mutex
	seen    map[[32]byte]time.Time
	callers map[string]*reportWindow
	closed  bool
}

type reportWindow struct {
	start time.Time
	count int
}

func newFeedback(opts *FeedbackOptions) (*feedback, error) {
	f := &feedback{sink: opts.Sink, perHour: opts.PerHour, remember: opts.Remember, seen: map[[32]byte]time.Time{}, callers: map[string]*reportWindow{}}
	if f.perHour <= 0 {
		f.perHour = 20
	}
	if f.remember <= 0 {
		f.remember = 24 * time.Hour
	}
	if f.sink == nil {
		s, err := NewFileSink("feedback.jsonl", nil)
		if err != nil {
			return nil, err
		}
		f.sink = s
	}
	return f, nil
}

func (f *feedback) close() error {
	f.mu.Lock()
	closed := f.closed
	f.closed = true
	f.mu.Unlock()
	if c, ok := f.sink.(interface{ Close() error }); ok && !closed {
		return c.Close()
	}
	return nil
}

// admit counts a report of a caller and says how long to wait if it is one too
// many.
func (f *feedback) admit(caller string) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	w := f.callers[caller]
	if w == nil || now.Sub(w.start) >= time.Hour {
		if w == nil && len(f.callers) >= maxReportCallers {
			for name, other := range f.callers {
				if now.Sub(other.start) >= time.Hour {
					delete(f.callers, name)
				}
			}
			if len(f.callers) >= maxReportCallers {
				return time.Minute
			}
		}
		w = &reportWindow{start: now}
		f.callers[caller] = w
	}
	if w.count >= f.perHour {
		return w.start.Add(time.Hour).Sub(now)
	}
	w.count++
	return 0
}

// remembered reports whether an equal report was made lately, and notes it.
func (f *feedback) remembered(r *Report) bool {
	key := r.key()
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	if at, ok := f.seen[key]; ok && now.Sub(at) < f.remember {
		return true
	}
	if len(f.seen) >= maxRemembered {
		for k, at := range f.seen {
			if now.Sub(at) >= f.remember {
				delete(f.seen, k)
			}
		}
		if len(f.seen) >= maxRemembered {
			clear(f.seen) // better a report twice than none
		}
	}
	f.seen[key] = now
	return false
}

func (r *Report) key() [32]byte {
	return sha256.Sum256([]byte(strings.Join([]string{r.Category, r.Endpoint, fold(r.Expected), fold(r.Got)}, "\x00")))
}

func (f *feedback) forget(r *Report) {
	key := r.key()
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.seen, key)
}

func fold(s string) string { return strings.Join(strings.Fields(strings.ToLower(s)), " ") }

func (c *Catalog) feedbackTool() *ownTool {
	text := func(description string) map[string]any {
		return map[string]any{"type": "string", "description": description, "minLength": 1, "maxLength": maxReportText}
	}
	t := newOwnTool(&mcp.Tool{
		Name: c.names.Feedback, Title: "Report wrong data", Annotations: hints(false, false, true, false),
		Description: "Reports an answer that looks stale, missing, wrong or malformed against the primary source. Give one concrete observation: the value you got, the value that you expected, and where the right one can be seen. Do not report opinions, wishes or errors of your own arguments." + free,
	}, map[string]any{
		"required": []string{"category", "severity", "endpoint", "expected", "got", "source"},
		"properties": map[string]any{
			"category": map[string]any{"type": "string", "enum": []string{"stale", "missing", "wrong", "malformed", "other"}, "description": "What is the matter with the data"},
			"severity": map[string]any{"type": "string", "enum": []string{"low", "medium", "high"}, "description": "How much harm it does: high if a decision rests on it"},
			"endpoint": map[string]any{"type": "string", "minLength": 1, "maxLength": 256, "description": "Id or path of the entry that answered"},
			"expected": text("The value that is right, with its date and unit"),
			"got":      text("The value that the call gave, and for which arguments"),
			"source":   text("The primary source that shows the right value: an address, a document, a filing number"),
		},
	}, c.submit)
	return t
}

// visible removes what a reader of the reports could be deceived with.
func visible(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, s))
}

func (c *Catalog) submit(ctx context.Context, req *mcp.CallToolRequest, args map[string]any) (*mcp.CallToolResult, error) {
	get := func(name string) string {
		s, _ := args[name].(string)
		return visible(s)
	}
	r := Report{
		Time: time.Now().UTC(), Caller: wire.Principal(req), Category: get("category"), Severity: get("severity"),
		Endpoint: get("endpoint"), Expected: get("expected"), Got: get("got"), Source: get("source"),
	}
	concrete := "tell one concrete observation: the value you got, the value you expected, and the source that shows it"
	for _, text := range []string{r.Expected, r.Got, r.Source} {
		if !strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }) {
			return nil, errors.Invalid("the report names no value or no source").Next("%s", concrete)
		}
	}
	if fold(r.Expected) == fold(r.Got) {
		return nil, errors.Invalid("what was expected is what came").Next("%s", concrete)
	}
	r.Endpoint, r.Known = c.reported(ctx, req, r.Endpoint)
	event := FeedbackGiven{Category: r.Category, Severity: r.Severity}
	if r.Known {
		event.Endpoint = r.Endpoint
	}
	if c.feedback.remembered(&r) {
		event.Duplicate = true
		c.observer.Observe(ctx, event)
		return envelope(req, accepted, nil)
	}
	if wait := c.feedback.admit(r.Caller); wait > 0 {
		c.feedback.forget(&r)
		return nil, errors.RateLimited("there were many reports from this caller").Next("go on without it").RetryAfter(wait.Round(time.Second))
	}
	if err := c.feedback.sink.Report(ctx, r); err != nil {
		c.feedback.forget(&r)
		c.observer.Observe(ctx, FeedbackLost{Err: err})
		return nil, errors.Unavailable("the report could not be kept").Next("go on without it").Cause(err)
	}
	endpoint := "(not an entry)"
	if r.Known {
		endpoint = r.Endpoint
	}
	c.gaps.report(endpoint, r.Category)
	c.observer.Observe(ctx, event)
	return envelope(req, accepted, nil)
}

// accepted is the answer to a report, whether or not somebody made it before.
var accepted = map[string]any{"accepted": true}

// reported finds the entry that a report is about.
func (c *Catalog) reported(ctx context.Context, req *mcp.CallToolRequest, endpoint string) (string, bool) {
	e, err := c.edition(ctx, req)
	if err != nil {
		return endpoint, false
	}
	if op := e.operation(endpoint); op != nil && c.allowed(ctx, req, op.Entry) {
		return endpoint, true
	}
	for _, op := range e.templates[segments(endpoint)] {
		path, _, _ := strings.Cut(endpoint, "?")
		if _, ok := matchTemplate(op.Path, path); ok && c.allowed(ctx, req, op.Entry) {
			return op.ID, true
		}
	}
	return endpoint, false
}
