package otelobserve_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"

	"github.com/steadymcp/steady/observe/otelobserve"
)

// scraped returns the names that Prometheus gets when everything has happened
// once, each with its labels.
func scraped(t *testing.T) map[string][]string {
	t.Helper()
	registry := prometheus.NewRegistry()
	exp, err := exporter.New(exporter.WithRegisterer(registry))
	require.NoError(t, err)
	r := newRig(t, func(o *otelobserve.Options) { o.MeterProvider = metric.NewMeterProvider(metric.WithReader(exp)) })
	for _, c := range counted {
		r.Observe(context.Background(), c.event)
	}
	server := newServer()
	addTool(server, "get_order", func(context.Context) (*mcp.CallToolResult, error) { return nil, errors.New("no") })
	server.AddReceivingMiddleware(r.Middleware())
	cs := overHTTP(t, server, revisions[0])
	_, err = cs.CallTool(context.Background(), &mcp.CallToolParams{Name: "get_order", Arguments: map[string]any{}})
	require.NoError(t, err)
	_, err = cs.GetPrompt(context.Background(), &mcp.GetPromptParams{Name: "greet"})
	require.Error(t, err)
	require.NoError(t, cs.Close())
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	require.NoError(t, r.Close(ctx))

	families, err := registry.Gather()
	require.NoError(t, err)
	names := map[string][]string{}
	for _, f := range families {
		labels := map[string]bool{"job": true} // what Prometheus adds
		suffixes := []string{""}
		for _, m := range f.Metric {
			for _, l := range m.Label {
				labels[l.GetName()] = true
			}
			if m.Histogram != nil {
				suffixes = []string{"_bucket", "_sum", "_count"}
				labels["le"] = true
			}
		}
		for _, suffix := range suffixes {
			names[f.GetName()+suffix] = slices.Collect(maps.Keys(labels))
		}
	}
	delete(names, "target_info")
	return names
}

var (
	queriedName = regexp.MustCompile(`\b(?:mcp|steady)_[a-z_]+\b`)
	selector    = regexp.MustCompile(`([a-z_]+)\{([^}]*)\}`)
	matcher     = regexp.MustCompile(`([a-z_]+)(?:=~|!~|!=|=)"`)
	grouping    = regexp.MustCompile(`\b(?:by|ignoring) \(([^)]*)\)`)
	legendLabel = regexp.MustCompile(`\{\{([a-z_]+)\}\}`)
)

type panel struct {
	Title   string
	Targets []struct{ Expr, LegendFormat string }
}

// TestDashboard holds dashboard.json to what Prometheus gets.
func TestDashboard(t *testing.T) {
	emitted := scraped(t)
	data, err := os.ReadFile("dashboard.json")
	require.NoError(t, err)
	var dashboard struct {
		Panels     []panel
		Templating struct {
			List []struct{ Name, Query string }
		}
	}
	require.NoError(t, json.Unmarshal(data, &dashboard))

	queried := map[string]bool{}
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			var labels []string // of every metric that the expression reads
			selectors := selector.FindAllStringSubmatch(target.Expr, -1)
			require.NotEmpty(t, selectors, "%s: %s", p.Title, target.Expr)
			for _, s := range selectors {
				require.Contains(t, emitted, s[1], "%s: nothing has this name", p.Title)
				queried[s[1]] = true
				labels = append(labels, emitted[s[1]]...)
				for _, m := range matcher.FindAllStringSubmatch(s[2], -1) {
					require.Contains(t, emitted[s[1]], m[1], "%s: %s has no such label", p.Title, s[1])
				}
			}
			for _, g := range grouping.FindAllStringSubmatch(target.Expr, -1) {
				for label := range strings.SplitSeq(g[1], ",") {
					require.Contains(t, labels, strings.TrimSpace(label), "%s: %s", p.Title, target.Expr)
				}
			}
			for _, l := range legendLabel.FindAllStringSubmatch(target.LegendFormat, -1) {
				require.Contains(t, target.Expr, l[1], "%s: the legend names what the query does not keep", p.Title)
			}
		}
	}
	for _, v := range dashboard.Templating.List {
		for _, name := range queriedName.FindAllString(v.Query, -1) {
			require.Contains(t, emitted, name, "variable %s", v.Name)
		}
	}
	for name := range emitted {
		family := regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(name, "")
		require.True(t, queried[name] || queried[family+"_bucket"] || queried[family+"_count"], "the dashboard does not show %s", name)
	}
}

var (
	codeSpan  = regexp.MustCompile("`([^`]+)`")
	otelName  = regexp.MustCompile(`^(?:mcp|steady)\.[a-z_.]+$`)
	tableCell = regexp.MustCompile(`(?m)^\| ([^|]+) \|`)
)

// TestOperatingPage holds docs/operating.md to what is reported: its table names
// every metric, its alerts query nothing else.
func TestOperatingPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/operating.md")
	require.NoError(t, err)
	emitted := scraped(t)
	for _, s := range selector.FindAllStringSubmatch(string(page), -1) {
		for _, m := range matcher.FindAllStringSubmatch(s[2], -1) {
			require.Contains(t, emitted[s[1]], m[1], "%s has no such label", s[1])
		}
	}
	known := map[string]bool{}
	for name, labels := range emitted {
		known[name] = true
		for _, label := range labels {
			known[label] = true
		}
	}
	queried := queriedName.FindAllString(string(page), -1)
	require.NotEmpty(t, queried)
	for _, name := range queried {
		require.True(t, known[name], "the page queries %s, which nothing has as its name", name)
	}

	r := newRig(t)
	for _, c := range counted {
		r.Observe(context.Background(), c.event)
	}
	server := newServer()
	server.AddReceivingMiddleware(r.Middleware())
	_ = inMemory(t, server, revisions[0])
	done, cancel := context.WithCancel(context.Background())
	cancel()
	_ = r.Close(done)
	listed := map[string]bool{}
	for _, cell := range tableCell.FindAllStringSubmatch(string(page), -1) {
		for _, code := range codeSpan.FindAllStringSubmatch(cell[1], -1) {
			if otelName.MatchString(code[1]) {
				listed[code[1]] = true
			}
		}
	}
	have := map[string]bool{}
	for _, name := range metricNames(t, r) {
		have[name] = true
	}
	require.Equal(t, have, listed)
}
