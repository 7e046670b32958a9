package discovery

import (
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// What is left out of a name may mean something; then it reaches only tools
// that read.
func TestUnsureAffixesReachOnlyReadingTools(t *testing.T) {
	t.Parallel()
	staging := &Options{Servers: []string{"staging"}}
	for _, c := range []struct {
		requested, tool string
		opts            *Options
		destructive     bool // reached although it destroys
	}{
		{"mcp__prod__run_report", "run_report", staging, false},
		{"functions.mcp__prod__run_report", "run_report", staging, false},
		{"mcp_prod_run_report", "run_report", staging, false},
		{"mcp__staging__run_report", "run_report", staging, true},
		{"mcp_staging_run_report", "run_report", staging, true},
		{"mcp__staging__run_report", "run_report", nil, true},
		{"mcp__run_report", "run_report", staging, true},
		{"run_report_v2", "run_report", nil, false},
		{"run_report_api", "run_report", nil, false},
		{"run_report_call", "run_report", nil, false},
		{"run_report_tool", "run_report", nil, true},
		{"runReportTool", "run_report", nil, true},
		{"run_report_function", "run_report", nil, true},
		{"run_report_beta", "run_report", &Options{Suffixes: []string{"beta"}}, true},
		{"export_tool", "export", nil, false},
		{"!run_report", "run_report", nil, false},
		{"~run_report", "run_report", nil, false},
		{"-run_report", "run_report", nil, false},
		{"#run_report", "run_report", nil, false},
		{"// run_report", "run_report", nil, false},
		{"run_report!", "run_report", nil, false},
		{"functions.!run_report", "run_report", nil, false},
		{"run_report:2", "run_report", nil, false},
		{"run_report_2", "run_report", nil, false},
		{"**run_report**", "run_report", nil, true},
		{"`run_report()`", "run_report", nil, true},
		{"\"run_report\",", "run_report", nil, true},
		{"RUN REPORT", "run_report", nil, true},
	} {
		for _, readOnly := range []bool{true, false} {
			tools := []*mcp.Tool{{Name: c.tool, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: readOnly}}, {Name: "search_notes"}}
			r := Resolve(c.requested, tools, c.opts)
			if readOnly || c.destructive {
				require.Equal(t, c.tool, r.Tool, "%q, read-only %v", c.requested, readOnly)
				continue
			}
			require.Empty(t, r.Tool, c.requested)
			require.NotEmpty(t, r.Candidates, c.requested)
			require.Equal(t, c.tool, r.Candidates[0].Name, c.requested)
			require.NotEmpty(t, r.Reason, c.requested)
		}
	}
}
