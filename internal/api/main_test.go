package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A module as small as it can be: std only, so that nothing is fetched.
var fixture = map[string]string{
	"go.mod": "module example.com/shelf\n\ngo 1.25.0\n",
	"shelf.go": `package shelf

import "io"

const Limit = 3

var ErrFull error

func Open(path string, depth int) (io.Reader, error) { return nil, nil }

type Store interface {
	Get(key string) (string, error)
}

type Sealed interface {
	Get(key string) (string, error)
	seal()
}

type Book struct {
	Title string ` + "`json:\"title\"`" + `
	pages int
}

func (b Book) Pages() int { return b.pages }

type base struct{ Code int }

func (*base) Reset() {}

type Magazine struct{ base }

func Map[T any](in []T) []T { return in }
`,
	"inner/inner.go":          "package inner\n\ntype Part string\n",
	"internal/hidden/it.go":   "package hidden\n\nfunc Secret() {}\n",
	"examples/help/help.go":   "package help\n\nfunc Example() {}\n",
	"cmd/shelf/main.go":       "package main\n\nfunc main() {}\n",
	"nested/go.mod":           "module example.com/shelf/nested\n\ngo 1.25.0\n",
	"nested/driver/driver.go": "package driver\n\nfunc Dial() {}\n",
}

func newRepository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range fixture {
		write(t, dir, name, text)
	}
	require.NoError(t, run(dir, true, ""))
	return dir
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(name))
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	require.NoError(t, err)
	return string(data)
}

// edit replaces text in shelf.go.
func edit(t *testing.T, dir, old, text string) {
	t.Helper()
	before := read(t, dir, "shelf.go")
	require.Contains(t, before, old)
	write(t, dir, "shelf.go", strings.ReplaceAll(before, old, text))
}

func TestRecord(t *testing.T) {
	t.Parallel()
	dir := newRepository(t)
	require.Equal(t, `package shelf
import "io"

const Limit = 3
var ErrFull error
func Map[T any]([]T) []T
func Open(string, int) (io.Reader, error)

type Book struct
type Book struct, comparable
type Book struct, Title string `+"`json:\"title\"`"+`
func (Book) Pages() int

type Magazine struct
type Magazine struct, comparable
type Magazine struct, Code int
func (*Magazine) Reset()

type Sealed interface
type Sealed interface, Get(string) (string, error)
type Sealed interface, cannot be implemented elsewhere

type Store interface
type Store interface, Get(string) (string, error)
type Store interface, complete { Get }
`, read(t, dir, "api/shelf.txt"))
	require.Equal(t, "package inner\n\ntype Part string\n", read(t, dir, "api/inner.txt"))
	require.Equal(t, "package driver\n\nfunc Dial()\n", read(t, dir, "api/nested/driver.txt"))

	var files []string
	require.NoError(t, filepath.WalkDir(filepath.Join(dir, "api"), func(p string, d os.DirEntry, err error) error {
		if !d.IsDir() {
			files = append(files, d.Name())
		}
		return err
	}))
	require.ElementsMatch(t, []string{"shelf.txt", "inner.txt", "driver.txt"}, files, "internal packages, examples and programs are nobody's to import")
	require.NoError(t, run(dir, false, ""))
}

func TestCompatible(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ old, new, line string }{
		"a func":                    {"const Limit", "func Close() {}\n\nconst Limit", "func Close()"},
		"a method":                  {"type base", "func (Book) Author() string { return \"\" }\n\ntype base", "func (Book) Author() string"},
		"a field":                   {"pages int\n", "pages int\n\tYear int\n", "type Book struct, Year int"},
		"a method nobody may write": {"seal()", "Put(string)\n\tseal()", "type Sealed interface, Put(string)"},
		"the name of a parameter":   {"path string, depth", "file string, levels", ""},
		"an unexported field":       {"pages int", "pages, lines int", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := newRepository(t)
			edit(t, dir, c.old, c.new)
			if c.line != "" {
				err := run(dir, false, "")
				require.ErrorContains(t, err, "+ shelf: "+c.line+"\n")
				require.ErrorContains(t, err, "make api-update")
				require.NotContains(t, err.Error(), "breaks")
				require.NoError(t, run(dir, true, ""))
				require.Contains(t, read(t, dir, "api/shelf.txt"), c.line+"\n")
			}
			require.NoError(t, run(dir, false, ""))
			require.NoFileExists(t, filepath.Join(dir, breakingFile))
		})
	}
}

