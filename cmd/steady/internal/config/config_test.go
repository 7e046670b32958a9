package config

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

var environment = map[string]string{"FILES_KEY": "k1", "REMOTE_TOKEN": "t1"}

func lookup(name string) (string, bool) {
	value, ok := environment[name]
	return value, ok
}

func parseText(text string) (*Config, error) { return Parse("steady.yaml", []byte(text), lookup) }

func everything() string { return strings.ReplaceAll(Commented, "#-", "") }

func resolved(t *testing.T) *jsonschema.Resolved {
	t.Helper()
	var s jsonschema.Schema
	require.NoError(t, json.Unmarshal(Schema(), &s))
	r, err := s.Resolve(nil)
	require.NoError(t, err)
	return r
}

// instance is what an editor checks against the schema.
func instance(t *testing.T, text string) any {
	t.Helper()
	var v any
	// A day is a text to an editor, which reads YAML 1.2.
	require.NoError(t, yaml.Unmarshal([]byte(strings.ReplaceAll(text, "2027-01-31", `"2027-01-31"`)), &v))
	data, err := json.Marshal(v)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &v))
	return v
}

// The commented file, the struct and the schema say the same: the file has every
// key that the struct has, each is read, and the schema takes the file.
func TestCommentedFile(t *testing.T) {
	t.Parallel()
	c, err := parseText(Commented)
	require.NoError(t, err)
	require.Equal(t, RecommendedConfig(), c)

	c, err = parseText(everything())
	require.NoError(t, err)
	var unsaid func(v reflect.Value, where string)
	unsaid = func(v reflect.Value, where string) {
		switch v.Kind() {
		case reflect.Pointer:
			require.False(t, v.IsNil(), where)
			unsaid(v.Elem(), where)
		case reflect.Struct:
			for f := range v.Type().Fields() {
				if f.Tag.Get("yaml") != "" {
					unsaid(v.FieldByIndex(f.Index), where+"."+f.Name)
				}
			}
		case reflect.Map:
			require.NotZero(t, v.Len(), where)
			for _, key := range v.MapKeys() {
				unsaid(v.MapIndex(key), where+"."+key.String())
			}
		case reflect.Slice:
			require.NotZero(t, v.Len(), where)
		default:
			require.False(t, v.IsZero(), where)
		}
	}
	servers := c.Servers
	c.Servers = servers[:1]
	unsaid(reflect.ValueOf(c).Elem(), "")
	require.NoError(t, resolved(t).Validate(instance(t, everything())))
	require.NoError(t, resolved(t).Validate(instance(t, Commented)))

	require.Equal(t, Servers{
		{
			Name: "files", Command: []string{"npx", "-y", "@modelcontextprotocol/server-filesystem", "/srv"},
			Env: map[string]string{"API_KEY": "k1"}, Dir: "/srv",
		},
		{Name: "remote", URL: "https://mcp.example.com/mcp", Headers: map[string]string{"Authorization": "Bearer t1"}},
	}, servers)
	require.Equal(t, Size(200_000), c.Results.PerTool["read_file"])
	require.Equal(t, ToolLimit{Deadline: 5 * time.Minute, Running: 2, Rate: 0.1, Burst: 2}, c.Limits.Tools["export"])
	require.Equal(t, Former{Tool: "search_papers", Until: "2027-01-31", Arguments: map[string]string{"question": "query"}, Added: map[string]any{"limit": 10}}, c.Names.Former["lookup_papers"])
}

// Every default that the file shows is the one that holds.
func TestDefaultsInTheCommentedFile(t *testing.T) {
	t.Parallel()
	var check func(t reflect.Type)
	check = func(typ reflect.Type) {
		switch typ.Kind() {
		case reflect.Pointer, reflect.Map, reflect.Slice:
			check(typ.Elem())
		case reflect.Struct:
			for f := range typ.Fields() {
				if d := f.Tag.Get("default"); d != "" {
					require.Regexp(t, `(?m)^#- *`+f.Tag.Get("yaml")+`: `+d+`$`, Commented)
				}
				if f.Tag.Get("yaml") != "" {
					check(f.Type)
				}
			}
		}
	}
	check(reflect.TypeFor[Config]())
}

func TestSections(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]*Config{
		"":                          {},
		"# nothing\n":               {},
		"repair:":                   {Repair: &Repair{}},
		"repair: true":              {Repair: &Repair{}},
		"repair: false":             {},
		"results:":                  {Results: &Results{Keep: &Keep{}}},
		"results: {keep: false}":    {Results: &Results{}},
		"limits: {deadline: off}":   {Limits: &Limits{Deadline: None}},
		"limits: {rate: 300/m}":     {Limits: &Limits{Rate: 5}},
		"results: {bytes: 1.5 MiB}": {Results: &Results{Bytes: 3 << 19, Keep: &Keep{}}},
		"protect: off":              {Protect: Off},
		"protect: recommended":      RecommendedConfig(),
		"protect: recommended\nlimits: false\nerrors: {show: nothing}": {
			Protect: Recommended, Repair: &Repair{}, Results: &Results{Keep: &Keep{}}, Errors: &Errors{Show: ShowNothing},
		},
		"tasks: {tools: {export: }}":                 {Tasks: &Tasks{Tools: map[string]Task{"export": {}}}},
		"tasks: {tools: {export: {grace: at once}}}": {Tasks: &Tasks{Tools: map[string]Task{"export": {Grace: Eager}}}},
		"servers: {a: {command: [x], env: {A: \"$$${FILES_KEY}\"}}}": {
			Servers: Servers{{Name: "a", Command: []string{"x"}, Env: map[string]string{"A": "$k1"}}},
		},
	} {
		got, err := parseText(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
		if strings.TrimSpace(text) != "" && text[0] != '#' {
			require.NoError(t, resolved(t).Validate(instance(t, text)), text)
		}
	}
}

