package errors

import "context"

// Go runs fn in a goroutine of its own, which no middleware can protect, and
// sends what fn returns to the channel, which holds that one value and is then
// closed. A handler may wait for it, or ignore it:
//
//	done := errors.Go(ctx, load)
//	...
//	if err := <-done; err != nil {
//		return nil, nil, err
//	}
//
// If fn panics, the panic is observed as a handler's would be, by the policy
// of the [Shape] that ctx came through and with the method and name of the
// call, and arrives as an error whose text is "internal error" and the incident id; a handler that returns
// it is answered with the same id. An error that fn returns is only sent. Like
// every channel's, the value can be received once.
//
// The context of a request ends with the request. Work that goes on after the
// handler has returned needs context.WithoutCancel(ctx).
func Go(ctx context.Context, fn func(context.Context) error) <-chan error {
	done := make(chan error, 1)
	go func() {
		var err error
		returned := false
		defer func() {
			if !returned {
				p, at, _ := entered(ctx)
				err = p.caught(ctx, at, recover())
			}
			done <- err
			close(done)
		}()
		err = fn(ctx)
		returned = true
	}()
	return done
}
