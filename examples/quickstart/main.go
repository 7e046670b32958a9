// Quickstart is the smallest server worth copying: one tool, on stdio, or on HTTP
// with -http localhost:8080.
package main

import (
	"context"
	"flag"
	"log"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady"
	"github.com/steadymcp/steady/errors"
)

type parcel struct {
	Country string  `json:"country" jsonschema:"where to, as a country code of two letters, such as FR"`
	Kilos   float64 `json:"kilos" jsonschema:"what the parcel weighs, in kilograms"`
}

type quote struct {
	Cents int `json:"cents" jsonschema:"the price, in cents of a euro"`
}

func quoteShipping(_ context.Context, _ *mcp.CallToolRequest, in parcel) (*mcp.CallToolResult, quote, error) {
	perKilo, served := map[string]int{"DE": 120, "FR": 190, "PL": 170}[in.Country]
	if !served {
		return nil, quote{}, errors.NotFound("nothing is shipped to %s", in.Country).Next("ask for DE, FR or PL")
	}
	if in.Kilos <= 0 || in.Kilos > 30 {
		return nil, quote{}, errors.Refused("a parcel of %g kg cannot be shipped", in.Kilos).
			Because("30 kg is the most").Next("split it, and ask for each part")
	}
	return nil, quote{Cents: 500 + int(in.Kilos*float64(perKilo))}, nil
}

func newServer() (*mcp.Server, error) {
	server := mcp.NewServer(&mcp.Implementation{Name: "shipping", Version: "v1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{
		Name:        "quote_shipping",
		Description: "Say what shipping one parcel costs. Use it before an order is placed. Returns the price; orders nothing.",
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
	}, quoteShipping)
	_, err := steady.Wrap(server, nil)
	return server, err
}

func main() {
	var opts steady.RunOptions
	opts.BindFlags(flag.CommandLine)
	flag.Parse()
	server, err := newServer()
	if err == nil {
		err = steady.Run(context.Background(), server, &opts)
	}
	if err != nil {
		log.Fatal(err)
	}
}
