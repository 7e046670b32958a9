package registrytest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/observe"
	"github.com/steadymcp/steady/registry"
)

// recorder is a test that keeps what it is told.
type recorder struct {
	testing.TB
	name string
	logs []string
	errs []string

	cleanups []func()
}

func (r *recorder) Helper()      {}
func (r *recorder) Name() string { return r.name }

func (r *recorder) Context() context.Context { return context.Background() }
func (r *recorder) Cleanup(f func())         { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Logf(format string, args ...any) {
	r.logs = append(r.logs, fmt.Sprintf(format, args...))
}
func (r *recorder) Errorf(format string, args ...any) {
	r.errs = append(r.errs, fmt.Sprintf(format, args...))
}
func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	panic(r)
}

// record runs f and returns what it reported.
func record(f func(t testing.TB)) (r *recorder) {
	r = &recorder{name: "TestIt/case 1"}
	defer func() {
		for _, f := range r.cleanups {
			f()
		}
		if v := recover(); v != nil && v != any(r) {
			panic(v)
		}
	}()
	f(r)
	return r
}

func server(instructions string, tools ...*mcp.Tool) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "s"}, &mcp.ServerOptions{Instructions: instructions})
	r := registry.New(s, &registry.Options{Observer: observe.Discard})
	for _, tool := range tools {
		if err := registry.AddRaw(r, tool, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return nil, nil }); err != nil {
			panic(err)
		}
	}
	return s
}

func tool(name, schema string) *mcp.Tool {
	return &mcp.Tool{Name: name, InputSchema: json.RawMessage(schema)}
}

func TestSnapshot(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("CI", "")
	t.Setenv("UPDATE_TOOLS", "")
	dir := filepath.Join("testdata", "tools", "TestIt_case_1")
	one := func() *mcp.Server {
		return server("teach", tool("b", `{"type":"object","properties":{"z":{"type":"string"},"a":{"maximum":9007199254740993}}}`), tool("a", `{"type":"object"}`))
	}
	check := func(s *mcp.Server) *recorder { return record(func(t testing.TB) { Snapshot(t, s) }) }

	t.Setenv("CI", "true")
	r := check(one())
	require.Len(t, r.errs, 3, "in CI a missing snapshot is a failure")
	require.NoDirExists(t, dir)

	t.Setenv("CI", "")
	r = check(one())
	require.Empty(t, r.errs)
	require.Len(t, r.logs, 3)
	data, err := os.ReadFile(filepath.Join(dir, "b.json"))
	require.NoError(t, err)
	require.Contains(t, string(data), "\"z\": {\n        \"type\": \"string\"\n      },\n      \"a\": {\n        \"maximum\": 9007199254740993", "the order and the digits as sent")

	t.Setenv("CI", "true")
	require.Empty(t, check(one()).errs)

	// A checkout with CRLF is the same.
	require.NoError(t, os.WriteFile(filepath.Join(dir, "b.json"), []byte(strings.ReplaceAll(string(data), "\n", "\r\n")), 0o600))
	require.Empty(t, check(one()).errs)

	changed := server("teach more", tool("a", `{"type":"object"}`), tool("b", `{"type":"object","properties":{"z":{"type":"integer"},"a":{"maximum":9007199254740993}}}`), tool("c", `{"type":"object"}`))
	all := strings.Join(check(changed).errs, "\n")
	for _, want := range []string{
		`breaking: the order changed: tool 1 is now "a", which was "b"`,
		"breaking: b /inputSchema/properties/z/type: the type was string and is integer",
		"additive: c: the tool was added",
		"cosmetic: the server's instructions changed",
		"-         \"type\": \"string\"\n+         \"type\": \"integer\"",
		"c.json is missing",
		"=server.json differs",
	} {
		require.Contains(t, all, want)
	}
	require.NotContains(t, all, "9007199254740993 \n-", all)

	fewer := server("teach", tool("b", `{"type":"object","properties":{"z":{"type":"string"},"a":{"maximum":9007199254740993}}}`))
	all = strings.Join(check(fewer).errs, "\n")
	require.Contains(t, all, "breaking: a: the tool was removed")
	require.Contains(t, all, "a.json belongs to a tool that is not listed any more")

	t.Setenv("UPDATE_TOOLS", "1")
	require.Empty(t, check(fewer).errs)
	t.Setenv("UPDATE_TOOLS", "")
	require.NoFileExists(t, filepath.Join(dir, "a.json"))
	require.Empty(t, check(fewer).errs)
}

func TestSnapshotOfAnyName(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("CI", "")
	l := &registry.Listing{Tools: []json.RawMessage{json.RawMessage(`{"name":"../../GET:/patterns"}`), json.RawMessage(`{"name":"=server"}`)}}
	check := func() *recorder { return record(func(t testing.TB) { SnapshotListing(t, l) }) }
	require.Empty(t, check().errs)
	require.Empty(t, check().errs)
	entries, err := os.ReadDir(filepath.Join("testdata", "tools", "TestIt_case_1"))
	require.NoError(t, err)
	require.Len(t, entries, 3)
}

