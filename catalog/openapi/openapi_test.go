package openapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/catalog"
	"github.com/steadymcp/steady/observe"
)

const shop = `
openapi: 3.0.3
info: {title: Shop, version: 1.4.0}
servers:
  - url: https://{region}.shop.example/api
    variables: {region: {default: eu}}
paths:
  /orders/{id}:
    parameters:
      - {name: id, in: path, required: true, description: Number of the order, schema: {type: string, pattern: '^ORD-\d+$', example: ORD-7}}
      - {name: Authorization, in: header, required: true, schema: {type: string}}
    get:
      operationId: getOrder
      summary: Look up one order
      description: With all its lines.
      tags: [orders]
      x-search-terms: [purchase]
      x-signal: what was sold
      parameters:
        - {name: fields, in: query, explode: false, schema: {type: array, items: {type: string}}}
        - {name: X-Trace, in: header, schema: {type: string}}
        - {name: session, in: cookie, schema: {type: string}}
        - {name: filter, in: query, style: deepObject, schema: {type: object}}
    delete:
      description: "Cancels an order. It cannot be undone.\n\nReally."
      deprecated: true
    patch:
      operationId: update/order..now
      requestBody:
        required: true
        content:
          application/json:
            schema: {$ref: '#/components/schemas/Change'}
            example: {note: fragile, size: {width: 2}}
  /orders:
    post:
      operationId: searchOrders
      summary: Search orders
      x-read-only: true
      parameters:
        - {name: limit, in: query, required: true, schema: {type: integer, minimum: 0, exclusiveMinimum: true, maximum: 50, default: 10}}
      requestBody:
        content:
          application/json: {schema: {type: array, items: {type: string}}}
    put:
      operationId: upload
      requestBody: {required: true, content: {multipart/form-data: {schema: {type: object}}}}
  /nodes:
    post:
      operationId: addNode
      requestBody:
        content:
          application/vnd.shop+json: {schema: {$ref: '#/components/schemas/Node'}}
  /session:
    get:
      operationId: needsCookie
      parameters: [{name: sid, in: cookie, required: true, schema: {type: string}}]
components:
  schemas:
    Change:
      type: object
      required: [note, at]
      additionalProperties: false
      properties:
        note: {type: string, nullable: true, enum: [fragile, heavy]}
        at: {type: string, format: date-time, readOnly: true}
        size: {$ref: '#/components/schemas/Size'}
    Size: {type: object, properties: {width: {type: number, minimum: 1}}}
    Node: {type: object, properties: {name: {type: string, pattern: '^(?!x)'}, children: {type: array, items: {$ref: '#/components/schemas/Node'}}}}
`

func read(t *testing.T, document string) (*Document, map[string]*catalog.Entry) {
	d, err := Parse([]byte(document), nil)
	require.NoError(t, err)
	entries := map[string]*catalog.Entry{}
	for i := range d.Entries {
		entries[d.Entries[i].ID] = &d.Entries[i]
	}
	return d, entries
}

