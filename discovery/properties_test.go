package discovery

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/steadymcp/steady/observe"
)

var quiet = &Options{Observer: observe.Discard}

// requests draws names as models send them: true ones, guesses, and both
// spelled wrongly.
func requests(servers []testServer) *rapid.Generator[struct {
	server testServer
	name   string
}] {
	return rapid.Custom(func(t *rapid.T) (r struct {
		server testServer
		name   string
	}) {
		r.server = rapid.SampledFrom(servers).Draw(t, "server")
		if rapid.Bool().Draw(t, "guess") && len(r.server.guesses) > 0 {
			r.name = rapid.SampledFrom(r.server.guesses).Draw(t, "guess").name
		} else {
			r.name = rapid.SampledFrom(r.server.tools).Draw(t, "tool").Name
		}
		switch rapid.IntRange(0, 6).Draw(t, "spoil") {
		case 0:
			r.name = "mcp__srv__" + r.name
		case 1:
			i := rapid.IntRange(0, len(r.name)-1).Draw(t, "at")
			r.name = r.name[:i] + r.name[i+1:]
		case 2:
			words := strings.FieldsFunc(r.name, func(c rune) bool { return c == '_' || c == '-' })
			slices.Reverse(words)
			r.name = strings.Join(words, "_")
		case 3:
			r.name += rapid.SampledFrom([]string{"s", "_tool", ":3", "_by_id", "_details"}).Draw(t, "tail")
		}
		return r
	})
}

func TestResolutionDoesNotDependOnTheOrderOfTools(t *testing.T) {
	t.Parallel()
	servers := testServers(t)
	rapid.Check(t, func(t *rapid.T) {
		r := requests(servers).Draw(t, "request")
		seed := rapid.Uint64().Draw(t, "seed")
		shuffled := slices.Clone(r.server.tools)
		rand.New(rand.NewPCG(seed, 1)).Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		for _, o := range []*Options{quiet, {Observer: observe.Discard, RouteWrites: true, Servers: []string{r.server.name}}} {
			a, b := Resolve(r.name, r.server.tools, o), Resolve(r.name, shuffled, o)
			if fmt.Sprint(a) != fmt.Sprint(b) {
				t.Fatalf("%q: %+v, in another order %+v", r.name, a, b)
			}
		}
	})
}

func TestAnUnrelatedToolNeverMakesASuggestionARoute(t *testing.T) {
	t.Parallel()
	servers := testServers(t)
	strange := []string{"zorkify_blivet", "blivet", "grommet_frotz_list", "get_quux", "vorpal_quux_zork", "delete_zork"}
	rapid.Check(t, func(t *rapid.T) {
		r := requests(servers).Draw(t, "request")
		o := &Options{Observer: observe.Discard, RouteWrites: rapid.Bool().Draw(t, "writes")}
		before := Resolve(r.name, r.server.tools, o)
		more := slices.Clone(r.server.tools)
		for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(strange), 1, 4, rapid.ID[string]).Draw(t, "added") {
			more = append(more, toolOf([]string{"R " + name, "Blivets the zork", "frotz"}))
		}
		after := Resolve(r.name, more, o)
		if before.Tool == "" && after.Tool != "" {
			t.Fatalf("%q: %+v, with an unrelated tool %+v", r.name, before, after)
		}
	})
}

// What a word means must not hang on the order in which a map is walked.
func TestVocabularyIsTheSameEachTime(t *testing.T) {
	t.Parallel()
	first := buildLexicon()
	for range 8 {
		require.Equal(t, first, buildLexicon())
	}
}

func TestExactNamesAreExact(t *testing.T) {
	t.Parallel()
	for _, s := range testServers(t) {
		resolver := New(quiet)
		for _, tool := range s.tools {
			r := resolver.Resolve(tool.Name, s.tools)
			require.Equal(t, tool.Name, r.Tool)
			require.Equal(t, StepExact, r.Step)
		}
	}
}

// No rule may bridge what undoes each other, however near the words are.
func TestAntonymsAreNeverBridged(t *testing.T) {
	t.Parallel()
	for pair := range strings.FieldsSeq(antonyms) {
		a, b, _ := strings.Cut(pair, "/")
		for _, x := range [][2]string{{a, b}, {b, a}} {
			for _, form := range []string{"%s_thing", "thing_%s", "get_%s_thing", "%sThing"} {
				tools := named(fmt.Sprintf(form, x[0]), "unlike_all")
				r := Resolve(fmt.Sprintf(form, x[1]), tools, &Options{Observer: observe.Discard, RouteWrites: true})
				require.Empty(t, r.Tool, "%s ran %s", fmt.Sprintf(form, x[1]), r.Tool)
			}
		}
	}
}

