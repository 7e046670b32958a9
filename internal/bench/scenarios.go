package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady"
)

// A scenario is one call on a server of so many tools.
type scenario struct {
	name  string
	tools int
	tool  string
	args  map[string]any
	needs steady.Part   // the part without which the call fails
	toEnd bool          // where the answer is a task, its result is fetched, too
	large bool          // takes so long that a tenth of the rounds must do
	every time.Duration // discovery's ListEvery
}

// nobody is what a call needs that is to fail on every server.
const nobody steady.Part = "nobody"

var scenarios = []scenario{
	{name: "exact call, 1 tool", tools: 1, tool: "search_papers", args: query},
	{name: "exact call, 30 tools", tools: 30, tool: "search_papers", args: query},
	{name: "exact call, 1,000 tools", tools: 1000, tool: "search_papers", args: query},
	{name: "exact call, 1,000 tools, listed every second", tools: 1000, tool: "search_papers", args: query, every: time.Second},
	{name: "exact call without arguments, 30 tools", tools: 30, tool: "count_papers"},
	{name: "exact call without arguments, 30 tools, listed every second", tools: 30, tool: "count_papers", every: time.Second},
	{name: "wrong name, 30 tools", tools: 30, tool: "searchPapers", args: query, needs: steady.Discovery},
	{name: "wrong name, 1,000 tools", tools: 1000, tool: "searchPapers", args: query, needs: steady.Discovery},
	{name: "name that nothing has, 30 tools", tools: 30, tool: "make_coffee", args: query, needs: nobody},
	{name: "wrong argument, 30 tools", tools: 30, tool: "search_papers", args: map[string]any{"query": "retrieval", "limit": "10"}, needs: steady.Discovery},
	{name: "result of 1 MB, 30 tools", tools: 30, tool: "all_papers", large: true},
	{name: "tool with a task policy, done at once", tools: 30, tool: "export"},
	{name: "task, from the call to its handle", tools: 30, tool: "export_eagerly"},
	{name: "task, from the call to its result", tools: 30, tool: "export_eagerly", toEnd: true},
}

var query = map[string]any{"query": "retrieval", "limit": 10, "tags": []string{"rag", "index"}}

// A ratio is how many times as long a server takes as the bare one.
type ratio struct{ median, low, high float64 }

func (r ratio) String() string { return fmt.Sprintf("%.2f (%.2f–%.2f)", r.median, r.low, r.high) }

// run makes the scenario's call on each server in turns, rounds times, and
// returns for each stack the ratio to the bare server, the median and quartiles
// over all rounds, and the bare server's median.
func (s scenario) run(ctx context.Context, rounds int) ([]ratio, time.Duration, error) {
	if s.large {
		rounds = max(1, rounds/10)
	}
	calls := make([]func() error, 1+len(stacks))
	for i := range calls {
		installed := stack{name: "bare"}
		if i > 0 {
			installed = stacks[i-1]
		}
		server, closeServer, err := serve(installed, s.tools, s.every)
		if err != nil {
			return nil, 0, err
		}
		defer closeServer()
		client, disconnect, err := connect(ctx, server)
		if err != nil {
			return nil, 0, err
		}
		defer disconnect()
		calls[i] = func() error {
			if err := s.call(ctx, client, installed); err != nil {
				return fmt.Errorf("with %s: %w", installed.name, err)
			}
			return nil
		}
	}
	times := make([][]float64, len(calls))
	warm := rounds/10 + 1
	for round := range warm + rounds {
		// In another order each time: a call pays for what the one before it leaves
		// behind, and must not always have the same one before it.
		for _, i := range rand.Perm(len(calls)) {
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
	for i := range stacks {
		ratios[i] = compare(times[1+i], times[0])
	}
	return ratios, time.Duration(quantile(times[0], 2)), nil
}

// call makes the scenario's call and fails unless it ends as it has to with what
// is installed: a figure of something else is worse than none.
func (s scenario) call(ctx context.Context, client *mcp.ClientSession, installed stack) error {
	params := &mcp.CallToolParams{Name: s.tool}
	if s.args != nil { // a nil map would be sent as null, which discovery mends
		params.Arguments = s.args
	}
	result, err := client.CallTool(ctx, params)
	if failed := err != nil || result.IsError; failed != (s.needs != "" && !slices.Contains(installed.parts, s.needs)) {
		return errors.Join(err, fmt.Errorf("%s: failed is %t, and that is wrong", s.tool, failed))
	}
	if s.tool != eager || !slices.Contains(installed.parts, steady.Tasks) {
		return nil
	}
	about, _ := result.Meta["steady/task"].(map[string]any)
	if about["joined"] != false {
		return fmt.Errorf("%s: the answer is not a task of this call: %v", s.tool, about)
	}
	if !s.toEnd {
		return nil
	}
	result, err = client.CallTool(ctx, &mcp.CallToolParams{Name: "task_result", Arguments: map[string]any{"task_id": about["taskId"]}})
	if err != nil || result.IsError {
		return errors.Join(err, fmt.Errorf("%s: no result", s.tool))
	}
	return nil
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
