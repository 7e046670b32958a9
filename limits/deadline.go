package limits

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/errors"
	"github.com/steadymcp/steady/internal/stack"
)

// A passed is the cause with which a call's context ends when its deadline was
// that of a limiter and not the client's. Each call has one of its own, so that
// a limiter inside of another knows whose deadline has passed.
type passed struct{ after time.Duration }

func (p *passed) Error() string {
	return fmt.Sprintf("limits: the call's deadline of %s has passed", p.after)
}

// Is makes the cause one of the timeouts that everybody looks for.
func (p *passed) Is(target error) bool { return target == context.DeadlineExceeded }

// late counts the handlers that still run although their call was answered.
type late struct {
	mu    sync.Mutex
	count int
	none  chan struct{} // closed while count is zero
}

func (l *late) init() { l.none = make(chan struct{}); close(l.none) }

func (l *late) add(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.count == 0 {
		l.none = make(chan struct{})
	}
	if l.count += n; l.count == 0 {
		close(l.none)
	}
}

func (l *late) state() (int, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count, l.none
}

// Close waits until no handler runs whose call was already answered, or until
// ctx ends; it then reports how many are left. It does not stop new calls, and
// it may be called more than once.
func (l *Limiter) Close(ctx context.Context) error {
	_, none := l.late.state()
	select {
	case <-none:
		return nil
	case <-ctx.Done():
		n, _ := l.late.state()
		if n == 0 {
			return nil
		}
		return fmt.Errorf("limits: %d handlers still run although their calls were answered: %w", n, ctx.Err())
	}
}

// await runs a call and answers at its deadline, whether the handler heeds its
// context or not. The place of a handler that does not is kept until it
// returns, so that the bound on running calls stays true.
//
// The handler runs in a goroutine of its own, whose panics errors.Go turns into
// the same answer that package errors gives anywhere else.
func await[R any](l *Limiter, ctx context.Context, tool string, deadline *passed, leave func(), run func(context.Context) (R, error)) (R, error) {
	var zero, result R
	start := time.Now()
	done := errors.Go(ctx, func(ctx context.Context) (err error) {
		defer leave()
		stack.Roomy()
		result, err = run(ctx)
		return err
	})
	select {
	case err := <-done:
		return result, err
	case <-ctx.Done():
	}

	// The deadline has passed or the client has left. A handler that heeds its
	// context gets a moment to return what it has.
	ours := context.Cause(ctx) == error(deadline)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case err := <-done:
		if !ours || !failed(result, err) {
			return result, err
		}
	case <-timer.C:
		l.late.add(1)
		go func() {
			<-done
			l.opts.Observer.Observe(context.WithoutCancel(ctx), Returned{Tool: tool, After: time.Since(start)})
			l.late.add(-1)
		}()
	}
	if !ours {
		return zero, ctx.Err()
	}
	l.opts.Observer.Observe(ctx, Overran{Tool: tool, Deadline: deadline.after})
	return zero, errors.Timeout("%s did not finish within %s and was cancelled", quote(tool), deadline.after).
		Because("that is this server's limit for one call; part of the work may have been done").
		Next("check what was done before calling again, and ask for less at once").
		DoNotRetry()
}

// failed reports whether a call failed: the error of a typed handler reaches
// middleware as a result.
func failed(result any, err error) bool {
	r, ok := result.(*mcp.CallToolResult)
	return err != nil || ok && r != nil && r.IsError
}

// grace is how long a handler whose context has ended may take to return.
const grace = 250 * time.Millisecond

// quote shows a name that a peer chose.
func quote(name string) string {
	const most = 80
	short := name[:min(len(name), most*utf8.UTFMax)] // no more work than that
	if r := []rune(short); len(r) > most || len(short) < len(name) {
		return strconv.Quote(string(r[:min(len(r), most)]) + "…")
	}
	return strconv.Quote(name)
}
