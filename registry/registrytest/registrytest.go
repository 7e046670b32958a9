// Package registrytest holds a server's catalog to its contract, in tests: it
// is what it was ([Snapshot]), it is the same at every launch ([CheckStable]),
// and clients can use it ([CheckLint]).
//
// It imports nothing beyond the standard library, the SDK and package registry.
package registrytest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/registry"
)

var update = flag.Bool("update-tools", false, "rewrite the snapshots of package registrytest")

// updateVariable does what -update-tools does. It is for runs over several
// packages, where a flag that one of them does not know is an error.
const updateVariable = "UPDATE_TOOLS"

// serverFile holds what belongs to no tool. No tool can have this name.
const serverFile = "=server.json"

// Snapshot compares what server advertises with the files under
// testdata/tools/TESTNAME: one for each tool, and =server.json with the order
// of the tools and the server's instructions. A difference fails the test with
// what it means to callers and a line by line comparison.
//
// Run the test with -update-tools, or with UPDATE_TOOLS=1 in the environment,
// to rewrite the files. A file that is missing is written, except where the
// environment has CI set: there it fails the test, because a snapshot that was
// never committed holds nothing.
func Snapshot(t testing.TB, server *mcp.Server) {
	t.Helper()
	SnapshotListing(t, listing(t, server))
}

// SnapshotListing is [Snapshot] for a listing that was obtained otherwise, for
// example with [registry.FetchListing] from a server in another language.
func SnapshotListing(t testing.TB, now *registry.Listing) {
	t.Helper()
	s := snapshot{
		t:      t,
		dir:    filepath.Join("testdata", "tools", unsafePath.ReplaceAllString(t.Name(), "_")),
		update: *update || os.Getenv(updateVariable) != "",
		ci:     os.Getenv("CI") != "",
	}
	s.check(now)
}

var unsafePath = regexp.MustCompile(`[^a-zA-Z0-9_.-]+`)

type snapshot struct {
	t      testing.TB
	dir    string
	update bool
	ci     bool
}

func (s *snapshot) check(now *registry.Listing) {
	s.t.Helper()
	files := map[string][]byte{}
	var order []string
	for i, tool := range now.Tools {
		var named struct{ Name string }
		if err := json.Unmarshal(tool, &named); err != nil {
			s.t.Fatalf("registrytest: tool %d cannot be read: %v", i+1, err)
		}
		order = append(order, named.Name)
		files[fileName(named.Name)] = indent(tool)
	}
	about, err := marshal(map[string]any{"order": order, "instructions": now.Instructions})
	if err != nil {
		s.t.Fatalf("registrytest: %v", err)
	}
	files[serverFile] = about

	saved, err := s.read()
	if err != nil {
		s.t.Fatalf("registrytest: %v", err)
	}
	if s.update {
		s.write(files, saved)
		return
	}
	if len(saved) > 0 {
		s.explain(saved, now)
	}
	names := []string{serverFile}
	for _, tool := range order {
		names = append(names, fileName(tool))
	}
	for _, name := range names {
		want, ok := saved[name]
		switch {
		case ok && !bytes.Equal(want, files[name]):
			s.t.Errorf("%s differs (- snapshot, + now); run with -update-tools if this is meant\n%s",
				filepath.Join(s.dir, name), lineDiff(string(want), string(files[name])))
		case !ok && (s.ci || len(saved) > 0):
			s.t.Errorf("%s is missing; run with -update-tools and commit it", filepath.Join(s.dir, name))
		case !ok:
			s.write(map[string][]byte{name: files[name]}, nil)
			s.t.Logf("wrote %s", filepath.Join(s.dir, name))
		}
	}
	for name := range saved {
		if _, ok := files[name]; !ok {
			s.t.Errorf("%s belongs to a tool that is not listed any more; run with -update-tools if this is meant", filepath.Join(s.dir, name))
		}
	}
}

