package pagination

import (
	"context"
	"errors"
	"fmt"
	"iter"
)

// ErrIncomplete is matched by the error of a [Walk] that could not read every
// page.
var ErrIncomplete = errors.New("pagination: incomplete")

// Walk calls page for one page after the other, beginning with an empty
// cursor, and yields every item. It ends with an error that matches
// [ErrIncomplete], and never silently, when a page fails, when cursors go round
// in a circle, and when a page says that there is more and not where.
func Walk[T any](ctx context.Context, page func(ctx context.Context, cursor string) (Page[T], error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var zero T
		// The cursor of page mark is remembered, and mark doubles: a circle of
		// any length is found while it is walked for the second time.
		cursor, remembered, mark := "", "", 1
		for n := 1; ; n++ {
			p, err := page(ctx, cursor)
			if err != nil {
				yield(zero, fmt.Errorf("%w: page %d: %w", ErrIncomplete, n, err))
				return
			}
			for _, item := range p.Items {
				if !yield(item, nil) {
					return
				}
			}
			switch {
			case p.NextCursor == nil && !p.HasMore:
				return
			case p.NextCursor == nil || *p.NextCursor == "":
				yield(zero, fmt.Errorf("%w: page %d says that there is more, without a cursor", ErrIncomplete, n))
				return
			case *p.NextCursor == cursor || *p.NextCursor == remembered:
				yield(zero, fmt.Errorf("%w: page %d repeats a cursor", ErrIncomplete, n))
				return
			}
			cursor = *p.NextCursor
			if n == mark {
				remembered, mark = cursor, 2*mark
			}
		}
	}
}
