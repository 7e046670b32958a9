package otelobserve

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// Middleware returns receiving middleware that calls next once for what the
// client asked, and before that, when a name of a tool or a prompt is new, for
// the server's list of them, at most every ten seconds. It may be called many
// times and shared by many servers. Add it last, so that it stands outermost.
func (t *Telemetry) Middleware() mcp.Middleware {
	t.spans.Store(true)
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			return t.serve(ctx, next, method, req)
		}
	}
}

// A call is what is known of a request while it is served. It is in the
// handler's context, for [Telemetry.Observe].
type call struct {
	span     trace.Span
	asked    string                 // the name of the tool or the prompt in the request
	known    bool                   // it is a name that some server has
	routed   atomic.Pointer[string] // the tool or the prompt that a wrong name led to
	told     atomic.Pointer[string] // the incident that the client is told of
	answered atomic.Bool
}

type callKey struct{}

func callFrom(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

var serverSpan = trace.WithSpanKind(trace.SpanKindServer)

func (t *Telemetry) serve(ctx context.Context, next mcp.MethodHandler, method string, req mcp.Request) (res mcp.Result, err error) {
	start := time.Now()
	k := target{method: method, version: versionOf(req), http: overHTTP(req)}
	c := &call{}
	switch r := req.(type) {
	case *mcp.CallToolRequest:
		if r.Params != nil {
			c.asked, k.tool = r.Params.Name, t.knownTool(ctx, next, r)
		}
	case *mcp.GetPromptRequest:
		if r.Params != nil {
			c.asked, k.prompt = r.Params.Name, t.knownPrompt(ctx, next, r)
		}
	}
	c.known = k.tool != other && k.prompt != other
	s := t.series.get(k)

	ctx, links := t.parent(ctx, req)
	opts := append(make([]trace.SpanStartOption, 0, 3), serverSpan, s.start)
	if links != nil {
		opts = append(opts, trace.WithLinks(links...))
	}
	ctx, c.span = t.tracer.Start(ctx, s.spanName, opts...)
	ctx = context.WithValue(ctx, callKey{}, c)
	if c.span.IsRecording() {
		t.describe(c.span, req)
	}

	done := false
	defer func() {
		o := outcome{errorType: errorPanic}
		if done {
			o = outcomeOf(ctx, res, err)
		}
		c.answered.Store(true)
		final := k
		if init, ok := res.(*mcp.InitializeResult); ok && err == nil && init != nil {
			final.version = boundedVersion(init.ProtocolVersion)
			t.watch(req, start, final)
		}
		reached := c.asked // which may have become known by now
		if name := c.routed.Load(); name != nil {
			reached = *name
		}
		switch {
		case k.tool != "":
			final.tool = t.tools.bounded(reached)
		case k.prompt != "":
			final.prompt = t.prompts.bounded(reached)
		}
		if final != k {
			s = t.series.get(final)
			c.span.SetName(s.spanName)
			c.span.SetAttributes(s.attrs...)
		}
		if t.instruments.operation.Enabled(ctx) {
			t.instruments.operation.Record(ctx, time.Since(start).Seconds(), s.measurement(o))
		}
		if o.errorType != "" {
			c.span.SetAttributes(o.attributes()...)
			c.span.SetStatus(codes.Error, "")
		}
		c.span.End()
	}()
	res, err = next(ctx, method, req)
	done = true
	if err == nil {
		t.learn(res)
	}
	return res, err
}

// maxURI bounds mcp.resource.uri, in bytes.
const maxURI = 1024

// describe sets the attributes that are on spans only.
func (t *Telemetry) describe(span trace.Span, req mcp.Request) {
	if ss := sessionOf(req); ss != nil {
		if id := ss.ID(); id != "" {
			span.SetAttributes(keySession.String(id))
		}
	}
	if !t.uris {
		return
	}
	uri := ""
	switch r := req.(type) {
	case *mcp.ReadResourceRequest:
		if r.Params != nil {
			uri = r.Params.URI
		}
	case *mcp.SubscribeRequest:
		if r.Params != nil {
			uri = r.Params.URI
		}
	case *mcp.UnsubscribeRequest:
		if r.Params != nil {
			uri = r.Params.URI
		}
	}
	if uri != "" {
		span.SetAttributes(keyResource.String(strings.ToValidUTF8(uri[:min(len(uri), maxURI)], "")))
	}
}

// sessionOf returns the session of a request, or nil.
func sessionOf(req mcp.Request) *mcp.ServerSession {
	ss, _ := req.GetSession().(*mcp.ServerSession)
	return ss
}

func overHTTP(req mcp.Request) bool {
	extra := req.GetExtra()
	return extra != nil && extra.Header != nil
}

// versionOf returns the protocol version of a request, or "".
func versionOf(req mcp.Request) string {
	r, ok := req.(interface{ ProtocolVersion() string })
	if !ok || sessionOf(req) == nil {
		return ""
	}
	return boundedVersion(r.ProtocolVersion())
}

// knownVersions are the revisions of the protocol. A test compares them with
// those that the SDK supports.
var knownVersions = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}

// boundedVersion returns a version that exists. What a client asks for in a
// handshake may be any text.
func boundedVersion(v string) string {
	if v == "" || slices.Contains(knownVersions, v) {
		return v
	}
	return other
}

func outcomeOf(ctx context.Context, res mcp.Result, err error) outcome {
	if err != nil {
		var e *jsonrpc.Error
		if errors.As(err, &e) {
			code := strconv.FormatInt(e.Code, 10)
			return outcome{errorType: code, statusCode: code}
		}
		if ctx.Err() != nil && errors.Is(err, context.Canceled) {
			return outcome{errorType: errorCancelled}
		}
		return outcome{errorType: "0", statusCode: "0"} // what the SDK answers
	}
	if r, ok := res.(*mcp.CallToolResult); ok && r != nil && r.IsError {
		return outcome{errorType: errorTool}
	}
	return outcome{}
}
