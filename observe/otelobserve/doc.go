// Package otelobserve reports an MCP server to OpenTelemetry: spans and
// durations of what clients ask for, and counters of what the packages of
// steady did about it. It uses the OpenTelemetry API only; the SDK, its
// exporters and their configuration are the program's.
//
// A [Telemetry] is two things, each of use without the other:
//
//   - [Telemetry.Middleware] is receiving middleware. Add it last, so that it
//     stands outermost: a span and a duration for every request and notification.
//
//   - [Telemetry.Observe] makes it an [observe.Observer]: counters from the
//     events of all packages. Pass it with a logger, since counters do not
//     replace what a log says: observe.Multi(telemetry, observe.Or(nil)).
//
//     telemetry, err := otelobserve.New(nil) // the providers that otel has been given
//     ...
//     steady.Wrap(server, &steady.Options{Observer: observe.Multi(telemetry, observe.Or(nil))})
//     server.AddReceivingMiddleware(telemetry.Middleware()) // after Wrap
//     ...
//     telemetry.Close(ctx) // before the providers are shut down
//
// Together they know more: the span of a call that discovery has routed names
// the tool that ran, and holds the events and the incident id of the call.
//
//	telemetry, err := otelobserve.New(nil) // the providers that otel has been given
//	...
//	steady.Wrap(server, &steady.Options{Observer: observe.Multi(telemetry, observe.Or(nil))})
//	server.AddReceivingMiddleware(telemetry.Middleware()) // after Wrap
//	...
//	telemetry.Close(ctx) // before the providers are shut down
//
// # Spans
//
// Names, kinds and attributes are those of the semantic conventions for MCP
// (https://github.com/open-telemetry/semantic-conventions-genai, docs/gen-ai/mcp.md;
// in development there, so a later version of this module may follow a change
// of theirs): "tools/call get_order", kind SERVER, with mcp.method.name,
// gen_ai.tool.name, gen_ai.prompt.name, gen_ai.operation.name,
// mcp.protocol.version, mcp.session.id, network.transport,
// network.protocol.name, rpc.response.status_code and error.type.
// error.type is "tool_error" for a result with isError, the code of a JSON-RPC
// error, "cancelled" if the client withdrew the request, "panic" if a handler
// panicked through the middleware.
//
// The span is in the handler's context, so what a handler starts is its child.
// Its parent is what the client sent in params._meta (traceparent, tracestate,
// baggage, read by [Options.Propagator]). If that is nothing, it is the span of
// the HTTP request, if the HTTP server makes one, or what the request's headers
// say. The SDK gives all requests of an HTTP session the context of the one that
// opened it; the span of that one is never a parent, only linked.
//
// A task that goes on after its call was answered gets a span of its own, "task
// export_orders", when it ends: a child of the call's span, linked to it.
// For that the tasks' observer must be the Telemetry. In another process than the
// call's that span has no parent, and neither has what the handler starts there:
// what a task's record keeps does not say which trace it belongs to.
//
// Departures from the conventions: jsonrpc.request.id is missing, because the
// SDK does not tell it to middleware; a status has no description and
// mcp.resource.uri is off unless asked for, because both may hold what a caller
// sent; network.protocol.version, client.address and client.port are missing,
// because a request does not say them. network.transport is "tcp" over HTTP and
// "pipe" otherwise: a session does not say what carries it, so a transport of the
// program's own, a socket for example, counts as a pipe.
//
// # Metrics
//
// mcp.server.operation.duration and mcp.server.session.duration follow the
// conventions. The others count what steady did; their names begin with
// "steady.", and docs/operating.md lists them. dashboard.json, beside this
// file, is a Grafana dashboard of all of them.
//
// # What is never an attribute
//
// Arguments, results, tokens and texts of errors. A name of a tool or a prompt
// is a peer's text until the server is known to have it: the middleware asks
// the server for its lists when a name is new, at most every ten seconds, and
// keeps at most 2,000 names. All others are counted as "_OTHER".
package otelobserve