// Words of families with different effect are never bridged, whatever the tool
// is annotated as.
func TestFamiliesAreNeverBridged(t *testing.T) {
	t.Parallel()
	families := []string{"get list search", "create add insert", "update edit modify", "delete remove drop", "clear purge", "start launch", "stop halt", "enable", "disable", "send post", "move", "copy clone", "cancel abort", "archive", "publish", "run execute"}
	for i, f := range families {
		for j, g := range families {
			for a := range strings.FieldsSeq(f) {
				for b := range strings.FieldsSeq(g) {
					if i == j {
						continue
					}
					tools := named(a+"_widget", "unlike_all")
					r := Resolve(b+"_widget", tools, &Options{Observer: observe.Discard, RouteTools: []string{a + "_widget"}})
					require.Empty(t, r.Tool, "%s_widget ran %s", b, r.Tool)
				}
			}
		}
	}
}

// The numbers that the rules were made for: nothing wrong runs, nothing runs
// in place of a tool that is not there and writes, and most that is sure does.
func TestServersAsAWhole(t *testing.T) {
	t.Parallel()
	servers := testServers(t)
	def := measure(t, servers, Options{})
	t.Log("default:     ", def)
	require.Zero(t, def.wrong)
	require.Zero(t, def.removedWrite)
	require.LessOrEqual(t, float64(def.removedRouted), .015*float64(def.removed))
	require.GreaterOrEqual(t, float64(def.routedRead), .90*float64(def.sureRead))
	require.GreaterOrEqual(t, float64(def.hit), .90*float64(def.suggest))
	writes := measure(t, servers, Options{RouteWrites: true})
	t.Log("route writes:", writes)
	require.Zero(t, writes.wrong)
	require.Zero(t, writes.removedWrite)
	require.LessOrEqual(t, float64(writes.removedRouted), .015*float64(writes.removed))
	require.GreaterOrEqual(t, float64(writes.routedWrite), .80*float64(writes.sureWrite))
}

// What is lossless reaches every tool, also one that destroys.
func TestLosslessReachesEveryTool(t *testing.T) {
	t.Parallel()
	for _, s := range testServers(t) {
		resolver := New(&Options{Observer: observe.Discard, Servers: []string{s.name}})
		for _, tool := range s.tools {
			words := split(tool.Name)
			var camel strings.Builder
			for i, w := range words {
				if i > 0 {
					w = strings.ToUpper(w[:1]) + w[1:]
				}
				camel.WriteString(w)
			}
			for _, name := range []string{
				" " + tool.Name + "\u200b", "`" + tool.Name + "()`", tool.Name + "<|channel|>commentary", "functions." + tool.Name, "default_api." + tool.Name, "mcp__" + s.name + "__" + tool.Name,
				"mcp_" + s.name + "_" + tool.Name, s.name + "." + tool.Name, s.name + "/" + tool.Name, s.name + ":" + tool.Name, "mcp0_" + tool.Name, "tool:" + tool.Name, "mcp_mcp_" + s.name + "_" + tool.Name,
				strings.ToUpper(tool.Name), camel.String(), strings.Join(words, "-"), strings.Join(words, " "), tool.Name + "_tool",
			} {
				if len(words) == 1 && strings.HasSuffix(name, "_tool") {
					continue // "click_tool" may speak of a tool to click
				}
				r := resolver.Resolve(name, s.tools)
				require.Equal(t, tool.Name, r.Tool, "%q: %+v", name, r)
				require.True(t, r.Step.Lossless(), "%q: %s", name, r.Step)
			}
		}
	}
}

// yardstick is a text whose decoding takes about a millisecond on an idle
// machine without the race detector.
var yardstick = []byte("[" + strings.Repeat(`{"query":"x","limit":5},`, 1500) + "0]")

// takesLonger reports whether work takes longer than limit, at its quickest, on
// an idle machine without the race detector: a slower one is allowed as many
// times as long as it takes for the yardstick.
func takesLonger(limit time.Duration, work func()) bool {
	took := func(f func()) time.Duration {
		start := time.Now()
		f()
		return time.Since(start)
	}
	best := took(work)
	if best <= limit {
		return false
	}
	unit := time.Hour // what a millisecond of work takes here
	for range 20 {
		unit = min(unit, took(func() {
			var v any
			_ = json.Unmarshal(yardstick, &v)
		}))
		best = min(best, took(work))
		if best <= time.Duration(float64(limit)*max(1, unit.Seconds()*1000)) {
			return false
		}
	}
	return true
}

