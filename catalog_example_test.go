package steady_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady"
	"github.com/steadymcp/steady/catalog"
	"github.com/steadymcp/steady/discovery"
	"github.com/steadymcp/steady/observe"
)

// prices is an API of one endpoint.
type prices struct{}

func (prices) Call(_ context.Context, _ *mcp.CallToolRequest, _ *catalog.Entry, arguments map[string]any) (*catalog.Answer, error) {
	return &catalog.Answer{Data: json.RawMessage(fmt.Sprintf(`{"symbol":%q,"price":201.5}`, arguments["symbol"]))}, nil
}

// A catalog has its arguments repaired by package discovery, and is installed last.
func ExampleWrap_catalog() {
	source := catalog.Static(catalog.Entry{
		ID: "quotes", Method: "GET", Path: "/quotes", Summary: "Last price of a share",
		Parameters: json.RawMessage(`{"type":"object","required":["symbol"],"additionalProperties":false,"properties":{"symbol":{"type":"string"}}}`),
	})
	c, err := catalog.New(source, &catalog.Options{
		Caller:   prices{},
		Observer: observe.Discard,
		Repairer: catalog.RepairFunc(func(_ context.Context, tool *mcp.Tool, arguments json.RawMessage) (json.RawMessage, error) {
			fixed, _, err := discovery.Repair(tool, arguments, nil)
			return fixed, err
		}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "market", Version: "v1.0.0"}, nil)
	if _, err := steady.Wrap(server, &steady.Options{Observer: observe.Discard}); err != nil {
		fmt.Println(err)
		return
	}
	if err := c.Install(context.Background(), server); err != nil { // last
		fmt.Println(err)
		return
	}
	fmt.Println(callTool(server, "call_api", map[string]any{"id": "quotes", "arguments": map[string]any{"Symbols": "NMBS"}}))
	// Output:
	// {"data":{"symbol":"NMBS","price":201.5},"rate_limit":null}
}
