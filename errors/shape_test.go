package errors_test

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	stderrors "errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/errors"
	"github.com/steadymcp/steady/internal/mcptest"
)

// driverError stands for the type of somebody else's package.
type driverError struct{ text string }

func (e *driverError) Error() string { return e.text }

var errDriver = &driverError{`pq: relation "orders" of user app@db.internal does not exist`}

const hiddenFacts = `{"kind":"internal","incident":"ID"}`

// shapes is the table of docs/errors.md: what comes out of a handler, and what
// a client sees of it.
var shapes = []struct {
	name    string
	outcome func() error // may panic
	opts    *errors.Options

	text  string // of a tool, and of the message of the others
	facts string // "" if there are none
	code  int64  // of everything but a tool
	event string // in the order of observation, with incident ids replaced
}{
	{
		name: "failure",
		outcome: func() error {
			return errors.Refused("order 7 cannot be cancelled").Because("it has shipped").DoNotRetry()
		},
		text: "order 7 cannot be cancelled. Reason: it has shipped. Do not retry.", facts: `{"kind":"conflict","retry":"never"}`, code: -32602,
		event: "Failed conflict",
	},
	{
		name:    "wrapped failure",
		outcome: func() error { return fmt.Errorf("cancel: %w", errors.NotFound("no order 7")) },
		text:    "no order 7.", facts: `{"kind":"not_found","retry":"changed"}`, code: -32602,
		event: "Failed not_found",
	},
	{
		name:    "failure with a private cause",
		outcome: func() error { return errors.Unavailable("the shop is closed").RetryAfter(time.Minute).Cause(errDriver) },
		text:    "the shop is closed. Retry after 1m0s.", facts: `{"kind":"unavailable","retry":"after","retryAfterMs":60000,"incident":"ID"}`, code: -32603,
		event: "Failed unavailable ID",
	},
	{
		name:    "failure joined to a foreign error",
		outcome: func() error { return errors.Join(errDriver, errors.RateLimited("slow down")) },
		text:    "slow down.", facts: `{"kind":"rate_limited","retry":"after","incident":"ID"}`, code: -32603,
		event: "Failed rate_limited ID",
	},
	{
		name:    "kind",
		outcome: func() error { return fmt.Errorf("x: %w", errors.KindPermissionDenied) },
		text:    "permission denied. Do not retry.", facts: `{"kind":"permission_denied","retry":"never"}`, code: -32602,
		event: "Failed permission_denied",
	},
	{
		name:    "plain error",
		outcome: func() error { return errors.New("no such order: 7") },
		text:    "no such order: 7", code: -32603,
		event: "Failed ",
	},
	{
		name: "chain of plain errors",
		outcome: func() error {
			return fmt.Errorf("cancel %d: %w", 7, errors.Join(errors.New("a"), fmt.Errorf("%w and %w", errors.New("b"), fmt.Errorf("c"))))
		},
		text: "cancel 7: a\nb and c", code: -32603,
		event: "Failed ",
	},
	{
		name:    "plain error with a password",
		outcome: func() error { return errors.New("connecting to postgres://app:hunter2@db/orders") },
		text:    "connecting to postgres://***@db/orders", code: -32603,
		event: "Failed ",
	},
	{
		name:    "foreign error",
		outcome: func() error { return errDriver },
		text:    "internal error (incident ID)", facts: hiddenFacts, code: -32603,
		event: "Hidden ID",
	},
	{
		name:    "foreign error inside plain ones",
		outcome: func() error { return fmt.Errorf("cancel: %w", errors.Join(errors.New("a"), errDriver)) },
		text:    "internal error (incident ID)", facts: hiddenFacts, code: -32603,
		event: "Hidden ID",
	},
	{
		name:    "plain error, marked only",
		outcome: func() error { return errors.New("no such order") },
		opts:    &errors.Options{Show: errors.ShowMarked},
		text:    "internal error (incident ID)", facts: hiddenFacts, code: -32603,
		event: "Hidden ID",
	},
	{
		name:    "marked error, marked only",
		outcome: func() error { return fmt.Errorf("cancel: %w", errors.Public(errDriver)) },
		opts:    &errors.Options{Show: errors.ShowMarked},
		text:    errDriver.text, code: -32603,
		event: "Failed ",
	},
	{
		name:    "marked error",
		outcome: func() error { return fmt.Errorf("cancel: %w", errors.Public(errDriver)) },
		text:    "cancel: " + errDriver.text, code: -32603,
		event: "Failed ",
	},
	{
		name: "marked error beside one that is not",
		outcome: func() error {
			return errors.Join(&fs.PathError{Op: "open", Path: "/x", Err: fs.ErrExist}, errors.Public(errDriver))
		},
		text: errDriver.text, code: -32603,
		event: "Failed ",
	},
	{
		name:    "everything",
		outcome: func() error { return fmt.Errorf("with password=hunter2, %w", errDriver) },
		opts:    &errors.Options{Show: errors.ShowEverything},
		text:    "with password=***, " + errDriver.text, code: -32603,
		event: "Failed ",
	},
	{
		name:    "translated",
		outcome: func() error { return fmt.Errorf("cancel: %w", errDriver) },
		opts: &errors.Options{Translate: func(err error) error {
			if _, ok := errors.AsType[*driverError](err); ok {
				return errors.NotFound("no such order")
			}
			return nil
		}},
		text: "no such order.", facts: `{"kind":"not_found","retry":"changed","incident":"ID"}`, code: -32602,
		event: "Failed not_found ID",
	},
	{
		name:    "translated to nothing",
		outcome: func() error { return errDriver },
		opts:    &errors.Options{Translate: func(error) error { return nil }},
		text:    "internal error (incident ID)", facts: hiddenFacts, code: -32603,
		event: "Hidden ID",
	},
	{
		name:    "translated to a plain error beside a foreign one",
		outcome: func() error { return errDriver },
		opts:    &errors.Options{Translate: func(error) error { return errors.New("the shop is closed") }},
		text:    "the shop is closed", code: -32603,
		event: "Failed ",
	},
	{
		name:    "deadline",
		outcome: func() error { return context.DeadlineExceeded },
		text:    "the call did not finish in time. Next: check whether it took effect before calling again.", facts: `{"kind":"timeout","retry":"after"}`, code: -32603,
		event: "Failed timeout",
	},
	{
		name:    "deadline in the author's words",
		outcome: func() error { return fmt.Errorf("exporting order 7: %w", context.DeadlineExceeded) },
		text:    "exporting order 7: context deadline exceeded. Next: check whether it took effect before calling again.", facts: `{"kind":"timeout","retry":"after"}`, code: -32603,
		event: "Failed timeout",
	},
	{
		name: "deadline of a network call",
		outcome: func() error {
			return &url.Error{Op: "Get", URL: "http://internal/", Err: context.DeadlineExceeded}
		},
		text: "the call did not finish in time. Next: check whether it took effect before calling again.", facts: `{"kind":"timeout","retry":"after","incident":"ID"}`, code: -32603,
		event: "Failed timeout ID",
	},
	{
		name:    "cancellation",
		outcome: func() error { return context.Canceled },
		text:    "the call was cancelled before it finished. Next: check whether it took effect before calling again.", facts: `{"kind":"timeout","retry":"after"}`, code: -32603,
		event: "Failed timeout",
	},
	{
		name:    "nil failure",
		outcome: func() error { var f *errors.Failure; return f },
		text:    "internal error (incident ID)", facts: hiddenFacts, code: -32603,
		event: "Hidden ID",
	},
	{
		name:    "error whose text panics",
		outcome: func() error { var e *driverError; return e },
		text:    "internal error (incident ID)", facts: hiddenFacts, code: -32603,
		event: "*",
	},
	{
		name:    "panic",
		outcome: func() error { panic("secret") },
		text:    "internal error (incident ID)", facts: hiddenFacts, code: -32603,
		event: "Panicked ID secret",
	},
	{
		name:    "panic, everything shown",
		outcome: func() error { panic(errors.New("secret")) },
		opts:    &errors.Options{Show: errors.ShowEverything},
		text:    "internal error (incident ID)", facts: hiddenFacts, code: -32603,
		event: "Panicked ID secret",
	},
	{
		name:    "panic of the runtime",
		outcome: func() error { var none []int; return fmt.Errorf("%d", none[len(handlers)]) },
		text:    "internal error (incident ID)", facts: hiddenFacts, code: -32603,
		event: "Panicked ID runtime error: index out of range [7] with length 0",
	},
	{
		name:    "panic with nil",
		outcome: func() error { panic(nil) },
		text:    "internal error (incident ID)", facts: hiddenFacts, code: -32603,
		event: "*", // the text differs between versions of Go
	},
	{
		name:    "panic with http.ErrAbortHandler",
		outcome: func() error { panic(http.ErrAbortHandler) },
		text:    "internal error (incident ID)", facts: hiddenFacts, code: -32603,
		event: "Panicked ID net/http: abort Handler",
	},
	{
		name:    "panic with a failure",
		outcome: func() error { panic(fmt.Errorf("x: %w", errors.Invalid("n must be even"))) },
		text:    "n must be even.", facts: `{"kind":"invalid_input","retry":"changed","incident":"ID"}`, code: -32602,
		event: "Panicked ID x: n must be even.",
	},
	{
		name:    "panic with an error whose Unwrap panics",
		outcome: func() error { panic(badUnwrap{}) },
		text:    "internal error (incident ID)", facts: hiddenFacts, code: -32603,
		event: "Panicked ID bad",
	},
}