func TestParse30(t *testing.T) {
	t.Parallel()
	d, entries := read(t, shop)
	require.Equal(t, "https://eu.shop.example/api", d.Server)
	require.Equal(t, "1.4.0", d.Version)
	require.Len(t, d.Entries, 5)
	require.Len(t, d.Problems, 2)
	require.ErrorContains(t, d.Problems[0], "body is not JSON")
	require.ErrorContains(t, d.Problems[1], "cookie")

	get := entries["getOrder"]
	require.Equal(t, []string{"purchase"}, get.Terms)
	require.Equal(t, "what was sold", get.Signal)
	require.Equal(t, map[string]catalog.Location{"fields": catalog.InQuery, "X-Trace": catalog.InHeader}, get.In)
	require.JSONEq(t, `{"type":"object","required":["id"],"properties":{
		"id":{"type":"string","pattern":"^ORD-\\d+$","description":"Number of the order","examples":["ORD-7"]},
		"fields":{"type":"string","description":"(several values are separated by commas)"},
		"X-Trace":{"type":"string"}}}`, string(get.Parameters))
	require.JSONEq(t, `{"id":"ORD-7"}`, string(get.Example))

	cancel := entries["delete-orders-by-id"]
	require.Equal(t, "Cancels an order.", cancel.Summary)
	require.Equal(t, "Deprecated. It cannot be undone.\n\nReally.", cancel.Description)

	change := entries["update-order.now"]
	require.JSONEq(t, `{"type":"object","required":["id","note"],"properties":{
		"id":{"type":"string","pattern":"^ORD-\\d+$","description":"Number of the order","examples":["ORD-7"]},
		"note":{"type":["string","null"],"enum":["fragile","heavy",null]},
		"size":{"type":"object","properties":{"width":{"type":"number","minimum":1}}}}}`, string(change.Parameters))
	require.JSONEq(t, `{"id":"ORD-7","note":"fragile","size":{"width":2}}`, string(change.Example))

	search := entries["searchOrders"]
	require.True(t, *search.ReadOnly)
	require.Equal(t, map[string]catalog.Location{"limit": catalog.InQuery, "body": catalog.InPayload}, search.In)
	require.JSONEq(t, `{"type":"object","required":["limit"],"properties":{
		"limit":{"type":"integer","exclusiveMinimum":0,"maximum":50,"default":10},"body":{"type":"array","items":{"type":"string"}}}}`, string(search.Parameters))

	require.JSONEq(t, `{"type":"object","properties":{"name":{"type":"string"},"children":{"type":"array","items":{}}}}`, string(entries["addNode"].Parameters), "a schema of itself is open, a pattern that Go cannot read is left out")
}

func TestParse31(t *testing.T) {
	t.Parallel()
	_, entries := read(t, `{"openapi":"3.1.0","info":{"title":"x","version":"1"},"paths":{"/a":{"get":{"operationId":"a","parameters":[
		{"name":"n","in":"query","schema":{"type":["integer","null"],"exclusiveMinimum":3,"examples":[5]}},
		{"name":"k","in":"query","schema":{"const":"x"}},
		{"name":"t","in":"query","schema":{"type":"array","prefixItems":[{"type":"string"}],"items":{"type":"integer"}}},
		{"name":"any","in":"query","schema":true}]},
		"post":{"requestBody":{"required":true,"content":{"application/json":{"schema":{"oneOf":[{"type":"object","properties":{"p":{"type":"string"}}},{"type":"string"}]}}}}}}}}`)
	require.JSONEq(t, `{"type":"object","properties":{
		"n":{"type":["integer","null"],"exclusiveMinimum":3,"examples":[5]},"k":{"const":"x"},
		"t":{"type":"array","prefixItems":[{"type":"string"}],"items":{"type":"integer"}},"any":{}}}`, string(entries["a"].Parameters))
	require.JSONEq(t, `{"n":5}`, string(entries["a"].Example))
	require.JSONEq(t, `{"type":"object","required":["body"],"properties":{"body":{"oneOf":[{"type":"object","properties":{"p":{"type":"string"}}},{"type":"string"}]}}}`, string(entries["post-a"].Parameters))
}

