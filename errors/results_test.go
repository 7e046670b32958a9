package errors_test

import (
	"context"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/errors"
	"github.com/steadymcp/steady/internal/mcptest"
)

type cyclic struct {
	Next, Other *cyclic
}

type panicky struct{}

func (panicky) MarshalJSON() ([]byte, error) { panic("secret") }

// strange is content of a type that the SDK does not know.
type strange struct{ mcp.TextContent }

func (*strange) MarshalJSON() ([]byte, error) { return nil, errors.New("secret") }

func loop() *cyclic {
	c := &cyclic{}
	c.Next, c.Other = c, c
	return c
}

func text(s string) mcp.Content { return &mcp.TextContent{Text: s} }

// rawServer has one raw tool that returns r.
func rawServer(r func() *mcp.CallToolResult) *mcp.Server {
	s := mcptest.Server()
	s.AddTool(&mcp.Tool{Name: "raw", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return r(), nil
	})
	return s
}

// Everything that a raw handler can return is answered (B115), and what is sent has no
// null in it.
func TestToolResults(t *testing.T) {
	const unencodable = `"content":[{"type":"text","text":"internal error (incident ID)"}],"isError":true`
	for _, test := range []struct {
		name string
		r    *mcp.CallToolResult
		want string // is in the reply
	}{
		{"nil", nil, `"content":[]`},
		{"empty", &mcp.CallToolResult{}, `"content":[]`}, // B133
		{"nil content element", &mcp.CallToolResult{Content: []mcp.Content{nil, text("a"), (*mcp.TextContent)(nil)}}, `"content":[{"type":"text","text":"a"}]`},
		{"map", &mcp.CallToolResult{StructuredContent: map[string]any{"a": []any{1, "b", 1.5, true, nil}}}, `"structuredContent":{"a":[1,"b",1.5,true,null]}`},
		{"time", &mcp.CallToolResult{StructuredContent: map[string]any{"at": time.Unix(0, 0).UTC()}}, `"structuredContent":{"at":"1970-01-01T00:00:00Z"}`},
		{"number", &mcp.CallToolResult{StructuredContent: map[string]any{"n": json.Number("12345678901234567890")}}, `"structuredContent":{"n":12345678901234567890}`},
		{"raw", &mcp.CallToolResult{StructuredContent: json.RawMessage(`{"a":1}`)}, `"structuredContent":{"a":1}`},
		{"nil map", &mcp.CallToolResult{StructuredContent: map[string]any(nil)}, `"content":[]}`},
		{"nil slice", &mcp.CallToolResult{StructuredContent: []int(nil)}, `"structuredContent":[]`},
		{"nil pointer", &mcp.CallToolResult{StructuredContent: (*output)(nil)}, `"content":[]}`},
		{"raw null", &mcp.CallToolResult{StructuredContent: json.RawMessage("null")}, `"content":[]}`},
		{"raw nothing", &mcp.CallToolResult{StructuredContent: json.RawMessage("")}, `"content":[]}`},
		{"raw garbage", &mcp.CallToolResult{StructuredContent: json.RawMessage(`{"a":`)}, unencodable},
		{"nested raw garbage", &mcp.CallToolResult{StructuredContent: map[string]any{"a": json.RawMessage(`{`)}}, unencodable},
		{"channel", &mcp.CallToolResult{StructuredContent: map[string]any{"c": make(chan int)}}, unencodable},
		{"function", &mcp.CallToolResult{StructuredContent: struct{ F func() }{}}, unencodable},
		{"NaN", &mcp.CallToolResult{StructuredContent: map[string]float64{"n": math.NaN()}}, unencodable},
		{"cycle", &mcp.CallToolResult{StructuredContent: loop()}, unencodable},
		{"bad number", &mcp.CallToolResult{StructuredContent: map[string]any{"n": json.Number("one")}}, unencodable},
		{"year 10000", &mcp.CallToolResult{StructuredContent: map[string]any{"t": time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}}, unencodable},
		{"MarshalJSON panics", &mcp.CallToolResult{StructuredContent: map[string]any{"p": panicky{}}}, unencodable},
		{"strange content", &mcp.CallToolResult{Content: []mcp.Content{&strange{}}}, unencodable},
		{"meta", &mcp.CallToolResult{Meta: mcp.Meta{"a": make(chan int)}}, unencodable},
		{"meta of content", &mcp.CallToolResult{Content: []mcp.Content{&mcp.ImageContent{Meta: mcp.Meta{"a": func() {}}}}}, unencodable},
		{"priority", &mcp.CallToolResult{Content: []mcp.Content{&mcp.ResourceLink{Annotations: &mcp.Annotations{Priority: math.Inf(1)}}}}, unencodable},
		{"embedded resource", &mcp.CallToolResult{Content: []mcp.Content{&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{Meta: mcp.Meta{"a": make(chan int)}}}}}, unencodable},
		// Marked isError by their author.
		{"author's error", &mcp.CallToolResult{IsError: true, Content: []mcp.Content{text("no such order")}}, `"content":[{"type":"text","text":"no such order"}],"isError":true`}, // B121
		{"author's error with a password", &mcp.CallToolResult{IsError: true, Content: []mcp.Content{text("password=hunter2 is wrong")}}, `"text":"password=*** is wrong"`},
		{"author's error without content", &mcp.CallToolResult{IsError: true}, `"content":[],"isError":true`},
		{"error in structured content", &mcp.CallToolResult{IsError: true, StructuredContent: map[string]any{"code": "X"}}, `"content":[{"type":"text","text":"{\"code\":\"X\"}"}],"isError":true`},
		{"error in both", &mcp.CallToolResult{IsError: true, Content: []mcp.Content{text("a")}, StructuredContent: map[string]any{"code": "X"}}, `"steady/error":{"details":{"code":"X"}}`}, // B125
		{"error in both with a password", &mcp.CallToolResult{IsError: true, Content: []mcp.Content{text("a")}, StructuredContent: map[string]any{"password": "x1", "at": []string{"postgres://u:p@h"}, "n": 1}}, `"steady/error":{"details":{"at":["postgres://***@h"],"n":1,"password":"***"}}`},
		{"password in structured content", &mcp.CallToolResult{IsError: true, StructuredContent: struct {
			APIKey []string `json:"api_key"`
		}{[]string{"x1"}}}, `"text":"{\"api_key\":[\"***\"]}"`},
		{"password in an embedded resource", &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "desk:r", Text: "DB_PASS=x1"}}}}, `"text":"DB_PASS=***"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for _, revision := range mcptest.Revisions {
				s, seen := shaped(rawServer(func() *mcp.CallToolResult { return test.r }), nil)
				cs, wire := connect(t, s, revision)
				_, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "raw"})
				require.NoError(t, err)
				got := sans(wire.last())
				if revision == mcptest.Handshake {
					require.Contains(t, got, test.want)
				} else {
					require.Contains(t, got, strings.TrimSuffix(test.want, "}"))
				}
				requireResultType(t, got, revision)
				require.NotContains(t, strings.ReplaceAll(got, "true,null", ""), "null")
				if strings.Contains(test.want, `"isError":true`) || strings.Contains(test.want, "details") {
					require.NotContains(t, got, "structuredContent")
				}
				if test.want == unencodable {
					require.Len(t, seen.take(), 1)
				}
				_, err = cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "raw"})
				require.NoError(t, err, "the session goes on")
			}
		})
	}
}

func TestNilToolResultIsObserved(t *testing.T) {
	s, seen := shaped(rawServer(func() *mcp.CallToolResult { return nil }), nil)
	cs, _ := connect(t, s, "")
	_, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "raw"})
	require.NoError(t, err)
	require.Equal(t, errors.NilResult{Method: "tools/call", Name: "raw"}, seen.take()[0])
}

// A handler may return one result to many calls. From revision 2026-07-28 on
// the SDK writes into its _meta.
func TestSharedResult(t *testing.T) {
	shared := &mcp.CallToolResult{Meta: mcp.Meta{"a": 1}, Content: []mcp.Content{text("a"), nil}, StructuredContent: json.RawMessage("null")}
	call := errors.Shape(nil)(func(context.Context, string, mcp.Request) (mcp.Result, error) { return shared, nil })
	res, err := call(t.Context(), "tools/call", &mcp.CallToolRequest{})
	require.NoError(t, err)
	res.(*mcp.CallToolResult).Meta["b"] = 2
	require.Equal(t, mcp.Meta{"a": 1}, shared.Meta)
	require.Len(t, shared.Content, 2)
	require.NotNil(t, shared.StructuredContent)

	shared = &mcp.CallToolResult{Meta: mcp.Meta{"a": 1}}
	shared.SetError(errors.KindNotFound)
	res, err = call(t.Context(), "tools/call", &mcp.CallToolRequest{})
	require.NoError(t, err)
	require.Contains(t, res.GetMeta(), "steady/error")
	require.Contains(t, res.GetMeta(), "a")
	require.Equal(t, mcp.Meta{"a": 1}, shared.Meta)
}

// A result that asks for input has no content, and must stay so.
func TestInputRequiredIsLeftAlone(t *testing.T) {
	r := &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{}}
	call := errors.Shape(nil)(func(context.Context, string, mcp.Request) (mcp.Result, error) { return r, nil })
	res, err := call(t.Context(), "tools/call", &mcp.CallToolRequest{})
	require.NoError(t, err)
	require.Nil(t, res.(*mcp.CallToolResult).Content)
}

func TestOtherResults(t *testing.T) {
	var res mcp.Result
	seen := &recorder{}
	s := desk(func() error { return nil })
	s.AddReceivingMiddleware(errors.Shape(&errors.Options{Observer: seen}), func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			switch method {
			case "initialize", "server/discover", "notifications/initialized":
				return next(ctx, method, req)
			}
			return res, nil
		}
	})
	bad := mcp.Meta{"a": make(chan int)}
	for _, test := range []struct {
		handler string
		res     mcp.Result
		want    string // of the reply; "" if it is an internal error
	}{
		{prompt, (*mcp.GetPromptResult)(nil), ""},
		{prompt, nil, ""},
		{prompt, &mcp.GetPromptResult{}, `"messages":[]`},
		{prompt, &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{nil, {Role: "user", Content: text("a")}, {Role: "user"}}}, `"messages":[{"content":{"type":"text","text":"a"},"role":"user"}]`},
		{prompt, &mcp.GetPromptResult{Meta: bad}, ""},
		{prompt, &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Content: &strange{}}}}, ""},
		{resource, (*mcp.ReadResourceResult)(nil), ""},
		{resource, &mcp.ReadResourceResult{}, `"contents":[]`},
		{resource, &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{nil, {URI: "desk:r", Text: "a"}}}, `"contents":[{"uri":"desk:r","text":"a"}]`},
		{resource, &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{Meta: bad}}}, ""},
		{completion, (*mcp.CompleteResult)(nil), `"values":[]`},
		{completion, &mcp.CompleteResult{}, `"values":[]`},
		{completion, &mcp.CompleteResult{Meta: bad}, ""},
		{custom, (*customResult)(nil), ""},
		{custom, &customResult{Value: make(chan int)}, ""},
		{custom, &customResult{Value: math.NaN()}, ""},
		{custom, &customResult{Value: panicky{}}, ""},
		{custom, &customResult{Value: []int{1}}, `"value":[1]`},
	} {
		res = test.res
		for _, revision := range mcptest.Revisions {
			cs, wire := connect(t, s, revision)
			seen.take()
			_, err := reach(t, cs, test.handler)
			if test.want != "" {
				require.NoError(t, err, "%T %v", res, res)
				require.Contains(t, wire.last(), test.want)
				continue
			}
			e := rpcError(t, err)
			require.EqualValues(t, -32603, e.Code)
			require.Equal(t, "internal error (incident ID)", sans(e.Message), "%T", res)
			require.Len(t, seen.take(), 1)
		}
	}
}

// B133: a filter that drops every element leaves nil behind.
func TestListsAreNeverNull(t *testing.T) {
	lists := map[string]mcp.Result{
		"tools/list":               &mcp.ListToolsResult{},
		"prompts/list":             &mcp.ListPromptsResult{},
		"resources/list":           &mcp.ListResourcesResult{},
		"resources/templates/list": &mcp.ListResourceTemplatesResult{},
	}
	s := desk(func() error { return nil })
	s.AddReceivingMiddleware(errors.Shape(nil), func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if r, ok := lists[method]; ok {
				return r, nil
			}
			return next(ctx, method, req)
		}
	})
	for _, revision := range mcptest.Revisions {
		cs, wire := connect(t, s, revision)
		_, err := cs.ListTools(t.Context(), nil)
		require.NoError(t, err)
		require.Contains(t, wire.last(), `"tools":[]`)
		_, err = cs.ListPrompts(t.Context(), nil)
		require.NoError(t, err)
		require.Contains(t, wire.last(), `"prompts":[]`)
		_, err = cs.ListResources(t.Context(), nil)
		require.NoError(t, err)
		require.Contains(t, wire.last(), `"resources":[]`)
		_, err = cs.ListResourceTemplates(t.Context(), nil)
		require.NoError(t, err)
		require.Contains(t, wire.last(), `"resourceTemplates":[]`)
	}
}

// A tool that cannot be listed must not hang whoever lists.
func TestListsThatCannotBeEncoded(t *testing.T) {
	bad := mcp.Meta{"a": make(chan int)}
	s := desk(func() error { return nil })
	s.AddResource(&mcp.Resource{Name: "x", URI: "desk:x", Meta: bad}, nil)
	s.AddPrompt(&mcp.Prompt{Name: "x", Meta: bad}, nil)
	s.AddTool(&mcp.Tool{Name: "x", InputSchema: json.RawMessage(`{"type":"object"}`), Meta: bad}, nil)
	s, seen := shaped(s, nil)
	cs, _ := connect(t, s, "")
	_, err := cs.ListTools(t.Context(), nil)
	require.Equal(t, "internal error (incident ID)", sans(rpcError(t, err).Message))
	require.ErrorContains(t, seen.take()[0].(errors.Hidden).Err, "tools[3]")
	_, err = cs.ListPrompts(t.Context(), nil)
	require.Equal(t, "internal error (incident ID)", sans(rpcError(t, err).Message))
	_, err = cs.ListResources(t.Context(), nil)
	require.Equal(t, "internal error (incident ID)", sans(rpcError(t, err).Message))

	s.RemoveTools("x")
	for range 2 {
		r, err := cs.ListTools(t.Context(), nil)
		require.NoError(t, err)
		require.Len(t, r.Tools, 3)
	}
}

// Requests that have no result of their own, and notifications.
func TestOtherMethodsPass(t *testing.T) {
	panics := false
	s := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "v0"}, &mcp.ServerOptions{
		InitializedHandler: func(context.Context, *mcp.InitializedRequest) { panic("initialized") },
		ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationServerRequest) {
			if panics {
				panic("progress")
			}
		},
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { panic("subscribe") },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	s.AddResource(&mcp.Resource{Name: "r", URI: "desk:r"}, nil)
	s, seen := shaped(s, nil)
	cs, _ := connect(t, s, mcptest.Handshake)
	require.NoError(t, cs.Ping(t.Context(), nil))
	require.Len(t, seen.take(), 1, "the panic of InitializedHandler")
	require.NoError(t, cs.NotifyProgress(t.Context(), &mcp.ProgressNotificationParams{ProgressToken: "a"}))
	require.NoError(t, cs.Ping(t.Context(), nil))
	require.Empty(t, seen.take())
	panics = true
	require.NoError(t, cs.NotifyProgress(t.Context(), &mcp.ProgressNotificationParams{ProgressToken: "a"}))
	require.NoError(t, cs.Ping(t.Context(), nil))
	require.Len(t, seen.take(), 1)
	require.Error(t, cs.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "desk:r"}))
	require.NoError(t, cs.Unsubscribe(t.Context(), &mcp.UnsubscribeParams{URI: "desk:r"}))
	_, err := cs.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "desk:r"})
	require.Equal(t, "internal error (incident ID)", sans(rpcError(t, err).Message), "a nil handler")
}

// What the SDK answers by itself stays what it is, except that a peer cannot end
// its session with it. (That a name which is hidden from a caller is answered
// like an unknown one, B130, is up to whoever hides it.)
func TestSDKErrors(t *testing.T) {
	for _, revision := range mcptest.Revisions {
		s, _ := shaped(desk(func() error { return nil }), nil)
		cs, wire := connect(t, s, revision)

		_, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "nope"})
		e := rpcError(t, err)
		require.EqualValues(t, -32602, e.Code) // B120, B123
		require.Equal(t, `unknown tool "nope"`, e.Message)

		_, err = cs.CallTool(t.Context(), &mcp.CallToolParams{Name: strings.Repeat("\x1b[31m\n", 100_000/6)})
		require.Error(t, err)
		require.Less(t, len(wire.last()), 10_000) // B131

		_, err = cs.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "nope"})
		require.EqualValues(t, -32602, rpcError(t, err).Code)

		_, err = cs.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "desk:nope"})
		e = rpcError(t, err)
		require.EqualValues(t, -32602, e.Code)
		require.JSONEq(t, `{"uri":"desk:nope"}`, string(e.Data))

		// The SDK quotes the URI as Go does, which is no JSON; writing that
		// reply fails, and the session is over.
		_, err = cs.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "desk:\x01"})
		require.EqualValues(t, -32602, rpcError(t, err).Code)

		_, err = cs.Complete(t.Context(), &mcp.CompleteParams{Argument: mcp.CompleteParamsArgument{Name: "a"}})
		e = rpcError(t, err)
		require.EqualValues(t, -32602, e.Code)
		require.Equal(t, "invalid params: missing required 'ref' field", e.Message)

		_, err = reach(t, cs, typedTool)
		require.NoError(t, err)
	}
}

// The SDK's errors about a typed tool's arguments (B118) and output.
func TestTypedToolSchemas(t *testing.T) {
	type in struct {
		N int       `json:"n"`
		T time.Time `json:"t,omitzero"`
	}
	schema := json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer","maximum":3}}}`)
	server := func() *mcp.Server {
		s := mcptest.Server()
		mcp.AddTool(s, &mcp.Tool{Name: "in"}, func(context.Context, *mcp.CallToolRequest, in) (*mcp.CallToolResult, any, error) {
			return nil, nil, nil
		})
		mcp.AddTool(s, &mcp.Tool{Name: "out", OutputSchema: schema}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, output, error) {
			return nil, output{N: 40415}, nil
		})
		mcp.AddTool(s, &mcp.Tool{Name: "nan"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, float64, error) {
			return nil, math.NaN(), nil
		})
		mcp.AddTool(s, &mcp.Tool{Name: "own"}, func(_ context.Context, _ *mcp.CallToolRequest, _ in) (*mcp.CallToolResult, any, error) {
			var upstream struct {
				N int `json:"n"`
			}
			return nil, nil, json.Unmarshal([]byte(`{"n":"x"}`), &upstream)
		})
		return s
	}

	const invalid = `{"kind":"invalid_input","retry":"changed"}`
	const invalidHidden = `{"kind":"invalid_input","retry":"changed","incident":"ID"}`
	for _, test := range []struct {
		tool  string
		args  any
		text  string
		facts string
	}{
		{"in", map[string]any{}, `validating "arguments": validating root: required: missing properties: ["n"].`, invalid},
		{"in", map[string]any{"n": "five"}, `validating "arguments": validating root: validating /properties/n: type: five has type "string", want "integer".`, invalid},
		{"in", map[string]any{"n": 1, "z": 1}, `validating "arguments": validating root: unexpected additional properties ["z"].`, invalid},
		{"in", []int{1}, `the arguments must be one JSON object. Next: pass the tool's parameters as properties of an object.`, invalid},
		{"in", "text", `the arguments must be one JSON object. Next: pass the tool's parameters as properties of an object.`, invalid},
		{"in", map[string]any{"n": 1e30}, `argument "n" cannot be 1e+30. Next: pass a whole number of a size that a 64-bit integer holds.`, invalidHidden},
		{"in", map[string]any{"n": 1, "t": "tomorrow"}, `argument "t" cannot be "tomorrow". Next: pass a time like 2026-01-31T15:04:05Z (RFC 3339).`, invalidHidden},
		{"out", nil, "internal error (incident ID)", hiddenFacts},
		{"nan", nil, "internal error (incident ID)", hiddenFacts},
		{"own", map[string]any{"n": 1}, "internal error (incident ID)", hiddenFacts},
	} {
		for _, revision := range mcptest.Revisions {
			for _, show := range []errors.Visibility{errors.ShowAuthored, errors.ShowMarked} {
				s, seen := shaped(server(), &errors.Options{Show: show})
				cs, wire := connect(t, s, revision)
				r, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: test.tool, Arguments: test.args})
				require.NoError(t, err)
				requireToolError(t, r, test.text, test.facts, test.tool)
				require.NotContains(t, wire.last(), "Go ")
				require.NotContains(t, wire.last(), "40415")
				require.Len(t, seen.take(), 1)
			}
		}
	}
}