type badUnwrap struct{}

func (badUnwrap) Error() string { return "bad" }
func (badUnwrap) Unwrap() error { panic("worse") }

// Whatever a tool's handler fails with is a result (B116).
func TestShape(t *testing.T) {
	for _, test := range shapes {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for _, revision := range mcptest.Revisions {
				s, seen := shaped(desk(test.outcome), test.opts)
				cs, wire := connect(t, s, revision)
				for _, h := range handlers {
					r, err := reach(t, cs, h)
					at := h + " at " + revision
					if r != nil {
						requireToolError(t, r, test.text, test.facts, at)
						requireResultType(t, wire.last(), revision)
					} else {
						e := rpcError(t, err)
						require.Equal(t, test.code, e.Code, at)
						require.Equal(t, test.text, sans(e.Message), at)
						facts := test.facts
						if h == resource && strings.Contains(facts, "not_found") {
							facts = strings.Replace(facts, "{", `{"uri":"desk:r",`, 1)
						}
						requireFacts(t, facts, e.Data, at)
					}
					if test.event != "*" {
						require.Equal(t, []string{test.event}, eventNames(t, seen, wire.last()), at)
					}
				}
			}
		})
	}
}

func requireToolError(t *testing.T, r *mcp.CallToolResult, text, facts, at string) {
	t.Helper()
	require.True(t, r.IsError, at)
	require.Nil(t, r.StructuredContent, at)
	require.Len(t, r.Content, 1, at)
	require.Equal(t, text, sans(mcptest.Text(r)), at)
	var got []byte
	if m, ok := r.Meta["steady/error"]; ok {
		got, _ = json.Marshal(m)
	}
	requireFacts(t, facts, got, at)
}

