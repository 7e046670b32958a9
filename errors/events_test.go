package errors_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/errors"
	"github.com/steadymcp/steady/observe"
)

// What an operator's log holds, with credentials masked (B128).
func TestEventsInALog(t *testing.T) {
	leak := &driverError{"sent Authorization: Key abc"}
	nested := errors.Unavailable("b").Cause(&driverError{"password=hunter2"})
	for _, test := range []struct {
		e    observe.Event
		want string
	}{
		{errors.Panicked{Method: "tools/call", Name: "n", Incident: "I", Value: leak, Stack: "s"}, `level=ERROR msg=errors.panicked method=tools/call name=n incident=I value="sent Authorization: ***" stack=s`},
		{errors.Panicked{}, `level=ERROR msg=errors.panicked value=runtime.Goexit stack=""`},
		{errors.Hidden{Method: "prompts/get", Incident: "I", Err: leak}, `level=ERROR msg=errors.hidden method=prompts/get incident=I err="sent Authorization: ***"`},
		{errors.Failed{Method: "m", Kind: errors.KindConflict, Err: fmt.Errorf("x: %w", errors.Refused("a").Cause(nested))}, `level=INFO msg=errors.failed method=m kind=conflict err="x: a. Do not retry." cause="b.: password=***"`},
		{errors.Failed{Method: "m", Kind: errors.KindUnavailable, Err: errors.Unavailable("a")}, `level=WARN msg=errors.failed method=m kind=unavailable err=a.`},
		{errors.Failed{Method: "m", Kind: errors.KindRateLimited, Err: errors.RateLimited("a")}, `level=INFO msg=errors.failed method=m kind=rate_limited err=a.`},
		{errors.Failed{Method: "m", Kind: errors.KindTimeout, Err: context.DeadlineExceeded}, `level=WARN msg=errors.failed method=m kind=timeout err="context deadline exceeded"`},
		{errors.Failed{Method: "m", Kind: errors.KindTimeout, Err: context.Canceled}, `level=INFO msg=errors.failed method=m kind=timeout err="context canceled"`},
		{errors.Failed{Method: "m", Err: errors.New("a")}, `level=INFO msg=errors.failed method=m err=a`},
		{errors.Failed{Method: "m"}, `level=INFO msg=errors.failed method=m`},
		{errors.NilResult{Method: "m", Name: "n"}, `level=WARN msg=errors.nil_result method=m name=n`},
	} {
		var log bytes.Buffer
		logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}}))
		observe.Slog(logger).Observe(t.Context(), test.e)
		require.Equal(t, test.want, strings.TrimSpace(log.String()))
	}
}

// A peer names the tool that an event names.
func TestEventNameIsBounded(t *testing.T) {
	seen := &recorder{}
	call := errors.Shape(&errors.Options{Observer: seen})(func(context.Context, string, mcp.Request) (mcp.Result, error) {
		return nil, errDriver
	})
	_, _ = call(t.Context(), "tools/call", &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: strings.Repeat("ä\xff", 1000)}})
	name := seen.take()[0].(errors.Hidden).Name
	require.LessOrEqual(t, len(name), 2*128)
	require.True(t, strings.HasPrefix(name, "ä\uFFFDä"))
}
