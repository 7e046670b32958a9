package pagination

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
)

// Keyset pages by a key: each page begins behind the key of the last row of
// the page before. It is the way to recommend, because rows that are added or
// deleted between two pages make no other row appear twice or not at all, and
// because a database with an index on the key does no more work for the
// hundredth page than for the first.
//
// fetch returns the first n rows that q selects whose key is above after, in
// the order of the key; a nil after means from the beginning. The order must
// be total: let K be a struct that ends with a unique column when the leading
// one is not unique. K is encoded as JSON.
func Keyset[Q, T, K any](fetch func(ctx context.Context, q Q, after *K, n int) ([]T, error), key func(T) K, opts *Options) *Pager[Q, T] {
	return keyset(func(ctx context.Context, q Q, after *K, n int) ([]T, *int, error) {
		rows, err := fetch(ctx, q, after, n)
		return rows, nil, err
	}, key, opts)
}

// SliceByKey is [Keyset] over rows in memory. all returns the rows that q
// selects, in any order; the pager sorts a copy by key, which must be unique,
// the lowest first, and knows the total.
func SliceByKey[Q, T any, K cmp.Ordered](all func(ctx context.Context, q Q) ([]T, error), key func(T) K, opts *Options) *Pager[Q, T] {
	return keyset(func(ctx context.Context, q Q, after *K, n int) ([]T, *int, error) {
		rows, err := all(ctx, q)
		if err != nil {
			return nil, nil, err
		}
		total := len(rows)
		rows = slices.Clone(rows)
		slices.SortStableFunc(rows, func(a, b T) int { return cmp.Compare(key(a), key(b)) })
		if after != nil {
			from, found := slices.BinarySearchFunc(rows, *after, func(row T, k K) int { return cmp.Compare(key(row), k) })
			if found {
				from++
			}
			rows = rows[from:]
		}
		return rows[:min(n, len(rows))], &total, nil
	}, key, opts)
}

func keyset[Q, T, K any](fetch func(ctx context.Context, q Q, after *K, n int) ([]T, *int, error), key func(T) K, opts *Options) *Pager[Q, T] {
	return &Pager[Q, T]{opts: opts.orDefault(), source: func(ctx context.Context, q Q, position string, n int) (batch[T], error) {
		var after *K
		if position != "" {
			after = new(K)
			if err := json.Unmarshal([]byte(position), after); err != nil {
				return batch[T]{}, fmt.Errorf("pagination: the key in the cursor: %w", err)
			}
		}
		items, total, err := fetch(ctx, q, after, n+1)
		if err != nil {
			return batch[T]{}, err
		}
		return batch[T]{items: items, total: total, after: func(i int) (string, error) {
			data, err := json.Marshal(key(items[i]))
			if err != nil {
				return "", fmt.Errorf("pagination: encoding a key: %w", err)
			}
			if i+1 < len(items) {
				if next, err := json.Marshal(key(items[i+1])); err == nil && string(next) == string(data) {
					return "", fmt.Errorf("pagination: two rows have the key %s: the next page would leave one out", shorten(string(data), 40))
				}
			}
			return string(data), nil
		}}, nil
	}}
}

// Offset pages by position: simple, and right only while nobody adds or
// deletes rows between two pages. fetch returns at most n rows from the
// offset on, both in rows; offset never exceeds 2^31.
func Offset[Q, T any](fetch func(ctx context.Context, q Q, offset, n int) ([]T, error), opts *Options) *Pager[Q, T] {
	return &Pager[Q, T]{opts: opts.orDefault(), source: func(ctx context.Context, q Q, position string, n int) (batch[T], error) {
		offset, err := parseOffset(position)
		if err != nil {
			return batch[T]{}, err
		}
		items, err := fetch(ctx, q, offset, n+1)
		return batch[T]{items: items, after: afterOffset(offset)}, err
	}}
}

// Slice pages by position over rows in memory, and knows the total. all
// returns the rows that q selects, in their order.
func Slice[Q, T any](all func(ctx context.Context, q Q) ([]T, error), opts *Options) *Pager[Q, T] {
	return &Pager[Q, T]{opts: opts.orDefault(), source: func(ctx context.Context, q Q, position string, n int) (batch[T], error) {
		offset, err := parseOffset(position)
		if err != nil {
			return batch[T]{}, err
		}
		rows, err := all(ctx, q)
		total := len(rows)
		rows = rows[min(offset, total):]
		return batch[T]{items: rows[:min(n+1, len(rows))], total: &total, after: afterOffset(offset)}, err
	}}
}

