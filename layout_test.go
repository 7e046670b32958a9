package steady_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	modulePath = "github.com/steadymcp/steady"
	sdkPath    = "github.com/modelcontextprotocol/go-sdk"
	schemaPath = "github.com/google/jsonschema-go"
)

// ownLibrary names, for each feature package, the libraries beyond the SDK and
// jsonschema-go that were made for its job.
var ownLibrary = map[string][]string{
	"catalog":    {"golang.org/x/sync"},
	"discovery":  {"github.com/agnivade/levenshtein"},
	"limits":     {"golang.org/x/time"},
	"pagination": nil,
	"registry":   nil,
	"stdioguard": {"golang.org/x/sys"},
	"tasks":      {"golang.org/x/sync"},
}

// allowedRequirements are the modules that the root module may import from, and
// why. Everything heavier lives in a nested module.
var allowedRequirements = map[string]string{
	sdkPath:                           "the SDK",
	schemaPath:                        "JSON Schema, which the SDK's own API exposes",
	"github.com/agnivade/levenshtein": "edit distance, for discovery",
	"golang.org/x/sync":               "single flight",
	"golang.org/x/sys":                "file descriptors, for stdioguard",
	"golang.org/x/time":               "rate limits",
	"github.com/stretchr/testify":     "tests",
	"go.uber.org/goleak":              "tests",
	"pgregory.net/rapid":              "tests",
}

// testOnly are the modules that only _test.go files may import.
var testOnly = []string{
	"github.com/stretchr/testify", "go.uber.org/goleak", "pgregory.net/rapid", modulePath + "/internal/mcptest",
}

// programOnly are the modules that only programs and _test.go files may import: a
// library reports through OpenTelemetry's API.
var programOnly = []string{"go.opentelemetry.io/otel/sdk", "go.opentelemetry.io/otel/exporters"}

// goFile is one parsed source file of the repository.
type goFile struct {
	path   string   // slash separated, relative to the repository's root
	dir    string   // of path
	module string   // directory of the go.mod it belongs to, "." for the root
	others []string // import paths of the nested modules that it does not belong to
	test   bool
	syntax *ast.File
}

func (f *goFile) main() bool { return f.syntax.Name.Name == "main" }

func (f *goFile) imports() []string {
	var out []string
	for _, spec := range f.syntax.Imports {
		p, _ := strconv.Unquote(spec.Path.Value)
		out = append(out, p)
	}
	return out
}

var fileSet = token.NewFileSet()

func repositoryFiles(t *testing.T) []*goFile {
	t.Helper()
	var files []*goFile
	modules := map[string]bool{}
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && p != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		p = filepath.ToSlash(p)
		if d.Name() == "go.mod" {
			modules[path.Dir(p)] = true
		}
		if d.IsDir() || !strings.HasSuffix(p, ".go") {
			return nil
		}
		syntax, err := parser.ParseFile(fileSet, filepath.FromSlash(p), nil, parser.ParseComments)
		if err != nil {
			return err
		}
		files = append(files, &goFile{path: p, dir: path.Dir(p), test: strings.HasSuffix(p, "_test.go"), syntax: syntax})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		f.module = f.dir
		for !modules[f.module] {
			f.module = path.Dir(f.module)
		}
		for m := range modules {
			if m != "." && m != f.module {
				f.others = append(f.others, modulePath+"/"+m)
			}
		}
	}
	return files
}

func isStd(p string) bool {
	first, _, _ := strings.Cut(p, "/")
	return !strings.Contains(first, ".")
}

func within(p, root string) bool { return p == root || strings.HasPrefix(p, root+"/") }

func withinAny(p string, roots ...string) bool {
	for _, r := range roots {
		if within(p, r) {
			return true
		}
	}
	return false
}

// mayImport is the table of who may import whom, for files that are not tests.
func mayImport(f *goFile, imp string) bool {
	if isStd(imp) {
		return true
	}
	ours := func(dirs ...string) bool {
		for _, d := range dirs {
			if within(imp, modulePath+"/"+d) {
				return true
			}
		}
		return false
	}
	if strings.HasPrefix(f.module, "examples/") && (withinAny(imp, f.others...) || within(imp, modulePath+"/examples/internal")) {
		return true // an example with a module of its own is such a user, and shares things with the other examples
	}
	if f.module == "cmd/steady" && imp == modulePath+"/observe/otelobserve" {
		return true // a program, which is such a user as well
	}
	if withinAny(imp, f.others...) {
		return false // a nested module is for its users only
	}
	if f.module != "." {
		// A nested module sees the public packages of the root and its own.
		if within(imp, modulePath) {
			return !slices.Contains(strings.Split(imp, "/"), "internal") || within(imp, modulePath+"/"+f.module)
		}
		return true
	}
	feature, _, _ := strings.Cut(f.dir, "/")
	switch {
	case f.main():
		// Programs: examples see only what a user sees.
		if strings.HasPrefix(f.dir, "examples/") && within(imp, modulePath+"/internal") {
			return false
		}
		return within(imp, modulePath) || within(imp, sdkPath) || within(imp, schemaPath)
	case f.dir == "observe":
		return false
	case within(f.dir, "internal"):
		return within(imp, sdkPath)
	case strings.HasPrefix(f.dir, "examples/"):
		return within(imp, sdkPath) || within(imp, schemaPath) || (within(imp, modulePath) && !within(imp, modulePath+"/internal"))
	case strings.HasSuffix(f.dir, "test"):
		// Packages that a user's tests import: nothing that enters the user's build.
		return within(imp, sdkPath) || (within(imp, modulePath) && !within(imp, modulePath+"/internal"))
	case f.dir == "errors":
		return within(imp, sdkPath) || ours("observe", "internal")
	case f.dir == ".":
		return within(imp, sdkPath) || within(imp, modulePath)
	}
	libs, ok := ownLibrary[feature]
	if !ok {
		return false
	}
	return withinAny(imp, libs...) || within(imp, sdkPath) || within(imp, schemaPath) || ours("observe", "errors", "internal", feature)
}