// explain says what the difference means to callers.
func (s *snapshot) explain(saved map[string][]byte, now *registry.Listing) {
	s.t.Helper()
	var about struct {
		Order        []string
		Instructions string
	}
	if json.Unmarshal(saved[serverFile], &about) != nil {
		return
	}
	old := &registry.Listing{Instructions: about.Instructions}
	for _, name := range about.Order {
		if tool, ok := saved[fileName(name)]; ok {
			old.Tools = append(old.Tools, tool)
		}
	}
	changes, err := registry.Diff(old, now)
	if err != nil {
		s.t.Logf("registrytest: %v", err)
		return
	}
	var b strings.Builder
	for _, c := range changes {
		b.WriteString("\n  " + c.String())
	}
	if b.Len() > 0 {
		s.t.Errorf("the catalog has changed:%s", b.String())
	}
}

func (s *snapshot) read() (map[string][]byte, error) {
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	saved := map[string][]byte{}
	for _, e := range entries {
		if e.IsDir() || filepath.Ext(e.Name()) != ".json" {
			continue
		}
		data, err := os.ReadFile(filepath.Join(s.dir, e.Name()))
		if err != nil {
			return nil, err
		}
		// A checkout on Windows may have turned the ends of lines.
		saved[e.Name()] = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	}
	return saved, nil
}

// write writes files and removes those of saved that are none of them.
func (s *snapshot) write(files, saved map[string][]byte) {
	s.t.Helper()
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		s.t.Fatalf("registrytest: %v", err)
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(s.dir, name), data, 0o644); err != nil {
			s.t.Fatalf("registrytest: %v", err)
		}
	}
	for name := range saved {
		if _, ok := files[name]; !ok {
			if err := os.Remove(filepath.Join(s.dir, name)); err != nil {
				s.t.Fatalf("registrytest: %v", err)
			}
		}
	}
}

// fileName returns the name of a tool's file, whatever its name is.
func fileName(tool string) string {
	return strings.ReplaceAll(url.PathEscape(tool), "=", "%3D") + ".json"
}

func indent(data []byte) []byte {
	var b bytes.Buffer
	if err := json.Indent(&b, data, "", "  "); err != nil {
		return data
	}
	b.WriteByte('\n')
	return b.Bytes()
}

func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(v)
	return b.Bytes(), err
}

// CheckLint fails the test for everything that [registry.Lint] finds in what
// server advertises, for each of profiles, or for [registry.Generic] if there
// are none. What is known and right goes into a profile's Exceptions, with the
// reason.
func CheckLint(t testing.TB, server *mcp.Server, profiles ...*registry.Profile) {
	t.Helper()
	if len(profiles) == 0 {
		profiles = []*registry.Profile{registry.Generic()}
	}
	l := listing(t, server)
	for _, p := range profiles {
		report, err := registry.Lint(context.Background(), l, p)
		if err != nil {
			t.Fatalf("registrytest: %v", err)
		}
		if len(report.Findings) > 0 {
			t.Errorf("%d findings\n%s", len(report.Findings), report)
		}
	}
}

// stableBuilds is how often CheckStable builds the server. Two orders of a map
// of two are equal half the time; twenty builds miss that once in 500,000.
const stableBuilds = 20

// CheckStable builds a server twenty times and fails the test if two of them
// advertise anything that is not equal to the byte: the order of tools, of
// properties, a text with a date in it. Clients cache prompts by their bytes.
func CheckStable(t testing.TB, build func() *mcp.Server) {
	t.Helper()
	var first *registry.Listing
	for i := range stableBuilds {
		now := listing(t, build())
		if i == 0 {
			first = now
			continue
		}
		if d := firstDifference(first, now); d != "" {
			t.Fatalf("build %d is not like the first: %s", i+1, d)
		}
	}
}

func firstDifference(a, b *registry.Listing) string {
	if a.Instructions != b.Instructions {
		return "the instructions differ\n" + lineDiff(a.Instructions, b.Instructions)
	}
	for i := range max(len(a.Tools), len(b.Tools)) {
		var x, y []byte
		if i < len(a.Tools) {
			x = a.Tools[i]
		}
		if i < len(b.Tools) {
			y = b.Tools[i]
		}
		if !bytes.Equal(x, y) {
			return lineDiff(string(indent(x)), string(indent(y)))
		}
	}
	return ""
}

func listing(t testing.TB, server *mcp.Server) *registry.Listing {
	t.Helper()
	l, err := registry.ListingOf(context.Background(), server)
	if err != nil {
		t.Fatalf("registrytest: %v", err)
	}
	return l
}
