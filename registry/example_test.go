package registry_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/observe"
	"github.com/steadymcp/steady/registry"
)

type papersInput struct {
	Query string `json:"query" jsonschema:"words of the title or the abstract"`
	Scope string `json:"scope" jsonschema:"all, or the journal to look in"`
}

var searchPapersTool = &mcp.Tool{
	Name:        "search_papers",
	Description: "Find papers by words. Use it when no identifier is known; get_paper reads one. Returns at most ten titles.",
	Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
}

func searchPapers(_ context.Context, _ *mcp.CallToolRequest, in papersInput) (*mcp.CallToolResult, any, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "papers on " + in.Query + " in " + in.Scope}}}, nil, nil
}

var getPaperTool = &mcp.Tool{Name: "get_paper", Description: "Read one paper, when its identifier is known. Returns its text."}

func getPaper(context.Context, *mcp.CallToolRequest, struct {
	ID string `json:"id"`
}) (*mcp.CallToolResult, any, error) {
	return &mcp.CallToolResult{}, nil, nil
}

// connect returns a client of server. Errors end the example.
func connect(server *mcp.Server) *mcp.ClientSession {
	ctx := context.Background()
	clientEnd, serverEnd := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, serverEnd, nil); err != nil {
		panic(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "client"}, nil).Connect(ctx, clientEnd, nil)
	if err != nil {
		panic(err)
	}
	return session
}

func printTools(session *mcp.ClientSession) {
	for tool, err := range session.Tools(context.Background(), nil) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(tool.Name)
	}
}

// Tools are listed in the order in which they are registered.
func ExampleNew() {
	server := mcp.NewServer(&mcp.Implementation{Name: "papers"}, nil)
	tools := registry.New(server, nil)
	registry.Add(tools, searchPapersTool, searchPapers)
	registry.Add(tools, getPaperTool, getPaper)
	if err := tools.Err(); err != nil {
		fmt.Println(err)
		return
	}

	printTools(connect(server))
	// Output:
	// search_papers
	// get_paper
}

// What would surprise at call time is an error at registration.
func ExampleRegistry_Err() {
	tools := registry.New(nil, &registry.Options{Observer: discard})
	registry.Add(tools, &mcp.Tool{Name: "get_paper"}, getPaper)
	registry.Add(tools, &mcp.Tool{Name: "getPaper"}, getPaper)
	registry.Add(tools, &mcp.Tool{Name: "GET:/papers/{id}"}, getPaper)

	fmt.Println(tools.Err())
	// Output:
	// registry: tool "getPaper": the name differs from "get_paper" only in case or separators
	// registry: tool "GET:/papers/{id}": the name contains ':'; letters, digits, _ and - are what every client takes
}

// A renamed tool stays callable by its former name, with its former arguments.
func ExampleRenamed() {
	server := mcp.NewServer(&mcp.Implementation{Name: "papers"}, nil)
	tools := registry.New(server, &registry.Options{Observer: discard})
	registry.Add(tools, searchPapersTool, searchPapers,
		registry.Renamed("lookup_papers", "2099-01-31",
			registry.RenamedArgument("question", "query"),
			registry.AddedArgument("scope", "all")))

	res, err := connect(server).CallTool(context.Background(), &mcp.CallToolParams{
		Name:      "lookup_papers",
		Arguments: map[string]any{"question": "tides"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range res.Content {
		fmt.Println(c.(*mcp.TextContent).Text)
	}
	fmt.Println(tools.FormerNameCalls())
	// Output:
	// papers on tides in all
	// Note: lookup_papers is now called search_papers; the former name works until 2099-01-31.
	// map[lookup_papers:1]
}

// Groups are switched at run time; clients are told.
func ExampleRegistry_SetEnabled() {
	server := mcp.NewServer(&mcp.Implementation{Name: "papers"}, nil)
	tools := registry.New(server, nil)
	registry.Add(tools, searchPapersTool, searchPapers)
	registry.Add(tools, &mcp.Tool{Name: "rebuild_index"}, getPaper, registry.Group("operations"))
	if err := tools.SetEnabled("operations", false); err != nil {
		fmt.Println(err)
		return
	}

	session := connect(server)
	printTools(session)
	_, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: "rebuild_index"})
	fmt.Println(err)
	// Output:
	// search_papers
	// calling "tools/call": unknown tool "rebuild_index"
}

// A caller sees and calls what is meant for it.
func ExampleVisibleTo() {
	staff := func(_ context.Context, req mcp.Request, _ *mcp.Tool) bool {
		extra := req.GetExtra() // nil where there is no HTTP request
		return extra != nil && extra.TokenInfo != nil && slices.Contains(extra.TokenInfo.Scopes, "staff")
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "papers"}, nil)
	tools := registry.New(server, nil)
	registry.Add(tools, searchPapersTool, searchPapers)
	registry.Add(tools, &mcp.Tool{Name: "withdraw_paper"}, getPaper, registry.VisibleTo(staff))

	printTools(connect(server)) // without a token
	// Output:
	// search_papers
}

// A server that is built for each HTTP request gets its tools from one
// registry.
func ExampleRegistry_Install() {
	tools := registry.New(nil, nil)
	registry.Add(tools, searchPapersTool, searchPapers)
	schemas := mcp.NewSchemaCache()
	serverForRequest := func() *mcp.Server {
		server := mcp.NewServer(&mcp.Implementation{Name: "papers"}, &mcp.ServerOptions{SchemaCache: schemas})
		tools.Install(server)
		return server
	}

	printTools(connect(serverForRequest()))
	printTools(connect(serverForRequest()))
	// Output:
	// search_papers
	// search_papers
}