func TestImports(t *testing.T) {
	files := repositoryFiles(t)
	if len(files) < 10 {
		t.Fatalf("found only %d files", len(files))
	}
	for _, f := range files {
		if f.test {
			continue
		}
		for _, imp := range f.imports() {
			if !mayImport(f, imp) {
				t.Errorf("%s may not import %s", f.path, imp)
			}
			if withinAny(imp, testOnly...) {
				t.Errorf("%s imports %s, which only tests may", f.path, imp)
			}
			if withinAny(imp, programOnly...) && f.module != "cmd/steady" {
				t.Errorf("%s imports %s, which only programs may", f.path, imp)
			}
		}
	}
}

// TestNestedModules holds the rules for nested modules, which no file may break
// at the moment, to what they say.
func TestNestedModules(t *testing.T) {
	nested := &goFile{
		path: "observe/otelobserve/x.go", dir: "observe/otelobserve", module: "observe/otelobserve",
		others: []string{modulePath + "/catalog/openapi"}, syntax: &ast.File{Name: ast.NewIdent("otelobserve")},
	}
	root := &goFile{
		path: "x.go", dir: ".", module: ".",
		others: []string{modulePath + "/observe/otelobserve"}, syntax: &ast.File{Name: ast.NewIdent("steady")},
	}
	for _, c := range []struct {
		file *goFile
		imp  string
		may  bool
	}{
		{nested, "context", true},
		{nested, "go.opentelemetry.io/otel", true},
		{nested, modulePath, true},
		{nested, modulePath + "/observe", true},
		{nested, modulePath + "/catalog", true},
		{nested, modulePath + "/internal/wire", false},
		{nested, modulePath + "/observe/otelobserve/internal/x", true},
		{nested, modulePath + "/catalog/openapi", false},
		{root, modulePath + "/observe", true},
		{root, modulePath + "/observe/otelobserve", false},
	} {
		if got := mayImport(c.file, c.imp); got != c.may {
			t.Errorf("%s may import %s: %v, want %v", c.file.path, c.imp, got, c.may)
		}
	}
}

// TestFeaturesAreKnown makes a new top-level package declare where it stands.
func TestFeaturesAreKnown(t *testing.T) {
	known := map[string]bool{".": true, "observe": true, "errors": true, "internal": true, "examples": true, "cmd": true}
	for name := range ownLibrary {
		known[name] = true
	}
	for _, f := range repositoryFiles(t) {
		top, _, _ := strings.Cut(f.dir, "/")
		if !known[top] {
			t.Errorf("%s: the package is not in the table of import rules", f.path)
		}
	}
}

// TestRequirements holds what the root module imports, tests included, to the
// list of what it may require.
func TestRequirements(t *testing.T) {
	allowed := slices.Collect(maps.Keys(allowedRequirements))
	for _, f := range repositoryFiles(t) {
		if f.module != "." {
			continue
		}
		for _, imp := range f.imports() {
			if !isStd(imp) && !within(imp, modulePath) && !withinAny(imp, allowed...) {
				t.Errorf("%s imports %s; the core module stays light", f.path, imp)
			}
		}
	}
}

// TestNoPrinting holds library code to the rule that standard output is the
// protocol's and that logging goes through observe. A log.New that hands lines on
// to something of the package's own is no logging.
func TestNoPrinting(t *testing.T) {
	for _, f := range repositoryFiles(t) {
		if f.test || f.main() || within(f.dir, "stdioguard") || within(f.dir, "examples") || within(f.dir, "internal/mcptest") {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				x, ok := n.X.(*ast.Ident)
				if !ok {
					return true
				}
				name := x.Name + "." + n.Sel.Name
				if name == "os.Stdout" || name == "fmt.Print" || name == "fmt.Println" || name == "fmt.Printf" || x.Name == "log" && n.Sel.Name != "New" && importsLog(f) {
					t.Errorf("%s: %s: a library neither prints nor logs by itself", fileSet.Position(n.Pos()), name)
				}
			case *ast.CallExpr:
				if id, ok := n.Fun.(*ast.Ident); ok && (id.Name == "print" || id.Name == "println") {
					t.Errorf("%s: %s: a library does not print", fileSet.Position(n.Pos()), id.Name)
				}
			}
			return true
		})
	}
}

func importsLog(f *goFile) bool {
	for _, imp := range f.imports() {
		if imp == "log" {
			return true
		}
	}
	return false
}

var helperFile = regexp.MustCompile(`^(util|utils|helper|helpers|types|common|misc)\.go$`)

func TestFileNames(t *testing.T) {
	for _, f := range repositoryFiles(t) {
		if helperFile.MatchString(path.Base(f.path)) {
			t.Errorf("%s: name the file after its idea", f.path)
		}
	}
}