// Every entry is one that a catalog takes, and can be called.
func TestEntriesWork(t *testing.T) {
	t.Parallel()
	var last string
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b := make([]byte, 1000)
		n, _ := r.Body.Read(b)
		last = r.Method + " " + r.RequestURI + " " + string(b[:n])
		_, _ = w.Write([]byte("{}"))
	}))
	defer api.Close()
	d, _ := read(t, shop)
	up, err := catalog.NewUpstream(api.URL+"/api", nil)
	require.NoError(t, err)
	c, err := catalog.New(d.Source(), &catalog.Options{Caller: up, Observer: observe.Discard})
	require.NoError(t, err)
	findings, err := c.Lint(t.Context())
	require.NoError(t, err)
	require.Len(t, findings, 6, "two problems, two without a summary, one without an example, one undescribed parameter: %v", findings)
	server := mcp.NewServer(&mcp.Implementation{Name: "t", Version: "1"}, nil)
	require.NoError(t, c.Install(t.Context(), server))
	a, b := mcp.NewInMemoryTransports()
	_, err = server.Connect(t.Context(), a, nil)
	require.NoError(t, err)
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil).Connect(t.Context(), b, nil)
	require.NoError(t, err)
	for call, want := range map[string]string{
		`{"id":"getOrder","arguments":{"id":"ORD-7","fields":"a,b"}}`:            "GET /api/orders/ORD-7?fields=a%2Cb ",
		`{"id":"searchOrders","arguments":{"limit":5,"body":["x"]}}`:             `POST /api/orders?limit=5 ["x"]`,
		`{"id":"update-order.now","arguments":{"id":"ORD-7","note":"heavy"}}`:    `PATCH /api/orders/ORD-7 {"note":"heavy"}`,
		`{"id":"addNode","arguments":{"name":"n","children":[{"children":[]}]}}`: `POST /api/nodes {"children":[{"children":[]}],"name":"n"}`,
	} {
		tool := "call_api_write"
		if strings.HasPrefix(want, "GET") || strings.Contains(call, "search") {
			tool = "call_api"
		}
		r, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(call)})
		require.NoError(t, err)
		require.False(t, r.IsError, "%s: %v", call, r.Content[0])
		require.Equal(t, want, last)
	}
	require.NoError(t, cs.Close())
}

// References to files and hosts are refused, and nothing is read.
func TestExternalReferences(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	spy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		_, _ = w.Write([]byte(`{"type":"string"}`))
	}))
	defer spy.Close()
	file := filepath.Join(t.TempDir(), "s.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"type":"string"}`), 0o600))
	for _, ref := range []string{spy.URL, spy.URL + "/s.json", "//" + strings.TrimPrefix(spy.URL, "http://") + "/s.json", "file://" + file, file, "s.json", "../s.json#/x", "http://169.254.169.254/latest", spy.URL + "/s.json#/a"} {
		for _, document := range []string{
			`{"openapi":"3.0.0","info":{"title":"x","version":"1"},"paths":{"/a":{"get":{"parameters":[{"name":"n","in":"query","schema":{"$ref":%q}}]}}}}`,
			`{"openapi":"3.0.0","info":{"title":"x","version":"1"},"paths":{"/a":{"get":{"parameters":[{"$ref":%q}]}}}}`,
			`{"openapi":"3.1.0","info":{"title":"x","version":"1"},"paths":{"/a":{"$ref":%q}}}`,
			`{"openapi":"3.1.0","info":{"title":"x","version":"1"},"paths":{"/a":{"post":{"requestBody":{"$ref":%q}}}}}`,
			`{"openapi":"3.1.0","info":{"title":"x","version":"1"},"paths":{},"components":{"schemas":{"A":{"properties":{"b":{"$ref":%q}}}}}}`,
		} {
			_, err := Parse(fmt.Appendf(nil, document, ref), nil)
			require.Error(t, err, "%s in %s", ref, document)
		}
	}
	require.Zero(t, asked.Load())
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	for _, document := range []string{"", "null", "[]", "{", `{"swagger":"2.0"}`, `{"openapi":"2.0","paths":{}}`, `{"openapi":"3.0.0","paths":7}`, "\x00"} {
		_, err := Parse([]byte(document), nil)
		require.Error(t, err, document)
	}
	_, err := Parse([]byte(shop), &Options{MaxBytes: 100})
	require.ErrorContains(t, err, "more than 100")
	d, err := Parse([]byte(shop), &Options{Include: func(method, _ string, _ *openapi3.Operation) bool { return method == http.MethodGet }})
	require.NoError(t, err)
	require.Len(t, d.Entries, 1)
}

