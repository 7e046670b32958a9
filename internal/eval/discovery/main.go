// Command discovery measures the name and argument resolution on a folder of
// cases, one line of names.jsonl or args.jsonl each:
//
//	catalogs/papers.json  {"server": "papers", "tools": [{"name", "title", "description", "readOnly", "destructive",
//	                      "params": [{"name", "type", "required", "enum"}]}]}
//	names.jsonl           {"id", "catalog": "papers", "guess": "find_papers", "expect": "route", "tool": "search_papers",
//	                      "target": "read", "origin": "hand"}
//	                      {..., "expect": "suggest", "tools": ["one of these is to be proposed"]} or {..., "expect": "none"}
//	args.jsonl            {"id", "catalog", "tool", "params": as above, "given": {"question": "x"}, "expect": {"query": "x"}}
//	score/                a program that scores predictions; it is run if it is there
//
// What is expected of a name is that it runs the tool, that it is answered with
// names, or that nothing runs; of arguments, what they become, or "error". The
// target is what the tool does (read, write, destructive), the origin who made
// the guess up (hand, gen).
//
//	go run ./internal/eval/discovery -split FOLDER -out FOLDER
//
// It writes the predictions of the project's own code into the out folder,
// once for the default policy and once with RouteWrites, runs the scorer on
// each, and prints how many are right, what remains when each case's right tool
// is taken out of its catalog, and where the right tool stands among the
// suggestions when the policy declines to route.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/steadymcp/steady/discovery"
	"github.com/steadymcp/steady/observe"
)

type catalog struct {
	Server string     `json:"server"`
	Tools  []toolInfo `json:"tools"`
	tools  []*mcp.Tool
}

type toolInfo struct {
	Name        string      `json:"name"`
	Title       string      `json:"title"`
	Description string      `json:"description"`
	ReadOnly    bool        `json:"readOnly"`
	Destructive bool        `json:"destructive"`
	Params      []paramInfo `json:"params"`
}

type paramInfo struct {
	Name     string `json:"name"`
	Type     any    `json:"type"`
	Required bool   `json:"required"`
	Enum     []any  `json:"enum"`
}

type nameCase struct {
	ID, Catalog, Guess, Expect, Tool, Origin, Kind, Target string
	Tools, Tolerate                                        []string
	Danger                                                 bool
}

type namePrediction struct {
	ID          string   `json:"id"`
	Action      string   `json:"action"`
	Tool        string   `json:"tool,omitempty"`
	Suggestions []string `json:"suggestions,omitempty"`
	step        discovery.Step
	reason      string
}

func main() {
	split := flag.String("split", "", "folder of the cases")
	out := flag.String("out", "", "folder for the predictions")
	only := flag.String("only", "", "comma-separated catalogs; the scorer is not run then")
	verbose := flag.Bool("v", false, "list every case that went wrong")
	flag.Parse()
	if *split == "" || *out == "" {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(os.Stdout, *split, *out, *only, *verbose); err != nil {
		fmt.Fprintln(os.Stderr, "discovery eval:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, split, out, only string, verbose bool) error {
	catalogs, err := loadCatalogs(split)
	if err != nil {
		return err
	}
	var names []nameCase
	if err := readLines(filepath.Join(split, "names.jsonl"), func(b []byte) error {
		var c nameCase
		err := json.Unmarshal(b, &c)
		if only == "" || slices.Contains(strings.Split(only, ","), c.Catalog) {
			names = append(names, c)
		}
		return err
	}); err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	args, err := repairAll(w, split, out, only, catalogs, verbose)
	if err != nil {
		return err
	}
	for _, policy := range []string{"default", "route-writes"} {
		fmt.Fprintf(w, "=== policy %s\n", policy)
		predictions := make([]namePrediction, len(names))
		for i, c := range names {
			predictions[i] = predict(catalogs[c.Catalog], c, nil, policy == "route-writes")
		}
		file := filepath.Join(out, "names-"+policy+".jsonl")
		if err := writeLines(file, predictions); err != nil {
			return err
		}
		report(w, names, predictions, catalogs, policy == "route-writes", verbose)
		if only != "" {
			continue
		}
		argv := []string{"run", ".", "-split", "..", "-names", absolute(file)}
		if policy == "default" {
			argv = append(argv, "-args", absolute(args))
		}
		if verbose {
			argv = append(argv, "-v")
		}
		cmd := exec.Command("go", argv...)
		cmd.Dir = filepath.Join(split, "score")
		if _, err := os.Stat(cmd.Dir); err != nil {
			fmt.Fprintln(w, "no scorer in", cmd.Dir)
			continue
		}
		cmd.Stdout, cmd.Stderr = w, os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("scorer: %w", err)
		}
	}
	return nil
}

func absolute(path string) string {
	if a, err := filepath.Abs(path); err == nil {
		return a
	}
	return path
}

func loadCatalogs(split string) (map[string]*catalog, error) {
	files, err := filepath.Glob(filepath.Join(split, "catalogs", "*.json"))
	if err != nil {
		return nil, err
	}
	catalogs := map[string]*catalog{}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		c := &catalog{}
		if err := json.Unmarshal(b, c); err != nil {
			return nil, fmt.Errorf("%s: %w", f, err)
		}
		for _, t := range c.Tools {
			c.tools = append(c.tools, t.tool())
		}
		catalogs[c.Server] = c
	}
	return catalogs, nil
}

func (t toolInfo) tool() *mcp.Tool {
	destructive := t.Destructive
	return &mcp.Tool{
		Name: t.Name, Title: t.Title, Description: t.Description, InputSchema: schemaOf(t.Params),
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: t.ReadOnly, DestructiveHint: &destructive},
	}
}