func FuzzResolve(f *testing.F) {
	servers := testServers(f)
	indexes := make([]*index, len(servers))
	o := newSettings(&Options{Observer: observe.Discard, RouteWrites: true, Servers: []string{"github"}})
	for i, s := range servers {
		indexes[i] = buildIndex(s.tools, o)
		for _, g := range s.guesses[:min(8, len(s.guesses))] {
			f.Add(g.name, i)
		}
	}
	f.Add("mcp__x__\x00\xff<|", 0)
	f.Add(strings.Repeat("get_", 80), 1)
	f.Fuzz(func(t *testing.T, name string, which int) {
		x := indexes[int(uint(which)%uint(len(indexes)))]
		var r Resolution
		if takesLonger(5*time.Millisecond, func() { r = x.resolve(name, o) }) {
			t.Fatalf("%q takes more than 5 ms", name)
		}
		if r.Tool != "" {
			if _, ok := x.byName[r.Tool]; !ok {
				t.Fatalf("%q ran %q, which does not exist", name, r.Tool)
			}
		}
		for _, c := range r.Candidates {
			if r.Tool == "" && c.Name == name {
				t.Fatalf("%q was answered with itself", name)
			}
		}
		if q := quote(name); len([]rune(q)) > 250 || strings.ContainsAny(q, "\n\r\t\x00") {
			t.Fatalf("%q is shown as %s", name, q)
		}
		clean(clean(name))
	})
}

// repairSchemas are what the properties of repair are tried on.
var repairSchemas = []string{
	`{"type":"object","additionalProperties":false,"required":["query"],"properties":{"query":{"type":"string"},"limit":{"type":"integer"},"tags":{"type":["null","array"],"items":{"type":"string"}},"strict":{"type":"boolean"},"mode":{"enum":["fast","Slow-Mode"]}}}`,
	`{"type":"object","required":["path","content"],"properties":{"path":{"type":"string","minLength":1},"content":{"type":"string"},"dry_run":{"type":"boolean"},"encoding":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`,
	`{"type":"object","additionalProperties":false,"properties":{"filter":{"$ref":"#/$defs/filter"},"size":{"type":"number","minimum":0}},"$defs":{"filter":{"type":"object","additionalProperties":false,"required":["field"],"properties":{"field":{"type":"string"},"value":{"type":"integer"},"not":{"$ref":"#/$defs/filter"}}}}}`,
	`{"type":"object"}`,
	`{"type":"object","additionalProperties":{"type":"integer"}}`,
}

func FuzzRepair(f *testing.F) {
	for i, s := range []string{
		`{"question":"x","limit":"5","tags":"a","strict":"true","mode":"slow_mode"}`, `{"params":{"q":"x"}}`, `"{\"query\":\"x\"}"`, `{"filename":"a","text":"b","dryRun":"true"}`,
		`{"filter":"{\"Field\":\"a\",\"value\":\"9007199254740993\",\"not\":{\"fields\":\"b\"}}"}`, `{"query":"a","Query":"b"}`, `{"a":1,"a":2}`, `null`, ``, `[]`, `{"a":{"b":{"c":[1,2,{"d":"\ud800"}]}}}`,
		`{"query":"x","toolCallId":"1","limit":null}`, `{"content":"</parameter>","path":""}`,
	} {
		f.Add([]byte(s), i, i%2 == 0)
	}
	for i := range repairSchemas {
		// What grows faster than the input does shows only in large ones.
		var keys strings.Builder
		keys.WriteString(`{"limit":"5"`)
		for j := range 10_000 {
			fmt.Fprintf(&keys, `,"k%07d":1`, j)
		}
		f.Add([]byte(keys.String()+"}"), i, true)
		f.Add([]byte(`{"query":"x","tags":[1`+strings.Repeat(",1", 10_000)+`]}`), i, true)
		f.Add([]byte(`{"params":`+strings.Repeat("[", 70)+strings.Repeat("]", 70)+`}`), i, true)
	}
	type prepared struct {
		tool *mcp.Tool
		c    *compiled
	}
	var tools []prepared
	for _, s := range repairSchemas {
		c, err := compile(json.RawMessage(s))
		require.NoError(f, err)
		tools = append(tools, prepared{&mcp.Tool{Name: "write_file", InputSchema: json.RawMessage(s)}, c})
	}
	o := newSettings(quiet)
	f.Fuzz(func(t *testing.T, raw []byte, which int, _ bool) {
		p := tools[int(uint(which)%uint(len(tools)))]
		before := slices.Clone(raw)
		var out repaired
		limit := 5*time.Millisecond + time.Duration(len(raw))*10*time.Microsecond
		if takesLonger(limit, func() { out = o.repair(p.tool, raw, p.c) }) {
			t.Fatalf("%.200q, of %d bytes, takes more than %v", raw, len(raw), limit)
		}
		if string(before) != string(raw) {
			t.Fatalf("the caller's bytes were changed")
		}
		if len(out.problems) > 0 {
			msg := refused(p.tool.Name, p.c, out).Error()
			if len(msg) > 8000 {
				t.Fatalf("a refusal of %d bytes", len(msg))
			}
			if ex := p.c.root.example(out.root, out.problems); !json.Valid([]byte(ex)) {
				t.Fatalf("the call to copy is no JSON: %s", ex)
			}
			return
		}
		if len(out.arguments) > maxArguments {
			return
		}
		if len(out.changes) == 0 && string(out.arguments) != string(raw) && len(bytes.TrimSpace(raw)) > 0 {
			t.Fatalf("%s became %s without a word", raw, out.arguments)
		}
		n, err := parseJSON(out.arguments)
		if err == errTooDeep || err == errTooBig {
			return
		}
		if err != nil || !p.c.valid(n) || !p.c.validates(out.arguments) {
			t.Fatalf("%s became %s, which does not fit (%v)", raw, out.arguments, err)
		}
		again := o.repair(p.tool, out.arguments, p.c)
		if len(again.changes) > 0 || len(again.problems) > 0 || string(again.arguments) != string(out.arguments) {
			t.Fatalf("%s became %s, and then %s", raw, out.arguments, again.arguments)
		}
	})
}

