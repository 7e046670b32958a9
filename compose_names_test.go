package steady_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady"
	"github.com/steadymcp/steady/catalog"
	"github.com/steadymcp/steady/discovery"
	"github.com/steadymcp/steady/internal/mcptest"
	"github.com/steadymcp/steady/internal/wire"
	"github.com/steadymcp/steady/limits"
	"github.com/steadymcp/steady/observe"
	"github.com/steadymcp/steady/registry"
	"github.com/steadymcp/steady/tasks"
)

// Ways to hide a tool.
const (
	absent   = "absent" // there is none
	byCaller = "by caller"
	byGroup  = "by group"
	readOnly = "by read-only mode"
	byOther  = "by read-only mode, not the registry's"
)

// namesServer has a tool that may be called once, a slow one, and one that is
// hidden, slow and limited, each with a former name. How it is hidden may be that
// it does not exist. With or without discovery everything else is installed.
func namesServer(t *testing.T, without []steady.Part, hide string) *mcp.Server {
	t.Helper()
	server := mcptest.Server()
	r := registry.New(server, &registry.Options{Observer: observe.Discard})
	echo := func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return wire.NewToolText(req, req.Params.Name), nil
	}
	add := func(name string, opts ...registry.ToolOption) {
		read := &mcp.ToolAnnotations{ReadOnlyHint: hide != readOnly || name != "salary_export"}
		require.NoError(t, registry.AddRaw(r, &mcp.Tool{Name: name, Annotations: read}, echo, opts...))
	}
	add("read_ledger", registry.Renamed("fetch_ledger", ""))
	add("export_orders", registry.Renamed("dump_orders", ""))
	former := registry.Renamed("payroll_dump", "")
	switch hide {
	case byCaller:
		add("salary_export", former, registry.VisibleTo(func(context.Context, mcp.Request, *mcp.Tool) bool { return false }))
	case byGroup:
		add("salary_export", former, registry.Group("secret"))
		require.NoError(t, r.SetEnabled("secret", false))
	case readOnly:
		add("salary_export", former)
	case byOther:
		server.AddTool(&mcp.Tool{Name: "salary_export", InputSchema: map[string]any{"type": "object"}}, echo)
	}
	r.SetReadOnly(true)
	once := limits.Limit{Rate: limits.Rate{PerSecond: 1e-6, Burst: 1}}
	stack, err := steady.Wrap(server, &steady.Options{
		Observer: observe.Discard, Without: without,
		Discovery: &discovery.Options{Aliases: r},
		Limits:    &limits.Options{Tools: map[string]limits.Limit{"read_ledger": once, "salary_export": once}},
		Tasks:     &tasks.Options{Policies: map[string]tasks.Policy{"export_orders": {Grace: tasks.Eager}, "salary_export": {Grace: tasks.Eager}}},
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		require.NoError(t, stack.Close(ctx))
	})
	return server
}

var withAndWithoutDiscovery = [][]steady.Part{nil, {steady.Discovery}}

// What limits and tasks are told about a tool holds for its former name.
func TestFormerNamesMeetLimitsAndTasks(t *testing.T) {
	for _, revision := range mcptest.Revisions {
		for _, without := range withAndWithoutDiscovery {
			t.Run(fmt.Sprint(revision, without), func(t *testing.T) {
				cs := mcptest.Connect(t, namesServer(t, without, absent), revision)
				res := call(t, cs, "fetch_ledger", nil)
				require.False(t, res.IsError, mcptest.Text(res))
				require.Contains(t, mcptest.Text(res), "fetch_ledger is now called read_ledger")
				for _, name := range []string{"fetch_ledger", "read_ledger"} {
					res := call(t, cs, name, nil)
					require.True(t, res.IsError, name)
					require.Contains(t, encode(t, res.Meta), "rate_limited", name)
				}
				for _, name := range []string{"dump_orders", "export_orders"} {
					require.Contains(t, encode(t, call(t, cs, name, nil).Meta), "taskId", name)
				}
			})
		}
	}
}

