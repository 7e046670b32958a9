// Command search measures the ranking of package catalog on a folder of
// questions whose answers are known:
//
//	catalogs/*.json   {"catalog": name, "entries": [...]}
//	queries.jsonl     {"id", "catalog", "query", "expect": [ids]}
//	score/            a scorer that reads predictions; it is run if it is there
//
// It writes predictions.jsonl, one line {"id", "results", "score"} a question,
// with what a caller gets, and ranked.jsonl with the same before anything is
// withheld; the score is the confidence. It prints the scorer's table for
// both, then catalogs of endpoints and of tools apart, and how many answers are
// withheld or marked weak.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/steadymcp/steady/catalog"
)

func main() {
	split := flag.String("split", "", "folder with catalogs/, queries.jsonl and score/")
	out := flag.String("out", "", "folder for predictions.jsonl")
	flag.Parse()
	if *split == "" || *out == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(*split, *out, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "search:", err)
		os.Exit(1)
	}
}

type query struct {
	ID      string   `json:"id"`
	Catalog string   `json:"catalog"`
	Query   string   `json:"query"`
	Expect  []string `json:"expect"`
}

type prediction struct {
	ID      string   `json:"id"`
	Results []string `json:"results"`
	Score   float64  `json:"score"`
}

func run(split, out string, w io.Writer) error {
	queries, err := loadQueries(filepath.Join(split, "queries.jsonl"))
	if err != nil {
		return err
	}
	catalogs, err := loadCatalogs(filepath.Join(split, "catalogs"))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	for _, part := range []struct {
		title, file string
		floor       float64
	}{
		{"Ranked, nothing withheld", "ranked.jsonl", -1},
		{"As answered, what fits too badly withheld", "predictions.jsonl", 0},
	} {
		if _, err := fmt.Fprintf(w, "%s (%s)\n\n", part.title, part.file); err != nil {
			return err
		}
		path := filepath.Join(out, part.file)
		counts, err := predict(catalogs, queries, part.floor, path)
		if err != nil {
			return err
		}
		if err := score(split, path, w); err != nil {
			return err
		}
		for _, c := range counts {
			if _, err := fmt.Fprintln(w, c); err != nil {
				return err
			}
		}
		if _, err := fmt.Fprintln(w); err != nil {
			return err
		}
	}
	return nil
}

// A count says how often a group of questions was answered right, and how
// often the ranking declined or hesitated to answer.
type count struct {
	name                  string
	answerable            bool
	asked, withheld, weak int
	first, three, five    int
}

func (c *count) String() string {
	percent := func(n int) float64 { return 100 * float64(n) / float64(max(c.asked, 1)) }
	s := fmt.Sprintf("%s: %d asked", c.name, c.asked)
	if c.answerable {
		s += fmt.Sprintf("; first %.1f %%, first three %.1f %%, first five %.1f %%", percent(c.first), percent(c.three), percent(c.five))
	}
	return s + fmt.Sprintf("; %d withheld, %d marked weak (%.1f %% in all)", c.withheld, c.weak, percent(c.withheld+c.weak))
}

func (c *count) add(q query, found *catalog.Result) {
	c.asked++
	switch {
	case len(found.Hits) == 0:
		c.withheld++
	case found.Weak:
		c.weak++
	}
	at := slices.IndexFunc(found.Hits, func(h catalog.Hit) bool { return slices.Contains(q.Expect, h.Entry.ID) })
	if at < 0 {
		return
	}
	for limit, n := range map[int]*int{1: &c.first, 3: &c.three, 5: &c.five} {
		if at < limit {
			*n++
		}
	}
}

func predict(catalogs map[string][]catalog.Entry, queries []query, floor float64, path string) ([]*count, error) {
	indexes := map[string]*catalog.Index{}
	for name, entries := range catalogs {
		indexes[name] = catalog.NewIndex(entries, &catalog.IndexOptions{Floor: floor})
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := json.NewEncoder(f)
	endpoints := &count{name: "answerable, endpoints", answerable: true}
	tools := &count{name: "answerable, tools", answerable: true}
	unanswerable := &count{name: "unanswerable"}
	for _, q := range queries {
		index, ok := indexes[q.Catalog]
		if !ok {
			return nil, fmt.Errorf("question %s asks catalog %q, which is missing", q.ID, q.Catalog)
		}
		found := index.Search(q.Query, 10)
		p := prediction{ID: q.ID, Results: []string{}, Score: found.Confidence}
		for _, h := range found.Hits {
			p.Results = append(p.Results, h.Entry.ID)
		}
		if err := lines.Encode(p); err != nil {
			return nil, err
		}
		switch {
		case len(q.Expect) == 0:
			unanswerable.add(q, found)
		case len(index.Entries()) > 0 && index.Entries()[0].Path != "":
			endpoints.add(q, found)
		default:
			tools.add(q, found)
		}
	}
	return []*count{endpoints, tools, unanswerable}, f.Close()
}

// score runs the scorer of the split, which is a module of its own.
func score(split, predictions string, w io.Writer) error {
	dir := filepath.Join(split, "score")
	if _, err := os.Stat(dir); err != nil {
		_, err = fmt.Fprintf(w, "no scorer in %s\n", dir)
		return err
	}
	queries, err := filepath.Abs(filepath.Join(split, "queries.jsonl"))
	if err != nil {
		return err
	}
	if predictions, err = filepath.Abs(predictions); err != nil {
		return err
	}
	cmd := exec.Command("go", "run", "./cmd/score", "-queries", queries, "-pred", predictions)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	cmd.Stdout, cmd.Stderr = w, os.Stderr
	return cmd.Run()
}

func loadQueries(path string) ([]query, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var queries []query
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		var q query
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n, err)
		}
		queries = append(queries, q)
	}
	return queries, lines.Err()
}

// A listed entry is an entry as these folders write it: parameters are a list.
type listed struct {
	catalog.Entry
	Params []struct {
		Name        string   `json:"name"`
		Required    bool     `json:"required"`
		Description string   `json:"description"`
		Enum        []string `json:"enum"`
	} `json:"params"`
}

func loadCatalogs(dir string) (map[string][]catalog.Entry, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	catalogs := map[string][]catalog.Entry{}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var c struct {
			Catalog string   `json:"catalog"`
			Entries []listed `json:"entries"`
		}
		if err := json.Unmarshal(b, &c); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		entries := make([]catalog.Entry, len(c.Entries))
		for i, l := range c.Entries {
			entries[i] = l.Entry
			if entries[i].Parameters, err = schema(l); err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
		}
		catalogs[c.Catalog] = entries
	}
	return catalogs, nil
}

// schema writes the listed parameters as JSON Schema.
func schema(l listed) (json.RawMessage, error) {
	properties := map[string]any{}
	var required []string
	for _, p := range l.Params {
		s := map[string]any{}
		if p.Description != "" {
			s["description"] = p.Description
		}
		if len(p.Enum) > 0 {
			s["enum"] = p.Enum
		}
		properties[p.Name] = s
		if p.Required {
			required = append(required, p.Name)
		}
	}
	s := map[string]any{"type": "object", "properties": properties}
	if len(required) > 0 {
		s["required"] = required
	}
	return json.Marshal(s)
}
