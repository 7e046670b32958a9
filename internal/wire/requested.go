package wire

import "context"

type requestedName struct{}

// WithRequestedName returns a context that says by which name the caller asked
// for a tool. Whoever rewrites a name to that of another tool calls it, so that
// what stands further inside (a former name with a sunset, a counter) still
// sees what was asked for.
func WithRequestedName(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, requestedName{}, name)
}

// RequestedName returns the name that the caller asked for, or "" if it was
// not rewritten.
func RequestedName(ctx context.Context) string {
	name, _ := ctx.Value(requestedName{}).(string)
	return name
}
