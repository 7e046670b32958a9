package protect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/cmd/steady/internal/jsonl"
	"github.com/steadymcp/steady/cmd/steady/internal/rpc"
)

// An answer is a result of the stage behind.
type answer struct {
	line   []byte // as it came
	raw    []byte // the part of it that is the result
	result mcp.Result
	before []byte // the encoding of result before anybody could change it, if it was made
}

// failed is an error response of the stage behind.
type failed struct {
	line []byte
	err  *jsonrpc.Error
}

// opaque is a result that nobody here understands, such as the task of a server
// that has tasks itself. Middleware leaves it alone.
type opaque struct{ mcp.ResultBase }

type callKey struct{}

func callFrom(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

// finish is the outermost middleware. It finds the call that a request is, and says
// which line answers it.
func (s *session) finish(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		c := s.callOf(req)
		if c == nil {
			return next(ctx, method, req)
		}
		c.mu.Lock()
		c.given = req.GetParams()
		c.mu.Unlock()
		res, err := s.recovered(next)(context.WithValue(ctx, callKey{}, c), method, req)
		if final := c.compare(res, err); final != nil {
			c.mu.Lock()
			c.final = final
			c.mu.Unlock()
			if err == nil {
				return &opaque{}, nil // spares the encoding
			}
		}
		return res, err
	}
}

// recovered keeps a panic in a protection from ending the session.
func (s *session) recovered(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (res mcp.Result, err error) {
		defer func() {
			if v := recover(); v != nil {
				s.log("a protection panicked in %s: %v\n%s", method, v, debug.Stack())
				res, err = nil, &jsonrpc.Error{Code: rpc.Internal, Message: "The proxy failed. Whether the request was carried out is not known."}
			}
		}()
		return next(ctx, method, req)
	}
}

func (s *session) callOf(req mcp.Request) *call {
	extra := req.GetExtra()
	if extra == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byExtra[extra]
}

// compare returns the line that answers the call, if that is one which the stage
// behind has sent, as it came or with what was changed in it. It returns nil if the
// answer was made here.
func (c *call) compare(res mcp.Result, err error) []byte {
	c.mu.Lock()
	answers, failure := c.answers, c.failure
	c.mu.Unlock()
	if err != nil {
		var e *jsonrpc.Error
		if failure != nil && errors.As(err, &e) && e.Code == failure.err.Code && e.Message == failure.err.Message && bytes.Equal(e.Data, failure.err.Data) {
			return withID(failure.line, c.id)
		}
		return nil
	}
	i := slices.IndexFunc(answers, func(a *answer) bool { return a.result == res })
	if i >= 0 && answers[i].before == nil {
		return withID(answers[i].line, c.id)
	}
	if len(answers) == 1 && sameCall(answers[0].result, res) {
		return withID(answers[0].line, c.id)
	}
	if len(answers) == 0 || len(answers) > 1 && c.method != "tools/list" || reflect.TypeOf(answers[0].result) != reflect.TypeOf(res) {
		return nil
	}
	after, err := rpc.Encode(res)
	if err != nil {
		return nil
	}
	known := map[string][]byte{}
	for _, a := range answers {
		if a.before == nil {
			if a.before, err = rpc.Encode(a.result); err != nil {
				return nil
			}
		}
		if len(answers) > 1 {
			know(known, jsonl.Member(a.raw, "tools"), jsonl.Member(a.before, "tools"))
		}
	}
	a := answers[0]
	if bytes.Equal(a.before, after) {
		return withID(a.line, c.id)
	}
	return jsonl.Splice(a.line, jsonl.Edit{Part: a.raw, With: patch(a.raw, a.before, after, known)}, jsonl.Edit{Part: jsonl.Member(a.line, "id"), With: c.id})
}

// sameCall reports whether b is a copy of a, a result of a tool, with nothing changed.
// It spares the encoding of what is only copied, as package errors does it.
func sameCall(a, b mcp.Result) bool {
	x, ok := a.(*mcp.CallToolResult)
	y, also := b.(*mcp.CallToolResult)
	if !ok || !also || x.IsError != y.IsError || x.NeedsInput() || y.NeedsInput() {
		return false
	}
	p, _ := x.StructuredContent.(json.RawMessage)
	q, isRaw := y.StructuredContent.(json.RawMessage)
	return slices.Equal(x.Content, y.Content) && bytes.Equal(p, q) && isRaw == (x.StructuredContent != nil) &&
		isRaw == (y.StructuredContent != nil) && reflect.DeepEqual(x.Meta, y.Meta)
}

// forward is the innermost middleware: it asks the stage behind. What it has no call
// for is not the client's.
func (s *session) forward(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		c := callFrom(ctx)
		if c == nil {
			return next(ctx, method, req)
		}
		switch req := req.(type) {
		case *mcp.ServerRequest[*mcp.InitializeParams]:
			return s.initialize(ctx, c, next, req)
		case *mcp.CallToolRequest:
			return s.callTool(ctx, c, next, req)
		case *mcp.ReadResourceRequest:
			if s.p.budget != nil && strings.HasPrefix(req.Params.URI, "steady-result:") {
				return next(ctx, method, req)
			}
		}
		switch method {
		case "server/discover":
			return s.discover(ctx, c, next, req)
		case "tools/list", "prompts/list", "resources/list", "resources/templates/list":
			return s.list(ctx, c, next, method, req)
		case "prompts/get", "resources/read":
			return s.shaped(s.ask(ctx, c, method, req.GetParams()))
		}
		return next(ctx, method, req)
	}
}

