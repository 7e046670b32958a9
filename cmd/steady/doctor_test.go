package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/cmd/steady/internal/report"
)

// examine runs the doctor and returns its report.
func examine(t testing.TB, args ...string) *report.Report {
	t.Helper()
	code, stdout, stderr := steady(t, "", append([]string{"doctor", "-json", "-idle", "150ms", "-launches", "2"}, args...)...)
	require.Contains(t, []int{exitClean, exitFindings}, code, stderr)
	var r report.Report
	require.NoError(t, json.Unmarshal([]byte(stdout), &r))
	require.NotEmpty(t, r.Outcomes)
	return &r
}

// grave returns the probes that found something above info, each once.
func grave(r *report.Report) (ids []string) {
	for _, f := range r.Findings {
		if f.Severity != "info" && !slices.Contains(ids, f.Probe) {
			ids = append(ids, f.Probe)
		}
	}
	slices.Sort(ids)
	return ids
}

func explain(r *report.Report) string {
	var b strings.Builder
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "%s %s %s: %s\n", f.Severity, f.Probe, f.Subject, f.Message)
		if f.Severity != "info" {
			fmt.Fprintf(&b, "  sent %s\n  received %s\n", f.Sent, f.Received)
		}
	}
	return b.String()
}

// What is hardened gives the doctor nothing to say above advice, with whatever
// mistake behind it: that is what it was hardened for.
func TestGoodOrders(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{},
		{"-bug", "banner,print,child,refusal,panic,leak"},
		{"-bug", "heedless", "-export-takes", "400ms", "-grace", "50ms"},
		{"-note", "-many"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			t.Parallel()
			r := examine(t, append([]string{"-write", "-destructive", "--", orders(t)}, args...)...)
			require.Empty(t, grave(r), explain(r))
		})
	}
}

// Each mistake of orders is found by the probe that names it.
func TestBadOrders(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args  string
		only  string // the families that are needed for it
		probe string
	}{
		{"-bare -bug banner", "calls,stdout", "stdout-handshake"},
		{"-bare -bug print", "calls,time,stdout", "stdout-call"},
		{"-bare -bug child", "calls,stdout", "stdout-call"},
		{"-bare -bug refusal", "calls", "failure-internal"},
		{"-bare -bug panic", "calls", "crash"},
		{"-bare -bug leak", "calls", "leak-sql"},
		{"-bare -bug leak", "calls", "leak-credential"},
		{"-bare -bug leak", "calls", "leak-host"},
		{"-bare -bug unbounded", "calls", "result-size"},
		{"-bare -bug heedless -export-takes 400ms", "calls,time", "retry-duplicates"},
		{"-bare -bug heedless -export-takes 400ms", "calls,time", "cancel-ignored"},
		{"-bug unordered", "listing", "list-order"},
		{"-without stdioguard", "ending,lines", "eof-replies"},
		{"-without stdioguard", "ending,lines", "line-malformed"},
		{"-without registry", "listing", "lint/schema-no-properties"},
		{"-bare", "calls,arguments", "arg-null"},
		{"-bare", "calls,arguments", "crash"}, // the SDK writes defaults into arguments that are null
	} {
		t.Run(test.args+" "+test.probe, func(t *testing.T) {
			t.Parallel()
			r := examineOrders(t, test.args, test.only)
			require.True(t, slices.ContainsFunc(r.Findings, func(f report.Finding) bool { return f.Probe == test.probe }), explain(r))
		})
	}
}

// Rows about the same server share one run.
var examined onceMap[*report.Report]

func examineOrders(t *testing.T, args, only string) *report.Report {
	return examined.get(args, func() *report.Report {
		return examine(t, append([]string{"-write", "-destructive", "-only", only, "--", orders(t)}, strings.Fields(args)...)...)
	})
}

// What is known does not fail; what is new does.
func TestBaselineOfAServer(t *testing.T) {
	t.Parallel()
	saved := filepath.Join(t.TempDir(), "doctor.json")
	doctor := func(flag, bug string) (int, string) {
		code, stdout, stderr := steady(t, "", "doctor", flag, saved, "-q", "-only", "calls", "--", orders(t), "-bare", "-bug", bug)
		require.Empty(t, stderr)
		return code, stdout
	}
	code, stdout, _ := steady(t, "", "doctor", "-json", "-only", "calls", "--", orders(t), "-bare", "-bug", "leak")
	require.Equal(t, exitFindings, code)
	require.NoError(t, os.WriteFile(saved, []byte(stdout), 0o600))
	code, stdout = doctor("-baseline", "leak")
	require.Equal(t, exitClean, code, stdout)
	require.Contains(t, stdout, "known from the baseline")
	code, stdout = doctor("-baseline", "leak,panic")
	require.Equal(t, exitFindings, code)
	require.Contains(t, stdout, "crash")
}

// It says what it will call, and a dry run stops there.
func TestDryRun(t *testing.T) {
	t.Parallel()
	_, stdout, stderr := steady(t, "", "doctor", "-dry-run", "-json", "-skip", "revenue", "--", orders(t))
	require.Contains(t, stderr, "will call: ")
	require.Contains(t, stderr, "cancel_order (it may destroy; -destructive or -call allows it)")
	require.Contains(t, stderr, "revenue (-skip)")
	var r report.Report
	require.NoError(t, json.Unmarshal([]byte(stdout), &r))
	for _, tool := range r.Tools {
		require.Zero(t, tool.Calls, tool.Name)
	}
}

// What does not fit into the budget is skipped, and our own end is no finding.
func TestBudget(t *testing.T) {
	t.Parallel()
	r := examine(t, "-budget", "1s", "--", build(t, filepath.Join("internal", "fixture")))
	require.Empty(t, r.Findings, explain(r))
	require.True(t, slices.ContainsFunc(r.Outcomes, func(o report.Outcome) bool { return strings.Contains(o.Reason, "-budget") }))
}

func TestInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(time.Second, cancel)
	var stdout, stderr strings.Builder
	code := run(ctx, &env{strings.NewReader(""), &stdout, &stderr}, []string{"doctor", "--", build(t, filepath.Join("internal", "fixture"))})
	require.Equal(t, exitConnect, code)
	require.Contains(t, stderr.String(), "interrupted")
	require.Empty(t, stdout.String())
}