// The quick check must agree with the validator that decides.
func FuzzCheck(f *testing.F) {
	f.Add([]byte(`{"query":"x","limit":5}`), 0)
	f.Add([]byte(`{"filter":{"field":"a","not":{"field":"b","value":1.0}}}`), 2)
	f.Fuzz(func(t *testing.T, raw []byte, which int) {
		n, err := parseJSON(raw)
		if err == nil != json.Valid(raw) && err != nil && json.Valid(raw) && !strings.Contains(err.Error(), "twice") && err != errTooDeep && err != errTooBig {
			t.Fatalf("%q is JSON: %v", raw, err)
		}
		if err != nil {
			for _, s := range repairSchemas {
				if c, err := compile(json.RawMessage(s)); err == nil && c.root.scan(raw) == valid {
					t.Fatalf("%q passes the scan and cannot be parsed", raw)
				}
			}
			return
		}
		if !json.Valid(raw) {
			t.Fatalf("%q is no JSON", raw)
		}
		c, err := compile(json.RawMessage(repairSchemas[int(uint(which)%uint(len(repairSchemas)))]))
		require.NoError(t, err)
		if c.root.scan(raw) == valid && c.root.check(n) != valid {
			t.Fatalf("%s passes the scan and not the check", raw)
		}
		switch c.root.check(n) {
		case valid:
			if !c.validates(raw) {
				t.Fatalf("%s is not valid", raw)
			}
		case invalid:
			if c.validates(raw) {
				t.Fatalf("%s is valid", raw)
			}
		}
	})
}

func TestMiddlewareDoesNotChangeRequests(t *testing.T) {
	t.Parallel()
	tools := named("search_papers")
	tools[0].InputSchema = json.RawMessage(repairSchemas[0])
	var got *mcp.CallToolRequest
	h := New(quiet).Middleware()(func(_ context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if q, ok := req.(*mcp.CallToolRequest); ok {
			got = q
			return &mcp.CallToolResult{}, nil
		}
		return &mcp.ListToolsResult{Tools: tools}, nil
	})
	exact := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "search_papers", Arguments: json.RawMessage(` {"query" : "x"} `)}}
	_, err := h(t.Context(), "tools/call", exact)
	require.NoError(t, err)
	require.Same(t, exact, got)
	require.Equal(t, ` {"query" : "x"} `, string(got.Params.Arguments))
	wrong := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "searchPapers", Arguments: json.RawMessage(`{"q":"x"}`)}}
	_, err = h(t.Context(), "tools/call", wrong)
	require.NoError(t, err)
	require.Equal(t, "searchPapers", wrong.Params.Name)
	require.Equal(t, `{"q":"x"}`, string(wrong.Params.Arguments))
	require.Equal(t, "search_papers", got.Params.Name)
	require.Equal(t, `{"query":"x"}`, string(got.Params.Arguments))
}
