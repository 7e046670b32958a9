// Package wire holds what the feature packages must agree on when they speak
// MCP: method names, _meta keys, and the one way to build a result that every
// protocol revision accepts.
package wire

// Methods of the Model Context Protocol that steady looks at.
const (
	MethodCallTool     = "tools/call"
	MethodListTools    = "tools/list"
	MethodGetPrompt    = "prompts/get"
	MethodListPrompts  = "prompts/list"
	MethodReadResource = "resources/read"
	MethodComplete     = "completion/complete"
	MethodInitialize   = "initialize"
	MethodDiscover     = "server/discover"

	NotificationCancelled = "notifications/cancelled"
)

// Keys under which steady puts machine-readable facts into a result's _meta.
// The prefix is ours, as the basic protocol's section on _meta asks.
const (
	MetaError     = "steady/error"
	MetaDiscovery = "steady/discovery"
	MetaBudget    = "steady/budget"
	MetaTask      = "steady/task"
	MetaRegistry  = "steady/registry"
)

// StatelessRevision is the first protocol revision in which every result
// carries resultType and every request carries its own protocol version.
const StatelessRevision = "2026-07-28"
