package steady_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Every fenced block of Go in the documentation is copied from something that
// compiles and runs. A marker above the block says from what:
//
//	<!-- example: errors.ExampleShape -->   the body of that Example function
//	<!-- file: examples/quickstart/main.go --> the whole file
//
// TestDocs fails when a block has no marker or differs from its source.
// To rewrite the blocks, run: STEADY_UPDATE_DOCS=1 go test -run TestDocs .

var (
	goBlock   = regexp.MustCompile("(?m)(?:^<!-- (example|file): (\\S+) -->\n\n?)?^```go\n((?s:.*?))^```$")
	textBlock = regexp.MustCompile("(?m)^```text\n((?s:.*?))^```$")
	mdLink    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	makeUse   = regexp.MustCompile("`make ([a-z-]+)")
	heading   = regexp.MustCompile(`(?m)^#+ +(.*?) *$`)
	notInSlug = regexp.MustCompile(`[^a-z0-9 _-]`)
	goRun     = regexp.MustCompile(`go run (?:-C )?(?:\./)?([a-z][a-z/]*)`)
	makeRule  = regexp.MustCompile(`(?m)^([a-z-]+):`)
	updateDoc = os.Getenv("STEADY_UPDATE_DOCS") != ""
)

func documents(t *testing.T) []string {
	t.Helper()
	var docs []string
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && p != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if strings.HasSuffix(p, ".md") && filepath.ToSlash(p) != "CHANGELOG.md" {
			docs = append(docs, filepath.ToSlash(p))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return docs
}

func TestDocs(t *testing.T) {
	for _, doc := range documents(t) {
		data, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		rewritten := goBlock.ReplaceAllStringFunc(string(data), func(block string) string {
			m := goBlock.FindStringSubmatch(block)
			kind, source, have := m[1], m[2], m[3]
			if kind == "" {
				t.Errorf("%s: a block of Go without a marker that says what it is copied from:\n%s", doc, have)
				return block
			}
			want, err := sourceOf(kind, source)
			if err != nil {
				t.Errorf("%s: %v", doc, err)
				return block
			}
			if have != want && !updateDoc {
				t.Errorf("%s: the block from %s has drifted; have:\n%s\nwant:\n%s", doc, source, have, want)
			}
			return fmt.Sprintf("<!-- %s: %s -->\n```go\n%s```", kind, source, want)
		})
		if updateDoc && rewritten != string(data) {
			if err := os.WriteFile(doc, []byte(rewritten), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func sourceOf(kind, source string) (string, error) {
	if kind == "file" {
		data, err := os.ReadFile(filepath.FromSlash(source))
		return string(data), err
	}
	body, err := rawSourceOf(source)
	return exampleBody(body), err
}

// rawSourceOf returns what stands between the braces of package.ExampleName.
func rawSourceOf(source string) (string, error) {
	dot := strings.LastIndex(source, ".")
	if dot < 0 {
		return "", fmt.Errorf("%q is not package.ExampleName", source)
	}
	dir, name := source[:dot], source[dot+1:]
	if dir == "steady" {
		dir = "."
	}
	tests, err := filepath.Glob(filepath.Join(filepath.FromSlash(dir), "*_test.go"))
	if err != nil {
		return "", err
	}
	for _, file := range tests {
		data, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		set := token.NewFileSet()
		syntax, err := parser.ParseFile(set, file, data, 0)
		if err != nil {
			return "", err
		}
		for _, decl := range syntax.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Name.Name == name {
				from, to := set.Position(fn.Body.Lbrace).Offset+1, set.Position(fn.Body.Rbrace).Offset
				return string(data[from:to]), nil
			}
		}
	}
	return "", fmt.Errorf("there is no %s in %s", name, dir)
}

// TestDocOutputs checks that what a page shows as the output of an example, in the
// blocks of text between it and the next one, is output that its test compares.
func TestDocOutputs(t *testing.T) {
	for _, doc := range documents(t) {
		data, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		blocks := goBlock.FindAllStringSubmatchIndex(string(data), -1)
		for i, at := range blocks {
			if at[2] < 0 || string(data[at[2]:at[3]]) != "example" {
				continue
			}
			source, end := string(data[at[4]:at[5]]), len(data)
			if i+1 < len(blocks) {
				end = blocks[i+1][0]
			}
			for _, shown := range textBlock.FindAllStringSubmatch(string(data[at[1]:end]), -1) {
				have := outputOf(t, source)
				for line := range strings.Lines(shown[1]) {
					if line = strings.TrimSpace(line); !slices.Contains(have, line) {
						t.Errorf("%s: %s does not print %q", doc, source, line)
					}
				}
			}
		}
	}
}

// outputOf returns the lines of an example's output comment.
func outputOf(t *testing.T, source string) []string {
	t.Helper()
	body, err := rawSourceOf(source)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(outputComment.FindString(body)) {
		lines = append(lines, strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "//")))
	}
	return lines
}

var outputComment = regexp.MustCompile(`(?m)^\t// (Unordered output|Output):(?s:.*)`)

// exampleBody dedents the text between a function's braces and cuts its
// output comment.
func exampleBody(body string) string {
	body = outputComment.ReplaceAllString(body, "")
	lines := strings.Split(strings.Trim(body, "\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimPrefix(line, "\t")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n\t ") + "\n"
}

func TestDocLinks(t *testing.T) {
	for _, doc := range documents(t) {
		data, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range mdLink.FindAllStringSubmatch(string(data), -1) {
			target, heading, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			page := doc
			if target != "" {
				page = path.Join(path.Dir(doc), target)
			}
			if _, err := os.Stat(filepath.FromSlash(page)); err != nil {
				t.Errorf("%s links to %s, which is not there", doc, m[1])
			} else if heading != "" && !slices.Contains(headings(t, page), heading) {
				t.Errorf("%s links to %s, which has no such heading", doc, m[1])
			}
		}
	}
}

// headings returns what the headings of a page can be linked by.
func headings(t *testing.T, page string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.FromSlash(page))
	if err != nil {
		t.Fatal(err)
	}
	var slugs []string
	for _, m := range heading.FindAllStringSubmatch(string(data), -1) {
		slugs = append(slugs, strings.ReplaceAll(notInSlug.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return slugs
}

// TestDocCommands checks that every make target and every program that a
// document names exists.
func TestDocCommands(t *testing.T) {
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	var targets []string
	for _, m := range makeRule.FindAllStringSubmatch(string(makefile), -1) {
		targets = append(targets, m[1])
	}
	for _, doc := range documents(t) {
		data, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range makeUse.FindAllStringSubmatch(string(data), -1) {
			if !slices.Contains(targets, m[1]) {
				t.Errorf("%s names `make %s`, which the Makefile does not have", doc, m[1])
			}
		}
		for _, m := range goRun.FindAllStringSubmatch(string(data), -1) {
			if programs, _ := filepath.Glob(filepath.Join(filepath.FromSlash(m[1]), "*.go")); len(programs) == 0 {
				t.Errorf("%s runs %s, which is no program", doc, m[1])
			}
		}
	}
}
