package catalog_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/catalog"
	"github.com/steadymcp/steady/errors"
)

var entries = []byte(`[
	{
		"id": "sec-filings", "method": "GET", "path": "/v1/companies/{symbol}/filings",
		"summary": "10-K, 10-Q and 8-K filings of a company", "signal": "late or amended reports", "tags": ["sec"],
		"parameters": {"type": "object", "required": ["symbol"], "properties": {
			"symbol": {"type": "string", "description": "Ticker"}, "form": {"enum": ["10-K", "10-Q", "8-K"]}}},
		"example": {"symbol": "AAPL", "form": "10-K"}
	},
	{
		"id": "price-alert", "method": "POST", "path": "/v1/alerts", "summary": "Create an alert for a price",
		"parameters": {"type": "object", "required": ["symbol", "above"], "properties": {
			"symbol": {"type": "string", "description": "Ticker"}, "above": {"type": "number"}}}
	}
]`)

// api is the API behind the examples.
var api = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("RateLimit", `"default";r=99;t=60`)
	fmt.Fprintf(w, `[{"form":%q,"filed":"2026-11-01"}]`, r.URL.Query().Get("form"))
}))

func token(context.Context, *mcp.CallToolRequest) (string, bool) { return "t-123", true }

// show calls a tool and prints what a client receives.
func show(server *mcp.Server, tool, args string) {
	ctx := context.Background()
	clientEnd, serverEnd := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, serverEnd, nil); err != nil {
		panic(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "client"}, nil).Connect(ctx, clientEnd, nil)
	if err != nil {
		panic(err)
	}
	defer session.Close()
	r, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(args)})
	if err != nil {
		fmt.Println("protocol error:", err)
		return
	}
	fmt.Println(r.Content[0].(*mcp.TextContent).Text)
}

func ExampleNew() {
	source, err := catalog.JSON(entries) // or catalog.Fetch(url, nil)
	if err != nil {
		panic(err)
	}
	upstream, err := catalog.NewUpstream(api.URL, &catalog.UpstreamOptions{
		Prefix: "/v1",
		Authorize: func(ctx context.Context, req *mcp.CallToolRequest, header http.Header) error {
			t, ok := token(ctx, req)
			if !ok {
				return errors.Denied("this server has no token for you").Next("sign in at the portal")
			}
			header.Set("Authorization", "Bearer "+t)
			return nil
		},
	})
	if err != nil {
		panic(err)
	}
	c, err := catalog.New(source, &catalog.Options{
		Caller:    upstream,
		Shortcuts: []catalog.Shortcut{{Name: "sec_filings", Entry: "sec-filings"}},
	})
	if err != nil {
		panic(err)
	}
	defer c.Close(context.Background())

	server := mcp.NewServer(&mcp.Implementation{Name: "market", Version: "v1.0.0"}, nil)
	// steady.Wrap(server, nil) comes before
	if err := c.Install(context.Background(), server); err != nil {
		panic(err)
	}

	show(server, "call_api", `{"id":"sec-filings","arguments":{"symbol":"AAPL","form":"10-K"}}`)
	show(server, "sec_filings", `{"symbol":"AAPL","form":"10-K"}`)
	show(server, "call_api", `{"path":"https://elsewhere.example/collect"}`)
	show(server, "call_api", `{"id":"sec-filings","arguments":{"symbol":"AAPL","form":"S-1"}}`)
	// Output:
	// {"data":[{"form":"10-K","filed":"2026-11-01"}],"rate_limit":{"limit":null,"remaining":99,"reset":60}}
	// {"data":[{"form":"10-K","filed":"2026-11-01"}],"rate_limit":{"limit":null,"remaining":99,"reset":60}}
	// this path is not called. Reason: it does not begin with a slash: give a path, not a URL. Next: give the id of an entry and its arguments. Do not retry.
	// the arguments of sec-filings do not fit. Reason: form: enum: S-1 does not equal any of: [10-K 10-Q 8-K]. Next: give symbol (required, string), form (one of 10-K | 10-Q | 8-K).
}

func ExampleIndex_Search() {
	index := catalog.NewIndex([]catalog.Entry{
		{ID: "sec-filings", Summary: "10-K, 10-Q and 8-K filings of a company"},
		{ID: "price-alert", Summary: "Create an alert for a price"},
		{ID: "reviewers", Summary: "Reviewers of a change"},
	}, nil)
	for _, question := range []string{"latest 10 k of apple", "who has to sign off", "prcie alert", "zeppelin timetable"} {
		found := index.Search(question, 1)
		for _, hit := range found.Hits {
			why := hit.Why[0]
			fmt.Printf("%s: %s, because of %q (%s in the %s)\n", question, hit.Entry.ID, why.Word, why.By, why.Field)
		}
		if len(found.Hits) == 0 {
			fmt.Printf("%s: nothing; no entry has %v\n", question, found.Unmatched)
		}
	}
	// Output:
	// latest 10 k of apple: sec-filings, because of "10k" (same word in the summary)
	// who has to sign off: reviewers, because of "sign" (related word in the id)
	// prcie alert: price-alert, because of "prcie" (similar spelling in the summary)
	// zeppelin timetable: nothing; no entry has [zeppelin timetable]
}

