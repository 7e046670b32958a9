package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady"
	"github.com/steadymcp/steady/catalog"
	"github.com/steadymcp/steady/discovery"
	"github.com/steadymcp/steady/errors"
)

// shortcuts are the entries that most questions end at. They are tools by
// themselves, so that people see them in a picker and may allow them by name.
// There are six, and a new source is no reason for a seventh.
var shortcuts = []catalog.Shortcut{
	{Name: "symbol_search", Entry: "symbol-search", Description: "Finds the ticker of a company by its name. Use it first if only the name is known: everything else takes the ticker. The same as call_api with symbol-search."},
	{Name: "sec_filings", Entry: "sec-filings", Description: "Lists what a company has filed with the SEC, the latest first. Use it when a form, a date or a document is asked for. The same as call_api with sec-filings."},
	{Name: "insider_trades", Entry: "insider-trades", Description: "Lists what executives and directors bought and sold of their own company's shares. Use it for what insiders do, not for what a fund holds. The same as call_api with insider-trades."},
	{Name: "financials", Entry: "financials", Description: "Gives a company's main figures by year or quarter: revenue, profit, margins, cash, debt. Use it when one figure or its course is asked for. The same as call_api with financials."},
	{Name: "congress_trades", Entry: "congress-trades", Description: "Lists share trades that members of Congress disclosed. Use it when a politician or a party is asked about. The same as call_api with congress-trades."},
	{Name: "news_sentiment", Entry: "news-sentiment", Description: "Lists headlines about a company, each with a score from -1 to 1. Use it for the mood about a company, not for its figures. The same as call_api with news-sentiment."},
}

// newServer returns the server in front of the API, and what ends its
// background work.
func newServer(ctx context.Context, c config, api string) (_ *mcp.Server, closeServer func(), _ error) {
	// The API publishes its catalog. What is embedded is for a start while the
	// API is away.
	source, err := catalog.Fetch(api+"/catalog.json", nil)
	if err != nil {
		return nil, nil, err
	}
	seed, err := catalog.JSON(catalogFile)
	if err != nil {
		return nil, nil, err
	}
	upstream, err := catalog.NewUpstream(api, &catalog.UpstreamOptions{
		Prefix:    "/v1",
		Timeout:   20 * time.Second,
		Authorize: authorize(c.http == ""),
	})
	if err != nil {
		return nil, nil, err
	}
	feedback := &catalog.FeedbackOptions{Sink: catalog.SlogSink(nil)}
	if c.feedback != "" {
		if feedback.Sink, err = catalog.NewFileSink(c.feedback, nil); err != nil {
			return nil, nil, err
		}
	}
	directory, err := catalog.New(source, &catalog.Options{
		Caller:    upstream,
		Interval:  c.refresh,
		Seed:      seed,
		NoWrites:  true, // the API only reads, and will not do more without a release
		FreePaths: c.freePaths,
		Shortcuts: shortcuts,
		Feedback:  feedback,
		Repairer:  catalog.RepairFunc(repair),
	})
	if err != nil {
		return nil, nil, err
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "marketdata", Version: "v1.0.0"}, &mcp.ServerOptions{
		Instructions: "Data about listed companies, funds, markets and the economy. The companies are invented and the figures generated.",
	})
	stack, err := steady.Wrap(server, nil)
	if err != nil {
		return nil, nil, err
	}
	closeServer = func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = stack.Close(ctx)
		_ = directory.Close(ctx) // nothing is lost that could not be fetched again
	}
	// Last, so that the id of an entry that is called as if it were a tool
	// reaches the catalog before anything takes it for unknown.
	if err := directory.Install(ctx, server); err != nil {
		closeServer()
		return nil, nil, err
	}
	return server, closeServer, nil
}

// repair mends the arguments of an entry as discovery does those of a tool.
func repair(_ context.Context, tool *mcp.Tool, arguments json.RawMessage) (json.RawMessage, error) {
	mended, _, err := discovery.Repair(tool, arguments, nil)
	return mended, err
}

// authorize puts the caller's key on a request for the API. On stdio the caller
// is whoever started the process. Over HTTP it is whom the token names, never
// what an argument says, and never the process itself.
func authorize(stdio bool) func(context.Context, *mcp.CallToolRequest, http.Header) error {
	return func(_ context.Context, req *mcp.CallToolRequest, header http.Header) error {
		key := ""
		if stdio {
			key = keyOfThisProcess()
		} else if req.Extra != nil && req.Extra.TokenInfo != nil {
			key = keyOf(req.Extra.TokenInfo.UserID)
		}
		if key == "" {
			return errors.Denied("this caller has no key for the API").Next("sign in again")
		}
		header.Set("Authorization", fmt.Sprintf("Bearer %s", key))
		return nil
	}
}