// A decoder makes a result of its JSON.
type decoder func(raw []byte) (mcp.Result, error)

func decode[T any, R interface {
	*T
	mcp.Result
}](raw []byte) (mcp.Result, error) {
	r := R(new(T))
	if err := json.Unmarshal(raw, r); err != nil {
		return nil, err
	}
	return r, nil
}

var decoders = map[string]decoder{
	"initialize":               decode[mcp.InitializeResult],
	"server/discover":          decode[mcp.DiscoverResult],
	"tools/list":               decode[mcp.ListToolsResult],
	"prompts/list":             decode[mcp.ListPromptsResult],
	"resources/list":           decode[mcp.ListResourcesResult],
	"resources/templates/list": decode[mcp.ListResourceTemplatesResult],
	"prompts/get":              decode[mcp.GetPromptResult],
	"resources/read":           decode[mcp.ReadResourceResult],
	"tools/call":               decodeCall,
}

// decodeCall keeps structured content and _meta as they are, with all digits of
// their numbers.
func decodeCall(raw []byte) (mcp.Result, error) {
	kind := textOf(jsonl.Member(raw, "resultType"))
	if jsonl.Member(raw, "content") == nil && kind != "input_required" || kind == "task" {
		return nil, errors.New("this is no result of a tool")
	}
	r := &mcp.CallToolResult{}
	if err := json.Unmarshal(raw, r); err != nil {
		return nil, err
	}
	if v := jsonl.Member(raw, "structuredContent"); v != nil && string(v) != "null" {
		r.StructuredContent = json.RawMessage(v)
	}
	for key := range r.Meta {
		r.Meta[key] = json.RawMessage(jsonl.Member(jsonl.Member(raw, "_meta"), key))
	}
	return r, nil
}

// ask sends a request on, and returns what is answered: the client's own, if params
// are those that it came with. The result counts as the call's if the method is.
func (s *session) ask(ctx context.Context, c *call, method string, params mcp.Params) (mcp.Result, error) {
	line, err := s.requestFor(c, method, params)
	if err != nil {
		return nil, err
	}
	got, err := s.roundTrip(ctx, c, line)
	if err != nil {
		return nil, err
	}
	own := method == c.method
	if raw := jsonl.Member(got, "error"); raw != nil {
		e := &jsonrpc.Error{}
		if err := json.Unmarshal(raw, e); err != nil {
			return nil, errors.New("the server's answer is no JSON-RPC")
		}
		if own {
			c.mu.Lock()
			c.failure = &failed{got, e}
			c.mu.Unlock()
		}
		return nil, e
	}
	raw := jsonl.Member(got, "result")
	res, err := decoders[method](raw)
	if err != nil {
		if clean := readable(method, got); clean != nil {
			s.unreadable.Do(func() {
				s.log("the server's answer to %s has items that cannot be read, which are left out: %v", method, err)
			})
			got, raw = clean, jsonl.Member(clean, "result")
			res, err = decoders[method](raw)
		}
	}
	if err != nil {
		if !own {
			return nil, fmt.Errorf("the server's answer to %s cannot be read: %w", method, err)
		}
		res = &opaque{}
	}
	if own {
		a := &answer{line: got, raw: raw, result: res}
		if method == "initialize" || method == "server/discover" { // which are changed where they are
			if a.before, err = rpc.Encode(res); err != nil {
				return nil, err
			}
		}
		c.mu.Lock()
		c.answers = append(c.answers, a)
		c.mu.Unlock()
	}
	return res, nil
}

// requestFor returns the line to send for a request, without its id: the client's
// own line, if that is it, or that with what was changed.
func (s *session) requestFor(c *call, method string, params mcp.Params) ([]byte, error) {
	c.mu.Lock()
	given := c.given
	c.mu.Unlock()
	if method == c.method && params == given {
		return c.line, nil
	}
	after, err := rpc.Encode(params)
	if err != nil {
		return nil, err
	}
	if method == c.method && c.params != nil {
		before, err := rpc.Encode(given)
		if err != nil {
			return nil, err
		}
		return splice(c.line, c.params, patch(c.params, before, after, nil)), nil
	}
	return slices.Concat([]byte(`{"jsonrpc":"2.0","id":0,"method":`), strconv.AppendQuote(nil, method), []byte(`,"params":`), after, []byte(`}`)), nil
}