// One test, one snapshot: two would take turns to rewrite the same files.
func TestSnapshotTwice(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("CI", "")
	r := record(func(t testing.TB) {
		Snapshot(t, server(""))
		Snapshot(t, server(""))
	})
	require.Contains(t, strings.Join(r.errs, ""), "give each server a test of its own")
	require.Empty(t, record(func(t testing.TB) { Snapshot(t, server("")) }).errs, "a second run of the test")
}

// "0" and "false" say no, as they do elsewhere.
func TestEnvironment(t *testing.T) {
	for value, want := range map[string]bool{"": false, "0": false, "false": false, "FALSE": false, "1": true, "true": true, "yes": true, "github": true} {
		t.Setenv("STEADY_TEST_VARIABLE", value)
		require.Equal(t, want, isSet("STEADY_TEST_VARIABLE"), value)
	}
}

func TestFileNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 300)
	names := fileNames([]string{"getA", "geta", "get_a", "twice", "twice", "con", "AUX.x", "a:b", "a=2", "=server", "", ".", "../up", long + "a", long + "b", "größe"})
	seen := map[string]bool{}
	for _, n := range names {
		require.False(t, seen[strings.ToLower(n)], n)
		seen[strings.ToLower(n)] = true
		require.LessOrEqual(t, len(n), 255)
		require.NotContains(t, n, ":")
		require.NotContains(t, n, "/")
		require.NotEqual(t, serverFile, n)
		base, _, _ := strings.Cut(n, ".")
		require.False(t, reserved.MatchString(base), n)
		require.Equal(t, ".json", filepath.Ext(n))
	}
	require.Equal(t, "get_a.json", names[2], "an ordinary name is its file's")
}

// The instructions are compared line by line, and two tools of one name are
// both held.
func TestSnapshotOfTexts(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("CI", "")
	l := func(second, instructions string) *registry.Listing {
		return &registry.Listing{Instructions: instructions, Tools: []json.RawMessage{json.RawMessage(`{"name":"a"}`), json.RawMessage(`{"name":"a","title":"` + second + `"}`)}}
	}
	check := func(l *registry.Listing) string {
		return strings.Join(record(func(t testing.TB) { SnapshotListing(t, l) }).errs, "\n")
	}
	require.Empty(t, check(l("x", "one\ntwo\nthree")))
	require.Empty(t, check(l("x", "one\ntwo\nthree")))
	got := check(l("y", "one\n2\nthree"))
	require.Contains(t, got, "      \"one\",\n-     \"two\",\n+     \"2\",\n      \"three\"")
	require.Contains(t, got, "-   \"title\": \"x\"\n+   \"title\": \"y\"")
}

func TestCheckStable(t *testing.T) {
	t.Parallel()
	require.Empty(t, record(func(t testing.TB) {
		CheckStable(t, func() *mcp.Server { return server("", tool("a", `{"type":"object"}`)) })
	}).errs)
	builds := 0
	r := record(func(t testing.TB) {
		CheckStable(t, func() *mcp.Server {
			builds++
			if builds == 20 {
				return server("", tool("a", `{"type":"object","properties":{"x":{},"y":{}}}`))
			}
			return server("", tool("a", `{"type":"object","properties":{"y":{},"x":{}}}`))
		})
	})
	require.Len(t, r.errs, 1)
	require.Contains(t, r.errs[0], "build 20 is not like the first")
	r = record(func(t testing.TB) {
		CheckStable(t, func() *mcp.Server {
			builds++
			return server(fmt.Sprint("build ", builds))
		})
	})
	require.Contains(t, strings.Join(r.errs, ""), "the instructions differ")
}

func TestCheckLint(t *testing.T) {
	t.Parallel()
	bad := server("", tool("a", `{"type":"object"}`))
	r := record(func(t testing.TB) { CheckLint(t, bad) })
	require.Len(t, r.errs, 1)
	require.Contains(t, r.errs[0], "description-missing")

	p := registry.Claude()
	for _, rule := range []string{"description-missing", "hint-missing"} {
		p.Exceptions = append(p.Exceptions, registry.Exception{Rule: rule, Tool: "a", Reason: "a test"})
	}
	require.Empty(t, record(func(t testing.TB) { CheckLint(t, bad, p) }).errs)
	require.Len(t, record(func(t testing.TB) { CheckLint(t, bad, p, registry.Gemini()) }).errs, 1)
}

func TestLineDiff(t *testing.T) {
	t.Parallel()
	require.Equal(t, "", lineDiff("a\nb\n", "a\nb\n"))
	require.Equal(t, "  3\n  4\n  5\n- 6\n+ six\n  7\n  8\n  9\n  ...\n", lineDiff("1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n", "1\n2\n3\n4\n5\nsix\n7\n8\n9\n10\n"))
	require.Equal(t, "- a\n+ b\n  x\n- c\n", lineDiff("a\nx\nc", "b\nx"))
	long := strings.Repeat("x\n", maxDiffLines+1)
	require.NotEmpty(t, lineDiff("a\n"+long+"b", long+long))
}
