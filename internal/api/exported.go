package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// exported describes every public package of every module below dir: those that
// are no program, and that are not below a folder called internal, testdata or
// examples.
func exported(dir string) (record, error) {
	r := record{}
	root := ""
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && p != dir && (strings.HasPrefix(d.Name(), ".") || slices.Contains([]string{"node_modules", "testdata", "examples", "internal"}, d.Name())) {
			return filepath.SkipDir
		}
		if d.Name() != "go.mod" {
			return nil
		}
		// The walk is in lexical order, in which a folder's subfolders may come
		// before its own go.mod; the root's module is asked for first.
		if root == "" {
			if root, err = modulePath(dir); err != nil {
				return err
			}
		}
		return describeModule(r, filepath.Dir(p), root)
	})
	return r, err
}

func goList(dir string, args ...string) ([]byte, error) {
	cmd := exec.Command("go", append([]string{"list"}, args...)...)
	cmd.Dir = dir
	// One system for everybody's record: a few packages export more on some.
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "GOWORK=off")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list in %s: %w\n%s", dir, err, stderr.Bytes())
	}
	return out, nil
}

func modulePath(dir string) (string, error) {
	out, err := goList(dir, "-m")
	return strings.TrimSpace(string(out)), err
}

// describeModule adds the packages of the module in dir to r. The compiler has
// to have accepted them: what is read is its export data.
func describeModule(r record, dir, root string) error {
	out, err := goList(dir, "-export", "-deps", "-json=ImportPath,Name,Export,DepOnly", "./...")
	if err != nil {
		return err
	}
	exports := map[string]string{}
	var public []string
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath, Name, Export string
			DepOnly                  bool
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		exports[p.ImportPath] = p.Export
		below := strings.Split(strings.TrimPrefix(p.ImportPath, root), "/")
		if !p.DepOnly && p.Name != "main" && !slices.Contains(below, "internal") && !slices.Contains(below, "examples") && p.Export != "" {
			public = append(public, p.ImportPath)
		}
	}
	read := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for _, p := range public {
		pkg, err := read.Import(p)
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(strings.TrimPrefix(p, root), "/")
		if name == "" {
			name = path.Base(root)
		}
		r[name] = describe(pkg, root)
	}
	return nil
}

// A description is the API of one package in the making.
type description struct {
	pkg     *types.Package
	root    string // path of the repository's root module
	imports map[string]bool
	lines   []string
}

// describe returns one line for each thing that code which imports pkg can rely
// on. What the language lets a library change without breaking such code leaves
// every line as it was: the names of parameters, unexported fields, the order.
func describe(pkg *types.Package, root string) []string {
	d := &description{pkg: pkg, root: root, imports: map[string]bool{}}
	var consts, vars, funcs, named []types.Object
	for _, name := range pkg.Scope().Names() { // sorted
		obj := pkg.Scope().Lookup(name)
		if !obj.Exported() {
			continue
		}
		switch obj.(type) {
		case *types.Const:
			consts = append(consts, obj)
		case *types.Var:
			vars = append(vars, obj)
		case *types.Func:
			funcs = append(funcs, obj)
		case *types.TypeName:
			named = append(named, obj)
		}
	}
	for _, obj := range consts {
		typ := d.typ(obj.Type()) + " "
		if strings.HasPrefix(typ, "untyped ") {
			typ = "" // the value says it
		}
		d.add("const %s %s= %s", obj.Name(), typ, obj.(*types.Const).Val().ExactString())
	}
	for _, obj := range vars {
		d.add("var %s %s", obj.Name(), d.typ(obj.Type()))
	}
	for _, obj := range funcs {
		d.add("func %s%s", obj.Name(), d.signature(obj.Type().(*types.Signature)))
	}
	for _, obj := range named {
		d.lines = append(d.lines, "")
		d.typeName(obj.(*types.TypeName))
	}

	head := []string{"package " + pkg.Name()}
	for _, p := range slices.Sorted(maps.Keys(d.imports)) {
		head = append(head, "import "+p)
	}
	if len(d.lines) > 0 && d.lines[0] != "" {
		head = append(head, "")
	}
	return append(head, d.lines...)
}

func (d *description) add(format string, args ...any) {
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}
