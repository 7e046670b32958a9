// Package steady makes MCP servers on the official Go SDK
// ([github.com/modelcontextprotocol/go-sdk]) hold up against what models,
// clients and operators do to them. Two calls do it for a server that exists:
//
//	if _, err := steady.Wrap(server, nil); err != nil {
//		log.Fatal(err)
//	}
//	if err := steady.Run(ctx, server, nil); err != nil {
//		log.Fatal(err)
//	}
//
// [Wrap] installs middleware. [Run] serves, on stdio or HTTP, and ends in order;
// [Handler] is for those who have an HTTP server.
//
// The module is a set of packages, each useful alone:
//
//   - [github.com/steadymcp/steady/errors]: a failure that a model can act on,
//     and nothing else, reaches the client; a panic is an answer.
//   - [github.com/steadymcp/steady/discovery]: a wrong name or a wrong argument
//     reaches the right tool, or comes back with the way out.
//   - [github.com/steadymcp/steady/limits]: how long a call may take, how many
//     run at once, how often a caller may call.
//   - [github.com/steadymcp/steady/tasks]: slow work returns a handle, and a
//     retry joins it.
//   - [github.com/steadymcp/steady/pagination]: every result has an upper
//     bound, and a way to the rest.
//   - [github.com/steadymcp/steady/registry]: tools in a fixed order, checked
//     when they are registered, with a fingerprint of what is advertised.
//   - [github.com/steadymcp/steady/catalog]: find, describe and call over many
//     endpoints, behind a few tools.
//   - [github.com/steadymcp/steady/stdioguard]: standard output belongs to the
//     protocol, whatever anybody prints.
//   - [github.com/steadymcp/steady/observe]: what the packages did, as typed
//     events for the operator.
//
// # Order
//
//	errors( discovery( limits( tasks( budget( handler ) ) ) ) )
//
// errors stands outermost, because it sees every failure. discovery comes
// before anything that goes by a tool's name or arguments. limits counts calls
// before they become tasks. tasks moves what is slow to the background, so the
// budget, inside of it, bounds what a task returns. Middleware that hides tools
// from callers (a registry's, for example) belongs inside of discovery, so that
// names are resolved and proposed only among what a caller may see.
package steady
