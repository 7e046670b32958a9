package sdkexamples

import "github.com/modelcontextprotocol/go-sdk/mcp"

// A transport is how an example is talked to.
type transport int

const (
	stdio  transport = iota
	http             // streamable HTTP
	sse              // HTTP with server-sent events, of the revision 2024-11-05
	prints           // client and server are one program; what it prints is compared
)

// An example is one of the SDK's example servers, and what is asked of it.
type example struct {
	name string
	// over are its own transports.
	over []transport
	// args are its arguments, where ADDR, HOST, PORT and FREE stand for an
	// address that is free, its parts, and another free port.
	args map[transport][]string
	// paths are the paths of its HTTP endpoints; none means "/".
	paths []string
	// calls names every tool, with arguments that it accepts, in an order in
	// which they succeed.
	calls []call
	// fails are tools that fail with our client, whatever the server does. Under
	// the stateless revision more do: those that send requests to the client.
	fails []string
	// long says that it is left to the long form.
	long bool
	// fixed are ports that its source names, to be replaced by free ones.
	fixed []string
	// besides marks lines that it prints only when it is wrapped.
	besides string
	// reason says why an example is not taken.
	reason string
}

type call struct {
	tool string
	args map[string]any
}

type object = map[string]any

// examples are all that the folder examples/server of the SDK holds; the test
// fails when there is another one.
var examples = []example{
	{
		name: "hello", over: []transport{stdio},
		calls: []call{{"greet", object{"name": "Ada"}}},
	},
	{
		name: "toolschemas", over: []transport{stdio},
		calls: []call{
			{"simple greeting", object{"name": "Ada"}},
			{"manual greeting", object{"name": "Ada"}},
			{"unvalidated greeting", object{"user": "Ada"}},
			{"customized greeting 1", object{"name": "Ada"}},
			{"customized greeting 2", object{"name": "Ada"}},
		},
	},
	{
		name: "everything", over: []transport{stdio, http}, args: map[transport][]string{http: {"-http", "ADDR"}},
		fails: []string{"elicit (url)"}, // the client opens no URLs
		calls: []call{
			{"greet", object{"name": "Ada"}},
			{"greet (structured)", object{"name": "Ada"}},
			{"greet (with Icons)", object{"name": "Ada"}},
			{"greet (content with ResourceLink)", object{"name": "Ada"}},
			{"ping", object{}},
			{"log", object{}},
			{"sample", object{}},
			{"elicit (form)", object{}},
			{"elicit (url)", object{}},
			{"roots", object{}},
		},
	},
	{
		name: "memory", over: []transport{stdio, http}, args: map[transport][]string{http: {"-http", "ADDR"}}, long: true,
		calls: []call{
			{"create_entities", object{"entities": []object{
				{"name": "Ada", "entityType": "person", "observations": []string{"wrote a program"}},
				{"name": "Engine", "entityType": "machine", "observations": []string{"analytical"}},
			}}},
			{"create_relations", object{"relations": []object{{"from": "Ada", "to": "Engine", "relationType": "programs"}}}},
			{"add_observations", object{"observations": []object{{"entityName": "Ada", "contents": []string{"likes poetry"}}}}},
			{"read_graph", object{}},
			{"search_nodes", object{"query": "poetry"}},
			{"open_nodes", object{"names": []string{"Engine"}}},
			{"delete_observations", object{"deletions": []object{{"entityName": "Ada", "contents": []string{}, "observations": []string{"likes poetry"}}}}},
			{"delete_relations", object{"relations": []object{{"from": "Ada", "to": "Engine", "relationType": "programs"}}}},
			{"delete_entities", object{"entityNames": []string{"Engine"}}},
		},
	},
	{
		name: "sequentialthinking", over: []transport{stdio, http}, args: map[transport][]string{http: {"-http", "ADDR"}}, long: true,
		calls: []call{
			{"start_thinking", object{"problem": "which box is heavier", "sessionId": "s1", "estimatedSteps": 3}},
			{"continue_thinking", object{"sessionId": "s1", "thought": "weigh them"}},
			{"continue_thinking", object{"sessionId": "s1", "thought": "weigh them twice", "reviseStep": 1}},
			{"review_thinking", object{"sessionId": "s1"}},
		},
	},
	{
		name: "custom-transport", over: []transport{stdio}, long: true,
		calls: []call{{"greet", object{"name": "Ada"}}},
	},
	{
		name: "sse", over: []transport{sse}, args: map[transport][]string{sse: {"-host", "HOST", "-port", "PORT"}}, long: true,
		paths: []string{"/greeter1", "/greeter2"},
		calls: []call{{"greet1", object{"name": "Ada"}}, {"greet2", object{"name": "Ada"}}},
	},
	{
		name: "distributed", over: []transport{http}, args: map[transport][]string{http: {"-http", "ADDR", "-child_ports", "FREE"}}, long: true,
		calls: []call{{"inc", object{}}, {"inc", object{}}},
	},
	{name: "basic", over: []transport{prints}, long: true},
	{name: "custom-method", over: []transport{prints}, long: true},
	{name: "elicitation", reason: "it asks the client outside of a request, which the revision that its own client prefers does not allow, and ends with status 1"},
	// Its middleware stands inside of the stack, and logs that the stack asks for
	// the tools before the first call.
	{name: "middleware", over: []transport{prints}, besides: "method=tools/list", long: true},
	{name: "proxy", over: []transport{prints}, fixed: []string{"8081", "8082"}, long: true},
	{name: "completion", reason: "it makes a server and ends without serving"},
}

// callsOf returns the calls of the tools that an endpoint has.
func (e example) callsOf(tools map[string]bool) []call {
	var calls []call
	for _, c := range e.calls {
		if tools[c.tool] {
			calls = append(calls, c)
		}
	}
	return calls
}

func clientOptions() *mcp.ClientOptions {
	return &mcp.ClientOptions{
		CreateMessageHandler: sampled,
		ElicitationHandler:   elicited,
	}
}