func TestBreaking(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ old, new, line string }{
		"a func is removed":              {"func Map[T any](in []T) []T { return in }\n", "", "func Map[T any]([]T) []T"},
		"a signature is changed":         {"depth int", "depth int64", "func Open(string, int) (io.Reader, error)"},
		"a result is added":              {"Pages() int { return b.pages }", "Pages() (int, error) { return b.pages, nil }", "func (Book) Pages() int"},
		"an interface gets a method":     {"error)\n}\n\ntype Sealed", "error)\n\tPut(string)\n}\n\ntype Sealed", "type Store interface, complete { Get }"},
		"an interface is sealed":         {"error)\n}\n\ntype Sealed", "error)\n\tput()\n}\n\ntype Sealed", "type Store interface, complete { Get }"},
		"a receiver becomes a pointer":   {"(b Book)", "(b *Book)", "func (Book) Pages() int"},
		"a field is renamed":             {"Title string", "Name string", "type Book struct, Title string `json:\"title\"`"},
		"a field's JSON name is changed": {`json:\"title\"`, "", ""},
		"a promoted method goes":         {"func (*base) Reset() {}", "", "func (*Magazine) Reset()"},
		"a promoted field goes":          {"Code int", "code int", "type Magazine struct, Code int"},
		"a constant's value":             {"Limit = 3", "Limit = 4", "const Limit = 3"},
		"a variable's type":              {"ErrFull error", "ErrFull *Book", "var ErrFull error"},
		"values no longer compare":       {"pages int\n", "pages int\n\tLines []string\n", "type Book struct, comparable"},
		"a type parameter is bounded":    {"[T any]", "[T ~string]", "func Map[T any]([]T) []T"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.line == "" { // the backquotes of a tag do not fit the table
				c.old, c.new, c.line = "`json:\"title\"`", "`json:\"name\"`", "type Book struct, Title string `json:\"title\"`"
			}
			dir := newRepository(t)
			before := read(t, dir, "api/shelf.txt")
			edit(t, dir, c.old, c.new)
			for _, update := range []bool{false, true} {
				err := run(dir, update, "")
				require.ErrorContains(t, err, "- shelf: "+c.line+"\n")
				require.ErrorContains(t, err, "breaks")
				require.Equal(t, before, read(t, dir, "api/shelf.txt"), "a refused update writes nothing")
			}

			require.NoError(t, run(dir, true, "nobody could have used it"))
			require.NoError(t, run(dir, false, ""))
			require.NotContains(t, read(t, dir, "api/shelf.txt"), c.line+"\n")
			require.Contains(t, read(t, dir, breakingFile), "\nnobody could have used it\n\tshelf: "+c.line+"\n")
		})
	}
}

func TestRemovedPackage(t *testing.T) {
	t.Parallel()
	dir := newRepository(t)
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "inner")))
	require.ErrorContains(t, run(dir, true, ""), "- inner: type Part string\n")
	require.NoError(t, run(dir, true, "merged into shelf"))
	require.NoFileExists(t, filepath.Join(dir, "api/inner.txt"))
	require.NoError(t, run(dir, false, ""))
}

func TestBroughtBack(t *testing.T) {
	t.Parallel()
	dir := newRepository(t)
	edit(t, dir, "const Limit", "const Most")
	require.NoError(t, run(dir, true, "a better name"))
	edit(t, dir, "const Most", "const Limit")
	require.NoError(t, run(dir, true, "no, it was good"))
	require.ErrorContains(t, run(dir, false, ""), "Delete it from that file")
}

func TestReasonIsNeeded(t *testing.T) {
	t.Parallel()
	dir := newRepository(t)
	edit(t, dir, "const Limit = 3", "")
	write(t, dir, breakingFile, "# only a comment\n\tshelf: const Limit = 3\n")
	require.ErrorContains(t, run(dir, false, ""), breakingFile+":2: want a reason")
}

// TestHistory deletes a line from the record by hand, which the record alone
// cannot tell.
func TestHistory(t *testing.T) {
	t.Parallel()
	dir := newRepository(t)
	commit := func(message string) {
		git(t, dir, "add", "-A")
		git(t, dir, "commit", "-q", "-m", message)
	}
	git(t, dir, "init", "-q")
	commit("the first")
	require.NoError(t, run(dir, false, ""))

	edit(t, dir, "const Limit = 3", "")
	write(t, dir, "api/shelf.txt", strings.Replace(read(t, dir, "api/shelf.txt"), "const Limit = 3\n", "", 1))
	commit("quietly")
	require.ErrorContains(t, run(dir, false, ""), "- shelf: const Limit = 3\n")

	git(t, dir, "tag", "v0.1.0")
	require.NoError(t, run(dir, false, ""), "what a release left out is no change since that release")

	edit(t, dir, "ErrFull", "ErrNoRoom")
	require.NoError(t, run(dir, true, "names the shelf, not the caller"))
	commit("with a reason")
	require.NoError(t, run(dir, false, ""))
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
}
