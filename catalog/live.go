package catalog

import (
	"context"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/observe"
)

// A LiveSource is a [Source] whose entries depend on who asks. It is loaded
// for every request, so Load should be quick; [RequestOf] finds the request.
// Snapshots of one version must be equal.
type LiveSource interface {
	Source
	// Live does nothing; it marks the source.
	Live()
}

type requestKey struct{}

// RequestOf returns the tool call for which a [LiveSource] is loaded, or nil
// if it is loaded for none.
func RequestOf(ctx context.Context) *mcp.CallToolRequest {
	req, _ := ctx.Value(requestKey{}).(*mcp.CallToolRequest)
	return req
}

// maxEditions bounds how many different sets of entries are kept ready.
const maxEditions = 16

// A liveShelf keeps the editions of a live source by version.
type liveShelf struct {
	source   LiveSource
	index    *IndexOptions
	observer observe.Observer

	mu       sync.Mutex
	editions []*edition // the last used first
}

// edition implements shelf.
func (l *liveShelf) edition(ctx context.Context, req *mcp.CallToolRequest) (*edition, error) {
	s, err := l.source.Load(context.WithValue(ctx, requestKey{}, req), "")
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock() // also while one is built: the others that wait need the same
	for i, e := range l.editions {
		if e.version == s.Version {
			copy(l.editions[1:i+1], l.editions[:i])
			l.editions[0] = e
			return e, nil
		}
	}
	e, err := prepare(s, l.index)
	if err != nil {
		return nil, err
	}
	e.report(ctx, l.observer)
	if len(l.editions) < maxEditions {
		l.editions = append(l.editions, nil)
	}
	copy(l.editions[1:], l.editions)
	l.editions[0] = e
	return e, nil
}