// Ids are free of what an id may not have, and differ.
func TestIdentifiers(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, c := range [][3]string{
		{"getOrder", "", "getOrder"}, {"getOrder", "", "getOrder-2"}, {"orders/get one", "", "orders-get-one"}, {"", "/a/{b}/c", "get-a-by-b-c"},
		{"...", "/", "operation"}, {"a..b", "", "a.b"}, {strings.Repeat("x", 300), "", strings.Repeat("x", 120)}, {"übung", "", "bung"},
	} {
		require.Equal(t, c[2], unused(seen, identifier(c[0], "GET", c[1])))
	}
}

// Schemas that grow without end end.
func TestLargeSchemas(t *testing.T) {
	t.Parallel()
	var schemas strings.Builder
	for i := range 12 {
		fmt.Fprintf(&schemas, `"S%d":{"type":"object","properties":{"a":{"$ref":"#/components/schemas/S%d"},"b":{"$ref":"#/components/schemas/S%d"},"c":{"oneOf":[{"$ref":"#/components/schemas/S%d"},{"type":"string"}]}}},`, i, i+1, i+1, i+1)
	}
	d, err := Parse([]byte(`{"openapi":"3.0.0","info":{"title":"x","version":"1"},"paths":{"/a":{"post":{"requestBody":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/S0"}}}}}}},"components":{"schemas":{`+schemas.String()+`"S12":{"type":"string"}}}}`), nil)
	require.NoError(t, err)
	require.Less(t, len(d.Entries[0].Parameters), 100<<10)
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(shop))
	f.Add([]byte(`{"openapi":"3.1.0","info":{"title":"x","version":"1"},"paths":{"/a":{"get":{"parameters":[{"name":"n","in":"query","schema":{"type":["integer","null"]}}]}}}}`))
	f.Fuzz(func(t *testing.T, document []byte) {
		d, err := Parse(document, &Options{MaxBytes: 64 << 10})
		if err != nil {
			return
		}
		if _, err := json.Marshal(d.Entries); err != nil {
			t.Fatal(err)
		}
	})
}

// Credentials and what rules the transport are not for a model, and an
// operation is not called where it is not served.
func TestParseKeepsCredentialsFromTheModel(t *testing.T) {
	t.Parallel()
	d, err := Parse([]byte(`
openapi: 3.0.3
info: {title: t, version: "1"}
servers: [{url: "https://api.example.com"}]
paths:
  /a:
    get:
      operationId: headers
      parameters: [{name: X-CSRF-Token, in: header, schema: {type: string}}, {name: Origin, in: header, schema: {type: string}}, {name: X-RapidAPI-Key, in: header, required: true, schema: {type: string}}, {name: X-Pin, in: header, schema: {type: string}}, {name: api_key, in: query, schema: {type: string}}, {name: sig, in: query, schema: {type: string}}, {name: page_token, in: query, schema: {type: string}}]
      responses: {"200": {description: ok}}
  /b:
    get:
      operationId: query-key
      parameters: [{name: api_key, in: query, required: true, schema: {type: string}}]
      responses: {"200": {description: ok}}
  /c:
    post:
      operationId: elsewhere
      servers: [{url: "https://other.example.com"}]
      responses: {"200": {description: ok}}
    get:
      operationId: here
      servers: [{url: "https://api.example.com"}]
      responses: {"200": {description: ok}}
  /d:
    servers: [{url: "https://other.example.com"}]
    get:
      operationId: path-elsewhere
      responses: {"200": {description: ok}}
components:
  securitySchemes: {pin: {type: apiKey, in: header, name: x-pin}, sig: {type: apiKey, in: query, name: sig}}
`), nil)
	require.NoError(t, err)
	require.Len(t, d.Entries, 2)
	require.Equal(t, "headers", d.Entries[0].ID)
	require.JSONEq(t, `{"type":"object","properties":{"page_token":{"type":"string"}}}`, string(d.Entries[0].Parameters))
	require.Equal(t, "here", d.Entries[1].ID)
	var problems []string
	for _, p := range d.Problems {
		problems = append(problems, p.ID)
	}
	require.ElementsMatch(t, []string{"query-key", "elsewhere", "path-elsewhere"}, problems)
}
