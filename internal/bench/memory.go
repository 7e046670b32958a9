package main

import (
	"context"
	"runtime"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// idle returns how many bytes one session that has made one call and waits takes,
// both of its ends together.
func idle(ctx context.Context, installed stack, sessions int) (float64, error) {
	server, closeServer, err := serve(installed, 30, 0)
	if err != nil {
		return 0, err
	}
	defer closeServer()
	var before int64
	for i := range 1 + sessions { // the first is for what the server makes once
		client, disconnect, err := connect(ctx, server)
		if err != nil {
			return 0, err
		}
		defer disconnect()
		if _, err := client.CallTool(ctx, &mcp.CallToolParams{Name: "search_papers", Arguments: query}); err != nil {
			return 0, err
		}
		if i == 0 {
			before = held()
		}
	}
	return float64(held()-before) / float64(sessions), nil
}

// idles returns what idle does for the bare server and in terms of it for each
// stack: medians of turns.
func idles(ctx context.Context, sessions, turns int) ([]ratio, float64, error) {
	bytes := make([][]float64, 1+len(stacks))
	for turn := range 1 + turns {
		for i := range bytes {
			var installed stack
			if i > 0 {
				installed = stacks[i-1]
			}
			b, err := idle(ctx, installed, sessions)
			if err != nil {
				return nil, 0, err
			}
			if turn > 0 { // what the process makes once
				bytes[i] = append(bytes[i], b)
			}
		}
	}
	ratios := make([]ratio, len(stacks))
	bare := quantile(bytes[0], 2)
	for i := range stacks {
		b := bytes[1+i]
		ratios[i] = ratio{quantile(b, 2) / bare, quantile(b, 1) / bare, quantile(b, 3) / bare}
	}
	return ratios, bare, nil
}

// held returns how many bytes of heap and stacks are in use.
func held() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}