func ExampleParseVocabulary() {
	vocabulary, err := catalog.ParseVocabulary(`
		# words of a group stand for each other
		bourse, exchange, trading venue
		# what is asked on the left may be written as on the right
		whale -> institution, large holder
	`)
	if err != nil {
		panic(err)
	}
	index := catalog.NewIndex([]catalog.Entry{{ID: "holders", Summary: "Institutions with large stakes"}, {ID: "quotes", Summary: "Last prices"}},
		&catalog.IndexOptions{Expander: catalog.Expanders(catalog.General(), vocabulary)})
	fmt.Println(index.Search("what did the whales do", 1).Hits[0].Entry.ID)
	// Output: holders
}

func ExampleTools() {
	server := mcp.NewServer(&mcp.Implementation{Name: "home", Version: "v1.0.0"}, nil)
	for _, room := range []string{"hall", "attic", "cellar"} {
		mcp.AddTool(server, &mcp.Tool{Name: "lamp_" + room, Description: "Switches the lamp in the " + room},
			func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
				return nil, map[string]string{"lit": room}, nil
			})
	}
	// All stay callable; none but the catalog's own is advertised.
	c, err := catalog.New(catalog.Tools(server, &catalog.ToolsOptions{Advertise: []string{}}), nil)
	if err != nil {
		panic(err)
	}
	if err := c.Install(context.Background(), server); err != nil {
		panic(err)
	}
	show(server, "call_api_write", `{"id":"lamp_attic"}`)
	// Output: {"data":{"lit":"attic"},"rate_limit":null}
}

func ExampleCatalog_Gaps() {
	c, err := catalog.New(catalog.Static(catalog.Entry{ID: "quotes", Summary: "Last prices of shares"}), nil)
	if err != nil {
		panic(err)
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "market", Version: "v1.0.0"}, nil)
	if err := c.Install(context.Background(), server); err != nil {
		panic(err)
	}
	for range 2 {
		show(server, "find_data", `{"question":"zeppelin timetable"}`)
	}
	if err := c.Gaps(os.Stdout); err != nil {
		panic(err)
	}
	// Output:
	// {"data":{"results":[],"confidence":0,"weak":false,"unmatched":["zeppelin","timetable"],"note":"No entry fits this question. Nothing here matches: zeppelin, timetable. Ask once more in other words; if that finds nothing either, say that it is not available here, and do not guess."},"rate_limit":null}
	// {"data":{"results":[],"confidence":0,"weak":false,"unmatched":["zeppelin","timetable"],"note":"No entry fits this question. Nothing here matches: zeppelin, timetable. Ask once more in other words; if that finds nothing either, say that it is not available here, and do not guess."},"rate_limit":null}
	// 2 questions: 2 found nothing, 0 only weak hits
	//
	// words that matched nothing (times, of which without any hit)
	//   timetable                    2     2
	//   zeppelin                     2     2
}

func ExampleFetch() {
	source, err := catalog.Fetch("https://api.example.com/catalog.json", &catalog.FetchOptions{Timeout: 5 * time.Second})
	if err != nil {
		panic(err)
	}
	seed, err := catalog.JSON(entries) // embedded, for a start without network
	if err != nil {
		panic(err)
	}
	c, err := catalog.New(source, &catalog.Options{Seed: seed, Interval: 15 * time.Minute})
	if err != nil {
		panic(err)
	}
	_, known := c.Age()
	fmt.Println("age known:", known)
	// Output: age known: false
}

func ExampleGuard_Resolve() {
	guard, err := catalog.NewGuard("https://api.example.com", "/v1", false)
	if err != nil {
		panic(err)
	}
	for _, path := range []string{"/v1/quotes?symbol=AAPL", "//elsewhere.example/v1/x", "/v1/%252e%252e/admin", "/v10/x"} {
		url, err := guard.Resolve(path)
		fmt.Println(url, err)
	}
	// Output:
	// https://api.example.com/v1/quotes?symbol=AAPL <nil>
	// <nil> it has two slashes in a row
	// <nil> it has a segment made of dots
	// <nil> it does not begin with /v1/
}