// A hidden tool answers like one that does not exist, whatever the parts around
// the registry were told about it, however often it is called.
func TestHiddenIsUnknownToEveryPart(t *testing.T) {
	for _, revision := range mcptest.Revisions {
		for _, without := range withAndWithoutDiscovery {
			t.Run(fmt.Sprint(revision, without), func(t *testing.T) {
				answers := func(hide string) (all []string) {
					cs := mcptest.Connect(t, namesServer(t, without, hide), revision)
					for range 3 {
						for _, name := range []string{"salary_export", "payroll_dump", "payrollDump", "salaryExport", "salary_exports", "export_salary"} {
							res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: name})
							all = append(all, encode(t, res)+fmt.Sprint(err))
						}
					}
					return all
				}
				want := answers(absent)
				for _, hide := range []string{byCaller, byGroup, readOnly, byOther} {
					require.Equal(t, want, answers(hide), hide)
				}
			})
		}
	}
}

// The catalog finds, describes and calls what its caller may see, and nothing
// else, while callers of both kinds come at once.
func TestCatalogShowsEachCallerItsOwn(t *testing.T) {
	type callerKey struct{}
	build := func(hide bool) *mcp.Server {
		server := mcptest.Server()
		r := registry.New(server, &registry.Options{Observer: observe.Discard})
		echo := func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return wire.NewToolText(req, "ran "+req.Params.Name), nil
		}
		read := &mcp.ToolAnnotations{ReadOnlyHint: true}
		require.NoError(t, registry.AddRaw(r, &mcp.Tool{Name: "list_parcels", Description: "Lists parcels that are on their way.", Annotations: read}, echo))
		if hide {
			require.NoError(t, registry.AddRaw(r, &mcp.Tool{Name: "list_salaries", Description: "Lists what everybody earns.", Annotations: read}, echo,
				registry.Renamed("payroll", ""), registry.VisibleTo(func(ctx context.Context, _ mcp.Request, _ *mcp.Tool) bool {
					return ctx.Value(callerKey{}) == "staff"
				})))
		}
		_, err := steady.Wrap(server, &steady.Options{Observer: observe.Discard, Discovery: &discovery.Options{Aliases: r}})
		require.NoError(t, err)
		tools := catalog.Tools(server, nil)
		directory, err := catalog.New(tools, &catalog.Options{Caller: tools, Observer: observe.Discard})
		require.NoError(t, err)
		require.NoError(t, directory.Install(t.Context(), server))
		t.Cleanup(func() { require.NoError(t, directory.Close(context.Background())) })
		server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				who := "guest"
				if p := req.GetParams(); p != nil && p.GetMeta()["caller"] == "staff" {
					who = "staff"
				}
				return next(context.WithValue(ctx, callerKey{}, who), method, req)
			}
		})
		return server
	}
	asks := []struct {
		tool string
		args map[string]any
	}{
		{"find_data", map[string]any{"question": "what does everybody earn"}},
		{"describe_data", map[string]any{"id": "list_salaries"}},
		{"call_api", map[string]any{"id": "list_salaries", "arguments": map[string]any{}}},
		{"call_api", map[string]any{"id": "payroll", "arguments": map[string]any{}}},
		{"list_salaries", nil},
		{"payroll", nil},
	}
	for _, revision := range mcptest.Revisions {
		hiding, empty := mcptest.Connect(t, build(true), revision), mcptest.Connect(t, build(false), revision)
		ask := func(cs *mcp.ClientSession, who string, i int) string {
			params := &mcp.CallToolParams{Meta: mcp.Meta{"caller": who}, Name: asks[i].tool, Arguments: asks[i].args}
			res, err := cs.CallTool(t.Context(), params)
			return encode(t, res) + fmt.Sprint(err)
		}
		var want []string
		for i := range asks {
			want = append(want, ask(empty, "guest", i))
		}
		var wait sync.WaitGroup
		for range 8 {
			wait.Go(func() {
				for i := range asks {
					if got := ask(hiding, "guest", i); got != want[i] {
						t.Errorf("%s %v: %s, want %s", asks[i].tool, asks[i].args, got, want[i])
					}
				}
			})
			wait.Go(func() {
				for _, i := range []int{2, 4, 5} {
					if got := ask(hiding, "staff", i); !strings.Contains(got, "ran list_salaries") {
						t.Errorf("%s: %s", asks[i].tool, got)
					}
				}
			})
		}
		wait.Wait()
	}
}