// schemaOf builds the input schema that a list of parameters stands for. Keys
// that are not listed are refused, as the SDK's typed tools do.
func schemaOf(params []paramInfo) map[string]any {
	props := map[string]any{}
	required := []any{}
	for _, p := range params {
		s := map[string]any{}
		if p.Type != nil && p.Type != "" && p.Type != "any" {
			s["type"] = p.Type
		}
		if len(p.Enum) > 0 {
			s["enum"] = p.Enum
		}
		props[p.Name] = s
		if p.Required {
			required = append(required, p.Name)
		}
	}
	return map[string]any{"type": "object", "properties": props, "required": required, "additionalProperties": false}
}

func options(server string, writes bool) *discovery.Options {
	return &discovery.Options{Servers: []string{server}, RouteWrites: writes, Observer: observe.Discard}
}

// predict resolves one case, with the tools in without taken out.
func predict(cat *catalog, c nameCase, without []string, writes bool) namePrediction {
	tools := cat.tools
	if len(without) > 0 {
		tools = slices.DeleteFunc(slices.Clone(tools), func(t *mcp.Tool) bool { return slices.Contains(without, t.Name) })
	}
	r := discovery.Resolve(c.Guess, tools, options(cat.Server, writes))
	p := namePrediction{ID: c.ID, Action: "none", step: r.Step, reason: r.Reason}
	for _, s := range r.Candidates {
		p.Suggestions = append(p.Suggestions, s.Name)
	}
	switch {
	case r.Tool != "":
		p.Action, p.Tool = "route", r.Tool
	case len(p.Suggestions) > 0:
		p.Action = "suggest"
	}
	return p
}

type share struct{ n, of int }

func (s *share) count(ok bool) {
	s.of++
	if ok {
		s.n++
	}
}

func (s share) String() string {
	if s.of == 0 {
		return "-"
	}
	return fmt.Sprintf("%d/%d %.1f%%", s.n, s.of, 100*float64(s.n)/float64(s.of))
}