func requireFacts(t *testing.T, want string, got []byte, at string) {
	t.Helper()
	if want == "" {
		require.Empty(t, string(got), at)
		return
	}
	require.JSONEq(t, want, sans(string(got)), at)
}

// requireResultType checks what revision 2026-07-28 requires of every result
// and what earlier ones do not know.
func requireResultType(t *testing.T, reply, revision string) {
	t.Helper()
	if revision >= mcptest.Stateless {
		require.Contains(t, reply, `"resultType":"complete"`)
	} else {
		require.NotContains(t, reply, "resultType")
	}
}

// eventNames describes the events since the last call, and checks that an
// incident in them is the one that the client was given.
func eventNames(t *testing.T, seen *recorder, reply string) []string {
	t.Helper()
	var names []string
	for _, e := range seen.take() {
		var name, id string
		switch e := e.(type) {
		case errors.Failed:
			name, id = "Failed "+string(e.Kind), e.Incident
			require.Error(t, e.Err)
		case errors.Hidden:
			name, id = "Hidden", e.Incident
			require.Error(t, e.Err)
		case errors.Panicked:
			name, id = "Panicked", e.Incident
			require.Contains(t, e.Stack, "_test.go")
		default:
			name = fmt.Sprintf("%T", e)
		}
		if id != "" {
			require.Contains(t, reply, id)
			name += " " + sans(id)
		}
		if p, ok := e.(errors.Panicked); ok {
			name += " " + fmt.Sprint(p.Value)
		}
		names = append(names, name)
	}
	return names
}

