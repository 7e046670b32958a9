package errors_test

import (
	"context"
	"encoding/json"
	stderrors "errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/errors"
)

func TestFailureText(t *testing.T) {
	for _, test := range []struct {
		name  string
		f     *errors.Failure
		kind  errors.Kind
		retry errors.Retry
		text  string
	}{
		{
			"all parts",
			errors.Refused("order %s cannot be cancelled", "ORD-42").Because("it has already shipped").Next("offer a return with start_return").DoNotRetry(),
			errors.KindConflict, errors.Retry{Policy: errors.RetryNever},
			"order ORD-42 cannot be cancelled. Reason: it has already shipped. Next: offer a return with start_return. Do not retry.",
		},
		{"sentences keep their end", errors.Invalid("really?").Next("yes!"), errors.KindInvalidInput, errors.Retry{Policy: errors.RetryChanged}, "really? Next: yes!"},
		{"in any script", errors.Invalid("注文がありません。").Next("もう一度…"), errors.KindInvalidInput, errors.Retry{Policy: errors.RetryChanged}, "注文がありません。 Next: もう一度…"},
		{"not found", errors.NotFound("no order %q", "x\ny"), errors.KindNotFound, errors.Retry{Policy: errors.RetryChanged}, `no order "x\ny".`},
		{"unavailable", errors.Unavailable("the warehouse does not answer"), errors.KindUnavailable, errors.Retry{Policy: errors.RetryAfter}, "the warehouse does not answer."},
		{"rate limited", errors.RateLimited("too many calls").RetryAfter(90 * time.Second), errors.KindRateLimited, errors.Retry{Policy: errors.RetryAfter, After: 90 * time.Second}, "too many calls. Retry after 1m30s."},
		{"negative wait", errors.RateLimited("x").RetryAfter(-1), errors.KindRateLimited, errors.Retry{Policy: errors.RetryAfter}, "x."},
		{"timeout", errors.Timeout("took too long"), errors.KindTimeout, errors.Retry{Policy: errors.RetryAfter}, "took too long."},
		{"denied", errors.Denied("not yours"), errors.KindPermissionDenied, errors.Retry{Policy: errors.RetryNever}, "not yours. Do not retry."},
		{"internal", errors.Fail(errors.KindInternal, "100%% broken"), errors.KindInternal, errors.Retry{Policy: errors.RetryNever}, "100% broken. Do not retry."},
		{"nil", nil, errors.KindInternal, errors.Retry{}, "internal error."},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, test.kind, test.f.Kind())
			require.Equal(t, test.retry, test.f.Retry())
			require.Equal(t, test.text, test.f.Error())
		})
	}
}

func TestFailureResult(t *testing.T) {
	r := errors.RateLimited("too many calls").RetryAfter(1500 * time.Millisecond).Cause(stderrors.New("redis: secret detail")).Result(nil)
	data, err := json.Marshal(r)
	require.NoError(t, err)
	require.JSONEq(t, `{
		"_meta": {"steady/error": {"kind": "rate_limited", "retry": "after", "retryAfterMs": 1500}},
		"content": [{"type": "text", "text": "too many calls. Retry after 1.5s."}],
		"isError": true
	}`, string(data))
}

func TestFailureOperands(t *testing.T) {
	leak := &fs.PathError{Op: "open", Path: "/etc/orders.db", Err: fs.ErrPermission}
	for _, test := range []struct {
		name string
		f    *errors.Failure
		text string
	}{
		{"foreign error", errors.Unavailable("orders: %v", leak), "orders: internal error."},
		{"foreign error wrapped", errors.Unavailable("orders: %w", fmt.Errorf("reading: %w", leak)), "orders: internal error."},
		{"in why", errors.Unavailable("orders").Because("%v", leak), "orders. Reason: internal error."},
		{"in next", errors.Unavailable("orders").Next("%v", leak), "orders. Next: internal error."},
		{"plain error", errors.Unavailable("orders: %w", errors.New("closed for lunch")), "orders: closed for lunch."},
		{"marked error", errors.Unavailable("orders: %v", errors.Public(leak)), "orders: open /etc/orders.db: permission denied."},
		{"failure", errors.Unavailable("cancel: %v", errors.NotFound("no order 7")), "cancel: no order 7."},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, test.text, test.f.Error())
			require.NotNil(t, test.f.Unwrap(), "the whole error is kept for the operator")
		})
	}
	f := errors.Unavailable("orders: %v", leak).Cause(stderrors.New("second"))
	require.ErrorIs(t, f, fs.ErrPermission)
	require.ErrorContains(t, f.Unwrap(), "second")
	require.Same(t, leak, errors.Unavailable("x: %v", leak).Cause(nil).Unwrap(), "no second cause leaves the first")
}

func TestFailureMatching(t *testing.T) {
	shipped := errors.Refused("already shipped")
	derived := shipped.Because("it left on %s", "Monday").DoNotRetry()
	wrapped := fmt.Errorf("cancelling: %w", derived)

	require.ErrorIs(t, wrapped, shipped)
	require.ErrorIs(t, wrapped, errors.KindConflict)
	require.False(t, errors.Is(wrapped, errors.KindNotFound))
	require.False(t, errors.Is(wrapped, errors.Refused("already shipped")), "an equal text is not the same failure")
	require.Equal(t, errors.KindConflict, errors.KindOf(wrapped))
	require.Equal(t, errors.Kind(""), errors.KindOf(stderrors.New("plain")))
	require.Equal(t, errors.KindTimeout, errors.KindOf(fmt.Errorf("x: %w", errors.KindTimeout)))

	f, ok := errors.AsType[*errors.Failure](wrapped)
	require.True(t, ok)
	require.Same(t, derived, f)

	cause := fs.ErrNotExist
	require.ErrorIs(t, shipped.Cause(cause), cause)
	require.Nil(t, shipped.Unwrap(), "deriving leaves the original as it was")
	require.Equal(t, "already shipped. Do not retry.", shipped.Error())
}

// A package variable that many calls chain on must not race.
func TestFailureIsShared(t *testing.T) {
	shared := errors.Unavailable("the warehouse does not answer")
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			f := shared.Because("attempt %d", i).Next("wait").RetryAfter(time.Duration(i)).Cause(context.Canceled)
			_ = f.Error()
		})
	}
	wg.Wait()
	require.Equal(t, "the warehouse does not answer.", shared.Error())
}

func TestFailureTextIsBounded(t *testing.T) {
	f := errors.NotFound("no order %s", strings.Repeat("ä", 1<<20)).Because("%s", strings.Repeat("b", 1<<20)).Next("%s", strings.Repeat("c ", 1<<20))
	require.Less(t, len(f.Error()), 13<<10)
	require.Contains(t, f.Error(), "(cut)")
	require.Equal(t, "no order \uFFFDx.", errors.NotFound("no order %s", "\xff\x1b\x00x").Error())
}

func TestFailureTextMasksCredentials(t *testing.T) {
	f := errors.Unavailable("cannot reach postgres://app:hunter2@db/orders").Because("password=hunter2").Next("use Bearer abc.DEF123")
	require.NotContains(t, f.Error(), "hunter2")
	require.NotContains(t, f.Error(), "DEF123")
	require.Equal(t, f.Error(), f.Result(nil).Content[0].(*mcp.TextContent).Text)
}
