package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady"
	"github.com/steadymcp/steady/observe"
	"github.com/steadymcp/steady/tasks"
)

// A stack is what is installed on a server.
type stack struct {
	name  string
	parts []steady.Part
}

var stacks = []stack{
	{"errors", []steady.Part{steady.Errors}},
	{"discovery", []steady.Part{steady.Discovery}},
	{"limits", []steady.Part{steady.Limits}},
	{"tasks", []steady.Part{steady.Tasks}},
	{"budget", []steady.Part{steady.Budget}},
	{"whole stack", []steady.Part{steady.Errors, steady.Discovery, steady.Limits, steady.Tasks, steady.Budget}},
}

// A scenario is one call on a server of so many tools.
type scenario struct {
	name  string
	tools int
	tool  string
	args  map[string]any
	fails bool // on the bare SDK, and where the part that it is for is missing
}

var scenarios = []scenario{
	{"exact call, 1 tool", 1, "search_papers", query, false},
	{"exact call, 30 tools", 30, "search_papers", query, false},
	{"exact call, 1,000 tools", 1000, "search_papers", query, false},
	{"wrong name, 30 tools", 30, "searchPapers", query, true},
	{"wrong name, 1,000 tools", 1000, "searchPapers", query, true},
	{"name that nothing has, 30 tools", 30, "make_coffee", query, true},
	{"wrong argument, 30 tools", 30, "search_papers", map[string]any{"query": "retrieval", "limit": "10"}, true},
	{"result of 1 MB, 30 tools", 30, "all_papers", nil, false},
	{"tool with a task policy, done at once", 30, "export", nil, false},
	{"task, the handle only", 30, "export_eagerly", nil, false},
}

var query = map[string]any{"query": "retrieval", "limit": 10, "tags": []string{"rag", "index"}}

// A ratio is how many times as long a server takes as the bare one.
type ratio struct{ median, low, high float64 }

func (r ratio) String() string { return fmt.Sprintf("%.2f (%.2f–%.2f)", r.median, r.low, r.high) }

// run makes the scenario's call on each server in turns, rounds times, and
// returns for each stack the ratio to the bare server, the median and quartiles
// over all rounds, and the bare server's median.
func (s scenario) run(ctx context.Context, rounds int) ([]ratio, time.Duration, error) {
	calls := make([]func() error, 1+len(stacks))
	for i := range calls {
		var installed *stack
		if i > 0 {
			installed = &stacks[i-1]
		}
		server, closeServer, err := serve(installed, s.tools)
		if err != nil {
			return nil, 0, err
		}
		defer closeServer()
		client, err := connect(ctx, server)
		if err != nil {
			return nil, 0, err
		}
		defer client.Close()
		calls[i] = func() error {
			result, err := client.CallTool(ctx, &mcp.CallToolParams{Name: s.tool, Arguments: cmp.Or[any](s.args, map[string]any{})})
			if failed := err != nil || result.IsError; failed && !s.fails {
				return errors.Join(err, fmt.Errorf("%s failed", s.tool))
			}
			return nil
		}
	}
	times := make([][]float64, len(calls))
	warm := rounds / 10
	for round := range warm + rounds {
		for i := range calls {
			i = (i + round) % len(calls)
			start := time.Now()
			if err := calls[i](); err != nil {
				return nil, 0, err
			}
			if took := time.Since(start); round >= warm {
				times[i] = append(times[i], float64(took))
			}
		}
	}
	ratios := make([]ratio, len(stacks))
	bare := quantile(times[0], 2)
	for i := range stacks {
		ratios[i] = compare(times[1+i], times[0])
	}
	return ratios, time.Duration(bare), nil
}

// stretches is how many parts of a run are compared each for itself, to see how
// far the ratio scatters.
const stretches = 20

func compare(times, bare []float64) ratio {
	var each []float64
	n := max(1, len(bare)/stretches)
	for from := 0; from+n <= len(bare); from += n {
		each = append(each, quantile(times[from:from+n], 2)/quantile(bare[from:from+n], 2))
	}
	return ratio{quantile(times, 2) / quantile(bare, 2), quantile(each, 1), quantile(each, 3)}
}

// quantile returns a quartile of v.
func quantile(v []float64, quarter int) float64 {
	sorted := slices.Sorted(slices.Values(v))
	return sorted[len(sorted)*quarter/4]
}

type paperQuery struct {
	Query string   `json:"query"`
	Limit int      `json:"limit,omitempty"`
	Tags  []string `json:"tags,omitempty"`
}

// serve makes a server of so many tools and installs the stack, if not nil.
func serve(installed *stack, tools int) (*mcp.Server, func(), error) {
	server := mcp.NewServer(&mcp.Implementation{Name: "bench", Version: "v1.0.0"}, nil)
	papers := strings.Repeat("A paper about retrieval. ", 40_000)
	add(server, "search_papers", func(in paperQuery) string { return in.Query })
	if tools > 1 {
		add(server, "all_papers", func(struct{}) string { return papers })
		add(server, "export", func(struct{}) string { return "done" })
		add(server, "export_eagerly", func(struct{}) string { return "done" })
	}
	for i := 4; i < tools; i++ {
		add(server, fmt.Sprintf("%c_tool_%d", 'a'+i%26, i), func(paperQuery) string { return "" })
	}
	if installed == nil {
		return server, func() {}, nil
	}
	opts := &steady.Options{Observer: observe.Discard, Tasks: &tasks.Options{Policies: map[string]tasks.Policy{
		"export":         {},
		"export_eagerly": {Grace: tasks.Eager, TTL: time.Second},
	}}}
	for _, part := range stacks[len(stacks)-1].parts {
		if !slices.Contains(installed.parts, part) {
			opts.Without = append(opts.Without, part)
		}
	}
	s, err := steady.Wrap(server, opts)
	if err != nil {
		return nil, nil, err
	}
	return server, func() { _ = s.Close(context.Background()) }, nil
}

func add[In any](server *mcp.Server, name string, answer func(In) string) {
	mcp.AddTool(server, &mcp.Tool{Name: name, Description: "Answers.", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(_ context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: answer(in)}}}, nil, nil
		})
}

func connect(ctx context.Context, server *mcp.Server) (*mcp.ClientSession, error) {
	clientEnd, serverEnd := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, serverEnd, nil); err != nil {
		return nil, err
	}
	return mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "v1.0.0"}, nil).Connect(ctx, clientEnd, nil)
}

// idle returns how many bytes one session that has made one call and waits takes,
// both of its ends together.
func idle(ctx context.Context, installed *stack, sessions int) (float64, error) {
	server, closeServer, err := serve(installed, 30)
	if err != nil {
		return 0, err
	}
	defer closeServer()
	before := held()
	clients := make([]*mcp.ClientSession, sessions)
	for i := range clients {
		if clients[i], err = connect(ctx, server); err != nil {
			return 0, err
		}
		defer clients[i].Close()
		if _, err := clients[i].CallTool(ctx, &mcp.CallToolParams{Name: "search_papers", Arguments: query}); err != nil {
			return 0, err
		}
	}
	return float64(held()-before) / float64(sessions), nil
}

// held returns how many bytes of heap and stacks are in use.
func held() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}