// Types that the standard library and others put around what a handler must
// not show.
func TestForeignTypesAreHidden(t *testing.T) {
	for _, err := range []error{
		&net.OpError{Op: "dial", Net: "tcp", Err: stderrors.New("refused")},
		&net.DNSError{Name: "db.internal"},
		&url.Error{Op: "Get", URL: "http://db.internal", Err: stderrors.New("x")},
		&fs.PathError{Op: "open", Path: "/etc/x", Err: fs.ErrNotExist},
		&exec.Error{Name: "pg_dump", Err: exec.ErrNotFound},
		&exec.ExitError{},
		&json.UnsupportedTypeError{Type: reflect.TypeFor[chan int]()},
		&json.SyntaxError{},
		&json.UnmarshalTypeError{Value: "number", Field: "n"},
		fmt.Errorf("%w", &driverError{"x"}),
		fmt.Errorf("%w %w", stderrors.New("x"), &driverError{"x"}),
	} {
		s, _ := shaped(desk(func() error { return err }), nil)
		cs, _ := connect(t, s, "")
		for _, h := range tools {
			r, callErr := reach(t, cs, h)
			require.NoError(t, callErr)
			require.Equal(t, "internal error (incident ID)", sans(mcptest.Text(r)), "%T in a %s", err, h)
		}
	}
	require.NotNil(t, driver.ErrBadConn) // a plain value: see the package comment
}

