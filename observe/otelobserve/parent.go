package otelobserve

import (
	"context"
	"reflect"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// maxField bounds a field of _meta that a propagator reads, in bytes. It is the
// most that W3C Baggage promises to carry.
const maxField = 8192

// metaCarrier lets a propagator read the strings of a request's _meta.
type metaCarrier map[string]any

func (m metaCarrier) Get(key string) string {
	s, _ := m[key].(string)
	return s
}

// Set does nothing: the request is the client's.
func (metaCarrier) Set(string, string) {}

func (m metaCarrier) Keys() []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	return keys
}

// A bounded carrier has no field that is too long, and no baggage that is
// malformed: the propagator would log that, with the client's text, each time.
type bounded struct{ propagation.TextMapCarrier }

func (b bounded) Get(key string) string {
	s := b.TextMapCarrier.Get(key)
	if len(s) > maxField {
		return ""
	}
	if key == "baggage" && s != "" {
		if _, err := baggage.Parse(s); err != nil {
			return ""
		}
	}
	return s
}

// metaOf returns the _meta of a request, or nil.
func metaOf(req mcp.Request) map[string]any {
	p := req.GetParams()
	// A message without params comes as a typed nil, whose methods panic.
	if v := reflect.ValueOf(p); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil
	}
	return p.GetMeta()
}

// parent returns the context in which the span of a request starts, and the
// spans to link to.
func (t *Telemetry) parent(ctx context.Context, req mcp.Request) (context.Context, []trace.Link) {
	var links []trace.Link
	span := trace.SpanFromContext(ctx)
	ambient := span.SpanContext()
	ended := ambient.IsSampled() && !ambient.IsRemote() && !span.IsRecording()
	if ambient.IsValid() && (ended || !span.IsRecording() && inHTTPSession(req)) {
		// It is the span of the HTTP request that opened the session, whose
		// context the SDK gives to every request of the session. One that was
		// not sampled, or is the client's, must not decide for all of them.
		links = append(links, trace.Link{SpanContext: ambient})
		ambient = trace.SpanContext{}
		ctx = trace.ContextWithSpanContext(ctx, ambient)
	}
	sent, client := ctx, trace.SpanContext{}
	if meta := metaOf(req); len(meta) > 0 {
		sent, client = t.sentBy(sent, ambient, metaCarrier(meta))
	}
	if extra := req.GetExtra(); !client.IsValid() && !ambient.IsValid() && extra != nil && len(extra.Header) > 0 {
		// The HTTP client is instrumented, what runs above it is not.
		sent, client = t.sentBy(sent, ambient, propagation.HeaderCarrier(extra.Header))
	}
	switch {
	case t.public && client.IsValid():
		return ctx, append(links, trace.Link{SpanContext: client})
	case t.public:
		return ctx, links
	case client.IsValid() && ambient.IsValid():
		links = append(links, trace.Link{SpanContext: ambient})
	}
	return sent, links
}

// inHTTPSession reports whether req came in a session that another HTTP request
// has opened.
func inHTTPSession(req mcp.Request) bool {
	if _, opens := req.(*mcp.ServerRequest[*mcp.InitializeParams]); opens || !overHTTP(req) {
		return false
	}
	ss := sessionOf(req)
	return ss != nil && ss.ID() != ""
}

// sentBy returns ctx with what a client sent, and the client's span. The one
// that ctx has is ambient.
func (t *Telemetry) sentBy(ctx context.Context, ambient trace.SpanContext, carrier propagation.TextMapCarrier) (context.Context, trace.SpanContext) {
	ctx = t.propagator.Extract(ctx, bounded{carrier})
	client := trace.SpanContextFromContext(ctx)
	if client.Equal(ambient) {
		return ctx, trace.SpanContext{}
	}
	return ctx, client
}
