package discovery

import (
	"bufio"
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/observe"
)

// The files in testdata/servers describe servers of many trades in a line per
// tool, and below them what a model might guess without having read the list:
//
//	guess = tool         is sure; a tool that writes runs only with RouteWrites
//	guess ~ tool tool    is not sure, one of these should be proposed
//	guess x [tool...]    is not offered, these come near
//
//go:embed testdata/servers/*.txt
var serverFiles embed.FS

type guess struct {
	server, name string
	sure         bool
	tools        []string
}

type testServer struct {
	name    string
	tools   []*mcp.Tool
	guesses []guess
}

func testServers(t testing.TB) []testServer {
	t.Helper()
	files, err := serverFiles.ReadDir("testdata/servers")
	require.NoError(t, err)
	var out []testServer
	for _, f := range files {
		raw, err := serverFiles.ReadFile(path.Join("testdata/servers", f.Name()))
		require.NoError(t, err)
		s := testServer{name: strings.TrimSuffix(f.Name(), ".txt")}
		lines := bufio.NewScanner(strings.NewReader(string(raw)))
		for lines.Scan() {
			line := strings.TrimSpace(lines.Text())
			if line == "" || strings.HasPrefix(line, "#") {
				continue
			}
			if parts := strings.Split(line, "|"); len(parts) == 3 {
				s.tools = append(s.tools, toolOf(parts))
				continue
			}
			w := strings.Fields(line)
			require.GreaterOrEqual(t, len(w), 2, line)
			s.guesses = append(s.guesses, guess{server: s.name, name: w[0], sure: w[1] == "=", tools: w[2:]})
		}
		out = append(out, s)
	}
	return out
}

func toolOf(parts []string) *mcp.Tool {
	kind, name, _ := strings.Cut(strings.TrimSpace(parts[0]), " ")
	destructive := kind == "D"
	s := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}}
	for p := range strings.FieldsSeq(parts[2]) {
		p, required := strings.CutSuffix(p, "*")
		s.Properties[p] = &jsonschema.Schema{Type: "string"}
		if required {
			s.Required = append(s.Required, p)
		}
	}
	return &mcp.Tool{Name: name, Description: strings.TrimSpace(parts[1]), InputSchema: s,
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: kind == "R", DestructiveHint: &destructive}}
}

type tally struct {
	sureRead, sureWrite, routedRead, routedWrite, wrong, wrongWrite, suggest, hit, declined, first, removed, removedRouted, removedWrite int
}

func (a tally) String() string {
	return fmt.Sprintf("read %d/%d write %d/%d wrong %d (write %d) hit@3 %d/%d first %d/%d removed %d/%d (write %d)",
		a.routedRead, a.sureRead, a.routedWrite, a.sureWrite, a.wrong, a.wrongWrite, a.hit, a.suggest, a.first, a.declined, a.removedRouted, a.removed, a.removedWrite)
}

func measure(t testing.TB, servers []testServer, opts Options) tally {
	var a tally
	opts.Observer = observe.Discard
	for _, s := range servers {
		o := opts
		o.Servers = []string{s.name}
		set := newSettings(&o)
		x := buildIndex(s.tools, set)
		find := func(name string) *mcp.Tool {
			i := slices.IndexFunc(s.tools, func(t *mcp.Tool) bool { return t.Name == name })
			if i < 0 {
				t.Fatalf("%s has no tool %s", s.name, name)
			}
			return s.tools[i]
		}
		for _, g := range s.guesses {
			r := x.resolve(g.name, set)
			var names []string
			for _, c := range r.Candidates {
				names = append(names, c.Name)
			}
			right := len(g.tools) > 0 && r.Tool == g.tools[0]
			switch {
			case g.sure:
				tool := find(g.tools[0])
				read := tool.Annotations.ReadOnlyHint
				if read {
					a.sureRead++
				} else {
					a.sureWrite++
				}
				if right && read {
					a.routedRead++
				} else if right {
					a.routedWrite++
				}
				if r.Tool == "" {
					a.declined++
					if len(names) > 0 && names[0] == g.tools[0] {
						a.first++
					} else {
						t.Logf("NOT FIRST %s: %s = %v, proposed %v (%s)", s.name, g.name, g.tools, names, r.Reason)
					}
					if read || opts.RouteWrites && !*tool.Annotations.DestructiveHint {
						t.Logf("MISS %s: %s = %v, proposed %v (%s)", s.name, g.name, g.tools, names, r.Reason)
					}
				}
			case len(g.tools) > 0:
				find(g.tools[0])
				a.suggest++
				if slices.ContainsFunc(names, func(n string) bool { return slices.Contains(g.tools, n) }) {
					a.hit++
				} else {
					t.Logf("NO HIT %s: %s ~ %v, proposed %v", s.name, g.name, g.tools, names)
				}
			}
			if r.Tool != "" && !slices.Contains(g.tools, r.Tool) {
				a.wrong++
				if !find(r.Tool).Annotations.ReadOnlyHint {
					a.wrongWrite++
				}
				t.Logf("WRONG %s: %s ran %s, wanted %v (%s: %s)", s.name, g.name, r.Tool, g.tools, r.Step, r.Reason)
			}
			if len(g.tools) > 0 {
				a.removed++
				rest := slices.DeleteFunc(slices.Clone(s.tools), func(t *mcp.Tool) bool { return slices.Contains(g.tools, t.Name) })
				if r := buildIndex(rest, set).resolve(g.name, set); r.Tool != "" {
					a.removedRouted++
					if !find(r.Tool).Annotations.ReadOnlyHint {
						a.removedWrite++
					}
					t.Logf("REMOVED %s: %s without %v ran %s (%s: %s)", s.name, g.name, g.tools, r.Tool, r.Step, r.Reason)
				}
			}
		}
	}
	return a
}
