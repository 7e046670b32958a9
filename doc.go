// Package steady makes MCP servers on the official Go SDK
// ([github.com/modelcontextprotocol/go-sdk]) hold up against what models,
// clients and operators do to them.
//
// The module is a set of packages, each useful alone:
//
//   - [github.com/steadymcp/steady/errors]: a failure that a model can act on,
//     and nothing else, reaches the client; a panic is an answer.
//   - [github.com/steadymcp/steady/stdioguard]: standard output belongs to the
//     protocol, whatever anybody prints.
//   - [github.com/steadymcp/steady/registry]: tools in a fixed order, checked
//     when they are registered, with a fingerprint of what is advertised.
//   - [github.com/steadymcp/steady/observe]: what the packages did, as typed
//     events for the operator.
package steady