func TestMistakes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"\nrepare: true":                                  `steady.yaml:2: the file has no key "repare"; did you mean repair? there are protect, servers,`,
		"results:\n  size: 3":                             `steady.yaml:2: results has no key "size"; there are bytes,`,
		"results:\n  per-tool: {}":                        `did you mean per_tool?`,
		"results:\n  bytes: lots":                         `steady.yaml:2: results.bytes is "lots"; want a number of bytes above zero, such as 80000, 80kB or 4MiB`,
		"results: {bytes: -1}":                            `results.bytes is "-1"; want`,
		"results: {bytes: [1]}":                           `results.bytes is a list; want`,
		"limits: {deadline: 50}":                          `limits.deadline is "50"; want a duration above zero, such as 500ms, 50s, 15m or 1h30m, or off`,
		"limits: {wait: off}":                             `limits.wait is "off"; want a duration`,
		"limits: {rate: 10}":                              `want a number of calls and a unit of time`,
		"limits: {running: 0}":                            `limits.running is "0"; want a whole number from 1 to 1000000`,
		"limits: {running: many}":                         `limits.running is "many"; want a whole number`,
		"repair: {suggestions: 11}":                       `want a whole number from 1 to 10`,
		"repair: {strict: 1}":                             `repair.strict is "1"; want true or false`,
		"repair: {servers: files}":                        `repair.servers is "files"; want a list`,
		"repair: [files]":                                 `repair is a list; want its settings, or true or false`,
		"protect: all":                                    `protect is "all"; want recommended or off`,
		"names: {former: {a: {until: soon, tool: b}}}":    `names.former.a.until is "soon"; want a day, such as 2027-01-31`,
		"names: {former: {a: {}}}":                        `names.former.a has no tool; it must be said`,
		"visibility: {only: [\"a[\"]}":                    `visibility.only[0] is "a["; want a name in which`,
		"servers: {a: {}}":                                `servers.a has neither a command nor a url`,
		"servers: {a: {command: [x], url: \"http://x\"}}": `servers.a has a command and a url`,
		"servers: {a: {url: \"ftp://x\"}}":                `servers.a: the url must begin with`,
		"servers: {\"a b\": {command: [x]}}":              `"a b" is no name for a server`,
		"servers:\n  a:\n    command: [x]\n    env: {K: \"${NOT_THERE}\"}": `steady.yaml:4: servers.a.env.K: ${NOT_THERE} is not in the environment`,
		"servers: {a: {command: [x], headers: {A: b}}}":                    `headers are for a url`,
		`servers: {a: {url: "http://x", headers: {"A b": c}}}`:             `servers.a.headers: "A b" has a character`,
		`servers: {a: {url: "http://x", headers: {A: "k1\nb"}}}`:           `servers.a.headers: "A" has a character`,
		`servers: {a: {command: [x], env: {"A=B": k1}}}`:                   `servers.a.env: "A=B" is no variable`,
		"errors: true\nerrors: false":                                      `steady.yaml:2: the file: errors is said twice, the first time in line 1`,
		"a: &x 1\nb: *x":                                                   `has no key "a"`,
		"results: &x\n  bytes: 1kB\nlimits: *x":                            `limits: aliases are not taken`,
		"results: {<<: {bytes: 1}}":                                        `results: a key is "<<"; want a name`,
		"- 1":                                                              `the file is a list; want a mapping`,
		"results: {":                                                       `is no YAML`,
		"errors: true\n---\nb: 2":                                          `steady.yaml:2: a second document begins here`,
		"tasks: true":                                                      `tasks has no tools; it must be said`,
	} {
		_, err := parseText(text)
		require.ErrorContains(t, err, want, text)
		require.NotContains(t, err.Error(), "k1", text)
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "steady.yaml")
	_, err := Read(file)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, os.WriteFile(file, []byte("errors:"), 0o600))
	c, err := Read(file)
	require.NoError(t, err)
	require.True(t, c.Protects())
	require.NoError(t, os.WriteFile(file, make([]byte, MaxFile+1), 0o600))
	_, err = Read(file)
	require.ErrorContains(t, err, "has 1048577 bytes")
}

func TestPatterns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern Pattern
		name    string
		matches bool
	}{
		{"read_*", "read_file", true},
		{"read_*", "write_file", false},
		{"*", "a/b", true},
		{"a?", "ab", true},
		{"a?", "a", false},
	} {
		require.Equal(t, c.matches, c.pattern.Matches(c.name), "%s %s", c.pattern, c.name)
	}
}

// Whatever is in the file, it is read or said to be wrong by the file's name.
func FuzzParse(f *testing.F) {
	f.Add(Commented)
	f.Add(everything())
	f.Add("results: {bytes: 80kB}")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4<<10 {
			return
		}
		c, err := parseText(text)
		require.Equal(t, err == nil, c != nil)
		if err != nil {
			require.Contains(t, err.Error(), "steady.yaml")
		}
	})
}
