// Package registrytest holds a server's catalog to its contract, in tests: it
// is what it was ([Snapshot]), it is the same at every launch ([CheckStable]),
// and clients can use it ([CheckLint]).
//
// It imports nothing beyond the standard library, the SDK and package registry.
package registrytest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

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
// of the tools and the lines of the server's instructions. A difference fails
// the test with what it means to callers and a line by line comparison.
//
// Run the test with -update-tools, or with UPDATE_TOOLS=1 in the environment,
// to rewrite the files. Where there are none they are written, unless the
// environment has CI set: then the test fails, because a snapshot that was
// never committed holds nothing. ("0" and "false" are as good as not set.)
//
// A test takes one snapshot; for several servers use t.Run.
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
		update: *update || isSet(updateVariable),
		ci:     isSet("CI"),
	}
	if _, twice := snapshots.LoadOrStore(s.dir, true); twice {
		t.Fatalf("registrytest: there is a snapshot in %s already; give each server a test of its own, with t.Run", s.dir)
	}
	t.Cleanup(func() { snapshots.Delete(s.dir) })
	s.check(now)
}

var (
	unsafePath = regexp.MustCompile(`[^a-zA-Z0-9_.-]+`)
	snapshots  sync.Map // folders of tests that run
)

// isSet reports whether a variable of the environment says yes.
func isSet(variable string) bool {
	value := os.Getenv(variable)
	yes, err := strconv.ParseBool(value)
	return value != "" && (err != nil || yes)
}

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
	}
	names := fileNames(order)
	for i, tool := range now.Tools {
		files[names[i]] = indent(tool)
	}
	about, err := marshal(serverAbout{Instructions: lines(now.Instructions), Order: order})
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
	for _, name := range append([]string{serverFile}, names...) {
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

// serverAbout is what serverFile holds. Instructions are in lines, so that a
// changed one is seen among the others.
type serverAbout struct {
	Instructions []string `json:"instructions"`
	Order        []string `json:"order"`
}

func lines(text string) []string {
	if text == "" {
		return []string{}
	}
	return strings.Split(text, "\n")
}

// explain says what the difference means to callers.
func (s *snapshot) explain(saved map[string][]byte, now *registry.Listing) {
	s.t.Helper()
	var about serverAbout
	if json.Unmarshal(saved[serverFile], &about) != nil {
		return
	}
	old := &registry.Listing{Instructions: strings.Join(about.Instructions, "\n")}
	for _, name := range fileNames(about.Order) {
		if tool, ok := saved[name]; ok {
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

// fileNames gives each tool a file of its own, also where capitals and small
// letters are one, and where a listing has a name twice.
func fileNames(tools []string) []string {
	names := make([]string, len(tools))
	taken := map[string]int{}
	for i, tool := range tools {
		name := fileName(tool)
		key := strings.ToLower(name)
		if taken[key]++; taken[key] > 1 {
			name += "=" + strconv.Itoa(taken[key])
		}
		names[i] = name + ".json"
	}
	return names
}

// maxFileName leaves room for what is added, within the 255 bytes that file
// systems take.
const maxFileName = 200

// fileName returns a name for a tool's file that every file system takes. No two
// tools have the same.
func fileName(tool string) string {
	name := strings.NewReplacer("=", "%3D", ":", "%3A").Replace(url.PathEscape(tool))
	if base, _, _ := strings.Cut(name, "."); reserved.MatchString(base) {
		name = fmt.Sprintf("%%%02X%s", name[0], name[1:])
	}
	if len(name) > maxFileName {
		name = fmt.Sprintf("%s=%x", name[:maxFileName/2], sha256.Sum256([]byte(tool)))
	}
	return name
}

// reserved are names that Windows has for devices, with any extension.
var reserved = regexp.MustCompile(`(?i)^(con|prn|aux|nul|com[0-9]|lpt[0-9])$`)

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
		report, err := registry.Lint(t.Context(), l, p)
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

// listTimeout bounds how long a server may take to say what it has.
const listTimeout = 30 * time.Second

func listing(t testing.TB, server *mcp.Server) *registry.Listing {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), listTimeout)
	defer cancel()
	l, err := registry.ListingOf(ctx, server)
	if err != nil {
		t.Fatalf("registrytest: %v", err)
	}
	return l
}