// Seq pages by position over an iterator, which is stopped when the page is
// full: rows yields the rows that q selects, in their order, and an error in
// place of a row to give up. The rows before the page are walked over again
// for each page.
func Seq[Q, T any](rows func(ctx context.Context, q Q) iter.Seq2[T, error], opts *Options) *Pager[Q, T] {
	return Offset(func(ctx context.Context, q Q, offset, n int) ([]T, error) {
		var items []T
		i := 0
		for row, err := range rows(ctx, q) {
			if err != nil {
				return nil, err
			}
			if i >= offset {
				items = append(items, row)
			}
			if i++; len(items) == n {
				break
			}
		}
		return items, nil
	}, opts)
}

func parseOffset(position string) (int, error) {
	if position == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(position, 10, 31)
	if err != nil {
		return 0, fmt.Errorf("pagination: the position in the cursor: %w", err)
	}
	return int(n), nil
}

func afterOffset(offset int) func(int) (string, error) {
	return func(i int) (string, error) {
		// Offsets stay below 2^31, and i is below the page's maximum.
		next := int64(offset) + int64(i) + 1
		if next > math.MaxInt32 {
			return "", fmt.Errorf("pagination: offset %d is too large; page by a key", next)
		}
		return strconv.FormatInt(next, 10), nil
	}
}

// upstream is a position inside a page of another service.
type upstream struct {
	Cursor string `json:"c,omitempty"`
	Skip   int    `json:"s,omitempty"` // rows of that page that were returned before
	// Size is how many rows that page was asked for, so that it is the same page
	// whatever limit the caller goes on with.
	Size int `json:"n,omitempty"`
}

// Upstream pages over another service that hands out cursors of its own, or
// over several, with a cursor that names a position in each. fetch returns the
// rows at cursor, about n of them, and the cursor behind them; "" means the
// beginning and, returned, the end. The same cursor and n must lead to the same
// rows while they are in use, because a page may end in the middle of them.
//
// A service that answers with the cursor that it was asked with, or without
// rows before the end, would be asked for ever: fetch is called at most 8 times
// for a page, and a cursor that does not advance is an error.
func Upstream[Q, T any](fetch func(ctx context.Context, q Q, cursor string, n int) (rows []T, next string, err error), opts *Options) *Pager[Q, T] {
	const attempts = 8
	return &Pager[Q, T]{opts: opts.orDefault(), source: func(ctx context.Context, q Q, position string, n int) (batch[T], error) {
		var at upstream
		if position != "" {
			if err := json.Unmarshal([]byte(position), &at); err != nil {
				return batch[T]{}, fmt.Errorf("pagination: the position in the cursor: %w", err)
			}
		}
		for range attempts {
			size := cmp.Or(max(at.Size, 0), n)
			rows, next, err := fetch(ctx, q, at.Cursor, size)
			if err != nil {
				return batch[T]{}, err
			}
			if next != "" && next == at.Cursor {
				return batch[T]{}, fmt.Errorf("pagination: incomplete: the service answered with the cursor that it was asked with")
			}
			skip := min(max(at.Skip, 0), len(rows))
			if skip == len(rows) && next != "" {
				// A service may answer with fewer rows than before.
				at = upstream{Cursor: next, Skip: at.Skip - skip, Size: at.Size}
				if at.Skip <= 0 {
					at.Size = 0
				}
				continue
			}
			return batch[T]{items: rows[skip:], more: next != "", after: func(i int) (string, error) {
				behind := upstream{Cursor: at.Cursor, Skip: skip + i + 1, Size: size}
				if behind.Skip == len(rows) {
					behind = upstream{Cursor: next}
				}
				data, err := json.Marshal(behind)
				return string(data), err
			}}, nil
		}
		return batch[T]{}, fmt.Errorf("pagination: incomplete: the service returned %d pages without rows", attempts)
	}}
}