func ExampleLint() {
	listing := &registry.Listing{
		Server: "papers",
		Tools: []json.RawMessage{json.RawMessage(`{
			"name": "list_papers",
			"description": "List the papers that were added last. Use it to see what is new; returns titles and identifiers.",
			"annotations": {"readOnlyHint": true},
			"inputSchema": {"type": "object", "properties": {
				"limit": {"type": "integer", "description": "how many, 20 if missing"},
				"sections": {"type": ["null", "array"], "items": {"type": "string"}, "description": "only these"}
			}}
		}`)},
	}
	profile := registry.Claude()
	profile.Exceptions = []registry.Exception{
		{Rule: "limit-unbounded", Tool: "list_papers", Reason: "the handler stops at 50"},
	}
	report, err := registry.Lint(context.Background(), listing, profile)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range report.Findings {
		fmt.Println(f.Severity, f.Rule, f.Tool+f.Pointer)
		fmt.Println(f.Message + ": " + f.Fix)
	}
	fmt.Println(report.Excepted[0].Rule, "is excepted:", report.Excepted[0].Reason)
	// Output:
	// error schema-nullable-container list_papers/inputSchema/properties/sections
	// the type is ["null","array"]: Make the parameter optional; package registry does.
	// limit-unbounded is excepted: the handler stops at 50
}

// Any server that a client can reach can be linted.
func ExampleListingFromSession() {
	server := mcp.NewServer(&mcp.Implementation{Name: "papers"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "find_papers"}, searchPapers)
	session := connect(server)

	listing, err := registry.ListingFromSession(context.Background(), session)
	if err != nil {
		fmt.Println(err)
		return
	}
	report, err := registry.Lint(context.Background(), listing, nil) // nil is the generic profile
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range report.Findings {
		fmt.Println(f.Severity, f.Rule, f.Message)
	}
	// Output:
	// warning hint-missing neither readOnlyHint nor destructiveHint is decided
	// warning list-unbounded the tool lists things and has no parameter like limit or cursor
	// error description-missing there is no description
}

// What a server answered to tools/list can be saved, and read again.
func ExampleReadListing() {
	saved := strings.NewReader(`{"jsonrpc": "2.0", "id": 1, "result": {"tools": [
		{"name": "get.paper", "description": "Reads one paper, when its identifier is known. Returns its text.",
		 "annotations": {"readOnlyHint": true}, "inputSchema": {"type": "object"}}
	]}}`)
	listing, err := registry.ReadListing(saved)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, profile := range registry.Profiles() {
		report, err := registry.Lint(context.Background(), listing, profile)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(profile.Name, "finds", report.Count(registry.Error), "errors,", report.Count(registry.Warning), "warnings")
	}
	// Output:
	// generic finds 0 errors, 1 warnings
	// claude finds 1 errors, 1 warnings
	// openai finds 2 errors, 0 warnings
	// gemini finds 0 errors, 1 warnings
	// cursor finds 1 errors, 1 warnings
	// vscode finds 0 errors, 2 warnings
}

// ListingOf is how a program prints what its own catalog costs.
func ExampleListingOf() {
	server := mcp.NewServer(&mcp.Implementation{Name: "papers"}, nil)
	tools := registry.New(server, nil)
	registry.Add(tools, searchPapersTool, searchPapers)

	listing, err := registry.ListingOf(context.Background(), server)
	if err != nil {
		fmt.Println(err)
		return
	}
	profile := registry.OpenAI()
	profile.Exceptions = []registry.Exception{{Rule: "list-unbounded", Reason: "never more than ten titles"}}
	report, err := registry.Lint(context.Background(), listing, profile)
	if err != nil {
		fmt.Println(err)
		return
	}
	report.WriteText(os.Stdout)
	fmt.Println(listing.Fingerprint() == tools.Fingerprint())
	// Output:
	// papers for openai: 1 tools, 461 bytes, 116 tokens (estimated), 1% of the budget
	//
	//   bytes  tokens  share  errors  warnings  advice
	//     461     116   100%       -         -       -  search_papers
	//
	// nothing found
	//
	// excepted
	//   list-unbounded search_papers: the tool lists things and has no parameter like limit or cursor (never more than ten titles)
	// true
}

func ExampleDiff() {
	before, err := registry.ReadListing(strings.NewReader(`{"tools": [
		{"name": "search_papers", "inputSchema": {"type": "object", "properties": {"limit": {"type": "integer", "maximum": 100}}}}
	]}`))
	after, err2 := registry.ReadListing(strings.NewReader(`{"tools": [
		{"name": "search_papers", "inputSchema": {"type": "object", "properties": {"limit": {"type": "integer", "maximum": 50}}}},
		{"name": "get_paper", "inputSchema": {"type": "object", "properties": {}}}
	]}`))
	if err := errors.Join(err, err2); err != nil {
		fmt.Println(err)
		return
	}
	changes, err := registry.Diff(before, after)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range changes {
		fmt.Println(c)
	}
	// Output:
	// breaking: search_papers /inputSchema/properties/limit/maximum: maximum was 100 and is 50
	// additive: get_paper: the tool was added
}

var discard = observe.Discard
