package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/steadymcp/steady/cmd/steady/internal/report"
)

// npm is where make installs servers that come from npm.
const npm = "../../internal/npm/node_modules"

// others are servers that we did not write. What the doctor finds in each was
// checked by hand, and is kept in testdata/known: a finding that comes or goes is
// looked at before it is recorded there with STEADY_UPDATE_KNOWN=1.
var others = []other{
	// The tool takes the ten seconds that it is there to take.
	{name: "server-everything", script: "server-everything/dist/index.js", flags: []string{"-skip", "trigger-long-running-operation"}},
	{name: "server-filesystem", script: "server-filesystem/dist/index.js", flags: []string{"-write", "-destructive"}, args: func(t *testing.T) []string {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "note.txt"), []byte("buy milk\n"), 0o600))
		return []string{dir}
	}},
	{name: "server-memory", script: "server-memory/dist/index.js", flags: []string{"-write"}},
	{name: "server-sequential-thinking", script: "server-sequential-thinking/dist/index.js"},
	{name: "sdk-everything", pkg: "everything", flags: []string{"-call", "greet", "-call", "ping", "-call", "log"}},
	{name: "sdk-memory", pkg: "memory", flags: []string{"-destructive"}},
}

type other struct {
	name  string
	flags []string
	// from npm, or a package of the SDK's module
	script, pkg string
	args        func(t *testing.T) []string
}

// command starts the server.
func (o *other) command(t *testing.T) []string {
	var command []string
	if o.script != "" {
		script := filepath.Join(npm, "@modelcontextprotocol", o.script)
		_, err := os.Stat(script)
		require.NoError(t, err, "the servers from npm are not installed: run make npm in the root of the repository")
		command = []string{"node", script}
	} else {
		command = []string{buildSDK(t, o.pkg)}
	}
	if o.args != nil {
		command = append(command, o.args(t)...)
	}
	return command
}

// weather is what depends on how the processors are shared, not on the server.
var weather = []string{"eof-replies", "sigterm-replies", "concurrency-unbounded", "concurrency-broken", "cancel-ignored", "slow-call"}

func TestServersOfOthers(t *testing.T) {
	t.Parallel()
	for _, o := range others {
		t.Run(o.name, func(t *testing.T) {
			t.Parallel()
			command := o.command(t)
			flags := append([]string{"-env", "MEMORY_FILE_PATH=" + filepath.Join(t.TempDir(), "memory.jsonl")}, o.flags...)
			r := examine(t, append(append(flags, "--"), command...)...)
			compareKnown(t, filepath.Join("testdata", "known", o.name+".json"), r)
		})
	}
}

func buildSDK(t testing.TB, name string) string {
	return builds.get("sdk/"+name, func() string {
		out := filepath.Join(buildDir, "sdk-"+name)
		text, err := exec.Command("go", "build", "-o", out, "github.com/modelcontextprotocol/go-sdk/examples/server/"+name).CombinedOutput()
		require.NoError(t, err, "%s", text)
		return out
	})
}

// knownFinding is what is recorded of a finding: it is a baseline as well.
type knownFinding struct {
	Probe    string `json:"probe"`
	Severity string `json:"severity"`
	Subject  string `json:"subject,omitempty"`
}

func compareKnown(t *testing.T, file string, r *report.Report) {
	t.Helper()
	var found []knownFinding
	for _, f := range r.Findings {
		if !slices.Contains(weather, f.Probe) {
			found = append(found, knownFinding{f.Probe, string(f.Severity), f.Subject})
		}
	}
	if os.Getenv("STEADY_UPDATE_KNOWN") != "" {
		var b bytes.Buffer
		b.WriteString("{\"findings\": [\n")
		for i, f := range found {
			line, err := json.Marshal(f)
			require.NoError(t, err)
			b.WriteString("  " + string(line) + strings.Repeat(",", min(len(found)-1-i, 1)) + "\n")
		}
		b.WriteString("]}\n")
		require.NoError(t, os.WriteFile(file, b.Bytes(), 0o644))
		return
	}
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	var known struct{ Findings []knownFinding }
	require.NoError(t, json.Unmarshal(data, &known))
	require.ElementsMatch(t, known.Findings, found, explain(r))
}