// roundTrip sends a request under an id of ours and returns the line that answers
// it. If ctx ends before, the request is withdrawn.
func (s *session) roundTrip(ctx context.Context, c *call, line []byte) ([]byte, error) {
	id := s.nonce + strconv.FormatInt(s.numbers.Add(1), 10)
	quoted := []byte(`"` + id + `"`)
	answered := make(chan []byte, 1)
	s.mu.Lock()
	s.asked[id] = answered
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.asked, id)
		s.mu.Unlock()
	}()
	if err := s.child.Line(withID(line, quoted)); err != nil {
		return nil, unavailable()
	}
	select {
	case got := <-answered:
		return got, nil
	case <-s.ctx.Done():
		return nil, unavailable()
	case <-ctx.Done():
	}
	_ = s.child.Line(c.withdrawal(quoted, context.Cause(ctx)))
	return nil, ctx.Err()
}

func unavailable() error {
	return &jsonrpc.Error{Code: rpc.Unavailable, Message: "The server has ended. Whether the request was carried out is not known."}
}

// withdrawal is the notification that withdraws the request with the given id: the
// client's own, if that is why.
func (c *call) withdrawal(id []byte, cause error) []byte {
	c.mu.Lock()
	params := c.cancel
	c.mu.Unlock()
	if params == nil {
		reason, _ := rpc.Encode(cause.Error())
		params = slices.Concat([]byte(`{"requestId":0,"reason":`), reason, []byte(`}`))
	}
	params = splice(params, jsonl.Member(params, "requestId"), id)
	return slices.Concat([]byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":`), params, []byte(`}`))
}

// callTool calls a tool of the stage behind, or one that a protection has added.
func (s *session) callTool(ctx context.Context, c *call, next mcp.MethodHandler, req *mcp.CallToolRequest) (mcp.Result, error) {
	name := req.Params.Name
	if slices.Contains(s.ours, name) && !s.shadowed(ctx, c, req, name) {
		return next(ctx, "tools/call", req)
	}
	c.mu.Lock()
	c.run, c.out = ctx, req
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		c.run, c.out = nil, nil
		over := c.answered
		c.mu.Unlock()
		if over {
			s.forget(c)
		}
	}()
	return s.shaped(s.ask(ctx, c, "tools/call", req.Params))
}

// initialize introduces the client to the stage behind first, and to server with
// the revision that was agreed upon.
func (s *session) initialize(ctx context.Context, c *call, next mcp.MethodHandler, req *mcp.ServerRequest[*mcp.InitializeParams]) (mcp.Result, error) {
	res, err := s.ask(ctx, c, "initialize", req.Params)
	if err != nil {
		return nil, err
	}
	theirs, ok := res.(*mcp.InitializeResult)
	if !ok {
		return nil, errors.New("the server's answer to initialize cannot be read")
	}
	params := *req.Params
	params.ProtocolVersion = theirs.ProtocolVersion
	agreed := *req
	agreed.Params = &params
	own, err := next(ctx, "initialize", &agreed)
	if err != nil {
		return nil, err
	}
	if own, ok := own.(*mcp.InitializeResult); ok {
		theirs.Capabilities = s.withOurs(theirs.Capabilities, own.Capabilities)
	}
	return theirs, nil
}

// discover does the same for revisions without a handshake.
func (s *session) discover(ctx context.Context, c *call, next mcp.MethodHandler, req mcp.Request) (mcp.Result, error) {
	res, err := s.ask(ctx, c, "server/discover", req.GetParams())
	if err != nil {
		return nil, err
	}
	theirs, ok := res.(*mcp.DiscoverResult)
	if !ok {
		return nil, errors.New("the server's answer to server/discover cannot be read")
	}
	own, err := next(ctx, "server/discover", req)
	if err != nil {
		return nil, err
	}
	if own, ok := own.(*mcp.DiscoverResult); ok {
		theirs.Capabilities = s.withOurs(theirs.Capabilities, own.Capabilities)
	}
	return theirs, nil
}

// withOurs adds the capabilities that protections have and the server has not.
func (s *session) withOurs(theirs, own *mcp.ServerCapabilities) *mcp.ServerCapabilities {
	if theirs == nil {
		theirs = &mcp.ServerCapabilities{}
	}
	if theirs.Tools == nil && len(s.ours) > 0 {
		theirs.Tools = &mcp.ToolCapabilities{}
	}
	if theirs.Resources == nil && own.Resources != nil {
		theirs.Resources = &mcp.ResourceCapabilities{}
	}
	for id, settings := range own.Extensions {
		if _, has := theirs.Extensions[id]; !has {
			if theirs.Extensions == nil {
				theirs.Extensions = map[string]any{}
			}
			theirs.Extensions[id] = settings
		}
	}
	return theirs
}

// progress passes on news of a call that the client waits for. The news of one that
// has become a task go to the task. It reports whether they are dealt with.
func (s *session) progress(params []byte) bool {
	token := jsonl.Member(params, "progressToken")
	if token == nil {
		return false
	}
	s.mu.Lock()
	c := s.tokens[jsonl.IDKey(token)]
	s.mu.Unlock()
	if c == nil {
		return false
	}
	c.mu.Lock()
	run, req, answered := c.run, c.out, c.answered
	c.mu.Unlock()
	if !answered {
		return false
	}
	var p mcp.ProgressNotificationParams
	if run != nil && req.Session != nil && json.Unmarshal(params, &p) == nil {
		_ = req.Session.NotifyProgress(run, &p)
	}
	return true
}