func report(w io.Writer, names []nameCase, predictions []namePrediction, catalogs map[string]*catalog, writes, verbose bool) {
	recall := map[string]*share{}
	at := func(k string) *share {
		if recall[k] == nil {
			recall[k] = &share{}
		}
		return recall[k]
	}
	var wrong, wrongWrite, wrongDestructive, rightFirst, hit, quiet, removed, removedWrite share
	steps := map[discovery.Step]*share{}
	for i, c := range names {
		p := predictions[i]
		cat := catalogs[c.Catalog]
		info := func(name string) toolInfo {
			k := slices.IndexFunc(cat.Tools, func(t toolInfo) bool { return t.Name == name })
			if k < 0 {
				return toolInfo{}
			}
			return cat.Tools[k]
		}
		route := p.Action == "route"
		right := route && (c.Expect == "route" && p.Tool == c.Tool || slices.Contains(c.Tolerate, p.Tool))
		wrong.count(route && !right)
		wrongWrite.count(route && !right && !info(p.Tool).ReadOnly)
		wrongDestructive.count(route && !right && info(p.Tool).Destructive)
		if route {
			if steps[p.step] == nil {
				steps[p.step] = &share{}
			}
			steps[p.step].count(right)
		}
		top := p.Suggestions[:min(3, len(p.Suggestions))]
		note := ""
		switch c.Expect {
		case "route":
			at(c.Target + " all").count(right)
			at(c.Target + " " + c.Origin).count(right)
			if !route {
				rightFirst.count(len(top) > 0 && top[0] == c.Tool)
				if len(top) == 0 || top[0] != c.Tool {
					note = "not first"
				}
			}
			if !right && c.Target == "read" {
				note += " MISS"
			}
		case "suggest":
			ok := right
			for _, s := range top {
				ok = ok || !route && slices.Contains(c.Tools, s)
			}
			hit.count(ok)
			if !ok {
				note = "no hit"
			}
		case "none":
			quiet.count(!route)
		}
		if route && !right {
			note = "WRONG " + string(p.step)
		}
		if note != "" && verbose {
			fmt.Fprintf(w, "%-14s %-12s %-11s %-34q want %s %s%v, got %s %s %v (%s)\n", note, c.Kind, c.Catalog, c.Guess, c.Expect, c.Tool, c.Tools, p.Action, p.Tool, top, p.reason)
		}
		if c.Expect == "route" || len(c.Tools) > 0 {
			without := append(append([]string{c.Tool}, c.Tools...), c.Tolerate...)
			q := predict(cat, c, without, writes)
			removed.count(q.Action == "route")
			removedWrite.count(q.Action == "route" && !info(q.Tool).ReadOnly)
			if q.Action == "route" && verbose {
				fmt.Fprintf(w, "%-14s %-11s %-34q without %v -> %s (%s: %s)\n", "REMOVED", c.Catalog, c.Guess, without, q.Tool, q.step, q.reason)
			}
		}
	}
	var keys []string
	for k := range recall {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		fmt.Fprintf(w, "  recall %-20s %v\n", k, recall[k])
	}
	rw := share{}
	for _, k := range []string{"read all", "write all"} {
		if s := recall[k]; s != nil {
			rw.n, rw.of = rw.n+s.n, rw.of+s.of
		}
	}
	fmt.Fprintf(w, "  recall read and write       %v\n", rw)
	fmt.Fprintf(w, "  wrong routes                %v, to writing tools %d, destructive %d\n", wrong, wrongWrite.n, wrongDestructive.n)
	fmt.Fprintf(w, "  suggest: one of first three %v\n", hit)
	fmt.Fprintf(w, "  none: not routed            %v\n", quiet)
	fmt.Fprintf(w, "  declined: right tool first  %v\n", rightFirst)
	fmt.Fprintf(w, "  right tool removed: routed  %v, to writing tools %d\n", removed, removedWrite.n)
	var ks []string
	for k := range steps {
		ks = append(ks, string(k))
	}
	slices.Sort(ks)
	fmt.Fprint(w, "  right routes by step:")
	for _, k := range ks {
		s := steps[discovery.Step(k)]
		fmt.Fprintf(w, " %s %d/%d", k, s.n, s.of)
	}
	fmt.Fprintln(w)
}

type argCase struct {
	ID, Catalog, Tool, Why, Kind string
	Params                       []paramInfo
	Given, Expect                json.RawMessage
}

type argPrediction struct {
	ID    string          `json:"id"`
	Args  json.RawMessage `json:"args,omitempty"`
	Error string          `json:"error,omitempty"`
}

// repairAll writes the predictions for the argument cases.
func repairAll(w io.Writer, split, out, only string, catalogs map[string]*catalog, verbose bool) (string, error) {
	var predictions []argPrediction
	var repairable, untouched share
	err := readLines(filepath.Join(split, "args.jsonl"), func(b []byte) error {
		var c argCase
		if err := json.Unmarshal(b, &c); err != nil {
			return err
		}
		if only != "" && !slices.Contains(strings.Split(only, ","), c.Catalog) {
			return nil
		}
		tool := &mcp.Tool{Name: c.Tool, InputSchema: schemaOf(c.Params)}
		if cat := catalogs[c.Catalog]; cat != nil {
			for _, t := range cat.Tools {
				if t.Name == c.Tool {
					tool.Annotations = t.tool().Annotations
				}
			}
		}
		p := argPrediction{ID: c.ID}
		args, changes, err := discovery.Repair(tool, c.Given, options(c.Catalog, false))
		if err != nil {
			p.Error = err.Error()
		} else {
			p.Args = args
		}
		predictions = append(predictions, p)
		ok := false
		if string(bytes.TrimSpace(c.Expect)) == `"error"` {
			ok = err != nil
			untouched.count(ok)
		} else {
			ok = err == nil && sameJSON(args, c.Expect)
			repairable.count(ok)
		}
		if !ok && verbose {
			fmt.Fprintf(w, "ARGS %-20s %-11s %s %s want %s, got %s %v %s\n", c.Kind, c.Catalog, c.Tool, c.Given, c.Expect, args, changes, p.Error)
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	fmt.Fprintf(w, "arguments: repaired %v, refused what must be %v\n", repairable, untouched)
	file := filepath.Join(out, "args.jsonl")
	return file, writeLines(file, predictions)
}

func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

func readLines(path string, each func([]byte) error) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	s := bufio.NewScanner(bytes.NewReader(b))
	s.Buffer(make([]byte, 1<<20), 1<<24)
	for n := 1; s.Scan(); n++ {
		if len(bytes.TrimSpace(s.Bytes())) == 0 {
			continue
		}
		if err := each(s.Bytes()); err != nil {
			return fmt.Errorf("%s:%d: %w", path, n, err)
		}
	}
	return s.Err()
}

func writeLines[T any](path string, rows []T) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for _, r := range rows {
		if err := enc.Encode(r); err != nil {
			return err
		}
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}