// A *jsonrpc.Error is a protocol error from every kind of handler, tools too.
func TestProtocolErrors(t *testing.T) {
	data := json.RawMessage(`{"why":"because"}`)
	bare := &jsonrpc.Error{Code: -32042, Message: "open https://u:p@host", Data: data}
	for _, test := range []struct {
		name    string
		outcome func() error
		code    int64
		message string
		data    string
	}{
		{"bare", func() error { return &jsonrpc.Error{Code: -32042, Message: "open the page", Data: data} }, -32042, "open the page", `{"why":"because"}`},
		{"credentials masked", func() error { return bare }, -32042, "open https://***@host", `{"why":"because"}`},
		{"wrapped by its author", func() error {
			return fmt.Errorf("%w: missing ref", &jsonrpc.Error{Code: -32602, Message: "invalid params", Data: data})
		}, -32602, "invalid params: missing ref", `{"why":"because"}`},
		{"wrapped by somebody else", func() error { return &fs.PathError{Op: "open", Path: "/x", Err: bare} }, -32042, "open https://***@host", `{"why":"because"}`},
		{"joined", func() error { return errors.Join(errDriver, bare) }, -32042, "open https://***@host", `{"why":"because"}`},
		{"joined to a failure", func() error { return errors.Join(bare, errors.Invalid("n is odd").Cause(errDriver)) }, -32042, "open https://***@host\nn is odd.", `{"why":"because"}`},
		{"without a code", func() error { return &jsonrpc.Error{Message: "x"} }, -32603, "x", ""},
		{"data that is no JSON", func() error {
			return &jsonrpc.Error{Code: -32000, Message: "x", Data: json.RawMessage(`{"uri":"\x01"}`)}
		}, -32000, "x", `"{\"uri\":\"\\x01\"}"`},
		{"data masked", func() error {
			return &jsonrpc.Error{Code: -32000, Message: "x", Data: json.RawMessage(`{"password":"x1", "dsn":"a:b1@/c", "n":1e3, "token":null}`)}
		}, -32000, "x", `{"password":"***","dsn":"***@/c","n":1e3,"token":null}`},
		{"address to open", func() error {
			return &jsonrpc.Error{Code: -32042, Message: "x", Data: json.RawMessage(`{"elicitations":[{"url":"https://as/x?token=a1b2"}]}`)}
		}, -32042, "x", `{"elicitations":[{"url":"https://as/x?token=a1b2"}]}`},
		{"panic", func() error { panic(bare) }, -32042, "open https://***@host", `{"why":"because"}`},
		{"resource not found", func() error { return fmt.Errorf("reading: %w", mcp.ResourceNotFoundError("desk:r")) }, -32602, "reading: Resource not found", `{"uri":"desk:r"}`},
		{"long", func() error { return &jsonrpc.Error{Code: -32000, Message: strings.Repeat("x", 4096)} }, -32000, strings.Repeat("x", 4096), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for _, revision := range mcptest.Revisions {
				s, _ := shaped(desk(test.outcome), nil)
				cs, _ := connect(t, s, revision)
				for _, h := range handlers {
					r, err := reach(t, cs, h)
					require.Nil(t, r, h)
					e := rpcError(t, err)
					require.Equal(t, test.code, e.Code, h)
					require.Equal(t, test.message, e.Message, h)
					require.Equal(t, test.data, string(e.Data), h)
				}
			}
		})
	}
	require.Equal(t, "open https://u:p@host", bare.Message, "the handler's own error is left as it was")
}

// A typed handler's error that reaches the client in the author's own words.
func TestContentBesideAnError(t *testing.T) {
	s := mcptest.Server()
	s.AddTool(&mcp.Tool{Name: "raw", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var r mcp.CallToolResult
		r.Content = []mcp.Content{&mcp.TextContent{Text: "try https://u:p@host later"}}
		r.SetError(errDriver)
		return &r, nil
	})
	s, seen := shaped(s, nil)
	cs, _ := connect(t, s, "")
	r, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "raw"})
	require.NoError(t, err)
	require.True(t, r.IsError)
	require.Equal(t, "try https://***@host later", mcptest.Text(r))
	events := seen.take()
	require.Len(t, events, 1)
	require.ErrorIs(t, events[0].(errors.Failed).Err, errDriver, "what the author hid is observed")
}

// The cause that a context was cancelled with says better why.
func TestCancellationCause(t *testing.T) {
	s := mcptest.Server()
	mcp.AddTool(s, &mcp.Tool{Name: "slow"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		<-ctx.Done()
		return nil, nil, ctx.Err()
	})
	s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "tools/call" {
				var cancel context.CancelCauseFunc
				ctx, cancel = context.WithCancelCause(ctx)
				cancel(fmt.Errorf("draining: %w", errors.Unavailable("the server is going down").RetryAfter(time.Second)))
			}
			return next(ctx, method, req)
		}
	}, errors.Shape(&errors.Options{Observer: &recorder{}}))
	cs := mcptest.Connect(t, s, "")
	r, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "slow"})
	require.NoError(t, err)
	require.Equal(t, "the server is going down. Retry after 1s.", mcptest.Text(r))
}
